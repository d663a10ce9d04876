"""Torch modules: what sees a graph, and what predicts from node embeddings."""

from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import Sampler
from maskgae.nn.decoders import MLP, Dot
from maskgae.nn.encoder import Encoder

__all__ = [
    "MLP",
    "Adjacency",
    "Dot",
    "Encoder",
    "Sampler",
]
