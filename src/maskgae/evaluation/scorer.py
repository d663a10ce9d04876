r"""The scorer: one score of a pair from the network's logit and the rules.

With the columns :math:`x_c(u, v)` of a pair, their means :math:`\mu_c` and spreads
:math:`\sigma_c` over all candidates, frozen when it is fitted,

.. math::

    s(u, v) = \sum_c w_c \frac{x_c(u, v) - \mu_c}{\sigma_c},

symmetric where every column is; in a directed graph what differs between a pair and its reverse
stands there for both, each with a weight of its own.
:mod:`~maskgae.evaluation.scorer_fit` says where the weights come from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.evaluation.directed_rules import PATHS, Directed
from maskgae.evaluation.method import PairScores, row_scores
from maskgae.evaluation.rules import OF_TWO_SIDES, Rules, default_rules, has_triangles
from maskgae.evaluation.side_rules import two_sides

#: Lists of numbers in its document.
NUMBERS = ("mean", "spread", "weights", "calibration")

NETWORK = "network"
#: The network's logit of the pair turned round, in a directed graph.
REVERSE = "network_reverse"
NETWORKS = (NETWORK, REVERSE)

#: What a rule is put through, so that a few large counts do not outweigh all others.
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "common_neighbours": np.log1p,
    "adamic_adar": np.log1p,
    "resource_allocation": np.sqrt,
    "degree_product": np.log1p,
    "three_steps": np.sqrt,
    "pagerank": np.sqrt,
    "in_degree": np.log1p,
    "out_degree": np.log1p,
    "source_in_degree": np.log1p,
    "target_out_degree": np.log1p,
    "forward_paths": np.sqrt,
    "backward_paths": np.sqrt,
    "shared_targets": np.sqrt,
    "shared_sources": np.sqrt,
    "directed_three_steps": np.sqrt,
    "turned_three_steps": np.sqrt,
}
#: The chance to come by three steps from one side to the other varies by powers of ten, and so
#: does the worth of a suggestion: with logarithms the degrees weigh it as exponents (RP3-beta).
OF_SIDES: dict[str, Callable[[Any], Any]] = {
    **TRANSFORMS,
    "three_steps": lambda values: np.log(values + 1e-9),
    "filtered_paths": lambda values: np.log(values + 1e-9),
    "first_side_degree": np.log1p,
    "second_side_degree": np.log1p,
}
#: Paths count by :math:`\log(1 + x N / 32)` in a directed graph: there too their worth varies by
#: powers of ten, and the more nodes, the smaller it is. Chosen on validation edges of three graphs;
#: a scorer from before, which has no :data:`STEEP`, takes their roots.
STEEP_PATHS = ("resource_allocation", "three_steps", "pagerank", *PATHS)
PATH_NODES, STEEP = 32, "upstream"
#: The rules that are combined, where a graph has features for them and they are affordable.
COMBINED = (
    "common_neighbours",
    "resource_allocation",
    "three_steps",
    "pagerank",
    "degree_product",
    "degree_gap",
    "feature_cosine",
    "smoothed_cosine",
    "twice_smoothed_cosine",
)
#: What else is combined where a graph is dense: the low-rank adjacency, as it is and filtered.
OF_LOW_RANK = ("spectral_cosine", "prone_product", "prone_cosine")
#: Neighbours on average from which they are, and nodes up to which. With fewer neighbours the
#: leading eigenvectors are those of small parts that hang by few edges.
LOW_RANK_DEGREE, LOW_RANK_NODES = 16, 50_000
#: Numbers in one column of a block of rows.
BLOCK_NUMBERS = 2**20

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of pairs on one message graph, a column each.

    Args:
        rules: the rules on the message graph.
        network: the network on the same graph, or ``None`` for the rules alone.
        reverse: whether it is also asked for the pair turned round.
    """

    rules: Rules
    network: PairScores | None = None
    reverse: bool = False

    @classmethod
    def of(
        cls, graph: Graph, network: PairScores | None = None, names: Sequence[str] | None = None
    ) -> Columns:
        """Columns by name, as a scorer has them, or the few that are combined on a graph."""
        if names is None:
            names = combined_rules(graph)
        wanted = [name for name in names if name not in NETWORKS]
        # A scorer names the network; one from before its reverse was asked for, that alone.
        reverse = REVERSE in names if NETWORK in names else graph.directed
        return cls(Rules(graph, wanted), network, reverse and network is not None)

    @property
    def names(self) -> tuple[str, ...]:
        if self.network is None:
            return self.rules.names
        return (*(NETWORKS if self.reverse else (NETWORK,)), *self.rules.names)

    def pairs(self, pairs: Tensor) -> Tensor:
        """``[2, P] -> [P, c]``"""
        logits = [] if self.network is None else [self.network.pairs(pairs)]
        if self.network is not None and self.reverse:
            logits.append(self.network.pairs(pairs.flip(0)))
        return self._stacked(self.rules.pairs(pairs), logits)

    def rows(self, nodes: Tensor, incoming: bool = False) -> Tensor:
        """``[n] -> [n, N, c]``"""
        ways = [] if self.network is None else [incoming]
        ways += [not incoming] if self.reverse else []
        logits = [row_scores(self.network, nodes, way) for way in ways if self.network is not None]
        return self._stacked(self.rules.rows(nodes, incoming), logits)

    @cached_property
    def _transforms(self) -> Mapping[str, Callable[[Any], Any]]:
        graph = self.rules.graph
        if not has_triangles(graph):
            return OF_SIDES
        if STEEP not in self.rules.names:
            return TRANSFORMS
        scale = path_scale(graph)
        return {**TRANSFORMS, **{name: lambda x: np.log1p(scale * x) for name in STEEP_PATHS}}

    def _stacked(self, found: Mapping[str, Floats], logits: Sequence[Tensor]) -> Tensor:
        parts = [each.cpu().float() for each in logits]
        for name, values in found.items():
            transformed = self._transforms.get(name, np.asarray)(values)
            parts.append(torch.from_numpy(transformed).float())
        # Each column lies in one piece.
        return torch.stack(parts).movedim(0, -1)


