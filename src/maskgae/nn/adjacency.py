r"""What a graph convolution sees of a graph.

An :class:`Adjacency` is a rectangular sparse matrix of :math:`n_{dst}` rows and :math:`n_{src}`
columns whose destinations come first among the sources. The whole graph, a sampled block and a
chunk of rows are three cases of it, so one encoder serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from maskgae.data.csr import CSR, SparseProduct, positions
from maskgae.data.graph import Graph
from maskgae.data.structure import Structure


class Adjacency:
    r"""A rectangular adjacency matrix with the degrees of the graph it was cut from.

    Args:
        csr: the matrix; its values, if it has any, are edge weights.
        degrees: (weighted) degree of every source in the visible graph, without self-loops.
        transpose_order: gives the order of the entries in the transposed matrix, when asked.
        symmetric: whether the matrix is its own transpose, so that the backward of a product is
            the same product.
        scale: how many neighbours each drawn one stands for, where neighbours were drawn; the
            values have it in them.

    Shapes:
        - **csr:** ``[n_dst, n_src]``
        - **degrees:** ``[n_src]``
        - **scale:** ``[n_dst]``
    """

    def __init__(
        self,
        csr: CSR,
        degrees: Tensor,
        *,
        transpose_order: Callable[[], Tensor] | None = None,
        symmetric: bool = False,
        scale: Tensor | None = None,
    ) -> None:
        self.csr = csr
        self.degrees = degrees
        self.symmetric = symmetric
        self.scale = scale
        self.order = transpose_order or csr.transpose_order

    @classmethod
    def of(cls, graph: Graph, visible: Tensor | None = None) -> Adjacency:
        """The square matrix of a graph, or of its visible pairs ``[M]`` bool.

        The visible part is selected from the graph's fixed rows, with nothing sorted again.

        >>> graph = Graph.from_edges([(0, 1), (1, 2)])
        >>> Adjacency.of(graph, torch.tensor([True, False])).sum(torch.eye(3)).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        structure, csr = graph.structure, graph.structure.csr
        if graph.weights is not None:
            values = graph.weights[structure.pair_of_entry]
            csr = CSR(csr.indptr, csr.indices, csr.num_columns, values)
        if visible is None:
            return cls._square(csr, lambda: structure.reverse_entry)
        keep = visible.index_select(0, structure.pair_of_entry)
        return cls._square(csr.select(keep), lambda: _selected_reverse(structure, keep))

    @classmethod
    def _square(cls, csr: CSR, order: Callable[[], Tensor]) -> Adjacency:
        return cls(csr, csr.row_sums(), transpose_order=order, symmetric=True)

    @property
    def num_dst(self) -> int:
        return self.csr.num_rows

    @property
    def num_src(self) -> int:
        return self.csr.num_columns

    def to(self, device: torch.device | str) -> Adjacency:
        if torch.device(device).type == "cpu":
            return self
        moved, scale = self.csr.to(device), None if self.scale is None else self.scale.to(device)
        degrees = self.degrees.to(device)
        return Adjacency(moved, degrees, symmetric=self.symmetric, scale=scale)

    def transposed(self) -> CSR:
        return self.csr if self.symmetric else self.csr.transposed(self.order())

    def sum(self, x: Tensor) -> Tensor:
        r"""(Weighted) sum over neighbours, :math:`A X`: ``[n_src, d] -> [n_dst, d]``."""
        out: Tensor = SparseProduct.apply(x, self.csr, self._sum_back)
        return out

    def _sum_back(self, grad: Tensor) -> Tensor:
        return self.transposed().matmul(grad)

    def mean(self, x: Tensor) -> Tensor:
        r"""(Weighted) mean over neighbours, :math:`D^{-1} A X`; zero where there are none."""
        return self.sum(x) / self.csr.row_sums().clamp(min=1e-12).unsqueeze(1)

    def normalized(self, x: Tensor) -> Tensor:
        r"""Kipf and Welling's product :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2} X`.

        With :math:`s = (d + 1)^{-1/2}` an entry weighs :math:`s_i a_{ij} s_j`, computed once for
        all layers and both passes; self-loops are added apart, weighing :math:`s_i^2`.
        """
        out: Tensor = _NormalizedProduct.apply(x, self)
        return out

    def back(self, grad: Tensor, part: slice) -> Tensor:
        """Some rows of the gradient that :meth:`normalized` sends to its sources.

        Shapes:
            - **grad:** ``[n_dst, d]``
            - **output:** ``[part, d]``
        """
        out = self._transposed_weights.between(part).matmul(grad)
        own = self.normalized_weights[1][part]
        out[: own.shape[0]].addcmul_(grad[part], own.to(grad.dtype))
        return out

    @cached_property
    def _transposed_weights(self) -> CSR:
        weighted = self.normalized_weights[0]
        return weighted if self.symmetric else weighted.transposed(self.order())

    @cached_property
    def normalized_weights(self) -> tuple[CSR, Tensor]:
        """The matrix of :meth:`normalized` without self-loops, and these, ``[n_dst, 1]``."""
        csr, scale = self.csr, (self.degrees + 1).rsqrt()
        here = torch.repeat_interleave(
            scale[: self.num_dst], csr.counts(), output_size=csr.num_entries
        )
        values = scale.index_select(0, csr.indices).mul_(here)
        if csr.values is not None:
            values.mul_(csr.values)
        own = scale[: self.num_dst].square().unsqueeze(1)
        return CSR(csr.indptr, csr.indices, csr.num_columns, values), own

    def attention(self, weights: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """What is left of the shares of attention that entries and the nodes themselves have: all.

        Shapes:
            - **weights:** ``[entries, heads]``; **own:** ``[n_dst, heads]``
        """
        return weights, own

    def destinations(self, x: Tensor) -> Tensor:
        """The row of ``x`` that belongs to each entry's destination, ``[n_dst, ...]``."""
        out: Tensor = _Pick.apply(x, self.csr.row_of_entry(), self._entries_of_destinations)
        return out

    def sources(self, x: Tensor) -> Tensor:
        """The row of ``x`` that belongs to each entry's source, ``[n_src, ...]``."""
        out: Tensor = _Pick.apply(x, self.csr.indices, self._entries_of_sources)
        return out

    def _entries_of_destinations(self) -> CSR:
        count = self.csr.num_entries
        return CSR(self.csr.indptr, torch.arange(count, device=self.csr.indptr.device), count)

    def _entries_of_sources(self) -> CSR:
        order = self.order()
        indptr = self.csr.indptr if self.symmetric else self.csr.transposed(order).indptr
        return CSR(indptr, order, self.csr.num_entries)

    def __repr__(self) -> str:
        return f"Adjacency({self.num_dst}, {self.num_src}, entries={self.csr.num_entries})"


class _NormalizedProduct(torch.autograd.Function):
    """The product over neighbours with the self-loops added to it in place, both ways."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        weighted, own = adjacency.normalized_weights
        return weighted.matmul(x).addcmul_(x[: adjacency.num_dst], own.to(x.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        adjacency: Adjacency = ctx.adjacency
        return adjacency.back(grad, slice(0, adjacency.num_src)), None


class _Pick(torch.autograd.Function):
    """Rows by index; the gradient sums them up again in a fixed order, whatever the threads do."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, entries: Callable[[], CSR]) -> Tensor:
        ctx.entries = entries
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        summed = ctx.entries().matmul(grad.flatten(1))
        return summed.view(-1, *grad.shape[1:]), None, None


def _selected_reverse(structure: Structure, keep: Tensor) -> Tensor:
    """The opposite entries among the kept ones, from the fixed opposite entries."""
    place = keep.cumsum(0) - 1
    return place[structure.reverse_entry[positions(keep)]]
