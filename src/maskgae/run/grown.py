"""Another graph for a fitted network: new or grown, with features made as the fitted one's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.io.ids import as_ids, find_ids
from maskgae.nn.readout import Readout
from maskgae.run.source import Source, positions, read

if TYPE_CHECKING:
    from maskgae.run.run import Run


def read_like(run: Run, other: Any, nodes: Any = None, **how: Any) -> Source:
    """A graph with the features that a run's network reads."""
    if run.settings.encoder.node_embedding:
        raise InputError(
            "this run learnt an embedding of each of its nodes, so it cannot embed other graphs: "
            "fit with features, or without encoder.node_embedding"
        )
    fitted = run.source.encoder
    from_file = isinstance(other, str | Path) and not Path(other).is_dir()
    if from_file and (nodes is None) != (fitted is None):
        rule = "with a table of nodes: give the new one, --nodes"
        if fitted is None:
            rule = "without a table of nodes: leave out --nodes"
        raise InputError(f"this run was fitted {rule}")
    kind = run.graph.types
    if from_file:
        how["type"] = "none" if kind is None else kind.column
    if from_file or not isinstance(other, str | Path | Graph | Source):
        how["directed"] = run.graph.directed
    grown = _same_types(run, read(other, nodes, encoder=fitted, **how))
    if grown.store is not None:
        _check_store(run, grown)
    elif grown.graph.features is None and run.structural is not None and not run.has_table:
        known = positions(run.ids, grown.ids, "the new graph, which must have the fitted nodes")
        made = run.structural.renumbered(slice(None), known, grown.graph.num_nodes)
        return grown.with_graph(grown.graph.with_features(made.transform(grown.graph)))
    else:
        _check_columns(run, grown)
    if run.structural is None or run.graph.made is None:
        return grown
    made = run.structural.renumbered(*_met(run, grown), grown.graph.num_nodes)
    return grown.with_graph(grown.graph.with_made(made.transform(grown.graph)))


def _met(run: Run, grown: Source) -> tuple[Any, Any]:
    """The nodes of the fitted graph that are in the new one: their numbers in either."""
    numbers = find_ids(as_ids(run.ids.tolist()), grown.ids)
    there = np.flatnonzero(numbers >= 0)
    return there, numbers[there]


def _same_types(run: Run, grown: Source) -> Source:
    """The new graph with its types numbered as those of the run."""
    own, found = run.graph.types, grown.graph.types
    if own is None and found is None:
        return grown
    if own is None or found is None or not set(found.names) <= set(own.names):
        names = "no types" if own is None else f"nodes of the types {', '.join(own.names)}"
        there = "none" if found is None else ", ".join(found.names)
        raise InputError(f"this run was fitted on {names}, and the new graph has {there}")
    number = np.array([own.names.index(name) for name in found.names])
    codes = number[found.codes.numpy()]
    return grown.with_graph(grown.graph.with_types(codes, own.names, own.column))


def readout_like(run: Run, grown: Source) -> Readout:
    """A run's readout for another graph, by what nodes are called.

    Where hardly any node of the fitted graph is there, the structural part of the embedding is
    that of nodes without neighbours.
    """
    assert run.readout is not None
    return run.readout.grown(*_met(run, grown), grown.graph.num_nodes)


def _check_store(run: Run, grown: Source) -> None:
    """Refuses a store whose features were made in another way than those of the run."""
    assert grown.store is not None
    fitted, own = (s.encoder and s.encoder.to_json() for s in (run.source, grown))
    if fitted != own or grown.graph.num_inputs + _num_made(run) != run.net.encoder.in_channels:
        raise InputError(
            f"{grown.store.folder} must have the features that the run was fitted on, but its "
            "table was encoded in another way: ingest it with --like RUN"
        )


def _num_made(run: Run) -> int:
    """Columns that are made from edges beside the features."""
    return 0 if run.graph.made is None else run.graph.made.num_columns


def _check_columns(run: Run, grown: Source) -> None:
    columns = 0 if grown.graph.features is None else grown.graph.features.num_columns
    wanted = run.net.encoder.in_channels - grown.graph.num_kinds - _num_made(run)
    if columns != wanted:
        raise InputError(
            f"this run's network reads {wanted:,} columns of features, and "
            f"the new graph brings {columns:,}: give it the same columns, as features="
        )
