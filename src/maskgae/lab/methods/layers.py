r"""What the baselines are built of: stacks of the package's own layers.

A :class:`Stack` of layers :math:`l = 1 \dots L` computes

.. math::
    H^{(l)} = \mathrm{layer}^{(l)}(\mathrm{dropout}(\sigma(H^{(l-1)})), A),

with :math:`\sigma` between layers but neither before the first nor after the last, as in the
papers of GCN and GAT. Their layers are :mod:`maskgae.nn.convs`, which agree with PyG's and take
sparse features as they are; a PyG layer would make them dense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from maskgae.base.dropout import dropout
from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.csr import CSR, positions
from maskgae.data.features import DenseFeatures, Features, as_features
from maskgae.data.graph import Graph
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import transpose_order
from maskgae.nn.convs import Conv
from maskgae.nn.decoders import Dot
from maskgae.nn.linear import Linear
from maskgae.nn.losses import pair_logits


@dataclass(frozen=True)
class View:
    """A graph as layers see it, on their device."""

    x: Features
    adjacency: Adjacency

    @classmethod
    def of(cls, graph: Graph, device: str, *, normalize: bool = False) -> View:
        """The graph, where asked with each row of features divided by its sum."""
        if graph.features is None:
            raise InputError(f"{graph.name} has no features, which every baseline starts from")
        x = unit_sums(graph.features) if normalize else graph.features
        return cls(x.to(device), Adjacency.of(graph).to(device))

    @classmethod
    def normalized(cls, graph: Graph, device: str) -> View:
        """The graph with each row of features divided by its sum, as bags of words are given."""
        return cls.of(graph, device, normalize=True)


def around(view: View, nodes: Tensor, layers: int) -> tuple[Features, list[Adjacency]]:
    """What some nodes need of a view: the features of those within so many steps, and adjacencies.

    The first layer's adjacency comes first; the last has the nodes as rows.

    >>> path = View.of(Graph.from_edges([(0, 1), (1, 2), (2, 3)], features=torch.eye(4)), "cpu")
    >>> around(path, torch.tensor([0]), 2)[1]
    [Adjacency(2, 3, entries=3), Adjacency(1, 2, entries=1)]
    """
    adjacencies: list[Adjacency] = []
    for _ in range(layers):
        nodes, adjacency = _rows(view.adjacency, nodes)
        adjacencies.insert(0, adjacency)
    return view.x.rows(nodes), adjacencies


def _rows(adjacency: Adjacency, nodes: Tensor) -> tuple[Tensor, Adjacency]:
    """Some rows of a square adjacency, and its sources: these nodes, then their neighbours."""
    rows = adjacency.csr.rows(nodes)
    place = torch.full((rows.num_columns,), -1, device=nodes.device)
    place[rows.indices] = 0
    place[nodes] = -1
    sources = torch.cat([nodes, positions(place == 0)])
    place[sources] = torch.arange(sources.numel(), device=nodes.device)
    csr = CSR(rows.indptr, place[rows.indices], sources.numel(), rows.values)
    degrees = adjacency.degrees.index_select(0, sources)
    return sources, Adjacency(csr, degrees, transpose_order=lambda: transpose_order(csr))


def unit_sums(x: Features) -> Features:
    """Features whose rows each have absolute values that sum to one; rows of zeros stay zero.

    >>> unit_sums(DenseFeatures(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))).dense().tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    if isinstance(x, DenseFeatures):
        return DenseFeatures(x.tensor / x.tensor.abs().sum(1, keepdim=True).clamp(min=1e-12))
    rows = x.to("cpu").scipy()
    sums = np.asarray(abs(rows).sum(axis=1)).reshape(-1)
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return as_features(sp.diags(scale) @ rows)


class Dense(Conv):
    r"""A layer that looks at no neighbour: :math:`x_i W + b`."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.lin = Linear(in_channels, out_channels)

    def forward(self, x: Features, adjacency: Adjacency) -> Tensor:
        assert self.lin.bias is not None
        return x.linear(self.lin.weight) + self.lin.bias


class AttentionDropout(Adjacency):
    """An adjacency on which attention is dropped at random, a node's to itself too."""

    def __init__(self, base: Adjacency, p: float, stream: Stream) -> None:
        super().__init__(
            base.csr, base.degrees, transpose_order=base.order, symmetric=base.symmetric
        )
        self.p, self.stream = p, stream

    def attention(self, weights: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        entries = dropout(weights, self.p, self.stream)
        return entries, dropout(own, self.p, self.stream.at("own"))


class Stack(nn.Module):
    """Layers with an activation between them.

    Args:
        layers: from the features to the output.
        stream: where the initial weights come from.
        rate: dropout before every layer.
        attention_rate: dropout of attention weights.
        activation: between layers.

    Shapes:
        - **input:** ``[N, in_channels]`` features, ``[N, N]`` adjacency
        - **output:** ``[N, out_channels]``
    """

    def __init__(
        self,
        layers: Sequence[Conv],
        stream: Stream,
        *,
        rate: float = 0.0,
        attention_rate: float = 0.0,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.stream, self.activation = stream, activation
        self.rate, self.attention_rate = rate, attention_rate
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights anew; the same ones again, since the stream is the same."""
        generator = self.stream.torch()
        for layer in self.layers:
            layer.reset_parameters(generator)  # type: ignore[operator]

    def forward(self, view: View, noise: Stream | None = None) -> Tensor:
        """The last layer's output; with a ``noise`` stream dropout is on and draws from it."""
        first, *others = self.layers
        out: Tensor = first(self._dropped(view.x, 0, noise), self._seen(view, 0, noise))
        for level, layer in enumerate(others, 1):
            x = DenseFeatures(self.activation(out))
            out = layer(self._dropped(x, level, noise), self._seen(view, level, noise))
        return out

    def _dropped(self, x: Features, level: int, noise: Stream | None) -> Features:
        return x if noise is None else x.dropout(self.rate, noise.at(level))

    def _seen(self, view: View, level: int, noise: Stream | None) -> Adjacency:
        if noise is None or self.attention_rate == 0:
            return view.adjacency
        return AttentionDropout(view.adjacency, self.attention_rate, noise.at("attention", level))


def dot_logits(z: Tensor, pairs: Tensor) -> Tensor:
    r"""Inner products :math:`z_u^\top z_v`, ``[N, d], [2, P] -> [P]``."""
    return pair_logits(z, Dot(), pairs.to(z.device))
