r"""The fair scorer of an embedding: the best on validation of three that people use.

Each is a sum over columns, :math:`s(u, v) = \sum_c w_c z_{uc} z_{vc}`:

========  ==========================================================================
dot       :math:`w = 1`
cosine    :math:`w = 1`, rows of length one
logistic  :math:`w` from a logistic regression on standardised products, which tells
          training edges from as many even non-edges of the training graph
========  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.product_rules import product_weights
from maskgae.lab.contest.exam import Exam

#: Training edges that the regression sees, at most.
REGRESSED = 100_000


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted products of two rows.

    Shapes:
        - **z:** ``[N, D]``
        - **weights:** ``[D]``

    >>> scores = Products(torch.tensor([[1.0, 2.0], [3.0, 1.0]]), torch.tensor([1.0, 10.0]))
    >>> scores.pairs(torch.tensor([[0], [1]])).tolist(), scores.rows(torch.tensor([0])).tolist()
    ([23.0], [[41.0, 23.0]])
    """

    z: Tensor
    weights: Tensor

    def pairs(self, pairs: Tensor) -> Tensor:
        """``[2, P] -> [P]``"""
        parts = [(self.z[u] * self.z[v]) @ self.weights for u, v in pairs.split(CACHE_PAIRS, dim=1)]
        return torch.cat(parts)

    def rows(self, nodes: Tensor) -> Tensor:
        """``[n] -> [n, N]``"""
        return (self.z[nodes] * self.weights) @ self.z.T


def best_products(embedding: Any, exam: Exam, stream: Stream) -> tuple[Products, dict[str, Any]]:
    """The scorer that ranks validation edges best, and what each reached there."""
    z = torch.from_numpy(embedding).float()
    ways = dict(_ways(z, exam.train, stream))
    found = {name: exam.validation_mrr(scores) for name, scores in ways.items()}
    best = max(found, key=lambda name: found[name])
    return ways[best], {"scorer": best, "validation_mrr": found}


def _ways(z: Tensor, train: Graph, stream: Stream) -> Iterator[tuple[str, Products]]:
    ones = torch.ones(z.shape[1])
    yield "dot", Products(z, ones)
    yield "cosine", Products(F.normalize(z, dim=1), ones)
    yield "logistic", Products(z, regressed_weights(z, train, stream))


def regressed_weights(z: Tensor, train: Graph, stream: Stream) -> Tensor:
    """Weights of the columns by logistic regression on their products, ``[D]``."""
    order = torch.randperm(train.num_pairs, generator=stream.at("edges").torch())
    edges = train.pairs[:, order[:REGRESSED].sort().values].long()
    negatives = NonEdges(train).sample(edges.shape[1], stream.at("negatives"))
    products = ((z[u] * z[v]).numpy() for u, v in (edges, negatives))
    return torch.from_numpy(product_weights(*products))
