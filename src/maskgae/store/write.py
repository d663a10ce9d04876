"""A graph that is in memory, as a store: the one form that a graph has on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from maskgae.base.files import atomic, make_folder
from maskgae.data.features import Features, SparseFeatures
from maskgae.data.graph import Graph
from maskgae.io.ids import IdArray, as_arrow
from maskgae.store.arrays import write_array
from maskgae.store.assemble import index_type
from maskgae.store.store import IDS, SPARSE, Store, open_store, write_manifest


def write_store(
    folder: Path,
    graph: Graph,
    ids: IdArray,
    *,
    label_names: Sequence[str] = (),
    notes: Sequence[str] = (),
    base: Store | None = None,
    extra: Mapping[str, NDArray[Any]] | None = None,
) -> Store:
    """Writes a graph as a store and opens it.

    Args:
        folder: made where it does not exist.
        graph: with the features and labels to keep.
        ids: what its nodes are called.
        label_names: what its classes are called.
        notes: how it was read, one line each.
        base: the store that the graph was mapped from, which is referred to and not copied; what
            is written then are the features, where they are not its own, and ``extra``.
        extra: further arrays of a run by their names in :data:`~maskgae.store.store.ARRAYS`.

    >>> from tempfile import TemporaryDirectory
    >>> path = Graph.from_edges([(0, 1), (1, 2)], name="path")
    >>> with TemporaryDirectory() as name:
    ...     write_store(Path(name), path, np.array(["a", "b", "c"], dtype=object)).graph
    Graph(nodes=3, pairs=2)
    """
    make_folder(folder, parents=True)
    about: dict[str, Any] = {"name": graph.name, "cleaning": asdict(graph.cleaning)}
    about |= {"label_names": list(label_names), "notes": list(notes)}
    about |= {"num_nodes": graph.num_nodes, "num_pairs": graph.num_pairs}
    about |= types_entry(graph)
    about["num_features"] = 0 if graph.features is None else graph.features.num_columns
    if base is None:
        _write_graph(folder, graph)
        write_ids(folder, ids)
    else:
        about["base"] = {"path": str(base.folder.resolve()), "digest": base.digest}
    if graph.features is not None and (base is None or base.graph.features is None):
        write_features(folder, graph.features)
    for name, array in (extra or {}).items():
        write_array(folder / f"{name}.npy", array)
    write_manifest(folder, about)
    return open_store(folder)


def _write_graph(folder: Path, graph: Graph) -> None:
    nodes, entries = index_type(graph.num_nodes), index_type(2 * graph.num_pairs + 1)
    csr, pair_of_entry = graph.structure.csr, graph.structure.pair_of_entry
    arrays = {
        "pairs": graph.pairs.numpy().astype(nodes),
        "indptr": csr.indptr.numpy().astype(entries),
        "indices": csr.indices.numpy().astype(nodes),
        "pair_of_entry": pair_of_entry.numpy().astype(entries),
    }
    if graph.weights is not None:
        arrays["weights"] = graph.weights.numpy()
    if graph.labels is not None:
        arrays["labels"] = graph.labels.numpy().astype(np.int32)
    if graph.directions is not None:
        arrays["directions"] = graph.directions.numpy().astype(np.int32)
    if graph.clock is not None:
        arrays |= {"times": graph.clock.times.numpy(), "since": graph.clock.since.numpy()}
    if graph.types is not None:
        arrays["types"] = graph.types.codes.numpy().astype(np.int32)
    for name, array in arrays.items():
        write_array(folder / f"{name}.npy", array)


def types_entry(graph: Graph) -> dict[str, Any]:
    """What the manifest says of the types of nodes, where there are any."""
    types = graph.types
    if types is None:
        return {}
    return {"types": {"names": list(types.names), "column": types.column}}


def write_ids(out: Path, ids: IdArray) -> None:
    """Writes what the nodes are called."""
    with atomic(out / IDS) as temporary, temporary.open("wb") as file:
        pq.write_table(pa.table({"id": as_arrow(ids)}), file)


def write_features(out: Path, features: Features) -> None:
    """Writes features as they are held, dense or sparse."""
    if not isinstance(features, SparseFeatures):
        write_array(out / "features.npy", features.dense().numpy())
        return
    csr = features.by_row
    assert csr.values is not None
    for name, values in zip(SPARSE, (csr.indptr, csr.indices, csr.values), strict=True):
        write_array(out / f"{name}.npy", values.numpy())
