"""Torch modules: what sees a graph, and what predicts from node vectors."""

from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import Blocks, Sampler
from maskgae.nn.convs import GATConv, GATv2Conv, GCNConv, GINConv, SAGEConv
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
    "GATv2Conv",
    "GCNConv",
    "GINConv",
    "Linear",
    "SAGEConv",
    "Sampler",
    "readout",
]
