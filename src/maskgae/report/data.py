"""What a page is made of: arrays, lists and dictionaries, never a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.errors import InputError

Array = NDArray[Any]

#: A kind of evidence, what it adds to a score, and what it consists of.
Reason = tuple[str, float, Sequence[tuple[str, float]]]


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that a page shows; what is missing leaves its section out.

    Args:
        title: the name of the graph.
        ids: the name of each node, as the user wrote it.
        pairs: each edge once, as node numbers.
        embedding: one row per node.
        facts: further facts of the graph by name, shown beside the counts.
        cleaning: one line on what was done to the raw edges.
        feature_rows: column of the user's table, what it became, and how many columns wide.
        settings: all settings by dotted key.
        record: the record of the run, see :mod:`maskgae.evaluation.record`.
        history: a row for each epoch, counted from 0, with ``loss`` and ``val_auc``.
        best_epoch: how many epochs the kept weights had seen, ``None`` for the last.
        test_scores: probabilities of held-out edges and of negative samples (non-edges).
        degrees: true and predicted degree of each node.
        degree_note: what exactly the degrees are, where it needs saying.
        labels: the class of each node, ``None`` where it is unknown.
        links: strongest missing links as source id, target id and probability, best first.
        whys: for each of these its reasons: kind, share of the score, parts as name and share.
        communities: of each node, the largest 0; found by the page where they are left out.
        places: of each node on the map; the same.

    Shapes:
        - **pairs:** ``[2, M]``
        - **embedding:** ``[N, D]``
        - **test_scores:** ``[P]`` and ``[Q]``
        - **degrees:** ``[N]`` twice
        - **communities:** ``[N]``
        - **places:** ``[N, 2]``
    """

    title: str
    ids: Sequence[str]
    pairs: Array
    embedding: Array
    facts: Mapping[str, Any] = field(default_factory=dict)
    cleaning: str = ""
    feature_rows: Sequence[tuple[str, str, int]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Mapping[str, Any]] = ()
    best_epoch: int | None = None
    test_scores: tuple[Array, Array] | None = None
    degrees: tuple[Array, Array] | None = None
    degree_note: str = ""
    labels: Sequence[str | None] | None = None
    links: Sequence[tuple[str, str, float]] = ()
    whys: Sequence[Sequence[Reason]] = ()
    communities: Array | None = None
    places: Array | None = None

    def __post_init__(self) -> None:
        nodes = len(self.ids)
        rows = {"embedding": len(self.embedding)}
        if self.labels is not None:
            rows["labels"] = len(self.labels)
        for name, count in rows.items():
            if count != nodes:
                raise InputError(
                    f"a report needs one row of {name} a node: there are {nodes:,} ids "
                    f"and {count:,} rows"
                )

    @property
    def num_nodes(self) -> int:
        return len(self.ids)

    @property
    def node_degrees(self) -> Array:
        """Neighbours of each node, ``[N]``."""
        ends = np.asarray(self.pairs, dtype=np.int64).reshape(-1)
        return np.bincount(ends, minlength=self.num_nodes)
