r"""MVGRL: nodes of one view of the graph against the summary of the other, along edges and along
walks.

With :math:`\hat A = \hat D^{-1/2} (A + I) \hat D^{-1/2}` and its personalised PageRank :math:`S =
\alpha (I - (1 - \alpha) \hat A)^{-1}`, of which on CiteSeer only entries of at least 0.01 are kept
and each column is divided by its largest,

.. math::
    H^a = \mathrm{PReLU}(\hat A X W_a + b_a), \quad H^b = \mathrm{PReLU}(S X W_b + b_b), \quad
    s^v = \sigma(\mathrm{mean}_i h^v_i),

:math:`\tilde H^v` the same with the rows of :math:`X` shuffled, and one :math:`D(h, s) = h^\top M s
+ c` for both views,

.. math::
    L = \frac{1}{4N} \sum_i \log(1 + e^{-D(h^b_i, s^a)}) + \log(1 + e^{-D(h^a_i, s^b)})
    + \log(1 + e^{D(\tilde h^b_i, s^a)}) + \log(1 + e^{D(\tilde h^a_i, s^b)}).

The embedding is :math:`H^a + H^b`. Hassani and Khasahmadi, ICML 2020: width 512, Adam 0.001,
:math:`\alpha = 0.2`, patience 20 on the training loss. Photo and Computers have no published
settings and take Cora's.

==============================  ============================  ==================================
\                               published code                here
==============================  ============================  ==================================
:math:`S`                       an inverse, ``[N, N]``        never made: products with it by
                                                              ``terms`` Chebyshev iterations;
                                                              on CiteSeer its large entries
least entry of CiteSeer's       of four, the one that keeps   0.01
:math:`S`                       about as many as there are
                                edges
an update                       4 windows of 2,000 node       all nodes
                                numbers in a row
self-loops of view a            added twice                   added once, as in the paper
steps                           at most 3,000                 at most 500; 300 on PubMed, Computers
                                                              and dblp, half an hour's worth
==============================  ============================  ==================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.csr import CSR
from maskgae.data.graph import Graph
from maskgae.lab.methods.augment import shuffle_rows
from maskgae.lab.methods.contrast import Bilinear, discrimination
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.activations import PReLU
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import GCNConv
from maskgae.nn.entries import is_large

#: Columns that are diffused at a time: what all iterations touch stays in a core's cache.
COLUMNS = 64
#: Iterations for the entries of S themselves.
EXACT = 40


@dataclass(frozen=True)
class MVGRLConfig:
    """The published settings of Cora."""

    dim: int = setting(512, "width of the embedding", low=1)
    alpha: float = setting(
        0.2, "chance of a walk to start again at each step", low=0, high=1, open_ends=True
    )
    terms: int = setting(
        10, "iterations of a product with S; at alpha 0.2 each halves the error", low=1
    )
    least: float = setting(
        0.0, "entries of S below it are cut and its columns scaled; 0: S as it is", low=0, high=1
    )
    epochs: int = setting(500, "at most this many updates", low=1)
    patience: int = setting(
        20, "stop after this many updates without a smaller loss; 0: never", low=0
    )
    lr: float = setting(1e-3, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(0.0, "weight decay of Adam", low=0)


@dataclass(frozen=True)
class TwoViews(View):
    """A graph along its edges and along walks."""

    walks: Adjacency

    @classmethod
    def of_view(cls, view: View, config: MVGRLConfig) -> TwoViews:
        if config.least:
            return cls(view.x, view.adjacency, CutWalks(view.adjacency, config.alpha, config.least))
        walks = Diffused(view.adjacency, config.alpha, config.terms)
        return cls(view.x, view.adjacency, walks)


def two_views(config: MVGRLConfig, graph: Graph, device: str) -> TwoViews:
    """A graph as MVGRL sees it."""
    return TwoViews.of_view(View.normalized(graph, device), config)


class Diffused(Adjacency):
    """An adjacency whose normalised product is that of its personalised PageRank."""

    def __init__(self, base: Adjacency, alpha: float, terms: int) -> None:
        super().__init__(base.csr, base.degrees, symmetric=True)
        self.base, self.alpha, self.terms = base, alpha, terms

    def normalized(self, x: Tensor) -> Tensor:
        out: Tensor = _Diffusion.apply(x, self)
        return out


class _Diffusion(torch.autograd.Function):
    """The matrix is symmetric, so the backward pass is the same product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, adjacency: Diffused) -> Tensor:
        ctx.adjacency = adjacency
        return diffused(x, adjacency.base, adjacency.alpha, adjacency.terms)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        adjacency = ctx.adjacency
        return diffused(grad, adjacency.base, adjacency.alpha, adjacency.terms), None


class CutWalks(Adjacency):
    r"""Personalised PageRank without its small entries, each column divided by its largest.

    With :math:`m_j` the largest entry of a column of :math:`S`, the product is :math:`S M^{-1} X`.
    """

    def __init__(self, base: Adjacency, alpha: float, least: float) -> None:
        matrix = large_entries(base, alpha, least)
        largest = torch.from_numpy(matrix.max(axis=0).toarray().reshape(-1))
        csr = CSR(
            torch.from_numpy(matrix.indptr).long(),
            torch.from_numpy(matrix.indices).long(),
            matrix.shape[1],
            torch.from_numpy(matrix.data),
        ).to(base.degrees.device)
        super().__init__(csr, csr.row_sums(), symmetric=True)
        self.largest = largest.to(base.degrees.device).unsqueeze(1)

    def normalized(self, x: Tensor) -> Tensor:
        return self.sum(x / self.largest)


