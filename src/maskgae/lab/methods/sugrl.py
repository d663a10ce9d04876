r"""SUGRL: two positives and a bounded distance to negatives, with no augmentation.

Mo et al., Simple Unsupervised Graph Representation Learning (AAAI 2022). With
:math:`H = \mathrm{MLP}(\mathrm{dropout}(X))` and the distance of rows
:math:`d(a, b)_i = \|a_i - b_i\|_2`:

.. math::
    L_S &= {\textstyle\sum_k} \frac1N \sum_i [d(h, s) - d(h, P_k h) + m]_+ \\
    L_N &= {\textstyle\sum_k} \frac1N \sum_i [d(h, n) - d(h, P_k h) + m]_+ \\
    L_U &= \frac1K {\textstyle\sum_k} \sum_i [d(h, P_k h) - \mathrm{sg}\, d(h, s) - m - b]_+ \\
    L &= w_S L_S + w_N L_N + w_U L_U

=============  ==============================================================================
:math:`s`      structure: :math:`\hat A\, \mathrm{dropout}_{0.2}(H)`, :math:`\hat A` with loops
:math:`n`      neighbours: the mean of five entries of a node's list, itself among them
:math:`P_k`    one of :math:`K` fresh permutations of the rows of :math:`H`
:math:`m, b`   the margin of negatives over positives, and how far beyond it they may lie
``sg``         no gradient
=============  ==============================================================================

The embedding is :math:`\hat A\, \mathrm{MLP}(X)` with rows of length one.

==================  =====================================  ==================================
                    published code                         here
==================  =====================================  ==================================
adjacency           dense :math:`N \times N`               sparse
settings            per dataset, on no validation set      the same ones; elsewhere Cora's
checkpoint          loaded in every epoch by default       none
==================  =====================================  ==================================

The published script of arXiv divides rows by their length too, sums them once before the network,
normalises the adjacency by rows and takes the mean for :math:`L_U`; here all is as elsewhere, and
Collab takes its settings. The published :math:`L_U` of the others is a sum over nodes beside two
means, and is one here too. All epochs are run and the last weights kept, as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.csr import CSR
from maskgae.data.features import DenseFeatures, Features
from maskgae.lab.methods.layers import Dense, View
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.adjacency import Adjacency

#: Dropout of the rows that the structural positive sums up.
STRUCTURE_DROPOUT = 0.2
#: Entries of a node's list that make its neighbour positive.
ENTRIES = 5
#: Epochs after which the entries begin again.
CYCLE = 100


@dataclass(frozen=True)
class SUGRLConfig:
    """The settings of SUGRL; the defaults are those published for Cora."""

    hidden: int = setting(512, "width of the hidden layer; 0: a single linear layer", low=0)
    dim: int = setting(128, "width of the embedding", low=1)
    dropout: float = setting(0.3, "dropout of the features", low=0, high=0.996)
    structure: float = setting(10.0, "weight of the loss on the structural positive", low=0)
    neighbours: float = setting(10.0, "weight of the loss on the neighbour positive", low=0)
    upper: float = setting(1.0, "weight of the upper bound", low=0)
    margin: float = setting(0.8, "how much farther than a positive a negative lies", low=0)
    bound: float = setting(0.2, "how much farther still it may lie", low=0)
    negatives: int = setting(4, "permutations of the rows in each epoch", low=1)
    lr: float = setting(0.005, "learning rate of Adam", low=0)
    weight_decay: float = setting(5e-5, "weight decay of Adam", low=0)
    epochs: int = setting(500, "updates", low=1)


def sugrl_loss(
    h: Tensor,
    structure: Tensor,
    neighbours: Tensor,
    permutations: Sequence[Tensor],
    config: SUGRLConfig,
) -> Tensor:
    """The loss of one epoch; ``[N, d]`` three times, and permutations ``[N]`` of the rows."""
    to_structure, to_neighbours = _distances(h, structure), _distances(h, neighbours)
    farthest = to_structure.detach() + config.margin + config.bound
    loss = h.new_zeros(())
    for order in permutations:
        # [N]
        nearest = _distances(h, h.index_select(0, order)) - config.margin
        beyond = F.relu(nearest + config.margin - farthest).sum() / len(permutations)
        loss = loss + config.structure * F.relu(to_structure - nearest).mean()
        loss = loss + config.neighbours * F.relu(to_neighbours - nearest).mean()
        loss = loss + config.upper * beyond
    return loss


def _distances(a: Tensor, b: Tensor) -> Tensor:
    # Unlike the root of a sum, the norm has a gradient where a permutation leaves a row in place.
    return torch.linalg.vector_norm(a - b, dim=1)


class NeighbourCycle:
    """Means over five entries of each node's sorted list of neighbours and itself.

    In epoch ``e`` of a hundred the entries are ``e + 1, e + 3 ... e + 9`` modulo its length.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        csr = adjacency.csr.to("cpu")
        arrays = (np.ones(csr.num_entries), csr.indices.numpy(), csr.indptr.numpy())
        loops = sp.csr_array(arrays, shape=(csr.num_rows, csr.num_rows))
        loops = sp.csr_array(loops + sp.eye_array(csr.num_rows, format="csr"))
        loops.sort_indices()
        self.starts, self.nodes = loops.indptr.astype(np.int64), loops.indices.astype(np.int64)
        self.device = adjacency.csr.indptr.device

    def at(self, epoch: int) -> Adjacency:
        """The matrix that takes the means, ``[N, N]`` with five entries of 1/5 in each row."""
        lengths, count = np.diff(self.starts)[:, None], self.starts.size - 1
        entries = (epoch % CYCLE + 1 + 2 * np.arange(ENTRIES)) % lengths
        nodes = self.nodes[self.starts[:-1, None] + entries].reshape(-1)
        csr = CSR(
            torch.arange(0, nodes.size + 1, ENTRIES),
            torch.from_numpy(nodes),
            count,
            torch.full((nodes.size,), 1 / ENTRIES),
        )
        return Adjacency(csr, csr.row_sums()).to(self.device)


