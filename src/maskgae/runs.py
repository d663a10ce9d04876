"""The run folder: everything of a fit that can be used again, in files that are safe to open.

=====================  ======================================================================
model.safetensors      the weights
config.toml            the settings
graph/                 pairs, features, labels and split, as .npy and .npz; ids as .parquet
features.json          what was fitted on the table of nodes
embeddings.parquet     a row for each node: its id and its vector
metrics.json           the record
history.csv            a row for each epoch
report.html            the page
=====================  ======================================================================
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.config import Settings, read_toml
from maskgae.errors import InputError
from maskgae.files import atomic, read_json, read_with, write_json, write_text
from maskgae.fitting import Fit
from maskgae.graph.csr import CSR
from maskgae.graph.features import DenseFeatures, Features, SparseFeatures
from maskgae.graph.graph import Graph
from maskgae.graph.readers.ids import as_arrow, as_ids
from maskgae.graph.structural import StructuralFeatures
from maskgae.model import MaskGAENet
from maskgae.tensors import read_tensors, write_tensors

MODEL, CONFIG, METRICS, HISTORY = "model.safetensors", "config.toml", "metrics.json", "history.csv"
HELD_OUT = ("val", "test", "val_negatives", "test_negatives")
FEATURES, EMBEDDINGS, REPORT = "features.json", "embeddings.parquet", "report.html"


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What is read back from a run folder.

    Args:
        folder: where it lies.
        net: the trained network.
        graph: the training graph with all its pairs and the features that the network reads.
        ids: what its nodes are called.
        structural: what made the features, where the graph brought none.
        encoding: what was fitted on the table of nodes, as JSON, where there was one.
        about: the graph's name, its classes' names, and notes on how it was read.
        held_out: pairs and non-edges by name, empty where nothing was held out.
        record: metrics and protocol.
    """

    folder: Path
    net: MaskGAENet
    graph: Graph
    ids: NDArray[Any]
    structural: StructuralFeatures | None
    encoding: str | None
    about: dict[str, Any]
    held_out: dict[str, Tensor]
    record: dict[str, Any]

    def history(self) -> list[dict[str, Any]]:
        """A row for each epoch."""
        text = read_with(self.folder / HISTORY, lambda path: path.read_text(), "CSV")
        return [
            {key: float(value) if value else None for key, value in row.items()}
            for row in csv.DictReader(io.StringIO(text))
        ]


def save_run(
    folder: Path,
    fit: Fit,
    ids: NDArray[Any],
    *,
    encoding: str | None = None,
    label_names: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> None:
    """Writes a run folder; the model comes last, so a folder with a model is complete.

    Args:
        folder: made where it does not exist.
        fit: what was fitted.
        ids: what the nodes are called.
        encoding: what was fitted on the table of nodes, as JSON.
        label_names: what the classes are called.
        notes: how the graph was read, one line each.
    """
    (folder / "graph").mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, fit.net.settings.to_toml())
    _save_graph(folder / "graph", fit, ids)
    about = {"name": fit.graph.name, "label_names": list(label_names), "notes": list(notes)}
    write_json(folder / "graph" / "about.json", about)
    if encoding is not None:
        write_text(folder / FEATURES, encoding)
    write_embeddings(folder / EMBEDDINGS, ids, fit.embedding)
    write_json(folder / METRICS, fit.record)
    write_text(folder / HISTORY, history_csv(fit.state.history))
    shape = {"in_channels": fit.net.encoder.in_channels, "num_nodes": fit.graph.num_nodes}
    write_tensors(folder / MODEL, fit.net.state_dict(), {"format": 1, **shape})


def load_run(folder: Path) -> SavedRun:
    """Reads a run folder back."""
    if not (folder / MODEL).is_file():
        raise InputError(f"{folder} is not a finished run: there is no {MODEL} in it")
    settings = Settings().updated(read_toml(folder / CONFIG))
    about = read_json(folder / "graph" / "about.json")
    graph, ids, structural, held_out = _load_graph(folder / "graph", about["name"])
    net = MaskGAENet.for_graph(graph, settings)
    _load_state(net, load_weights(folder), folder / MODEL)
    encoding = (folder / FEATURES).read_text() if (folder / FEATURES).exists() else None
    record = read_json(folder / METRICS)
    return SavedRun(folder, net, graph, ids, structural, encoding, about, held_out, record)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a run, to start another from."""
    return read_tensors(folder / MODEL)[0]


def history_csv(history: list[dict[str, Any]]) -> str:
    """The history as a table with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(history[0]) if history else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return out.getvalue()


