"""What the commands on one's own graph read: files, stores, grown graphs, names of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskgae.base.errors import InputError

if TYPE_CHECKING:
    from maskgae.io import BuiltGraph, TableEncoder
    from maskgae.run.folder import SavedRun
    from maskgae.store.store import Store


def read_graph(
    edges: Path,
    nodes: Path | None,
    label: str | None = None,
    missing: str = "error",
    reading: Mapping[str, Any] | None = None,
) -> tuple[BuiltGraph, TableEncoder | None, Store | None]:
    """The graph of files or of a store, and how its features came about."""
    from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes

    if edges.is_dir():
        return _store(edges, nodes, label, reading)
    if nodes is None and label is not None:
        raise InputError("--label names a column of --nodes, and no --nodes was given")
    if nodes is None and missing != "error":
        raise InputError("--missing is about the numbers of --nodes, and no --nodes was given")
    listed = read_edges(edges, **(reading or {}))
    if nodes is None:
        return build_graph(listed), None, None
    table = read_nodes(nodes, ids=listed.ids)
    encoder = fit_encoder(table, label, missing=missing)
    return build_graph(listed, table, encoder), encoder, None


def _store(
    folder: Path, nodes: Path | None, label: str | None, reading: Mapping[str, Any] | None
) -> tuple[BuiltGraph, TableEncoder | None, Store]:
    from maskgae.io import BuiltGraph, TableEncoder
    from maskgae.store.store import open_store

    store = open_store(folder)
    if nodes is not None or label is not None or reading:
        raise InputError(
            f"{folder} is a store, which has its edges, its table and its labels: give --read, "
            "--nodes and --label to 'maskgae ingest'"
        )
    encoder = None if store.encoding is None else TableEncoder.from_json(store.encoding)
    return BuiltGraph(store.graph, store.ids, store.label_names, store.notes), encoder, store


def grown_graph(
    saved: SavedRun, edges: Path, nodes: Path | None, reading: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """A new graph with the features that the run's network reads, and its ids."""
    from dataclasses import replace

    from maskgae.io import (
        TableEncoder,
        build_graph,
        find_ids,
        read_edges,
        read_nodes,
    )

    if saved.net.settings.encoder.node_embedding:
        raise InputError(
            "this run learnt a vector for each of its nodes, so it cannot embed other graphs: "
            "fit with features, or without encoder.node_embedding"
        )
    if edges.is_dir():
        return _grown_store(saved, edges, nodes)
    listed = read_edges(edges, **(reading or {}))
    if (nodes is None) != (saved.encoding is None):
        rule = "with a table of nodes: give the new one, --nodes"
        if saved.encoding is None:
            rule = "without a table of nodes: leave out --nodes"
        raise InputError(f"this run was fitted {rule}")
    if nodes is not None:
        assert saved.encoding is not None
        table = read_nodes(nodes, ids=listed.ids)
        built = build_graph(listed, table, TableEncoder.from_json(saved.encoding))
        return built.graph, built.ids
    built = build_graph(listed)
    if saved.structural is None:
        raise InputError("this run's features came from Python: use MaskGAE.load(...).transform")
    known = find_ids(saved.ids, built.ids)
    if (known < 0).any():
        raise InputError(
            f"{int((known < 0).sum()):,} nodes of the fitted graph are not in {edges}: features "
            "from structure need the fitted nodes among the new graph's"
        )
    features = saved.structural.transform(built.graph, known)
    return replace(built.graph, features=features), built.ids


def _grown_store(saved: SavedRun, folder: Path, nodes: Path | None) -> tuple[Any, Any]:
    """The graph of a store whose features were made as those of the run."""
    from maskgae.store.store import open_store

    store = open_store(folder)
    if nodes is not None:
        raise InputError(f"{folder} is a store, which has its table of nodes: leave out --nodes")
    columns = 0 if store.graph.features is None else store.graph.features.num_columns
    if store.encoding != saved.encoding or columns != saved.net.encoder.in_channels:
        raise InputError(
            f"{folder} must have the features that {saved.folder} was fitted on, but its table "
            "was encoded in another way: ingest it with --like RUN"
        )
    return store.graph, store.ids


def node_numbers(saved: SavedRun, names: Any) -> Any:
    """The numbers of the named nodes of a run."""
    from maskgae.io import as_ids, find_ids

    wanted = as_ids(list(names))
    found = find_ids(wanted, saved.ids)
    if (found < 0).any():
        unknown = [repr(str(name)) for name in wanted[found < 0][:5]]
        raise InputError(
            f"{int((found < 0).sum()):,} ids are not nodes of {saved.folder}: {', '.join(unknown)}"
        )
    return found
