"""Graphs, their features, where they come from and how they are split."""

from maskgae.data.csr import CSR
from maskgae.data.features import DenseFeatures, Features, SparseFeatures, as_features
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit

__all__ = [
    "CSR",
    "DenseFeatures",
    "Features",
    "Graph",
    "NodeSplit",
    "SparseFeatures",
    "as_features",
]
