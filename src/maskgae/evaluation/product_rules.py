r"""Rules that weigh the columns of an embedding: see :mod:`maskgae.evaluation.rules`.

With the rows :math:`y_u` of ProNE (:mod:`maskgae.data.prone`) a pair scores
:math:`\sum_c w_c y_{uc} y_{vc}`, and as a cosine the same of rows of length one. The weights of
either come from a logistic regression that tells some edges from even non-edges by the products of
their columns. For an edge :math:`(u, v)`, there and in its score, :math:`y_u` is without what
:math:`v` adds to it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.prone import ProNE
from maskgae.evaluation.count_rules import Scores
from maskgae.evaluation.vector_rules import by_chunk

#: Columns of the embedding, and edges that the regression sees, at most.
COLUMNS, REGRESSED = 128, 50_000

#: The same draws for every graph.
_ADDRESS = stream(0, "rules", "prone")


class ProneProducts:
    """Weighted products of ProNE's rows, as they are and of length one."""

    names: tuple[str, ...] = ("prone_product", "prone_cosine")

    def __init__(self, graph: Graph) -> None:
        found = ProNE.of(graph, COLUMNS, _ADDRESS)
        self.sums, self.own = torch.from_numpy(found.sums), torch.from_numpy(found.own)
        self.tables = {name: self._scaled(name, self.sums) for name in self.names}
        order = torch.randperm(graph.num_pairs, generator=_ADDRESS.at("edges").torch())
        edges = graph.pairs[:, order[:REGRESSED].sort().values].long()
        draw = _ADDRESS.at("others").torch()
        others = torch.randint(graph.num_nodes, edges.shape, generator=draw)
        others = others[:, (others[0] != others[1]) & ~graph.contains(others)]
        self.weights = {name: self._weights(name, edges, others) for name in self.names}

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along, scores = torch.from_numpy(np.flatnonzero(edge)), Scores()
        for name in self.names:
            found = by_chunk(pairs, partial(self._scored, name, edge=False))
            found[along] = by_chunk(pairs[:, along], partial(self._scored, name, edge=True))
            scores[name] = found.double().numpy()
        return scores

    def rows(self, nodes: Tensor) -> Scores:
        return {
            name: ((table[nodes] * self.weights[name]) @ table.T).numpy()
            for name, table in self.tables.items()
        }

    def _scored(self, name: str, u: Tensor, v: Tensor, edge: bool) -> Tensor:
        return self._products(name, u, v, edge) @ self.weights[name]

    def _products(self, name: str, u: Tensor, v: Tensor, edge: bool) -> Tensor:
        """Products of the columns of pairs that are edges, or none, ``[P], [P] -> [P, c]``."""
        if not edge:
            return self.tables[name][u] * self.tables[name][v]
        one, other = self.sums[u] - self.own[v], self.sums[v] - self.own[u]
        return self._scaled(name, one) * self._scaled(name, other)

    def _scaled(self, name: str, rows: Tensor) -> Tensor:
        return rows if name == "prone_product" else F.normalize(rows, dim=1)

    def _weights(self, name: str, edges: Tensor, others: Tensor) -> Tensor:
        kinds = ((edges, True), (others, False))
        products = (self._products(name, pairs[0], pairs[1], edge) for pairs, edge in kinds)
        return torch.from_numpy(product_weights(*(part.numpy() for part in products)))


def product_weights(edges: Any, others: Any) -> NDArray[np.float32]:
    """Weights of columns by which a logistic regression tells edges from others.

    Args:
        edges: products of the columns of edges.
        others: of pairs that are none.

    Shapes:
        - **edges:** ``[P, c]``
        - **others:** ``[Q, c]``
        - **output:** ``[c]``

    >>> weights = product_weights(np.array([[1.0, 0], [2, 0]]), np.array([[-1.0, 0], [-2, 0]]))
    >>> bool(weights[0] > 0), float(weights[1])
    (True, 0.0)
    """
    from sklearn.linear_model import LogisticRegression

    products = np.concatenate([edges, others])
    if not len(edges) or not len(others):  # nothing to tell apart
        return np.ones(products.shape[1], dtype=np.float32)
    spread = products.std(0)
    spread[spread == 0] = 1  # a column that does not vary says nothing
    labels = np.arange(len(products)) < len(edges)
    model = LogisticRegression(max_iter=1000).fit((products - products.mean(0)) / spread, labels)
    return np.asarray(model.coef_[0] / spread, dtype=np.float32)
