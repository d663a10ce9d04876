"""Torch modules: what sees a graph, and what predicts from node embeddings."""

from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import Sampler
from maskgae.nn.decoders import MLP, Dot
from maskgae.nn.edge_index import EdgeIndexConv
from maskgae.nn.encoder import Encoder

__all__ = [
    "MLP",
    "Adjacency",
    "Dot",
    "EdgeIndexConv",
    "Encoder",
    "Sampler",
]
