"""What every room stands on: errors, settings, randomness, files."""
