"""Torch modules: what sees a graph, and what predicts from node vectors."""

from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import Blocks, Sampler
from maskgae.nn.convs import GATConv, GCNConv, SAGEConv
from maskgae.nn.decoders import MLP, Dot
from maskgae.nn.encoder import Encoder, readout
from maskgae.nn.linear import Linear

__all__ = [
    "MLP",
    "Adjacency",
    "Blocks",
    "Dot",
    "Encoder",
    "GATConv",
    "GCNConv",
    "Linear",
    "SAGEConv",
    "Sampler",
    "readout",
]
