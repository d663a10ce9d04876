"""Graphs, their features, where they come from and how they are split."""

from maskgae.graph.csr import CSR
from maskgae.graph.features import DenseFeatures, Features, SparseFeatures, as_features
from maskgae.graph.graph import Graph, NodeSplit

__all__ = [
    "CSR",
    "DenseFeatures",
    "Features",
    "Graph",
    "NodeSplit",
    "SparseFeatures",
    "as_features",
]
