"""What kind of graph a list of edges is: of two sides, of several types, or of one.

Types are a column of the table of nodes. Where none is named and no id stands in both columns of
the edges, each column is a side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskgae.base.errors import InputError
from maskgae.io.encode import encode_labels
from maskgae.io.ids import IdArray
from maskgae.io.messages import five_of, shown
from maskgae.io.tables import NodeTable

#: What is asked for where nodes shall have no types.
NONE = "none"


@dataclass(frozen=True)
class Kinds:
    """What a user says of the kind of a graph.

    Args:
        type: the column of the table with a type for each node, or ``none``; where it is left
            out, two sides are found by themselves.
        directed: whether edges go from the first column to the second.
        time: the column of the edges or of the table that says when they came about.
    """

    type: str | None = None
    directed: bool = False
    time: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table of nodes that are no features."""
        named = () if self.type in (None, NONE) else (str(self.type),)
        return named if self.time is None else (*named, self.time)


@dataclass(frozen=True, eq=False)
class FoundTypes:
    """The type of each node, what they are called and where from, and what to say of it."""

    codes: np.ndarray[Any, Any]
    names: tuple[str, ...]
    column: str | None
    note: str


def table_types(nodes: NodeTable | None, ids: IdArray, column: str) -> FoundTypes:
    """Types from a column of the table, for each of the ids."""
    if nodes is None:
        raise InputError("--type names a column of --nodes, and no --nodes was given")
    found = encode_labels(nodes, column, "types")
    codes = found.codes[nodes.rows_of(ids)]
    lacking = ids[codes < 0]
    if lacking.size:
        raise InputError(
            f"{nodes.path}: every node needs a type, but column {shown(column)} has none for "
            f"{five_of(lacking.tolist())}: fill them, or name another column"
        )
    counts = np.bincount(codes, minlength=len(found.names))
    listed = ", ".join(f"{name} {n:,}" for name, n in zip(found.names, counts, strict=True))
    note = f"types from column {shown(column)}: {listed}"
    return FoundTypes(codes, found.names, column, note)


def found_sides(
    names: tuple[str, str] | None, touched: np.ndarray[Any, Any], num_pairs: int
) -> FoundTypes | str | None:
    """Two sides, where no id stands in both columns; what to say where that leaves nodes out.

    Args:
        names: of the two columns, ``None`` where there are no columns.
        touched: whether each node stands in the first and in the second, ``[2, N]`` bool.
        num_pairs: how many edges there are; where it is all that could be, nothing is found.
    """
    first, second = touched.sum(1).tolist()
    if names is None or (touched[0] & touched[1]).any() or num_pairs >= first * second:
        return None
    alone = touched.shape[1] - first - second
    if alone:
        return (
            f"no id stands in both columns, but {alone:,} nodes have no edge and so no side: "
            "name their types by --type COLUMN, or --type none"
        )
    one, other = names if names[0] != names[1] else ("source", "target")
    note = (
        f"two-sided: no id stands in both columns, so links join {shown(one)} ({first:,}) and "
        f"{shown(other)} ({second:,}) only; --type none switches that off"
    )
    return FoundTypes(touched[1].astype(np.int64), (one, other), None, note)


def side_flags(ends: np.ndarray[Any, Any], num_nodes: int) -> np.ndarray[Any, Any]:
    """Whether each node stands in the first and in the second column, ``[2, E] -> [2, N]``."""
    touched = np.zeros((2, num_nodes), dtype=np.bool_)
    touched[0, ends[0]] = touched[1, ends[1]] = True
    return touched


def one_way_note(edges: int, forward: int, num_pairs: int, one_way: int) -> list[str]:
    """A hint where most pairs stand one way only, and not in the order of their ids.

    Args:
        edges: how many there are.
        forward: how many of them go to the higher number.
        num_pairs: distinct pairs.
        one_way: those of them that stand one way only.
    """
    mixed = 0.1 * edges < forward < 0.9 * edges
    if 2 * one_way <= num_pairs or not mixed:
        return []
    share = 100 * one_way / num_pairs
    return [f"{share:.0f} % of the edges stand one way: if that means something, --directed"]
