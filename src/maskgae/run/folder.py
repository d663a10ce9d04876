"""The run folder: everything of a fit that can be used again, in files that are safe to open.

=====================  ======================================================================
model.safetensors      the weights
config.toml            the settings
graph/                 pairs, features, labels and split, as .npy and .npz; ids as .parquet;
                       of a run on a store, what was held out, and where the store is
features.json          what was fitted on the table of nodes
embeddings.parquet     a row for each node: its id and its vector
metrics.json           the record
history.csv            a row for each epoch
report.html            the page
checkpoints/           the last two states of the training, until the run is complete
.lock                  held by the process that writes here
=====================  ======================================================================
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.files import (
    TEMPORARY,
    atomic,
    make_folder,
    read_json,
    read_with,
    write_json,
    write_text,
)
from maskgae.base.lock import LOCK
from maskgae.base.settings import Settings
from maskgae.base.settings_text import read_toml
from maskgae.base.tensors import read_tensors, write_tensors
from maskgae.data.csr import CSR
from maskgae.data.features import DenseFeatures, Features, SparseFeatures
from maskgae.data.graph import Graph
from maskgae.data.structural import StructuralFeatures
from maskgae.io.archives import load_npz
from maskgae.io.ids import as_arrow, as_ids
from maskgae.io.parquet import ParquetTable
from maskgae.io.sources import open_file
from maskgae.nn.network import MaskGAENet
from maskgae.run.fitting import Fit
from maskgae.store.store import Store, open_store
from maskgae.training.checkpoint import whole_checkpoints

MODEL, CONFIG, METRICS, HISTORY = "model.safetensors", "config.toml", "metrics.json", "history.csv"
HELD_OUT = ("val", "test", "val_negatives", "test_negatives")
FEATURES, EMBEDDINGS, REPORT = "features.json", "embeddings.parquet", "report.html"
CHECKPOINTS, GRAPH = "checkpoints", "graph"
#: Numbers of embeddings that are turned into a table at a time.
WRITTEN_NUMBERS = 2**24
FILES = (MODEL, CONFIG, METRICS, HISTORY, FEATURES, EMBEDDINGS, REPORT)


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
    store: Store | None = None,
) -> None:
    """Writes a run folder; the model comes last, so a folder with a model is complete.

    Args:
        folder: made where it does not exist.
        fit: what was fitted.
        ids: what the nodes are called.
        encoding: what was fitted on the table of nodes, as JSON.
        label_names: what the classes are called.
        notes: how the graph was read, one line each.
        store: what the graph was read from; it is referred to, and not copied.
    """
    make_folder(folder / GRAPH, parents=True)
    write_text(folder / CONFIG, fit.net.settings.to_toml())
    about: dict[str, Any] = {"name": fit.graph.name}
    about |= {"label_names": list(label_names), "notes": list(notes)}
    if store is None:
        _save_graph(folder / GRAPH, fit, ids)
    else:
        about["store"] = {"path": str(store.folder.resolve()), "digest": store.digest}
    _save_extras(folder / GRAPH, fit, own_features=store is None or fit.structural is not None)
    write_json(folder / GRAPH / "about.json", about)
    if encoding is not None:
        write_text(folder / FEATURES, encoding)
    write_embeddings(folder / EMBEDDINGS, ids, fit.embedding)
    write_json(folder / METRICS, fit.record)
    write_text(folder / HISTORY, history_csv(fit.state.history))
    shape = {"in_channels": fit.net.encoder.in_channels, "num_nodes": fit.graph.num_nodes}
    write_tensors(folder / MODEL, fit.net.state_dict(), {"format": 1, **shape})


def is_complete(folder: Path) -> bool:
    """Whether the folder holds a run to its last file but the page."""
    return (folder / MODEL).is_file()


def contents(folder: Path, *, foreign: bool = False) -> list[str]:
    """What lies in a folder but for locks and leftovers; or only what no run writes."""
    known = {LOCK, *((CHECKPOINTS, GRAPH, *FILES) if foreign else ())}
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if name not in known and not TEMPORARY.fullmatch(name)]


def check_replaceable(folder: Path) -> None:
    """Refuses to replace a folder that holds anything but a run."""
    if names := contents(folder, foreign=True):
        raise InputError(
            f"{folder} is no run folder, there is {names[0]} in it: nothing was replaced; choose "
            "another folder"
        )


def clear_run(folder: Path) -> None:
    """Removes a run from its folder, the model first, so what is left never looks complete."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / GRAPH, ignore_errors=True)
    drop_checkpoints(folder)


