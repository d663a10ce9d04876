"""Why a link is suggested: the reasons of its score, by the names that the user gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.evaluation.reasons import FEATURES, PATHS, Part, Reason, reasons

if TYPE_CHECKING:
    from maskgae.run.run import Run

#: Things of one kind that are named, and what each adds at least; the others are counted.
NAMED, LEAST = 8, 0.005


@dataclass(frozen=True)
class NamedReason:
    """One kind of evidence, with what can be named of it.

    Args:
        kind: what it is.
        share: what it adds to the score, 0 as for an average candidate.
        parts: what it consists of and what each adds, the largest first; they add up to ``share``.
    """

    kind: str
    share: float
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Why:
    """Why a link is suggested.

    Args:
        source: one end.
        target: the other.
        probability: how likely an edge is where edges and negative samples are as many.
        score: what the shares of the reasons add up to.
        reasons: the largest share first.
    """

    source: Any
    target: Any
    probability: float
    score: float
    reasons: tuple[NamedReason, ...]


def why(run: Run, source: Any, target: Any) -> Why:
    """Why a run suggests the link of two nodes that have none."""
    pair = torch.from_numpy(run.source.numbers([source, target])).view(2, 1)
    if pair[0] == pair[1]:
        raise InputError(f"a link joins two nodes, not {source!r} with itself: give another name")
    if run.graph.has(pair).item():
        raise InputError(
            f"{source!r} and {target!r} are linked already, and why is about missing links: "
            "give a pair that 'maskgae links' lists"
        )
    return whys(run, pair)[0]


def whys(run: Run, pairs: Tensor) -> list[Why]:
    """Why each of some missing links is suggested, ``[2, P]`` node numbers."""
    answers = []
    for (u, v), found in zip(pairs.T.tolist(), reasons(run.pair_scores, pairs), strict=True):
        score = sum(reason.share for reason in found)
        chance = float(run.scorer.probability(torch.tensor(score)))
        named = tuple(_named(run, reason) for reason in found)
        answers.append(Why(run.ids[u], run.ids[v], chance, score, named))
    return answers


def _named(run: Run, reason: Reason) -> NamedReason:
    if reason.kind == FEATURES and not run.has_table:
        # Made of the edges: their columns mean nothing to anybody.
        return NamedReason("features from structure", reason.share)
    return NamedReason(reason.kind, reason.share, tuple(_parts(run, reason)))


def _parts(run: Run, reason: Reason) -> Iterator[tuple[str, float]]:
    named = [part for part in reason.parts[:NAMED] if abs(part.share) >= LEAST]
    for part in named:
        yield _name(run, reason.kind, part), part.share
    others = reason.parts[len(named) :]
    if others:
        yield f"{len(others):,} more", sum(part.share for part in others)
    if reason.parts:
        yield "less what an average candidate has", reason.average


def _name(run: Run, kind: str, part: Part) -> str:
    if kind == FEATURES:
        return feature_name(run, part.things[0])
    names: Sequence[str] = [str(run.ids[node]) for node in part.things]
    return " – ".join(names) if kind == PATHS else names[0]


def feature_name(run: Run, column: int) -> str:
    """What a feature column is called: by the table's column and its value or words."""
    encoder = run.source.encoder
    return f"feature {column}" if encoder is None else encoder.column_name(column)
