"""The link task: fit on training edges, score what was held out, once.

A split, a method and a seed go in, an :class:`~maskgae.evaluation.outcome.Outcome` comes out. The
same pairs are scored by the method, by every heuristic baseline and by an untrained network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit
from maskgae.evaluation.hard import hard_metrics, hard_negatives
from maskgae.evaluation.method import FittedScores, OnEpoch, Validation
from maskgae.evaluation.metrics import link_metrics
from maskgae.evaluation.outcome import Metrics, Outcome, mask_facts
from maskgae.evaluation.rules import link_heuristics

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


class Network(Protocol):
    """A network before its first step."""

    def embed(self, graph: Graph, nodes: Tensor | None = None) -> Tensor: ...


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


def link_task(
    method: LinkMethod[ScoresLinks],
    untrained: Untrained,
    graph: Graph,
    split: LinkSplit,
    settings: Settings,
    *,
    audit: Mapping[str, Any],
    on_epoch: OnEpoch | None = None,
) -> tuple[Outcome, ScoresLinks]:
    """Fits a method on a split's training graph and scores its test pairs once.

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
    fitted = method.fit(split.train, validation_pairs(split, settings), stream, on_epoch)
    trained = time.perf_counter()
    messages = split.messages(settings.split.message_edges)
    hard = settings.split.hard_negatives
    contest = Contest.of(split, graph, messages, hard, stream.at("hard"))
    scores = {"method": fitted.score(messages, contest.pairs)}
    heuristics = link_heuristics(messages, contest.pairs)
    scores |= {name: torch.from_numpy(values) for name, values in heuristics.items()}
    scores["untrained"] = _cosines(untrained(split.train, stream), messages, contest.pairs)
    rows = {name: contest.row(values) for name, values in scores.items()}
    outcome = Outcome(
        seed=settings.seed,
        metrics=rows.pop("method"),
        sanity=rows,
        audit={**audit, **mask_facts(fitted.facts)},
        facts=fitted.facts,
        time_s={"train": trained - started, "evaluate": time.perf_counter() - trained},
    )
    return outcome, fitted


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


def _cosines(net: Network, messages: Graph, pairs: Tensor) -> Tensor:
    """Cosine similarity of the pairs in a network's embedding, ``[2, P] -> [P]``."""
    nodes, place = torch.unique(pairs, return_inverse=True)
    z = F.normalize(net.embed(messages, nodes), dim=1)
    return torch.cat([(z[part[0]] * z[part[1]]).sum(1) for part in place.split(CACHE_PAIRS, dim=1)])
