"""Why masking works, on any graph: subgraph overlap, its information bound, suitability."""

from maskgae.analysis.bound import ASSUMPTIONS, information_bound
from maskgae.analysis.comparison import OverlapRow, overlap_row, overlap_rows
from maskgae.analysis.measures import GraphFacts, measure_graph
from maskgae.analysis.overlap import Overlap, subgraph_overlap
from maskgae.analysis.suitability import Assessment, Suggestion, assess, suggest

__all__ = [
    "ASSUMPTIONS",
    "Assessment",
    "GraphFacts",
    "Overlap",
    "OverlapRow",
    "Suggestion",
    "assess",
    "information_bound",
    "measure_graph",
    "overlap_row",
    "overlap_rows",
    "subgraph_overlap",
    "suggest",
]