def large_entries(adjacency: Adjacency, alpha: float, least: float) -> sp.csr_matrix:
    """The entries of the personalised PageRank that are not below ``least``."""
    count, device = adjacency.num_dst, adjacency.degrees.device
    found = []
    for start in range(0, count, COLUMNS):
        own = torch.arange(start, min(start + COLUMNS, count), device=device)
        part = torch.zeros(count, own.numel(), device=device, dtype=torch.get_default_dtype())
        part[own, own - start] = 1.0
        part = diffused(part, adjacency, alpha, EXACT)
        found.append(sp.csc_matrix(torch.where(part < least, 0.0, part).cpu().numpy()))
    matrix = sp.csr_matrix(sp.hstack(found))
    # Entries at the threshold may be rounded to either side of it; both directions stay then.
    return matrix.maximum(matrix.T).sorted_indices()


def diffused(x: Tensor, adjacency: Adjacency, alpha: float, terms: int) -> Tensor:
    """The product with the personalised PageRank, some columns at a time, ``[N, d] -> [N, d]``."""
    out = torch.empty_like(x)
    for here, part in zip(out.split(COLUMNS, 1), x.detach().split(COLUMNS, 1), strict=True):
        here.copy_(_iterated(part.contiguous(), adjacency, alpha, terms))
    return out


@torch.no_grad()
def _iterated(x: Tensor, adjacency: Adjacency, alpha: float, terms: int) -> Tensor:
    r"""The product :math:`S X` by Chebyshev's semi-iteration (Golub and Varga, 1961).

    It solves :math:`Z = (1 - \alpha) \hat A Z + \alpha X`, whose matrix has its eigenvalues in
    :math:`[-\rho, \rho]`, :math:`\rho = 1 - \alpha`; the error falls as :math:`2 / (r^k + r^{-k})`
    with :math:`r = (1 + \sqrt{1 - \rho^2}) / \rho`, which is 2 at :math:`\alpha = 0.2`.
    """
    rho, omega = 1 - alpha, 2.0
    before, now = x, _step(x, x, x, adjacency, alpha, 1.0)
    for _ in range(terms - 1):
        omega = 1 / (1 - rho**2 * omega / 4)
        before, now = now, _step(now, x, before, adjacency, alpha, omega)
    return now


def _step(
    z: Tensor, x: Tensor, before: Tensor, adjacency: Adjacency, alpha: float, omega: float
) -> Tensor:
    r""":math:`B + \omega ((1 - \alpha) \hat A Z + \alpha X - B)`; bits of large ones differ."""
    if not is_large(adjacency.csr.num_entries * z.shape[1], z):
        new = adjacency.normalized(z).mul_(1 - alpha).add_(x, alpha=alpha)
        return new if omega == 1 else torch.lerp(before, new, omega)
    from maskgae.kernels.compiled import in_threads
    from maskgae.kernels.diffusion import chebyshev_step

    weighted, own = adjacency.normalized_weights
    out = weighted.matmul(z)
    summed, weight, now, start, last = (t.numpy() for t in (out, own.view(-1), z, x, before))
    factors = tuple(np.float32(each) for each in (1 - alpha, alpha, omega))
    in_threads(
        lambda part: chebyshev_step(summed, weight, now, start, last, factors, part),
        out.shape[0],
    )
    return out


class MVGRL(Pretext):
    """A graph convolution for each view and one discriminator for both."""

    def __init__(self, in_channels: int, config: MVGRLConfig) -> None:
        super().__init__()
        self.near, self.far = (GCNConv(in_channels, config.dim) for _ in range(2))
        self.near_activation, self.far_activation = PReLU(), PReLU()
        self.score = Bilinear(config.dim, config.dim)

    def encode(self, view: View) -> Tensor:
        near, far = self._embedded(view, self.near.send(view.x), self.far.send(view.x))
        return near + far

    def loss(self, view: View, stream: Stream) -> Tensor:
        sent = self.near.send(view.x), self.far.send(view.x)
        near, far = self._embedded(view, *sent)
        # One stream, so that both views are shuffled in the same way.
        fake_near, fake_far = self._embedded(view, *(shuffle_rows(rows, stream) for rows in sent))
        near_summary, far_summary = near.mean(0).sigmoid(), far.mean(0).sigmoid()
        real = self.score(far, near_summary), self.score(near, far_summary)
        fake = self.score(fake_far, near_summary), self.score(fake_near, far_summary)
        return discrimination(torch.cat(real), torch.cat(fake))

    def _embedded(self, view: View, near: Tensor, far: Tensor) -> tuple[Tensor, Tensor]:
        """Both views' embeddings from what their convolutions send."""
        assert isinstance(view, TwoViews)
        return (
            self.near_activation(self.near.combine(near, view.adjacency)),
            self.far_activation(self.far.combine(far, view.walks)),
        )


ENTRY = Entry(
    "mvgrl",
    MVGRLConfig,
    lambda config, device: Pretrained(
        lambda view, config: MVGRL(view.x.num_columns, config),
        config,
        device,
        view=partial(two_views, config),
    ),
    by_dataset={
        "CiteSeer": {"least": 0.01},
        **{name: {"epochs": 300} for name in ("PubMed", "Computers", "dblp")},
    },
)
