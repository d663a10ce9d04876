r"""A rule that asks the nodes whose features are most alike: see :mod:`maskgae.evaluation.rules`.

With features :math:`x_u` of length one in which rare columns count more (TF-IDF), smoothed to
:math:`g = \hat S x`, and :math:`N(u)` the :data:`NEAREST` nodes of the largest cosine
:math:`c_{uw} = x_u^\top x_w`, the vectors are

.. math::

    h_u = g_u + \sum_{w \in N(u)} \max(c_{uw}, 0)\, g_w,

and the rule is their cosine. A node of few words and few edges so borrows the surroundings of nodes
that are like it. For an edge :math:`(u, v)` of the graph the walks along it leave both vectors,
:math:`\hat s_u \hat s_v (x_v + c_{uv} [v \in N(u)]\, x_u)` the first; the weights of the other
walks stay.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.features import Features
from maskgae.data.graph import Graph
from maskgae.data.words import rare_words_first
from maskgae.evaluation.count_rules import Scores
from maskgae.evaluation.vector_rules import by_chunk, cosines, dots, projected

#: Nodes that a node asks.
NEAREST = 5
#: Numbers in one block of cosines, 16 MB in float32.
BLOCK_NUMBERS = 2**22


class KnnCosine:
    """Cosine of features smoothed over the edges and over each node's nearest by features."""

    names: tuple[str, ...] = ("knn_cosine",)

    def __init__(self, graph: Graph, features: Features) -> None:
        self.graph = graph
        self.x, self.near, self.weights = _nearest(features)
        # [N, 1]
        self.scale = (graph.degrees + 1).float().rsqrt().unsqueeze(1)

    @cached_property
    def table(self) -> Tensor:
        """:math:`h`, ``[N, d]``."""
        sent = self.x * self.scale
        smoothed = self.graph.structure.csr.matmul(sent).add_(sent).mul_(self.scale)
        if not self.near.shape[1]:
            return smoothed
        asked = F.embedding_bag(self.near, smoothed, per_sample_weights=self.weights, mode="sum")
        return asked.add_(smoothed)

    @cached_property
    def directions(self) -> Tensor:
        return F.normalize(self.table, dim=1)

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        along = torch.from_numpy(np.flatnonzero(edge))
        found = dots(self.directions, pairs)
        found[along] = by_chunk(pairs[:, along], partial(cosines, self._without))
        return {"knn_cosine": found.double().numpy()}

    def rows(self, nodes: Tensor) -> Scores:
        return {"knn_cosine": (self.directions[nodes] @ self.directions.T).numpy()}

    def _without(self, u: Tensor, v: Tensor) -> Tensor:
        """The vectors of first ends without their edges to the second, ``[n], [n] -> [n, d]``."""
        asked = (self.weights[u] * (self.near[u] == v.unsqueeze(1))).sum(1, keepdim=True)
        return self.table[u] - self.scale[u] * self.scale[v] * (self.x[v] + asked * self.x[u])


@lru_cache(maxsize=1)  # a fit asks on one graph after the other, with the same features
def _nearest(features: Features) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted features ``[N, d]`` with each node's nearest and their cosines, ``[N, k]`` each."""
    x = F.normalize(projected(rare_words_first(features)), dim=1)
    count = min(NEAREST, x.shape[0] - 1)
    near, weights = [], []
    for block in torch.arange(x.shape[0]).split(max(1, BLOCK_NUMBERS // x.shape[0])):
        cosine = x[block] @ x.T
        cosine[torch.arange(block.numel()), block] = -torch.inf
        best = cosine.topk(count, dim=1)
        near.append(best.indices)
        weights.append(best.values.clamp_(min=0))
    return x, torch.cat(near), torch.cat(weights)
