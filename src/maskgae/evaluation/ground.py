"""What is asked on a split: pairs to score, ends to rank, and what the rules answer.

All of it is the same for every method, so a :class:`Ground` that serves several asks the rules
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings, SplitConfig
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit
from maskgae.evaluation.calibration import calibration
from maskgae.evaluation.directed_rules import OF_REVERSE
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.heart import heart_negatives
from maskgae.evaluation.metrics import auc, link_metrics
from maskgae.evaluation.outcome import Metrics
from maskgae.evaluation.ranking import full_rankings
from maskgae.evaluation.rules import has_triangles, link_heuristics
from maskgae.evaluation.scorer import NETWORKS, Columns, Scorer, combined_rules

#: Above this many nodes no hard negatives are looked for: every end is compared with every node.
HARD_NODES = 50_000


@dataclass(frozen=True)
class Contest:
    """Test pairs, negative samples drawn evenly and, where asked for, each pair's own hard ones.

    Args:
        pairs: what is scored: first the ``positives`` test pairs, then the ``negatives`` even
            ones, then the distinct hard ones.
        positives: how many test pairs there are.
        negatives: how many even negative samples there are.
        hard: where each test pair's hard negatives stand among the distinct ones.
        one_way: of a directed graph, which test pairs go one way only; these stand turned round
            after the even negatives.

    Shapes:
        - **pairs:** ``[2, positives + negatives + distinct]``
        - **hard:** ``[positives, K]``
    """

    pairs: Tensor
    positives: int
    negatives: int
    hard: Tensor | None = None
    one_way: Tensor | None = None

    @classmethod
    def of(cls, split: LinkSplit, whole: Graph, found: Tensor | None = None) -> Contest:
        """The contest on a split, with the hard negatives that were found, pair by pair."""
        pairs, count = [split.test, split.test_negatives], split.test.shape[1]
        places, one_way = None, None
        if whole.directed:
            one_way = ~whole.has(split.test.flip(0))
            pairs.append(split.test.flip(0)[:, one_way])
        if found is not None:
            # An end of many test pairs keeps the same partners in all of them: scored once.
            keys = pair_keys(found, whole.num_nodes)
            if whole.directed:
                keys = found[0] * whole.num_nodes + found[1]
            keys, place = torch.unique(keys, return_inverse=True)
            pairs.append(torch.stack([keys // whole.num_nodes, keys % whole.num_nodes]))
            places = place.view(count, -1)
        return cls(torch.cat(pairs, dim=1), count, split.test_negatives.shape[1], places, one_way)

    def row(self, scores: Tensor) -> Metrics:
        """The metrics of the scores of all pairs."""
        turned = 0 if self.one_way is None else int(self.one_way.sum())
        sizes = [self.positives, self.negatives, turned]
        values = scores.double().cpu()
        positive, negative, back, rest = values.split([*sizes, values.numel() - sum(sizes)])
        row = link_metrics(positive.numpy(), negative.numpy())
        if self.one_way is not None and turned:
            ahead = positive[self.one_way]
            row["direction_auc"] = direction_auc(ahead, back)
            row["pooled_direction_auc"] = auc(ahead.numpy(), back.numpy())
        if self.hard is not None:
            row |= hard_metrics(positive.numpy(), rest[self.hard].numpy())
        return row

    def even(self, scores: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Those of the test pairs and of the even negative samples among the scores of all."""
        found = scores.double().cpu().numpy()
        both = self.positives + self.negatives
        return found[: self.positives], found[self.positives : both]


@dataclass(frozen=True, eq=False)
class Board:
    """Some rows of a link task's table: scores of pairs, and of nodes against all nodes.

    Args:
        columns: the network's logit, the rules on the message graph, or both.
        scorers: the method's, and those of its parts.
        z: the embedding of an untrained network, rows of length one, ``[N, D]``.
    """

    columns: Columns
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    z: Tensor | None = None

    def pairs(self, pairs: Tensor) -> dict[str, Tensor]:
        """``[2, P] -> [P]`` by row."""
        found = self._combined(self.columns.pairs(pairs))
        if self.columns.rules.names:
            exact = link_heuristics(self.columns.rules.graph, pairs)
            found |= {name: torch.from_numpy(values) for name, values in exact.items()}
        return found if self.z is None else found | {"untrained": products(self.z, pairs)}

    def rows(self, nodes: Tensor, incoming: bool = False) -> dict[str, Tensor]:
        """``[n] -> [n, N]`` by row."""
        found = self._combined(self.columns.rows(nodes, incoming))
        return found if self.z is None else found | {"untrained": self.z[nodes] @ self.z.T}

    def _combined(self, columns: Tensor) -> dict[str, Tensor]:
        names = self.columns.names
        found = {name: scorer.of(names, columns) for name, scorer in self.scorers.items()}
        hidden = (*NETWORKS, *OF_REVERSE)
        alone = {name: columns[..., i] for i, name in enumerate(names) if name not in hidden}
        return found | alone