class SUGRL(Pretext):
    """An MLP whose rows are drawn to their neighbours' and pushed from others'."""

    def __init__(self, view: View, config: SUGRLConfig) -> None:
        super().__init__()
        widths = [view.x.num_columns, *([config.hidden] if config.hidden else []), config.dim]
        self.layers = nn.ModuleList(Dense(a, b) for a, b in pairwise(widths))
        self.config, self.cycle, self.epoch = config, NeighbourCycle(view.adjacency), 0

    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    def rows(self, x: Features, adjacency: Adjacency) -> Tensor:
        """The MLP, ``[N, dim]``."""
        first, *others = self.layers
        h: Tensor = first(x, adjacency)
        for layer in others:
            h = layer(DenseFeatures(h.relu()), adjacency)
        return h

    def encode(self, view: View) -> Tensor:
        return F.normalize(view.adjacency.normalized(self.rows(view.x, view.adjacency)), dim=1)

    def loss(self, view: View, stream: Stream) -> Tensor:
        x = view.x.dropout(self.config.dropout, stream.at("features"))
        h = self.rows(x, view.adjacency)
        structure = view.adjacency.normalized(dropout(h, STRUCTURE_DROPOUT, stream.at("structure")))
        neighbours = self.cycle.at(self.epoch).sum(h)
        orders = [
            torch.randperm(h.shape[0], generator=stream.at("negatives", k).torch()).to(h.device)
            for k in range(self.config.negatives)
        ]
        return sugrl_loss(h, structure, neighbours, orders, self.config)


#: Those of arXiv.
LARGE = {
    "dropout": 0.2,
    "margin": 0.9,
    "bound": 0.9,
    "negatives": 1,
    "lr": 0.01,
    "epochs": 100,
}

ENTRY = Entry(
    "sugrl",
    SUGRLConfig,
    lambda config, device: Pretrained(SUGRL, config, device),
    by_dataset={
        "CiteSeer": {
            "hidden": 0, "dropout": 0.1, "structure": 5.0, "neighbours": 5.0, "bound": 0.4,
            "negatives": 5, "weight_decay": 1e-4, "epochs": 100,
        },
        "PubMed": {
            "dropout": 0.4, "structure": 20.0, "neighbours": 20.0, "margin": 0.5, "bound": 0.5,
            "negatives": 3, "lr": 0.01, "weight_decay": 1e-4, "epochs": 1000,
        },
        "Photo": {
            "dropout": 0.1, "structure": 100.0, "neighbours": 100.0, "margin": 0.9, "bound": 0.9,
            "negatives": 1, "lr": 0.01, "weight_decay": 1e-4, "epochs": 1000,
        },
        "Computers": {
            "dropout": 0.1, "structure": 100.0, "neighbours": 100.0, "upper": 2.0, "margin": 0.4,
            "bound": 0.6, "negatives": 5, "lr": 0.01, "weight_decay": 1e-4, "epochs": 1000,
        },
        "arXiv": LARGE, "Collab": LARGE,
    },
)  # fmt: skip
