"""The link task: fit on training edges, score what was held out, once.

A split, a method and a seed go in, an :class:`~maskgae.evaluation.outcome.Outcome` comes out. The
same pairs are scored by the method, by every heuristic baseline and by an untrained network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit, joined
from maskgae.evaluation.calibration import calibration
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.method import (
    FittedScores,
    Network,
    OnEpoch,
    Scores,
    Validation,
    opened,
    ranked_ends,
)
from maskgae.evaluation.metrics import link_metrics
from maskgae.evaluation.outcome import Metrics, Outcome, mask_facts
from maskgae.evaluation.ranking import full_rankings
from maskgae.evaluation.rules import default_rules, has_triangles, link_heuristics
from maskgae.evaluation.scorer import COMBINED, NETWORK, Columns, Scorer
from maskgae.evaluation.scorer_fit import fit_scorers

#: Above this many nodes nothing is ranked among all of them, and no rules are combined.
RANKED_NODES = 200_000
#: Above this many nodes no hard negatives are looked for: every end is compared with every node.
HARD_NODES = 50_000

ScoresLinks = TypeVar("ScoresLinks", bound=FittedScores, covariant=True)


class LinkMethod(Protocol[ScoresLinks]):
    """A method whose result scores pairs."""

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> ScoresLinks: ...


#: Makes an untrained network for a graph from a stream.
Untrained = Callable[[Graph, Stream], Network]


@dataclass(frozen=True)
class Contest:
    """Test pairs, negative samples drawn evenly and, where asked for, each pair's own hard ones.

    Args:
        pairs: what is scored: first the ``positives`` test pairs, then the ``negatives`` even
            ones, then the distinct hard ones.
        positives: how many test pairs there are.
        negatives: how many even negative samples there are.
        hard: where each test pair's hard negatives stand among the distinct ones.

    Shapes:
        - **pairs:** ``[2, positives + negatives + distinct]``
        - **hard:** ``[positives, K]``
    """

    pairs: Tensor
    positives: int
    negatives: int
    hard: Tensor | None = None

    @classmethod
    def of(
        cls, split: LinkSplit, whole: Graph, messages: Graph, hard: int, stream: Stream
    ) -> Contest:
        """The contest on a split, with ``hard`` negatives for each test pair."""
        pairs, count = [split.test, split.test_negatives], split.test.shape[1]
        places = None
        if hard and whole.num_nodes <= HARD_NODES:
            found = hard_negatives(messages, whole, split.test, hard, stream)
            # An end of many test pairs keeps the same partners in all of them: scored once.
            keys, place = torch.unique(pair_keys(found, whole.num_nodes), return_inverse=True)
            pairs.append(torch.stack([keys // whole.num_nodes, keys % whole.num_nodes]))
            places = place.view(count, hard)
        return cls(torch.cat(pairs, dim=1), count, split.test_negatives.shape[1], places)

    def row(self, scores: Tensor) -> Metrics:
        """The metrics of the scores of all pairs."""
        sizes = [self.positives, self.negatives]
        values = scores.double().cpu()
        positive, negative, rest = values.split([*sizes, values.numel() - sum(sizes)])
        row = link_metrics(positive.numpy(), negative.numpy())
        if self.hard is not None:
            row |= hard_metrics(positive.numpy(), rest[self.hard].numpy())
        return row

    def calibration(self, probabilities: Tensor) -> dict[str, Any]:
        """Whether the probabilities of test pairs and even negative samples mean what they say."""
        found = probabilities.double().cpu().numpy()
        return calibration(
            found[: self.positives], found[self.positives : self.positives + self.negatives]
        )


@dataclass(frozen=True)
class LinkResult(Generic[ScoresLinks]):
    """What a link task gave: its figures, what was fitted, and what scores pairs."""

    outcome: Outcome
    fitted: ScoresLinks
    scorer: Scorer


def link_task(
    method: LinkMethod[ScoresLinks],
    untrained: Untrained,
    graph: Graph,
    split: LinkSplit,
    settings: Settings,
    *,
    audit: Mapping[str, Any],
    on_epoch: OnEpoch | None = None,
) -> LinkResult[ScoresLinks]:
    """Fits a method on a split's training graph and scores its test pairs once.

    With ``scorer.kind=combined`` one half of the validation pairs chooses the epoch, and the other
    the weights that the network and the rules have in the score.

    Args:
        method: what is evaluated.
        untrained: makes the network of one of the baselines' rows.
        graph: all nodes and all pairs.
        split: what of them is trained on and what is held out.
        settings: the seed, what the test sees, how many hard negatives.
        audit: what an audit of the split found.
        on_epoch: called after every epoch.
    """
    if not split.test.shape[1]:
        raise InputError(
            "split.test = 0 leaves no edges to test on: hold out a share such as 0.1, or train "
            "without a test by 'maskgae fit --holdout 0'"
        )
    stream, started = Stream(settings.seed), time.perf_counter()
    validation, kept = selection_pairs(split, settings)
    fitted = method.fit(split.train, validation, stream, on_epoch)
    trained = time.perf_counter()
    scorers = fitted_scorers(fitted, split, kept, stream.at("scorer"))
    messages = split.messages(settings.split.message_edges)
    hard = settings.split.hard_negatives
    contest = Contest.of(split, graph, messages, hard, stream.at("hard"))
    before, told = untrained(split.train, stream), dict[str, Any]()
    if graph.num_nodes > RANKED_NODES:
        rows = {name: contest.row(s) for name, s in _scores(fitted, before, messages, contest)}
    else:
        z = F.normalize(before.embed(messages), dim=1)
        columns = Columns.of(messages, opened(fitted, messages), _shown_rules(messages))
        board, ends = Board(columns, scorers, z), ranked_ends(fitted)
        rows, told = _rows(board, contest, split, graph, stream.at("ranking"), ends)
    outcome = Outcome(
        seed=settings.seed,
        metrics=rows.pop("method"),
        sanity=rows,
        audit={**audit, **mask_facts(fitted.facts)},
        facts={
            **fitted.facts,
            **scorers["method"].summary(),
            **told,
            "test_pairs": split.test.shape[1],
        },
        time_s={"train": trained - started, "evaluate": time.perf_counter() - trained},
    )
    return LinkResult(outcome, fitted, scorers["method"])


def fitted_scorers(
    fitted: Scores, split: LinkSplit, kept: Validation | None, stream: Stream
) -> dict[str, Scorer]:
    """What scores the method's row and, where rules are combined with it, the parts' own rows."""
    if kept is None:
        return {"method": Scorer.bare()}
    columns = Columns.of(split.train, opened(fitted, split.train))
    known = joined(split.train, split.val, None)
    combined, rules = fit_scorers(columns, kept, known, stream)
    return {"method": combined, "network": Scorer.bare(), "rules": rules}


def _shown_rules(graph: Graph) -> tuple[str, ...]:
    possible = default_rules(graph)
    more = "adamic_adar" if has_triangles(graph) else "spectral"
    return tuple(name for name in (*COMBINED, more) if name in possible)


@dataclass(frozen=True, eq=False)
class Board:
    """Every row of a link task's table: scores of pairs, and of nodes against all nodes.

    Args:
        columns: the network's logit and the rules on the message graph.
        scorers: the method's, and those of its parts.
        z: the embedding of an untrained network, rows of length one, ``[N, D]``.
    """

    columns: Columns
    scorers: Mapping[str, Scorer]
    z: Tensor

    def pairs(self, pairs: Tensor) -> dict[str, Tensor]:
        """``[2, P] -> [P]`` by row."""
        exact = link_heuristics(self.columns.rules.graph, pairs)
        found = self._combined(self.columns.pairs(pairs))
        found |= {name: torch.from_numpy(values) for name, values in exact.items()}
        return found | {"untrained": _products(self.z, pairs)}

    def rows(self, nodes: Tensor) -> dict[str, Tensor]:
        """``[n] -> [n, N]`` by row."""
        return self._combined(self.columns.rows(nodes)) | {"untrained": self.z[nodes] @ self.z.T}

    def _combined(self, columns: Tensor) -> dict[str, Tensor]:
        names = self.columns.names
        found = {name: scorer.of(names, columns) for name, scorer in self.scorers.items()}
        alone = {name: columns[..., i] for i, name in enumerate(names) if name != NETWORK}
        return found | alone


def _rows(
    board: Board,
    contest: Contest,
    split: LinkSplit,
    graph: Graph,
    stream: Stream,
    ends: int | None,
) -> tuple[dict[str, Metrics], dict[str, Any]]:
    """The metrics of every row on the same test pairs, and what to expect of the method's."""
    ranked = full_rankings(board.rows, split.test, graph, stream, ends)
    scored = board.pairs(contest.pairs)
    rows: dict[str, Metrics] = {
        name: {**contest.row(scores), **ranked[name].metrics()} for name, scores in scored.items()
    }
    scorer = board.scorers["method"]
    told: dict[str, Any] = {"precision": ranked["method"].precision()}
    if scorer.facts:  # else its probabilities were calibrated on nothing
        told |= contest.calibration(scorer.probability(scored["method"]))
    return rows, told


