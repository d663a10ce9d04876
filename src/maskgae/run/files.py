"""A run's files: written, read back, and compared with what is asked of a complete one."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.files import atomic, make_folder, read_json, read_with, write_json, write_text
from maskgae.base.replace import settled
from maskgae.base.settings import Settings
from maskgae.base.settings_text import read_toml, to_toml
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.base.tensors import read_tensors, write_tensors
from maskgae.data.features import Features
from maskgae.data.graph import Graph
from maskgae.data.structural import StructuralFeatures
from maskgae.evaluation.record import check_record
from maskgae.evaluation.scorer import Scorer
from maskgae.io.encode import TableEncoder
from maskgae.io.ids import IdArray
from maskgae.io.parquet import ParquetTable
from maskgae.io.sources import open_file
from maskgae.io.writers import write_parts
from maskgae.nn.network import MaskGAENet
from maskgae.nn.readout import Readout
from maskgae.run.folder import (
    CARD,
    CHECKPOINTS,
    CONFIG,
    EMBEDDINGS,
    FEATURES,
    GRAPH,
    HISTORY,
    METRICS,
    MODEL,
    OLD_GRAPH_FILES,
    READOUT,
    REPORT,
    SCORER,
    WHOLE,
    check_replaceable,
    clear_results,
    is_complete,
    run_folder,
)
from maskgae.run.map import write_nodes
from maskgae.run.source import Source
from maskgae.store.store import Store, open_store
from maskgae.store.write import write_store
from maskgae.training.checkpoint import whole_checkpoints

if TYPE_CHECKING:
    from maskgae.run.run import Run

#: What is held out of a run's graph, by the names of its arrays.
HELD_OUT = ("val", "test", "val_negatives", "test_negatives")
#: Numbers of embeddings that are turned into a table at a time.
WRITTEN_NUMBERS = 2**24
#: What made features from structure, by the names of its arrays in a store.
STRUCTURAL = {f"structural_{name}": name for name in ("basis", "degrees", "scale")}


def save(run: Run, folder: Path, card: str | None = None) -> None:
    """Writes a run to a folder, in place of the run that is there, with a model card or none."""
    with run_folder(folder, check_replaceable, anew=True) as place:
        clear_results(place)
        write_run(run, place)
        write_nodes(run, place)
        if run.folder is not None and (run.folder / REPORT).is_file():
            shutil.copyfile(run.folder / REPORT, place / REPORT)
        if card is not None:
            write_text(place / CARD, card)


def write_run(run: Run, folder: Path) -> None:
    """Writes all files but the page; the model comes last, so a folder with a model is complete."""
    source = run.source
    make_folder(folder / GRAPH, parents=True)  # first: with it a part of a run is known as one
    write_text(folder / CONFIG, to_toml(run.settings.flat()))
    write_store(
        folder / GRAPH,
        run.graph,
        run.ids,
        label_names=source.label_names,
        notes=source.notes,
        base=source.store,
        extra=_arrays(run),
    )
    if source.encoder is not None:
        write_text(folder / FEATURES, source.encoder.to_json())
    write_text(folder / SCORER, run.scorer.to_json())
    if run.readout is not None:
        write_tensors(folder / READOUT, run.readout.tensors(), {"format": 1})
    write_embeddings(folder / EMBEDDINGS, run.ids, run.embedding)
    write_json(folder / METRICS, run.record)
    write_text(folder / HISTORY, history_csv(run.history))
    shape = {"in_channels": run.net.encoder.in_channels, "num_nodes": run.graph.num_nodes}
    write_tensors(folder / MODEL, run.net.state_dict(), {"format": 1, **shape})


def _arrays(run: Run) -> dict[str, NDArray[Any]]:
    """What was held out, and what made features from structure."""
    held_out = {name: pairs.numpy() for name, pairs in run.held_out.items()}
    if run.structural is None:
        return held_out
    return held_out | {name: getattr(run.structural, key) for name, key in STRUCTURAL.items()}


def load_parts(folder: Path) -> dict[str, Any]:
    """What a run is made of, read back from its folder."""
    settled(folder, WHOLE)
    if not is_complete(folder):
        raise InputError(f"{folder} is not a finished run: there is no {MODEL} in it")
    if any((folder / GRAPH / name).exists() for name in OLD_GRAPH_FILES):
        raise InputError(
            f"{folder} is a run of maskgae 0.1, whose graph has another form: fit it again with "
            f"its own settings, as in 'maskgae fit EDGES --config {folder / CONFIG} --out NEW'"
        )
    settings = Settings().updated(read_toml(folder / CONFIG))
    store = open_store(folder / GRAPH)
    structural = _structural(store)
    source = Source(
        _with_made(store.graph, structural, folder),
        store.ids,
        store.label_names,
        store.notes,
        read_encoder(folder),
        store.base,
    )
    return {
        "net": _load_net(source.graph, settings, folder),
        "source": source,
        "held_out": _held_out(store),
        "structural": structural,
        "readout": _read_readout(folder / READOUT, settings),
        "scorer": read_with(folder / SCORER, _read_scorer, "JSON"),
        "history": read_with(folder / HISTORY, _read_history, "CSV"),
        "record": read_with(folder / METRICS, lambda path: check_record(read_json(path)), "JSON"),
        "stored": partial(read_embeddings, folder / EMBEDDINGS, source.graph.num_nodes),
        "folder": folder,
    }


def read_encoder(folder: Path) -> TableEncoder | None:
    """What a run or a store fitted on its table of nodes, where it had one."""
    path = folder / FEATURES
    if not path.exists():
        return None
    text = read_with(path, lambda path: path.read_text(encoding="utf-8"), "JSON")
    return TableEncoder.from_json(text, str(path))


def _read_readout(path: Path, settings: Settings) -> Readout | None:
    if settings.embedding.parts == "layers":
        return None
    return Readout.from_tensors(read_tensors(path)[0])


def _read_scorer(path: Path) -> Scorer:
    return Scorer.from_json(path.read_text(encoding="utf-8"))


def _held_out(store: Store) -> dict[str, Tensor]:
    arrays = {name: store.array(name) for name in HELD_OUT}
    found = {k: torch.from_numpy(a).long() for k, a in arrays.items() if a is not None}
    if found and len(found) < len(HELD_OUT):
        raise InputError(f"{store.folder} lacks some of {', '.join(HELD_OUT)}: fit it again")
    return found


def _structural(store: Store) -> StructuralFeatures | None:
    arrays = {key: store.array(name) for name, key in STRUCTURAL.items()}
    found = {key: array for key, array in arrays.items() if array is not None}
    if not found:
        return None
    if len(found) < len(STRUCTURAL) or found["scale"].size != found["basis"].shape[1] + 1:
        raise InputError(f"{store.folder} lacks a part of its structural features: fit it again")
    return StructuralFeatures(**found)


def _with_made(graph: Graph, made: StructuralFeatures | None, folder: Path) -> Graph:
    """The graph with columns from its edges, where its network reads them beside its features."""
    if made is None or read_tensors(folder / MODEL)[1].get("in_channels") == graph.num_inputs:
        return graph
    return graph.with_made(made.transform(graph))


def other_parts(run: Run, source: Source) -> list[str]:
    """What of a graph is not as in the run."""
    one, other = run.graph, source.graph
    edges = (one.pairs.long(), other.pairs.long())
    if not torch.equal(*edges) or not np.array_equal(run.ids, source.ids):
        return ["other edges"]
    features = one.features if run.has_table else None
    found = [] if _same_features(features, other.features) else ["other features"]
    sides = [None if g.types is None else g.types.codes.tolist() for g in (one, other)]
    found += [] if sides[0] == sides[1] else ["other types"]
    ways = [None if g.directions is None else g.directions.tolist() for g in (one, other)]
    found += [] if ways[0] == ways[1] else ["other directions"]
    clocks = [None if g.clock is None else g.clock.times.tolist() for g in (one, other)]
    found += [] if clocks[0] == clocks[1] else ["other times"]
    labels = [graph.labels is not None and graph.labels.tolist() for graph in (one, other)]
    return found if labels[0] == labels[1] else [*found, "other labels"]


def _same_features(one: Features | None, other: Features | None) -> bool:
    if one is None or other is None:
        return one is other
    blocks = torch.arange(one.num_rows).split(max(1, CHUNK_NUMBERS // one.num_columns))
    return one.shape == other.shape and all(
        torch.equal(one.rows(rows).dense(), other.rows(rows).dense()) for rows in blocks
    )


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a run, complete or not, to start another from."""
    settled(folder, WHOLE)
    if not is_complete(folder):
        for _, snapshot, _ in whole_checkpoints(folder / CHECKPOINTS):
            return snapshot.part("net")
    return read_tensors(folder / MODEL)[0]


