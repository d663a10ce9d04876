"""The report: one self-contained page about a run, from plain arrays."""

from maskgae.report.data import ReportData
from maskgae.report.page import write_page

__all__ = ["ReportData", "write_page"]
