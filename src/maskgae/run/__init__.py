"""What a fit is: read, fit, use, keep."""
