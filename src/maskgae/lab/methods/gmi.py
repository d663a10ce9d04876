r"""GMI: what a node's embedding tells of its own features, of its neighbours' and of its edges.

With :math:`H` one or two graph convolutions, a PReLU after each, :math:`W` the weights of the
first, and the target :math:`n_i = \mathrm{PReLU}(\mathrm{mean}_{j \in N_i} x_j W)`,

.. math::
    u_{ij} &= \sigma(x_j^\top B_1 h_i + c_1), \qquad v_{ij} = \sigma(h_j^\top B_2 n_i + c_2), \\
    L_u &= \mathrm{mean}_i \log(1 + e^{-u_{ii}}) + \mathrm{mean}_{i, r} \log(1 + e^{u_{i \pi_r(i)}})

and :math:`L_v` alike, with :math:`\pi_r(i) \ne i` random nodes, :math:`r = 1 \dots 5`. With
:math:`T = A + I`, :math:`e = \tfrac12 \sum T`, :math:`p_{ij} = \sigma(h_i^\top h_j)`,

.. math::
    L_s = \frac{1}{N^2 - e} \sum_{ij} -\tfrac{N^2 - e}{e} T_{ij} \log p_{ij}
    - (1 - T_{ij}) \log(1 - p_{ij}), \qquad L = 0.8 L_u + L_v + L_s.

The embedding is :math:`H`. Peng et al., WWW 2020, the variant "mean" of the published code: width
512, Adam 0.001, at most 550 epochs, patience 20 on the training loss; two layers on Cora, one on
CiteSeer and PubMed. Photo, Computers and dblp have no published settings and take PubMed's, but
for the rate of Photo and Computers: of 0.001, 0.0003 and 0.0001 Photo's validation nodes prefer the
last (``maskgae tune``, two seeds), which still is below an untrained encoder.

==============================  ============================  ==================================
\                               published code                here
==============================  ============================  ==================================
sigmoid before the logarithm    also in :math:`u` and         the same; ``squash=once`` leaves
                                :math:`v`, which then lie     it out
                                in (0, 1)
pairs :math:`i \ne j` of        all of them                   all pairs of ``sample`` nodes drawn
:math:`L_s` that are no edges                                 anew each update; all nodes where
                                                              there are no more (Cora, CiteSeer)
:math:`\log p`                  of :math:`p + 10^{-10}`       of the logit, which never saturates
weights kept                    before the best epoch's step  after it
==============================  ============================  ==================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.base.fields import setting
from maskgae.base.matmul import matmul
from maskgae.base.rng import Stream
from maskgae.data.csr import CSR
from maskgae.data.features import DenseFeatures
from maskgae.lab.methods.augment import sample_nodes
from maskgae.lab.methods.contrast import BLOCK_NUMBERS, Bilinear
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.activations import PReLU
from maskgae.nn.convs import GCNConv
from maskgae.nn.entries import EntryProducts, entry_products


@dataclass(frozen=True)
class GMIConfig:
    """The published settings of Cora."""

    dim: int = setting(512, "width of every layer", low=1)
    layers: int = setting(2, "graph convolutions", low=1)
    features: float = setting(0.8, "weight of the loss on a node's own features", low=0)
    neighbours: float = setting(1.0, "weight of the loss on its neighbours' features", low=0)
    edges: float = setting(1.0, "weight of the loss on its edges", low=0)
    negatives: int = setting(5, "random nodes against each node", low=1)
    squash: str = setting(
        "twice",
        "twice: scores go through a sigmoid before the loss, as published; once: they do not",
        choices=("twice", "once"),
    )
    sample: int = setting(
        4096, "nodes whose pairs are negative samples in an update; 0: all", low=0
    )
    epochs: int = setting(550, "at most this many updates", low=1)
    patience: int = setting(
        20, "stop after this many updates without a smaller loss; 0: never", low=0
    )
    lr: float = setting(1e-3, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(0.0, "weight decay of Adam", low=0)


class GMI(Pretext):
    """Graph convolutions with three losses on what they keep."""

    def __init__(self, in_channels: int, config: GMIConfig) -> None:
        super().__init__()
        rest = range(config.layers - 1)
        self.first, self.activation = GCNConv(in_channels, config.dim), PReLU()
        self.rest = nn.ModuleList(GCNConv(config.dim, config.dim) for _ in rest)
        self.rest_activations = nn.ModuleList(PReLU() for _ in rest)
        self.around_activation = PReLU()
        self.features = Bilinear(in_channels, config.dim)
        self.neighbours = Bilinear(config.dim, config.dim)
        self.config = config

    def encode(self, view: View) -> Tensor:
        return self._encoded(view, self._sent(view))

    def loss(self, view: View, stream: Stream) -> Tensor:
        config, sent = self.config, self._sent(view)
        h, around = self._encoded(view, sent), self.around_activation(view.adjacency.mean(sent))
        # [N, dim]
        own, other = view.x.linear(self.features.weight), matmul(h, self.neighbours.weight)
        nodes = sample_nodes(h.shape[0], config.sample, stream.at("nodes"))
        return (
            config.features * self._mutual(own, h, self.features.bias, stream.at("features"))
            + config.neighbours
            * self._mutual(other, around, self.neighbours.bias, stream.at("neighbours"))
            + config.edges * structure_loss(h, view.adjacency.csr, nodes.to(h.device))
        )

    def _sent(self, view: View) -> Tensor:
        """The first product, which embeddings and targets share."""
        return view.x.linear(self.first.lin.weight)

    def _encoded(self, view: View, sent: Tensor) -> Tensor:
        h: Tensor = self.activation(self.first.combine(sent, view.adjacency))
        for conv, activation in zip(self.rest, self.rest_activations, strict=True):
            h = activation(conv(DenseFeatures(h), view.adjacency))
        return h

    def _mutual(self, left: Tensor, right: Tensor, bias: Tensor, stream: Stream) -> Tensor:
        """The loss of scores ``left @ right + bias``: a node's own left row against others'."""
        # A node has its own entry first, then those of the others.
        count, times = left.shape[0], self.config.negatives
        partners = torch.cat([torch.arange(count).unsqueeze(0), others(count, times, stream)])
        matrix = CSR(torch.arange(0, partners.numel() + 1, times + 1), partners.T.flatten(), count)
        logits = EntryProducts.apply(right, left, matrix.to(left.device)) + bias
        scores = (logits.sigmoid() if self.config.squash == "twice" else logits).view(count, -1)
        return F.softplus(-scores[:, 0]).mean() + F.softplus(scores[:, 1:]).mean()


def others(count: int, times: int, stream: Stream) -> Tensor:
    """For each node ``times`` random ones that are not itself, ``[times, N]``."""
    steps = torch.randint(1, max(2, count), (times, count), generator=stream.torch())
    return (torch.arange(count) + steps) % count


def structure_loss(h: Tensor, edges: CSR, nodes: Tensor) -> Tensor:
    r""":math:`L_s`, its sum over all pairs estimated on some nodes.

    Since :math:`-\log(1 - p) = \log(1 + e^s)`, it is a sum of :math:`\log(1 + e^s)` over all pairs
    with a correction on the entries of :math:`T`; each part has its gradient by hand, in blocks.

    Shapes:
        - **h:** ``[N, d]``
        - **edges:** ``[N, N]``, symmetric, no entry on the diagonal
        - **nodes:** ``[k]``
    """
    out: Tensor = _StructureLoss.apply(h, edges, nodes)
    return out


class _StructureLoss(torch.autograd.Function):
    """Value and gradient in the forward pass; the backward pass only scales it."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, edges: CSR, nodes: Tensor) -> Tensor:
        count = h.shape[0]
        half = (edges.num_entries + count) / 2
        absent, rows = count**2 - half, h.unsqueeze(1)
        weight = absent / half
        logits = entry_products(rows, rows, edges).squeeze(1)
        own = torch.linalg.vecdot(h, h)
        total = (weight * F.softplus(-logits) - F.softplus(logits)).sum()
        total += weight * F.softplus(-own).sum()
        # The matrix of slopes is symmetric, so each counts for both of its ends.
        slopes = (-weight * logits.neg().sigmoid() - logits.sigmoid()) * (2 / absent)
        grad = CSR(edges.indptr, edges.indices, edges.num_columns, slopes).matmul(h)
        own_slopes = own.neg().sigmoid_().mul_(-2 * weight / absent)
        grad.addcmul_(own_slopes.unsqueeze(1), h)
        value, part = _off_diagonal(h.index_select(0, nodes), count)
        ctx.save_for_backward(grad.index_add_(0, nodes, part, alpha=1 / absent))
        return (total + value) / absent

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (own,) = ctx.saved_tensors
        return grad * own, None, None


