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
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, joined
from maskgae.evaluation.ground import HARD_NODES, Board, Ground, products, shown_rules
from maskgae.evaluation.hard import hard_negatives
from maskgae.evaluation.heart import heart_negatives
from maskgae.evaluation.method import (
    FittedScores,
    Network,
    OnEpoch,
    Scores,
    Validation,
    opened,
    ranked_ends,
)
from maskgae.evaluation.outcome import Metrics, Outcome, mask_facts
from maskgae.evaluation.ranking import quick_ends
from maskgae.evaluation.rules import link_heuristics
from maskgae.evaluation.scorer import NETWORK, Columns, PairScorer, Scorer, combined_rules
from maskgae.evaluation.scorer_fit import fit_scorers

#: Above this many nodes nothing is ranked among all of them, and no rules are combined.
RANKED_NODES = 200_000

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
class LinkResult(Generic[ScoresLinks]):
    """What a link task gave: its figures, what was fitted, and what scores pairs.

    ``test_scores`` are the probabilities of the test's edges and of its negative samples, where
    they are known.
    """

    outcome: Outcome
    fitted: ScoresLinks
    scorer: Scorer
    test_scores: tuple[NDArray[Any], NDArray[Any]] | None = None


def link_task(
    method: LinkMethod[ScoresLinks],
    untrained: Untrained,
    ground: Ground,
    settings: Settings,
    *,
    audit: Mapping[str, Any],
    on_epoch: OnEpoch | None = None,
) -> LinkResult[ScoresLinks]:
    """Fits a method on a split's training graph and scores its test pairs once.

    The validation pairs choose the epoch and, with ``scorer.kind=combined``, the weights that the
    network and the rules have in the score.

    Args:
        method: what is evaluated.
        untrained: makes the network of one of the baselines' rows.
        ground: the split and what is asked on it.
        settings: the seed, and how the epoch and the scorer are chosen.
        audit: what an audit of the split found.
        on_epoch: called after every epoch.
    """
    split = ground.split
    if not split.test.shape[1]:
        raise InputError(
            "split.test = 0 leaves no edges to test on: hold out a share such as 0.1, or train "
            "without a test by 'maskgae fit --holdout 0'"
        )
    stream, started = Stream(settings.seed), time.perf_counter()
    validation, kept = selection_pairs(split, settings)
    fitted = method.fit(split.train, validation, stream, on_epoch)
    trained = time.perf_counter()
    which = settings.scorer.rules
    scorers = fitted_scorers(fitted, split, kept, stream.at("scorer"), which)
    before, told = None, dict[str, Any]()
    if settings.encoder.kind != "none":
        before = untrained(split.train, stream)
    if ground.graph.num_nodes > RANKED_NODES:
        scorer = scorers["method"]
        found = _scores(fitted, before, scorer, ground)
        rows = {name: ground.contest.row(scores) for name, scores in found}
    else:
        rows, told = _rows(fitted, before, scorers, ground, which)
    scores = told.pop("test_scores", None)
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
    return LinkResult(outcome, fitted, scorers["method"], scores)


def fitted_scorers(
    fitted: Scores, split: LinkSplit, kept: Validation | None, stream: Stream, which: str = "few"
) -> dict[str, Scorer]:
    """What scores the method's row and, where rules are combined with it, the parts' own rows."""
    if kept is None or not kept.pairs.shape[1]:  # the only validation pair chose the epoch
        return {"method": Scorer.bare()}
    names = combined_rules(split.seen, which)
    columns = Columns.of(split.seen, opened(fitted, split.seen), names)
    known = joined(split.seen, split.val, None)
    combined, rules = fit_scorers(columns, kept, known, stream)
    if columns.network is None:
        return {"method": combined}
    return {"method": combined, "network": Scorer.bare(), "rules": rules}


