r"""Rules that compare two nodes by vectors: see :mod:`maskgae.evaluation.rules`.

Smoothing is that of SGC, :math:`\hat S = \hat D^{-1/2} (A + I) \hat D^{-1/2}`. A cosine does not
see the length of a row, so with :math:`s = \hat d^{-1/2}` the vectors are

.. math::

    g_u = s_u x_u + \sum_{a \in \Gamma(u)} s_a x_a, \qquad
    g^{(2)}_u = s_u^2 g_u + \sum_{a \in \Gamma(u)} s_a^2 g_a.

For an edge :math:`(u, v)` of the graph, :math:`s_v x_v` leaves :math:`g_u` and the degree of
:math:`u` is one less, which is exact. The walks along the edge, :math:`s_v^2 g_v + s_u^2 s_v x_v`,
leave :math:`g^{(2)}_u` exactly too, while the walks that stay keep the weights they had.

The spectral rule is an entry of :math:`V \Lambda V^\top`, the best approximation of rank
:data:`RANK` of :math:`S = D^{-1/2} A D^{-1/2}`. With :math:`P = V V^\top`, an edge leaves it to
first order, by what is left of its own two entries after the projection,
:math:`S_{uv} (P_{uu} P_{vv} + P_{uv}^2)`. With the lengths of the rows of
:math:`V |\Lambda|^{1/2}` it is the spectral cosine; an edge leaves its entry and not the lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.base.sizes import CHUNK_ENTRIES, spans
from maskgae.data.features import Features, SparseFeatures, scaled_rows
from maskgae.data.graph import Graph
from maskgae.data.structural import normalized_adjacency
from maskgae.evaluation.count_rules import Floats, Scores

#: Columns that wide features keep at least when they are projected before they are smoothed. On
#: Cora and CiteSeer so few cost four to six points of Hits@10,
PROJECTED = 256
#: so features of up to so many numbers, 64 MB, stay as they are, and others keep what fits.
EXACT_NUMBERS = 2**24
#: Eigenvectors of the spectral rule, and of the spectral cosine.
RANK, COSINE_RANK = 64, 128
#: Pairs whose vectors are multiplied at a time.
CHUNK_PAIRS = 2**14

#: The same projection for every graph of one width, and the same start for every solver.
_ADDRESS = stream(0, "rules")


class FeatureCosine:
    """Cosine of raw features; edges play no part."""

    names: tuple[str, ...] = ("feature_cosine",)

    def __init__(self, features: Features) -> None:
        self.features = features

    @cached_property
    def scaled(self) -> Features:
        return scaled_rows(self.features)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        nodes, place = torch.unique(pairs, return_inverse=True)
        return {"feature_cosine": _cosine(self.features.rows(nodes), *place.numpy())}

    def rows(self, nodes: Tensor) -> Scores:
        rows = self.scaled.rows(nodes).dense()
        return {"feature_cosine": self.scaled.linear(rows.T.contiguous()).T.numpy()}


class SmoothedCosine:
    """Cosines of features smoothed once and twice."""

    names: tuple[str, ...] = ("smoothed_cosine", "twice_smoothed_cosine")

    def __init__(self, graph: Graph, features: Features) -> None:
        self.graph, self.x = graph, projected(features)
        # [N, 1]
        self.scale = (graph.degrees + 1).float().rsqrt().unsqueeze(1)

    @cached_property
    def once(self) -> Tensor:
        return self._spread(self.x * self.scale)

    @cached_property
    def twice(self) -> Tensor:
        return self._spread(self.once * self.scale.square())

    @cached_property
    def directions(self) -> list[Tensor]:
        return [F.normalize(table, dim=1) for table in (self.once, self.twice)]

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along = torch.from_numpy(np.flatnonzero(edge))
        ways = (self._once_without, self._twice_without)
        scores: Scores = {}
        for name, table, without in zip(self.names, self.directions, ways, strict=True):
            found = dots(table, pairs)
            found[along] = by_chunk(pairs[:, along], partial(cosines, without))
            scores[name] = found.double().numpy()
        return scores

    def rows(self, nodes: Tensor) -> Scores:
        tables = (table[nodes] @ table.T for table in self.directions)
        return {n: t.numpy() for n, t in zip(self.names, tables, strict=True)}

    def _spread(self, x: Tensor) -> Tensor:
        return self.graph.structure.csr.matmul(x).add_(x)

    def _once_without(self, u: Tensor, v: Tensor) -> Tensor:
        s_u, s_v = self.scale[u], self.scale[v]
        # The inverse square root of one degree less; an end of an edge has two at least.
        fewer = (s_u.pow(-2) - 1).clamp(min=1).rsqrt()
        return self.once[u] - s_v * self.x[v] + (fewer - s_u) * self.x[u]

    def _twice_without(self, u: Tensor, v: Tensor) -> Tensor:
        s_u, s_v = self.scale[u], self.scale[v]
        return self.twice[u] - s_v.square() * self.once[v] - s_u.square() * s_v * self.x[v]


class Spectral:
    """An entry of the low-rank normalised adjacency."""

    names: tuple[str, ...] = ("spectral",)

    def __init__(self, graph: Graph, rank: int | None = None) -> None:
        self.root = graph.degrees.clamp(min=1).float().sqrt()
        self.values, self.vectors = _eigen(graph, rank or RANK)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        return {"spectral": self._entries(pairs, edge).double().numpy()}

    def rows(self, nodes: Tensor) -> Scores:
        return {"spectral": ((self.vectors[nodes] * self.values) @ self.vectors.T).numpy()}

    def _entries(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Tensor:
        along = torch.from_numpy(np.flatnonzero(edge))
        found = by_chunk(pairs, lambda u, v: (self.vectors[u] * self.vectors[v]) @ self.values)
        found[along] -= by_chunk(pairs[:, along], self._own)
        return found

    def _own(self, u: Tensor, v: Tensor) -> Tensor:
        """What an edge's own two entries give to its entry, to first order."""
        one, other = self.vectors[u], self.vectors[v]
        own = one.square().sum(1) * other.square().sum(1) + (one * other).sum(1).square()
        return own / (self.root[u] * self.root[v])