def _load_net(graph: Graph, settings: Settings, folder: Path) -> MaskGAENet:
    """The network of the settings with the weights of a file.

    It is made without memory first: settings that the weights do not fit cost nothing.
    """
    state, path = load_weights(folder), folder / MODEL
    layers = settings.encoder.layers + settings.decoder.layers
    trained = settings.encoder.kind != "none"
    if trained and layers > len(state) + 1:  # a layer has weights, but for a decoder without any
        raise InputError(f"{path} does not fit the settings beside it: they have {layers} layers")
    with torch.device("meta"):
        net = MaskGAENet.for_graph(graph, settings)
    net.check_state(state, f"{path} does not fit the settings beside it")
    net.to_empty(device="cpu").load_state_dict(state)
    return net


def history_csv(history: Sequence[Mapping[str, Any]]) -> str:
    """The history as a table with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(history[0]) if history else ["epoch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return out.getvalue()


def _read_history(path: Path) -> list[dict[str, Any]]:
    """Rows of numbers, whole ones where they are written so, ``None`` where a cell is empty."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            rows = list(csv.DictReader(file, strict=True))
        except csv.Error as error:  # an open quote, or a cell without end
            raise ValueError(error) from None
    return [{str(key): _number(cell) for key, cell in row.items()} for row in rows]


