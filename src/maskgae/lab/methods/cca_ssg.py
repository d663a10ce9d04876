r"""CCA-SSG: two views agree column by column, and the columns of each are uncorrelated.

Zhang et al., From Canonical Correlation Analysis to Self-supervised Graph Neural Networks
(NeurIPS 2021). With :math:`H_1, H_2` a GCN's output on two views of the graph, :math:`Z` the same
with every column brought to mean 0 and standard deviation 1, and :math:`C_{ab} = Z_a^\top Z_b / N`,

.. math::
    L = -\mathrm{tr}\, C_{12} + \lambda (\|I - C_{11}\|_F^2 + \|I - C_{22}\|_F^2).

Each view leaves out each direction of an edge with one chance and each column of features with
another. The embedding is :math:`H` of the whole graph, as the last layer gives it.

==================  =====================================  ==================================
                    published code                         here
==================  =====================================  ==================================
degrees of a view   in and out apart (DGL)                 those of the receiving side (PyG)
constant columns    divided by zero                        stay zero
settings            per dataset                            the same ones; elsewhere Cora's
==================  =====================================  ==================================

The paper writes :math:`\|Z_1 - Z_2\|_F^2` for the first term, which is twice the trace and a
constant; :math:`\lambda` is the code's. All epochs are run and the last weights kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures, Features
from maskgae.lab.methods.augment import drop_edges, mask_columns
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.convs import GCNConv

#: Standard deviations are at least this large.
SMALLEST = 1e-8


@dataclass(frozen=True)
class CCASSGConfig:
    """The settings of CCA-SSG; the defaults are those published for Cora."""

    layers: int = setting(2, "graph convolutions", low=1)
    dim: int = setting(512, "width of each", low=1)
    decorrelation: float = setting(1e-3, "weight of the second term", low=0)
    drop_edges: float = setting(0.4, "chance of an edge's direction to be left out", low=0, high=1)
    mask_columns: float = setting(0.1, "chance of a column to be masked", low=0, high=1)
    rows: str = setting(
        "sum",
        "sum: each row of features is divided by its sum; raw: it is as it came",
        choices=("sum", "raw"),
    )
    epochs: int = setting(50, "updates", low=1)
    lr: float = setting(1e-3, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(0.0, "weight decay of Adam", low=0)


def cca_loss(first: Tensor, second: Tensor, decorrelation: float) -> Tensor:
    """The loss of the outputs on two views, ``[N, d]`` each."""
    z1, z2 = standardized(first), standardized(second)
    count, unit = z1.shape[0], torch.eye(z1.shape[1], dtype=z1.dtype, device=z1.device)
    apart = sum((unit - z.T @ z / count).square().sum() for z in (z1, z2))
    return -(z1 * z2).sum() / count + decorrelation * apart


def standardized(h: Tensor) -> Tensor:
    """Columns of mean 0 and standard deviation 1, ``[N, d]``."""
    return (h - h.mean(0)) / h.std(0).clamp(min=SMALLEST)


class CCASSG(Pretext):
    """A GCN with ReLU between its layers."""

    def __init__(self, view: View, config: CCASSGConfig) -> None:
        super().__init__()
        widths = [view.x.num_columns] + [config.dim] * config.layers
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.config = config

    def encode(self, view: View) -> Tensor:
        x: Features = view.x
        for conv in self.convs[:-1]:
            x = DenseFeatures(conv(x, view.adjacency).relu())
        out: Tensor = self.convs[-1](x, view.adjacency)
        return out

    def loss(self, view: View, stream: Stream) -> Tensor:
        first, second = (self.encode(self.seen(view, stream.at(i))) for i in (1, 2))
        return cca_loss(first, second, self.config.decorrelation)

    def seen(self, view: View, stream: Stream) -> View:
        """A random view of the graph."""
        x = mask_columns(view.x, self.config.mask_columns, stream.at("columns"))
        return View(x, drop_edges(view.adjacency, self.config.drop_edges, stream.at("edges")))


def _make(config: CCASSGConfig, device: str) -> Pretrained:
    return Pretrained(CCASSG, config, device, View.of if config.rows == "raw" else View.normalized)


ENTRY = Entry(
    "cca-ssg",
    CCASSGConfig,
    _make,
    by_dataset={
        "CiteSeer": {"layers": 1, "decorrelation": 5e-4, "mask_columns": 0.0, "epochs": 20},
        "PubMed": {"mask_columns": 0.3, "drop_edges": 0.5, "epochs": 100},
        "Photo": {"mask_columns": 0.2, "drop_edges": 0.3, "rows": "raw"},
        "Computers": {"decorrelation": 5e-4, "drop_edges": 0.3, "rows": "raw"},
    },
)