def path_scale(graph: Graph) -> float:
    """What paths are multiplied by before their logarithm in a directed graph."""
    return graph.num_nodes / PATH_NODES


def combined_rules(graph: Graph, which: str = "few") -> tuple[str, ...]:
    """The rules that are combined on a graph of its kind, ``few`` or ``all``."""
    names: tuple[str, ...] = COMBINED if has_triangles(graph) else (*COMBINED, "spectral")
    if two_sides(graph):
        own = (name for name in COMBINED if name not in ("degree_product", "degree_gap"))
        names = (*own, *OF_TWO_SIDES)
    if which == "all":
        dense = 2 * graph.num_pairs >= LOW_RANK_DEGREE * graph.num_nodes
        low_rank = has_triangles(graph) and dense and graph.num_nodes <= LOW_RANK_NODES
        names = (*names, "knn_cosine", *(OF_LOW_RANK if low_rank else ()))
    names = (*names, *Directed.names) if graph.directed else names
    possible = default_rules(graph)
    return tuple(name for name in names if name in possible)


@dataclass(frozen=True)
class Scorer:
    """Frozen statistics and weights of columns, and how a score becomes a probability.

    Args:
        columns: their names; the network alone where nothing is combined.
        mean: what is taken off each.
        spread: what each is divided by.
        weights: what each then counts.
        calibration: slope and intercept of the log-odds, for as many edges as even non-edges.
        facts: how it was fitted.

    >>> bare = Scorer.bare()
    >>> Scorer.from_json(bare.to_json()) == bare
    True
    """

    columns: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    calibration: tuple[float, float] = (1.0, 0.0)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def bare(cls, **facts: Any) -> Scorer:
        """The network's logit as it is."""
        return cls((NETWORK,), (0.0,), (1.0,), (1.0,), facts=facts)

    @property
    def kind(self) -> str:
        return NETWORK if self.columns == (NETWORK,) else "combined"

    def summary(self) -> dict[str, Any]:
        """What a record tells of it: nothing where it is the network as it is."""
        if not self.facts:
            return {}
        weights = dict(zip(self.columns, self.weights, strict=True))
        return {"scorer": self.kind, "scorer_weights": weights, "scorer_fit": dict(self.facts)}

    def of(self, names: Sequence[str], columns: Tensor) -> Tensor:
        """Scores from columns of which the scorer takes those it names, ``[..., c] -> [...]``."""
        total = columns.new_zeros(columns.shape[:-1])
        rows = zip(self.columns, self.mean, self.spread, self.weights, strict=True)
        for name, mean, spread, weight in rows:
            total.add_(columns[..., names.index(name)] - mean, alpha=weight / spread)
        return total

    def terms(self, columns: Tensor) -> Tensor:
        """What each column adds to the score, ``[..., c] -> [..., c]``."""
        mean, spread, weights = (
            torch.tensor(values, dtype=columns.dtype)
            for values in (self.mean, self.spread, self.weights)
        )
        return (columns - mean) / spread * weights

    def probability(self, scores: Tensor) -> Tensor:
        """How likely an edge is where edges and even non-edges are as many."""
        slope, intercept = self.calibration
        return torch.sigmoid(slope * scores.double() + intercept)

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, **vars(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Scorer:
        try:
            found = json.loads(text)
            del found["kind"]
            numbers = {name: _numbers(name, found[name]) for name in NUMBERS}
            scorer = cls(**{**found, "columns": tuple(map(str, found["columns"])), **numbers})
            if len({len(scorer.columns), *(len(numbers[name]) for name in NUMBERS[:3])}) != 1:
                raise ValueError("columns, mean, spread and weights are not as many")
            if 0 in scorer.spread or len(scorer.calibration) != 2:
                raise ValueError("a spread is 0, or the calibration has not two numbers")
            if not isinstance(scorer.facts, dict):
                raise TypeError("its facts are no mapping")
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise InputError(f"this is no scorer: {error}; fit the run again") from None
        return scorer


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """A list of a document, each of it a finite number."""
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        raise ValueError(f"{name} must be finite numbers")
    return tuple(values)


@dataclass(frozen=True, eq=False)
class PairScorer:
    """A scorer on one message graph: answers for pairs and for rows.

    Args:
        scorer: the weights.
        columns: the columns that it names, in its order.
    """

    scorer: Scorer
    columns: Columns

    @classmethod
    def of(cls, scorer: Scorer, graph: Graph, network: PairScores | None = None) -> PairScorer:
        return cls(scorer, Columns.of(graph, network, scorer.columns))

    def pairs(self, pairs: Tensor) -> Tensor:
        """``[2, P] -> [P]``"""
        return self.scorer.of(self.columns.names, self.columns.pairs(pairs))

    def rows(self, nodes: Tensor, incoming: bool = False) -> Tensor:
        """Scores of edges to all nodes, or from all, ``[n] -> [n, N]``, in bounded memory."""
        size = max(1, BLOCK_NUMBERS // self.columns.rules.graph.num_nodes)
        names = self.columns.names
        blocks = (self.columns.rows(part, incoming) for part in nodes.split(size))
        return torch.cat([self.scorer.of(names, block) for block in blocks])

    def shares(self, pairs: Tensor) -> dict[str, Tensor]:
        """What each column adds to the scores of pairs, ``[P]`` each; they add up to them."""
        terms = self.scorer.terms(self.columns.pairs(pairs))
        return dict(zip(self.scorer.columns, terms.unbind(-1), strict=True))

    def probability(self, pairs: Tensor) -> Tensor:
        return self.scorer.probability(self.pairs(pairs))
