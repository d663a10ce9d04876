"""Why masking works, on any graph: subgraph overlap, its information bound, suitability."""

from maskgae.lab.analysis.bound import ASSUMPTIONS, information_bound
from maskgae.lab.analysis.comparison import OverlapRow, overlap_row
from maskgae.lab.analysis.measures import GraphFacts, measure_graph
from maskgae.lab.analysis.overlap import subgraph_overlap
from maskgae.lab.analysis.suitability import Assessment, assess

__all__ = [
    "ASSUMPTIONS",
    "Assessment",
    "GraphFacts",
    "OverlapRow",
    "assess",
    "information_bound",
    "measure_graph",
    "overlap_row",
    "subgraph_overlap",
]
