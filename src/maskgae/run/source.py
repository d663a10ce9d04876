"""Where a graph comes from: files, a store, or whatever Python holds one in."""

from __future__ import annotations

import time as clock  # a column may be called time here
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from maskgae.base.errors import InputError, did_you_mean, nearest
from maskgae.data.graph import Graph
from maskgae.io import TableEncoder, build_graph, fit_encoder, read_edges, read_nodes
from maskgae.io.convert import as_graph
from maskgae.io.ids import IdArray, as_ids, find_ids
from maskgae.io.kinds import NONE, Kinds
from maskgae.store.store import Store, open_store

#: What may be said of how a file of edges is read.
READING = tuple(name for name in signature(read_edges).parameters if name not in ("path", "time"))

#: Ids among which the one that was meant is looked for.
MOST_COMPARED = 20_000


@dataclass(frozen=True, eq=False)
class Source:
    """A graph and what its user calls things.

    Args:
        graph: on the nodes 0 to N - 1.
        ids: what its nodes are called, ``[N]``.
        label_names: what its classes are called.
        notes: what was guessed, done and counted on the way, one line each.
        encoder: how the table of nodes became features, where there was one.
        store: the store that it is mapped from, where there is one.
        seconds: how long reading took.
    """

    graph: Graph
    ids: IdArray
    label_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    encoder: TableEncoder | None = None
    store: Store | None = None
    seconds: float = 0.0

    def with_graph(self, graph: Graph) -> Source:
        """The same nodes by the same names in another state, such as with other features."""
        return replace(self, graph=graph)

    def numbers(self, names: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The numbers of the nodes that are called so.

        >>> read([("ann", "bob"), ("bob", "cyd")]).numbers(["cyd", "ann"]).tolist()
        [2, 0]
        """
        return positions(names, self.ids, self.graph.name)


def positions(names: Any, ids: IdArray, where: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each name stands among ids; an error that counts and names those that do not."""
    wanted = list(names)
    try:
        found = find_ids(as_ids(wanted), ids)
    except InputError:  # whatever else Python may call a node
        place = {name: number for number, name in enumerate(ids.tolist())}
        found = np.array([place.get(name, -1) for name in wanted], dtype=np.int64)
    if (found < 0).any():
        unknown = list(dict.fromkeys(repr(wanted[i]) for i in np.flatnonzero(found < 0)))
        listed = ", ".join(unknown[:5])
        what = "1 name is no node" if len(unknown) == 1 else f"{len(unknown):,} names are not nodes"
        hint = _near(wanted[int(found.argmin())], ids) if len(unknown) == 1 else ""
        raise InputError(f"{what} of {where}: {listed}{hint}")
    return found


def _near(name: Any, ids: IdArray) -> str:
    """A hint that names the most alike id, where it is text and comparing all takes no time."""
    if not isinstance(name, str) or len(ids) > MOST_COMPARED:
        return ""
    hint = did_you_mean(name, map(str, ids.tolist()))
    return hint and f"; {hint}"


def ends_of(pairs: Any) -> list[Any]:
    """Both ends of each pair, one pair after the other, ``[P, 2] -> [2 P]``."""
    rows = pairs.to_numpy() if hasattr(pairs, "to_numpy") else pairs
    rows = rows.tolist() if hasattr(rows, "tolist") else rows
    if not isinstance(rows, Iterable) or isinstance(rows, str):
        raise InputError(f"pairs are a list such as [('ann', 'bob')], not {pairs!r}")
    rows = list(rows)
    wrong = [row for row in rows if not isinstance(row, list | tuple) or len(row) != 2]
    if wrong:
        raise InputError(f"a pair is two names, such as ('ann', 'bob'), not {wrong[0]!r}")
    return [end for row in rows for end in row]


def read(
    edges: Any,
    nodes: Any = None,
    label: str | None = None,
    *,
    missing: str = "error",
    features: Any = None,
    labels: Any = None,
    encoder: TableEncoder | None = None,
    type: str | None = None,
    id: str | None = None,
    directed: bool = False,
    time: str | None = None,
    **reading: Any,
) -> Source:
    """Reads a graph.

    Args:
        edges: a file of edges, the folder of a store, or a graph that Python holds: our
            :class:`~maskgae.data.graph.Graph`, PyG ``Data``, a SciPy matrix, a NetworkX graph, a
            pandas frame, an array or a list of edges.
        nodes: a file with a table of the nodes.
        label: its column with classes, which are used for evaluation only.
        missing: what a missing number of it becomes: ``error``, ``mean`` or ``zero``.
        features: of a graph in Python, a row for each node.
        labels: of a graph in Python, a class for each node.
        encoder: how the table becomes features, where that is known already.
        type: its column with a type for each node, or ``none``; where it is left out and no id
            stands in both columns of the edges, each column is a side.
        id: the table's column of ids; where it is left out, ``id``, ``node``, ``node_id`` or
            ``name``, else the first.
        directed: whether edges go from the first end to the second.
        time: the column of the edges, or of the table, that says when they came about; nodes are
            then numbered as they came.
        reading: how to read a file of edges, as :func:`~maskgae.io.edges.read_edges` takes it.

    >>> source = read([("ann", "bob"), ("bob", "cyd")])
    >>> source.graph, source.ids.tolist()
    (Graph(nodes=3, pairs=2), ['ann', 'bob', 'cyd'])
    """
    started = clock.perf_counter()
    if isinstance(edges, str | Path):
        if features is not None or labels is not None:
            raise InputError("features and labels go with a graph in Python: give a file its nodes")
        path, kinds = Path(edges), Kinds(type, directed, time)
        if path.is_dir():
            found = _of_store(path, nodes, label or id, kinds, reading)
        else:
            about = {"label": label, "missing": missing, "id": id}
            found = _of_files(path, nodes, about, encoder, kinds, reading)
    else:
        if type not in (None, NONE):
            raise InputError("'type' is about files: give a graph in Python by Graph.with_types")
        if time is not None:
            raise InputError("'time' is about files: give a graph in Python by Graph.with_times")
        asked = reading if id is None else {"id": id, **reading}
        found = _of_python(edges, features, labels, nodes, label, directed, asked)
    return replace(found, seconds=clock.perf_counter() - started)


def _of_files(
    edges: Path,
    nodes: Any,
    about: dict[str, Any],
    encoder: TableEncoder | None,
    kinds: Kinds,
    reading: Mapping[str, Any],
) -> Source:
    if nodes is None:
        check_no_table(**about)
    if unknown := [word for word in reading if word not in READING]:
        raise InputError(f"'{unknown[0]}' says nothing of a file: {nearest(unknown[0], READING)}")
    listed = read_edges(edges, time=kinds.time, **reading)
    if nodes is None:
        built = build_graph(listed, kinds=kinds)
    else:
        asked = about["id"] if encoder is None else about["id"] or encoder.id
        table = read_nodes(nodes, asked, ids=listed.ids)
        encoder = encoder or fit_encoder(table, **about, skipped=kinds.columns)
        built = build_graph(listed, table, encoder, kinds)
    return Source(built.graph, built.ids, built.label_names, built.notes, encoder)


def check_no_table(label: str | None, missing: str, id: str | None) -> None:
    """Refuses what is said of a table that was not given."""
    for flag, column in (("--label", label), ("--id", id)):
        if column is not None:
            raise InputError(f"{flag} names a column of --nodes, and no --nodes was given")
    if missing != "error":
        raise InputError("--missing is about the numbers of --nodes, and no --nodes was given")


def _of_store(
    folder: Path, nodes: Any, label: str | None, kinds: Kinds, reading: Mapping[str, Any]
) -> Source:
    store = open_store(folder)
    if nodes is not None or label is not None or kinds != Kinds() or reading:
        raise InputError(
            f"{folder} is a store, which has its edges, its table and its labels: give --read, "
            "--nodes, --id, --label, --type and --directed to 'maskgae ingest'; --time needs files"
        )
    encoder = None if store.encoding is None else TableEncoder.from_json(store.encoding)
    return Source(store.graph, store.ids, store.label_names, store.notes, encoder, store)


def _of_python(
    edges: Any,
    features: Any,
    labels: Any,
    nodes: Any,
    label: str | None,
    directed: bool,
    reading: Mapping[str, Any],
) -> Source:
    if nodes is not None or label is not None or reading:
        given = next(iter(reading), "nodes" if nodes is not None else "label")
        raise InputError(f"'{given}' is about files: give a graph in Python features and labels")
    if isinstance(edges, Source):
        edges, ids, names, notes = edges.graph, edges.ids, edges.label_names, edges.notes
        graph, _, classes = as_graph(edges, features, labels, directed)
        return Source(graph, ids, classes or names, notes)
    graph, ids, classes = as_graph(edges, features, labels, directed)
    return Source(graph, ids, classes, () if graph is edges else (str(graph.cleaning),))