class SpectralCosine(Spectral):
    """The same at a higher rank, over the lengths of both ends: degrees no longer count."""

    names: tuple[str, ...] = ("spectral_cosine",)

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, COSINE_RANK)
        lengths = (self.vectors.square() @ self.values.abs()).sqrt()
        # [N]; a node without edges is like no other.
        self.scale = torch.where(lengths > 1e-6, 1 / lengths, 0.0)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        found = self._entries(pairs, edge) * self.scale[pairs].prod(0)
        return {"spectral_cosine": found.double().numpy()}

    def rows(self, nodes: Tensor) -> Scores:
        z = self.vectors * self.scale.unsqueeze(1)
        return {"spectral_cosine": ((z[nodes] * self.values) @ z.T).numpy()}


def dots(table: Tensor, pairs: Tensor) -> Tensor:
    """Inner products of the rows of pairs, ``[N, d], [2, P] -> [P]``."""
    from maskgae.kernels.compiled import in_threads
    from maskgae.kernels.products import row_dots

    out, rows, (u, v) = torch.empty(pairs.shape[1]), table.numpy(), pairs.numpy()
    found = out.numpy()
    in_threads(lambda part: row_dots(rows, u[part], v[part], found[part]), u.size)
    return out


def cosines(vectors: Callable[[Tensor, Tensor], Tensor], u: Tensor, v: Tensor) -> Tensor:
    """Cosines of pairs whose two vectors depend on the other end."""
    return F.cosine_similarity(vectors(u, v), vectors(v, u), dim=1, eps=1e-12)


def by_chunk(pairs: Tensor, scores: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Scores of pairs, some at a time, ``[2, P] -> [P]``."""
    parts = [scores(u, v) for u, v in pairs.split(CHUNK_PAIRS, dim=1)]
    return torch.cat(parts) if parts else torch.empty(0)


def projected(features: Features) -> Tensor:
    """Dense features, projected where they are many, so that products are kept as expected."""
    columns = features.num_columns
    width = max(PROJECTED, EXACT_NUMBERS // max(1, features.num_rows))
    if columns <= width:
        return features.dense()
    generator = _ADDRESS.at("projection").torch()
    return features.linear(torch.randn(columns, width, generator=generator) / width**0.5)


def _eigen(graph: Graph, rank: int) -> tuple[Tensor, Tensor]:
    """The leading eigenvalues ``[k]`` and eigenvectors ``[N, k]`` of the normalised adjacency."""
    matrix = normalized_adjacency(graph)
    if graph.num_nodes <= 2 * rank:
        values, vectors = np.linalg.eigh(matrix.toarray())
        leading = np.argsort(-np.abs(values), kind="stable")[:rank]
        values, vectors = values[leading], vectors[:, leading]
    else:
        from scipy.sparse.linalg import eigsh

        random = _ADDRESS.at("spectral").numpy()
        start = random.standard_normal(graph.num_nodes).astype(np.float32)
        values, vectors = eigsh(matrix, k=rank, v0=start, rng=random, tol=1e-4)
    return torch.from_numpy(values.copy()), torch.from_numpy(np.ascontiguousarray(vectors))


def _cosine(features: Features, u: Any, v: Any) -> Floats:
    if isinstance(features, SparseFeatures):
        norms, products = _sparse_products(features, u, v)
    else:
        table = features.dense().numpy()
        norms = np.sqrt(np.einsum("nf,nf->n", table, table, dtype=np.float64))
        products = np.empty(u.size)
        for chunk in spans(np.full(u.size, 2 * table.shape[1]), CHUNK_ENTRIES):
            products[chunk] = np.einsum("pf,pf->p", table[u[chunk]], table[v[chunk]])
    # A node without any feature is like no other.
    lengths = norms[u] * norms[v]
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)


def _sparse_products(features: SparseFeatures, u: Any, v: Any) -> tuple[Floats, Floats]:
    """The lengths of all rows, and the inner products of some, ``[P], [P] -> [n], [P]``."""
    from maskgae.kernels.compiled import in_threads
    from maskgae.kernels.neighbours import row_products

    rows = sp.csr_array(features.scipy(), dtype=np.float64)
    rows.sort_indices()
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1))
    arrays, products = (rows.indptr, rows.indices, rows.data), np.empty(u.size)
    in_threads(lambda part: row_products(*arrays, u[part], v[part], products[part]), u.size)
    return norms, products
