"""Why masking works, on any graph: subgraph overlap and its information bound."""

from maskgae.analysis.bound import ASSUMPTIONS, information_bound
from maskgae.analysis.comparison import OverlapRow, overlap_row, overlap_rows
from maskgae.analysis.overlap import Overlap, subgraph_overlap

__all__ = [
    "ASSUMPTIONS",
    "Overlap",
    "OverlapRow",
    "information_bound",
    "overlap_row",
    "overlap_rows",
    "subgraph_overlap",
]