@dataclass(frozen=True, eq=False)
class Ground:
    """A split of a graph and what is asked on it.

    Args:
        graph: all nodes and all pairs.
        split: what of them is trained on and what is held out.
        config: what the test sees, how many hard negatives.
        stream: of the run's seed.
    """

    graph: Graph
    split: LinkSplit
    config: SplitConfig
    stream: Stream
    _rules: dict[int | None, dict[str, Metrics]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(cls, graph: Graph, split: LinkSplit, settings: Settings) -> Ground:
        return cls(graph, split, settings.split, Stream(settings.seed))

    @cached_property
    def messages(self) -> Graph:
        """The graph whose edges may be seen at the test."""
        return self.split.messages(self.config.message_edges)

    @cached_property
    def contest(self) -> Contest:
        """The pairs to score."""
        return Contest.of(self.split, self.graph, self._hard_negatives())

    def _hard_negatives(self) -> Tensor | None:
        """Those of each test pair, one pair's after the other's, ``[2, T * K]``."""
        count, stream = self.config.hard_negatives, self.stream.at("hard")
        if not count or self.graph.num_nodes > HARD_NODES:
            return None
        if self.config.hard_rule == "heart":
            return heart_negatives(self.split, count, stream)[1]
        return hard_negatives(self.messages, self.graph, self.split.test, count, stream)

    def asked(self, board: Board, ends: int | None) -> tuple[dict[str, Metrics], dict[str, Any]]:
        """The metrics of a board's rows, and what to expect of the method's where it is there."""
        stream = self.stream.at("ranking")
        ranked = full_rankings(board.rows, self.split.test, self.graph, stream, ends)
        scored, contest = board.pairs(self.contest.pairs), self.contest
        rows: dict[str, Metrics] = {
            name: {**contest.row(scores), **ranked[name].metrics()}
            for name, scores in scored.items()
        }
        if self.graph.directed:
            into = partial(board.rows, incoming=True)
            found = full_rankings(into, self.split.test, self.graph, stream, ends, incoming=True)
            for name, row in rows.items():
                more = {f"in_{key}": value for key, value in found[name].metrics().items()}
                rows[name] = {**row, **more}
        told: dict[str, Any] = {}
        if "method" in rows:
            told["precision"] = ranked["method"].precision()
            if ranked["method"].sampled:
                told["ranked_ends"] = ranked["method"].ranks.numel()
            scorer = board.scorers["method"]
            chances = scorer.probability(scored["method"])
            told["test_scores"] = contest.even(chances)
            if scorer.facts:  # else its probabilities were calibrated on nothing
                told |= calibration(*contest.even(chances))
        return rows, told

    def rule_rows(self, ends: int | None) -> dict[str, Metrics]:
        """What each rule reaches, with so many ends ranked at most."""
        if ends not in self._rules:
            columns = Columns.of(self.messages, None, shown_rules(self.messages))
            self._rules[ends], _ = self.asked(Board(columns), ends)
        return self._rules[ends]


def shown_rules(graph: Graph, which: str = "few") -> tuple[str, ...]:
    """The rules that stand beside a method that combines few or all."""
    more = ("adamic_adar",) if has_triangles(graph) else ("spectral", "degree_product")
    return tuple(dict.fromkeys((*combined_rules(graph, which), *more)))


def direction_auc(ahead: Tensor, back: Tensor) -> float:
    """The share of pairs that score higher as they go than turned round, ties counted half.

    It is the AUC within pairs, each set against itself; the pooled one also sets it against all
    others turned round, so that what makes any edge likely counts there too.

    >>> direction_auc(torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1.0, 1.0, 5.0]))
    0.5
    """
    return float(((ahead > back).double() + (ahead == back).double() / 2).mean())


def products(z: Tensor, pairs: Tensor) -> Tensor:
    """Inner products of rows, ``[N, d], [2, P] -> [P]``."""
    return torch.cat([(z[part[0]] * z[part[1]]).sum(1) for part in pairs.split(CACHE_PAIRS, dim=1)])