def _off_diagonal(some: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The sum over all pairs of different nodes, estimated on some, and their gradient."""
    drawn = some.shape[0]
    scale = count * (count - 1) / max(1, drawn * (drawn - 1))
    total, grad = some.new_zeros(()), torch.empty_like(some)
    rows = max(1, BLOCK_NUMBERS // drawn)
    for start in range(0, drawn, rows):
        # [rows, k]
        logits = matmul(some[start : start + rows], some.T)
        logits.diagonal(start).fill_(-torch.inf)
        total += F.softplus(logits).sum()
        grad[start : start + rows] = matmul(logits.sigmoid_(), some)
    return scale * total, grad.mul_(2 * scale)


ENTRY = Entry(
    "gmi",
    GMIConfig,
    lambda config, device: Pretrained(
        lambda view, config: GMI(view.x.num_columns, config), config, device
    ),
    by_dataset={
        "CiteSeer": {"layers": 1},
        # Half an hour on one thread is enough for these epochs.
        "PubMed": {"layers": 1, "sample": 2048, "epochs": 400},
        "Photo": {"layers": 1, "sample": 2048, "lr": 1e-4},
        "Computers": {"layers": 1, "sample": 2048, "lr": 1e-4},
        "dblp": {"layers": 1, "sample": 2048, "epochs": 400},
    },
)