def _number(cell: str | None) -> float | None:
    if not cell:
        return None
    return int(cell) if cell.removeprefix("-").isdigit() else float(cell)


def write_embeddings(
    path: Path,
    ids: IdArray,
    embedding: NDArray[np.float32],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """A table with a column ``id`` and columns ``z0`` to ``zD-1``, by the file's ending."""
    if path.suffix == ".npy":
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.save(file, embedding, allow_pickle=False)
        return

    def part(rows: slice) -> dict[str, NDArray[Any]]:
        vectors = np.ascontiguousarray(embedding[rows].T)
        return {"id": ids[rows], **{f"z{i}": column for i, column in enumerate(vectors)}}

    step = max(1, WRITTEN_NUMBERS // embedding.shape[1])
    starts = range(0, max(1, embedding.shape[0]), step)
    parts = (part(slice(start, start + step)) for start in starts)
    write_parts(path, parts, spreadsheet_safe=spreadsheet_safe)


def read_embeddings(path: Path, num_nodes: int) -> NDArray[np.float32]:
    """The embeddings of a table that :func:`write_embeddings` wrote, ``[N, D]``."""
    table = ParquetTable(open_file(path, (".parquet",)))
    columns = table.read(range(1, len(table.names)))
    vectors = np.stack([column.to_numpy() for column in columns], axis=1)
    if vectors.shape[0] != num_nodes or vectors.dtype != np.float32:
        raise InputError(
            f"{path} must have {num_nodes:,} rows of float32, but it has {vectors.shape[0]:,} of "
            f"{vectors.dtype}: write it again by 'maskgae fit'"
        )
    return vectors