def drop_checkpoints(folder: Path) -> None:
    """Removes what a complete run has no use for any more."""
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def load_run(folder: Path) -> SavedRun:
    """Reads a run folder back."""
    if not is_complete(folder):
        raise InputError(f"{folder} is not a finished run: there is no {MODEL} in it")
    settings = Settings().updated(read_toml(folder / CONFIG))
    about = _checked_about(folder / GRAPH / "about.json")
    graph, ids, structural, held_out = _load_graph(folder / GRAPH, about)
    net = _load_net(graph, settings, folder)
    encoding = (folder / FEATURES).read_text() if (folder / FEATURES).exists() else None
    record = read_json(folder / METRICS)
    return SavedRun(folder, net, graph, ids, structural, encoding, about, held_out, record)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a run, complete or not, to start another from."""
    if not is_complete(folder):
        for _, snapshot, _ in whole_checkpoints(folder / CHECKPOINTS):
            return snapshot.part("net")
    return read_tensors(folder / MODEL)[0]


def history_csv(history: list[dict[str, Any]]) -> str:
    """The history as a table with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(history[0]) if history else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return out.getvalue()


def write_embeddings(
    path: Path, ids: NDArray[Any], embedding: Tensor, *, spreadsheet_safe: bool = False
) -> None:
    """A table with a column ``id`` and columns ``z0`` to ``zD-1``, by the file's ending."""
    from maskgae.io.writers import write_parts

    if path.suffix == ".npy":
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.save(file, embedding.numpy(), allow_pickle=False)
        return

    def part(rows: slice) -> dict[str, NDArray[Any]]:
        vectors = embedding[rows].T.contiguous()
        return {"id": ids[rows], **{f"z{i}": column.numpy() for i, column in enumerate(vectors)}}

    step = max(1, WRITTEN_NUMBERS // embedding.shape[1])
    starts = range(0, max(1, embedding.shape[0]), step)
    parts = (part(slice(start, start + step)) for start in starts)
    write_parts(path, parts, spreadsheet_safe=spreadsheet_safe)


def _load_net(graph: Graph, settings: Settings, folder: Path) -> MaskGAENet:
    """The network of the settings with the weights of a file.

    It is made without memory first: settings that the weights do not fit cost nothing.
    """
    state, path = load_weights(folder), folder / MODEL
    layers = settings.encoder.layers + settings.decoder.layers
    if layers > len(state) + 1:  # a layer has weights, but for a decoder without any
        raise InputError(f"{path} does not fit the settings beside it: they have {layers} layers")
    with torch.device("meta"):
        net = MaskGAENet.for_graph(graph, settings)
    own = {name: (tuple(value.shape), value.dtype) for name, value in net.state_dict().items()}
    given = {name: (tuple(value.shape), value.dtype) for name, value in state.items()}
    if differing := sorted(n for n in own.keys() | given.keys() if own.get(n) != given.get(n)):
        name = differing[0]
        raise InputError(
            f"{path} does not fit the settings beside it: {name} is {given.get(name, 'missing')} "
            f"there and {own.get(name, 'unknown')} here"
        )
    net.to_empty(device="cpu").load_state_dict(state)
    return net


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
    _save_arrays(folder / "graph.npz", arrays)


def _save_extras(folder: Path, fit: Fit, own_features: bool) -> None:
    """What was held out, and features that are not the store's."""
    if fit.split is not None:
        held_out = {key: getattr(fit.split, key).numpy() for key in HELD_OUT}
        _save_arrays(folder / "held_out.npz", held_out)
    if own_features and fit.graph.features is not None:
        _save_arrays(folder / "features.npz", _feature_arrays(fit.graph.features))
    if fit.structural is not None:
        made = fit.structural
        parts = {"basis": made.basis, "degrees": made.degrees, "scale": made.scale}
        _save_arrays(folder / "structural.npz", parts)


def _load_graph(
    folder: Path, about: Mapping[str, Any]
) -> tuple[Graph, NDArray[Any], StructuralFeatures | None, dict[str, Tensor]]:
    """Graph, ids, what made its features, and what was held out."""
    if "store" in about:
        store = _referred(folder, about["store"])
        graph, ids = store.graph, store.ids
    else:
        graph, ids = _load_own_graph(folder, about["name"])
    path, structural, held_out = folder / "held_out.npz", None, {}
    try:
        if path.exists():
            arrays = _load_arrays(path)
            held_out = {key: _pairs(arrays[key], len(ids)) for key in HELD_OUT}
        path = folder / "features.npz"
        if path.exists():
            graph = graph.with_features(_features(_load_arrays(path), len(ids)))
        path = folder / "structural.npz"
        if path.exists():
            structural = StructuralFeatures(**_load_arrays(path))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a file that maskgae wrote: {error}") from None
    return graph, ids, structural, held_out


def _referred(folder: Path, reference: Mapping[str, Any]) -> Store:
    """The store that a run was fitted on, if it is still there and the same."""
    path = Path(str(reference.get("path")))
    if not path.is_dir():
        raise InputError(
            f"{folder.parent} was fitted on the store {path}, which is gone: put it back there"
        )
    store = open_store(path)
    if store.digest != reference.get("digest"):
        raise InputError(
            f"{folder.parent} was fitted on the store {path}, which has changed since: its digest "
            f"was {reference.get('digest')} and is {store.digest}; put the old one back"
        )
    return store


def _load_own_graph(folder: Path, name: str) -> tuple[Graph, NDArray[Any]]:
    path = folder / "graph.npz"
    [cells] = ParquetTable(open_file(folder / "ids.parquet", (".parquet",))).read([0])
    ids, arrays = as_ids(cells), _load_arrays(path)
    weights, labels = arrays.get("weights"), arrays.get("labels")
    try:
        graph = Graph(
            num_nodes=len(ids),
            pairs=_pairs(arrays["pairs"], len(ids)),
            weights=None if weights is None else torch.from_numpy(weights),
            labels=None if labels is None else torch.from_numpy(labels).long(),
            name=name,
        )
        if not (graph.keys.diff() > 0).all() or not (graph.pairs[0] < graph.pairs[1]).all():
            raise ValueError("pairs must ascend")
        if weights is not None and weights.shape != (graph.num_pairs,):
            raise ValueError("a weight is needed for every pair")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a file that maskgae wrote: {error}") from None
    return graph, ids


def _pairs(array: NDArray[Any], num_nodes: int) -> Tensor:
    """Pairs of a file, ``[2, P]``, none of them beyond the nodes."""
    if array.ndim != 2 or array.shape[0] != 2 or array.dtype != np.int64:
        raise ValueError(f"pairs must be int64 of shape [2, P], not {array.dtype} {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < num_nodes):
        raise ValueError(f"pairs must join nodes 0 to {num_nodes - 1:,}")
    return torch.from_numpy(array)


def _save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    return load_npz(open_file(path, (".npz",)))


def _feature_arrays(features: Features) -> dict[str, NDArray[Any]]:
    if isinstance(features, SparseFeatures):
        matrix: sp.csr_matrix = features.scipy()
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        return {**parts, "columns": np.array(features.num_columns)}
    return {"dense": features.dense().numpy()}


def _features(arrays: Mapping[str, NDArray[Any]], num_rows: int) -> Features:
    if "dense" in arrays:
        return DenseFeatures(torch.from_numpy(arrays["dense"]).float())
    parts = (arrays["data"].astype(np.float32), arrays["indices"], arrays["indptr"])
    matrix = sp.csr_matrix(parts, shape=(num_rows, int(arrays["columns"])))
    matrix.check_format(full_check=True)  # no index may lie beyond the matrix
    indptr, indices = (torch.from_numpy(part).long() for part in (matrix.indptr, matrix.indices))
    return SparseFeatures(CSR(indptr, indices, matrix.shape[1], torch.from_numpy(matrix.data)))


def _checked_about(path: Path) -> dict[str, Any]:
    """The graph's name, its classes' names and notes, each of its type."""
    about = read_json(path)
    lists = ("label_names", "notes")
    if (
        not isinstance(about, dict)
        or not isinstance(about.get("name"), str)
        or not all(isinstance(about.get(key), list) for key in lists)
        or not all(isinstance(item, str) for key in lists for item in about[key])
        or not isinstance(about.get("store", {}), dict)
    ):
        raise InputError(f"{path} is not a JSON file that maskgae wrote: a name and two lists")
    return about
