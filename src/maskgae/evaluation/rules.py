r"""Rules: what simple counts, raw features and smooth vectors say of a pair without any learning.

With neighbours :math:`\Gamma(u)`, degrees :math:`d_u`, features :math:`x_u`, the normalised
adjacency :math:`S = D^{-1/2} A D^{-1/2}` and smoothed features :math:`g_u`, the pair
:math:`(u, v)` scores

=====================  ======================================================================
common_neighbours      :math:`|\Gamma(u) \cap \Gamma(v)|`
adamic_adar            :math:`\sum_{w \in \Gamma(u) \cap \Gamma(v)} 1 / \log d_w`
resource_allocation    :math:`\sum_{w \in \Gamma(u) \cap \Gamma(v)} 1 / d_w`
degree_product         :math:`d_u d_v`
degree_gap             :math:`|\log(1 + d_u) - \log(1 + d_v)|`
three_steps            :math:`(S^3)_{uv}`
feature_cosine         :math:`x_u^\top x_v / (|x_u| |x_v|)`
smoothed_cosine        :math:`g_u^\top g_v / (|g_u| |g_v|)`
twice_smoothed_cosine  the same of :math:`g^{(2)}`
knn_cosine             the same of :math:`h`, smoothed over nodes of like features as well
spectral               :math:`(V \Lambda V^\top)_{uv}`, :math:`S` at rank 64
spectral_cosine        the same at rank 128, over :math:`|y_u| |y_v|`, :math:`y = V |\Lambda|^{1/2}`
prone_product          :math:`\sum_c w_c y_{uc} y_{vc}`, :math:`y` by ProNE, :math:`w` by regression
prone_cosine           the same of rows of length one
pagerank               :math:`\alpha \sum_k (1 - \alpha)^k (S^k)_{uv}`, :math:`\alpha = 0.15`
=====================  ======================================================================

all of them symmetric, and all on the edges of one graph, the message graph. Where the pair is
itself an edge of that graph, it is scored as if it were not: exactly in the counts, the degrees,
the paths of three steps and the features smoothed once. From the features smoothed twice its walks
are taken away, the weights of the other walks stay; from the spectral product its own projection;
from ProNE's rows what the other end adds; from PageRank the walk of one step
(the equations are in :mod:`~maskgae.evaluation.count_rules`,
:mod:`~maskgae.evaluation.vector_rules`, :mod:`~maskgae.evaluation.product_rules` and
:mod:`~maskgae.evaluation.knn_rule`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.evaluation.count_rules import Counts, PageRank, Scores, ThreeSteps
from maskgae.evaluation.directed_rules import Directed
from maskgae.evaluation.knn_rule import KnnCosine
from maskgae.evaluation.product_rules import ProneProducts
from maskgae.evaluation.side_rules import Sides, two_sides
from maskgae.evaluation.vector_rules import (
    FeatureCosine,
    SmoothedCosine,
    Spectral,
    SpectralCosine,
)

#: Nodes and entries, twice the edges, up to which PageRank is among the rules by default: it costs
#: a row of the graph for every pair.
PAGERANK_NODES, PAGERANK_ENTRIES = 10_000, 2**20
#: Nodes up to which nodes of like features are looked for: each is compared with all.
KNN_NODES = 10_000

#: Pairs that are asked at a time: what rules keep of a pair would fill the memory for millions.
BLOCK_PAIRS = 2**18

#: The rules of a record's rows.
RECORDED = (
    "common_neighbours",
    "adamic_adar",
    "resource_allocation",
    "degree_product",
    "feature_cosine",
)
#: The same where no two ends of an edge have a common neighbour.
RECORDED_OF_SIDES = ("three_steps", "degree_product", "feature_cosine")
#: What is shown beside them of a directed graph.
RECORDED_OF_WAYS = ("in_degree", "level_gap")
OF_TRIANGLES = ("common_neighbours", "adamic_adar", "resource_allocation")
STRUCTURAL = (
    *Counts.names,
    *ThreeSteps.names,
    *Spectral.names,
    *SpectralCosine.names,
    *ProneProducts.names,
    *PageRank.names,
)
#: What is known between two sides beyond paths of three steps.
OF_TWO_SIDES = tuple(name for name in Sides.names if name not in ThreeSteps.names)
OF_FEATURES = (*FeatureCosine.names, *SmoothedCosine.names, *KnnCosine.names)
RULES = (*STRUCTURAL, *OF_FEATURES)


class Rule(Protocol):
    """Rules that are computed together."""

    names: tuple[str, ...]

    def pairs(self, pairs: Tensor, edge: NDArray[np.bool_]) -> Scores:
        """Scores of pairs, without the pair itself where it is an edge, ``[2, P] -> [P]``."""

    def rows(self, nodes: Tensor) -> Scores:
        """Scores of nodes against all nodes with all edges in place, ``[n] -> [n, N]``."""


class Rules:
    """The rules on one message graph, for lists of pairs and for whole rows.

    Args:
        graph: the message graph; its weights are not used.
        names: which rules; all that it has features for and that are affordable where ``None``.

    >>> import torch
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> rules = Rules(path, ["resource_allocation", "degree_product", "three_steps"])
    >>> scores = rules.pairs(torch.tensor([[0, 0, 0], [2, 3, 1]]))
    >>> scores["resource_allocation"].tolist(), scores["degree_product"].tolist()
    ([0.5, 0.0, 0.0], [2.0, 1.0, 0.0])
    >>> scores["three_steps"].tolist(), rules.rows(torch.tensor([0]))["three_steps"].round(2)
    ([0.0, 0.25, 0.0], array([[0.  , 0.53, 0.  , 0.25]], dtype=float32))
    """

    def __init__(self, graph: Graph, names: Sequence[str] | None = None) -> None:
        self.graph = graph
        self.names = default_rules(graph) if names is None else tuple(names)
        self._check()
        self.parts = list(self._asked())

    def pairs(self, pairs: Tensor) -> Scores:
        """Scores of pairs by rule, ``[2, P] -> [P]`` each."""
        blocks = [self._block(block) for block in pairs.cpu().long().split(BLOCK_PAIRS, dim=1)]
        return {name: np.concatenate([found[name] for found in blocks]) for name in self.names}

    def _block(self, pairs: Tensor) -> Scores:
        edge = self.graph.contains(pairs).numpy()
        found: Scores = {}
        for rule in self.parts:
            found |= rule.pairs(pairs, edge)
        return {name: found[name] for name in self.names}

    def rows(self, nodes: Tensor, incoming: bool = False) -> Scores:
        """Scores of edges to all nodes, or from all, by rule, ``[n] -> [n, N]`` each, in 32 bits.

        All edges stay in place here: a neighbour is nobody's candidate, and :meth:`pairs` has its
        score without the edge.
        """
        nodes = nodes.cpu().long()
        found: Scores = {}
        for rule in self.parts:
            way = {"incoming": incoming} if isinstance(rule, Directed) else {}
            found |= rule.rows(nodes, **way)
        return {name: found[name] for name in self.names}

    def _check(self) -> None:
        known = (*RULES, *(Directed.names if self.graph.directed else ()))
        known = (*known, *(OF_TWO_SIDES if two_sides(self.graph) else ()))
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise InputError(f"no rule is called '{unknown[0]}': there are {', '.join(known)}")
        lacking = [name for name in self.names if name in OF_FEATURES]
        if self.graph.features is None and lacking:
            raise InputError(f"{self.graph.name} has no features for the rule '{lacking[0]}'")

    def _asked(self) -> Iterator[Rule]:
        graph, asked = self.graph, set(self.names)
        sides = bool(asked & set(OF_TWO_SIDES))
        for kind in (Counts, ThreeSteps, Spectral, SpectralCosine, ProneProducts, PageRank):
            if asked & set(kind.names) and not (sides and kind is ThreeSteps):
                yield kind(graph)
        if sides:  # with paths of three steps
            yield Sides(graph)
        if asked & set(Directed.names):
            yield Directed(graph, self.names)
        if graph.features is None:
            return
        if asked & set(FeatureCosine.names):
            yield FeatureCosine(graph.features)
        if asked & set(SmoothedCosine.names):
            yield SmoothedCosine(graph, graph.features)
        if asked & set(KnnCosine.names):
            yield KnnCosine(graph, graph.features)


def default_rules(graph: Graph) -> tuple[str, ...]:
    """The rules that a graph has features for and that are affordable on it."""
    names = STRUCTURAL if graph.features is None else RULES
    if not has_triangles(graph):
        names = tuple(name for name in names if name not in OF_TRIANGLES)
    if two_sides(graph):
        names = (*names, *OF_TWO_SIDES)
    if graph.directed:
        names = (*names, *Directed.names)
    dear: tuple[str, ...] = ()
    if graph.num_nodes > PAGERANK_NODES or 2 * graph.num_pairs > PAGERANK_ENTRIES:
        dear += PageRank.names
    if graph.num_nodes > KNN_NODES:
        dear += KnnCosine.names
    return tuple(name for name in names if name not in dear)


def has_triangles(graph: Graph) -> bool:
    """Whether ends of an edge may have neighbours in common; not in a graph of two sides."""
    return graph.types is None or graph.types.triangles


def link_heuristics(graph: Graph, pairs: Tensor) -> Scores:
    """Scores of the pairs by the rules of a record's rows, from the edges of ``graph`` alone.

    Args:
        graph: the message graph; its weights are not used.
        pairs: what to score.

    Shapes:
        - **pairs:** ``[2, P]``
        - **output:** ``[P]`` by name; ``feature_cosine`` only where there are features
    """
    rows = RECORDED if has_triangles(graph) else RECORDED_OF_SIDES
    rows = (*rows, *RECORDED_OF_WAYS) if graph.directed else rows
    names = [name for name in rows if name not in OF_FEATURES or graph.features is not None]
    return Rules(graph, names).pairs(pairs)