def _rows(
    fitted: FittedScores,
    before: Network | None,
    scorers: Mapping[str, Scorer],
    ground: Ground,
    which: str,
) -> tuple[dict[str, Metrics], dict[str, Any]]:
    """Every row of the table, ranking included, and what to expect of the method's.

    Where nothing is combined the rules are asked once for all methods.
    """
    messages, ends = ground.messages, ranked_ends(fitted)
    if before is None:
        ends = quick_ends(messages.num_nodes)
    ends = ground.config.ranked_ends or ends
    combined = scorers["method"].kind != NETWORK or len(scorers) > 1
    names: dict[str, None] = {}
    if combined:  # with more edges another rule may be affordable, and one no longer
        used = (name for scorer in scorers.values() for name in scorer.columns)
        names = dict.fromkeys((*used, *shown_rules(messages, which)))
    columns = Columns.of(messages, opened(fitted, messages), tuple(names))
    z = None if before is None else F.normalize(before.embed(messages), dim=1)
    rows, told = ground.asked(Board(columns, scorers, z), ends)
    if not combined:
        last = rows.pop("untrained")
        rows = {**rows, **ground.rule_rows(ends), "untrained": last}
    return rows, told


def _scores(
    fitted: Scores, before: Network | None, scorer: Scorer, ground: Ground
) -> Iterator[tuple[str, Tensor]]:
    """Scores of the pairs alone, where ranking among all nodes would take too long."""
    messages, pairs = ground.messages, ground.contest.pairs
    if scorer.kind == NETWORK:
        yield "method", fitted.score(messages, pairs)
    else:
        yield "method", PairScorer.of(scorer, messages, opened(fitted, messages)).pairs(pairs)
    for name, values in link_heuristics(messages, pairs).items():
        yield name, torch.from_numpy(values)
    if before is None:
        return
    nodes, place = torch.unique(pairs, return_inverse=True)
    yield "untrained", products(F.normalize(before.embed(messages, nodes), dim=1), place)


def selection_pairs(
    split: LinkSplit, settings: Settings
) -> tuple[Validation | None, Validation | None]:
    """What an epoch is chosen on, and what the rules are weighted on, if they are combined.

    Both are all validation pairs. An epoch is one of a few dozen, so that weights fitted on the
    same pairs trust it hardly too much; with half of the pairs for each they were worse.
    """
    validation = validation_pairs(split, settings)
    weighted = validation if settings.scorer.kind == "combined" else None
    return (None if settings.encoder.kind == "none" else validation), weighted


def validation_pairs(split: LinkSplit, settings: Settings) -> Validation | None:
    """What a run selects its epoch on; nothing, where it trains on all other pairs to the end."""
    training = settings.training
    if split.val.shape[1]:
        hard = _hard_validation(split, settings) if training.select == "val_hard" else None
        return Validation(split.val, split.val_negatives, split.val_messages, hard)
    if training.select != "last" or training.patience:
        raise InputError(
            f"split.val = {settings.split.val:g} leaves no edges to select an epoch on: set "
            "training.select=last and training.patience=0, or hold out a share such as 0.05"
        )
    return None


def _hard_validation(split: LinkSplit, settings: Settings) -> Tensor:
    """Hard negatives of the validation pairs by the rule of the test's, ``[2, V, K]``."""
    count, stream = settings.split.hard_negatives, Stream(settings.seed).at("hard")
    if not count or split.num_nodes > HARD_NODES:
        raise InputError(
            "training.select=val_hard ranks validation edges among hard negatives, but "
            f"split.hard_negatives = {count} and there are {split.num_nodes:,} nodes: set it to a "
            f"number such as 500 on up to {HARD_NODES:,} nodes, or training.select=val_rank"
        )
    if settings.split.hard_rule == "heart":
        found = heart_negatives(split, count, stream)[0]
    else:
        known = joined(split.seen, split.val, None)
        found = hard_negatives(split.seen, known, split.val, count, stream.at("validation"))
    return found.view(2, split.val.shape[1], count)