def _scores(
    fitted: Scores, before: Network, messages: Graph, contest: Contest
) -> Iterator[tuple[str, Tensor]]:
    """Scores of the pairs alone, where ranking among all nodes would take too long."""
    yield "method", fitted.score(messages, contest.pairs)
    for name, values in link_heuristics(messages, contest.pairs).items():
        yield name, torch.from_numpy(values)
    nodes, place = torch.unique(contest.pairs, return_inverse=True)
    yield "untrained", _products(F.normalize(before.embed(messages, nodes), dim=1), place)


def selection_pairs(
    split: LinkSplit, settings: Settings
) -> tuple[Validation | None, Validation | None]:
    """What an epoch is chosen on, and what is kept to weight the rules on, if they are combined."""
    validation = validation_pairs(split, settings)
    if validation is None or settings.scorer.kind != "combined":
        return validation, None
    return validation.halves(Stream(settings.seed).at("halves"))


def validation_pairs(split: LinkSplit, settings: Settings) -> Validation | None:
    """What a run selects its epoch on; nothing, where it trains on all other pairs to the end."""
    if split.val.shape[1]:
        return Validation(split.val, split.val_negatives)
    training = settings.training
    if training.select != "last" or training.patience:
        raise InputError(
            f"split.val = {settings.split.val:g} leaves no edges to select an epoch on: set "
            "training.select=last and training.patience=0, or hold out a share such as 0.05"
        )
    return None


def _products(z: Tensor, pairs: Tensor) -> Tensor:
    """Inner products of rows, ``[N, d], [2, P] -> [P]``."""
    return torch.cat([(z[part[0]] * z[part[1]]).sum(1) for part in pairs.split(CACHE_PAIRS, dim=1)])