def write_embeddings(path: Path, ids: NDArray[Any], embedding: Tensor) -> None:
    """A table with a column ``id`` and columns ``z0`` to ``zD-1``, by the file's ending."""
    from maskgae.graph.readers.writers import write_table

    if path.suffix == ".npy":
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.save(file, embedding.numpy(), allow_pickle=False)
        return
    columns = {f"z{i}": column.numpy() for i, column in enumerate(embedding.T.contiguous())}
    write_table(path, {"id": ids, **columns})


def _load_state(net: MaskGAENet, state: Mapping[str, Tensor], path: Path) -> None:
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise InputError(f"{path} does not fit the settings beside it: {reason}") from None


def _save_graph(folder: Path, fit: Fit, ids: NDArray[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    graph = fit.graph
    with atomic(folder / "ids.parquet") as temporary:
        pq.write_table(pa.table({"id": as_arrow(ids)}), temporary)
    arrays: dict[str, Any] = {"pairs": graph.pairs.numpy(), "num_nodes": graph.num_nodes}
    arrays |= {
        name: value.numpy()
        for name, value in (("weights", graph.weights), ("labels", graph.labels))
        if value is not None
    }
    if fit.split is not None:
        arrays |= {key: getattr(fit.split, key).numpy() for key in HELD_OUT}
    _save_arrays(folder / "graph.npz", arrays)
    if graph.features is not None:
        _save_arrays(folder / "features.npz", _feature_arrays(graph.features))
    if fit.structural is not None:
        made = fit.structural
        parts = {"basis": made.basis, "degrees": made.degrees, "scale": made.scale}
        _save_arrays(folder / "structural.npz", parts)


def _load_graph(
    folder: Path, name: str
) -> tuple[Graph, NDArray[Any], StructuralFeatures | None, dict[str, Tensor]]:
    import pyarrow.parquet as pq

    ids = as_ids(read_with(folder / "ids.parquet", pq.read_table, "Parquet")["id"])
    arrays = _load_arrays(folder / "graph.npz")
    graph = Graph(
        num_nodes=int(arrays["num_nodes"]),
        pairs=torch.from_numpy(arrays["pairs"]),
        weights=torch.from_numpy(arrays["weights"]) if "weights" in arrays else None,
        labels=torch.from_numpy(arrays["labels"]) if "labels" in arrays else None,
        name=name,
    )
    held_out = {key: torch.from_numpy(arrays[key]) for key in HELD_OUT if key in arrays}
    if (folder / "features.npz").exists():
        graph = replace(graph, features=_features(_load_arrays(folder / "features.npz")))
    structural = None
    if (folder / "structural.npz").exists():
        structural = StructuralFeatures(**_load_arrays(folder / "structural.npz"))
    return graph, ids, structural, held_out


def _save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    def read(file: Path) -> dict[str, NDArray[Any]]:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    return dict(read_with(path, read, "NumPy"))


def _feature_arrays(features: Features) -> dict[str, NDArray[Any]]:
    if isinstance(features, SparseFeatures):
        matrix: sp.csr_matrix = features.scipy()
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        return {**parts, "columns": np.array(features.num_columns)}
    return {"dense": features.dense().numpy()}


def _features(arrays: Mapping[str, NDArray[Any]]) -> Features:
    if "dense" in arrays:
        return DenseFeatures(torch.from_numpy(arrays["dense"]))
    indptr, indices = (torch.from_numpy(arrays[name]).long() for name in ("indptr", "indices"))
    values = torch.from_numpy(arrays["data"])
    return SparseFeatures(CSR(indptr, indices, int(arrays["columns"]), values))
