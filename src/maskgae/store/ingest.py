"""Files of any size to a store, in bounded memory and in stages.

==========  ===========================================================================
ids         the edges are read once for the ids, which are sorted and numbered
edges       they are read again, numbered, and written as sorted runs of keys
pairs       the runs are merged: loops are gone, repeated edges one, weights added up
rows        both directions of every pair by row: the pairs sorted by their other end
nodes       features and labels of the table
types       those of the nodes, where they have any
==========  ===========================================================================

What memory holds at a time is a run of keys and a few numbers per node, never the edges; the ids
and the table of nodes must fit. A stage that has ended leaves a note in ``.work/``; an ingest that
was killed goes on after the last one that ended, and ends with the same bytes. The graph is the one
that :func:`~maskgae.io.build.build_graph` makes of the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maskgae.base.errors import InputError
from maskgae.base.files import read_json, read_with, write_json, write_text, writing
from maskgae.base.lock import LOCK, locked
from maskgae.base.replace import NEW, replacing, settle
from maskgae.data.pairs import Cleaning
from maskgae.io.build import PLAIN, table_ids
from maskgae.io.encode import TableEncoder, encode_labels, fit_encoder
from maskgae.io.flows import EdgeFlow, Numbering, changed, open_edges
from maskgae.io.ids import IdArray, as_ids
from maskgae.io.kinds import NONE, FoundTypes, Kinds, found_sides, one_way_note, table_types
from maskgae.io.parquet import opened
from maskgae.io.tables import NodeTable, read_nodes
from maskgae.store.arrays import mapped, write_array
from maskgae.store.assemble import directed_keys, write_pairs, write_rows
from maskgae.store.sorting import SortedRuns
from maskgae.store.store import (
    ENCODING,
    FILES,
    IDS,
    MANIFEST,
    WHOLE,
    WORK,
    Store,
    is_store,
    open_store,
    write_manifest,
)
from maskgae.store.write import write_features, write_ids

Facts = dict[str, Any]

#: Told of each stage when it begins.
OnStage = Callable[[str], None]


#: The notes of an unfinished store in its work folder, and the mark by which they are known.
STATE, UNFINISHED = "state.json", "maskgae-unfinished-store-1"

#: What else its work folder may hold: sorted runs in folders, and arrays.
SIDES = "sides.npy"
RUNS, ARRAYS = ("keys", "rows", "draws"), ("high.npy", "weights.npy", "directions.npy", SIDES)


def unfinished(folder: Path) -> Facts | None:
    """The notes of an ingest that was not finished, if there was one in the folder."""
    path = folder / WORK / STATE
    if path.parent.is_symlink() or not path.is_file():
        return None
    with suppress(InputError):
        known = read_json(path)
        ours = isinstance(known, dict) and known.get("format") == UNFINISHED
        if ours and all(isinstance(known.get(key), dict) for key in ("source", "done")):
            return dict(known)
    return None


def drop_work(folder: Path) -> None:
    """Removes what an ingest noted on its way, and nothing else; the notes themselves last."""
    work = folder / WORK
    if unfinished(folder) is not None:
        for name in RUNS:
            _drop_runs(work / name)
        for name in (*ARRAYS, STATE):
            (work / name).unlink(missing_ok=True)
    with suppress(OSError):  # it is not there, or not ours alone
        work.rmdir()


def _drop_runs(folder: Path) -> None:
    for path in folder.glob("[0-9]*.npy"):
        path.unlink()
    with suppress(OSError):
        folder.rmdir()


class Stages:
    """The stages of one ingest: each is run once, however often the whole is begun.

    Args:
        folder: the store to be.
        source: what the store is made from; with another source everything begins anew.
        on_stage: told of each stage when it begins.
    """

    def __init__(self, folder: Path, source: Facts, on_stage: OnStage | None = None) -> None:
        self.folder, self.work, self.source = folder, folder / WORK, source
        self.on_stage = on_stage
        known = unfinished(folder)
        if known is None or known["source"] != source:
            self._clear()
            known = {"format": UNFINISHED, "source": source, "done": {}}
            write_json(self.work / STATE, known)
        self._known: Facts = known

    def run(self, name: str, stage: Callable[[], Facts]) -> Facts:
        """What a stage found out, now or when it was run before."""
        if name not in self._known["done"]:
            if self.on_stage is not None:
                self.on_stage(name)
            self._known["done"][name] = stage()
            write_json(self.work / STATE, self._known)
        return dict(self._known["done"][name])

    def runs(self, name: str, *, empty: bool = False) -> SortedRuns:
        """Sorted runs of a stage, taken up or begun anew."""
        folder = self.work / name
        if empty:
            _drop_runs(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return SortedRuns(folder)

    def finish_pairs(self, num_nodes: int, weighted: bool = False, ways: bool = False) -> Facts:
        """From the sorted keys to pairs and rows."""
        keys, out, work = self.runs("keys"), self.folder, self.work
        found = self.run("pairs", lambda: write_pairs(keys, out, work, num_nodes, weighted, ways))
        return found | self.run(
            "rows",
            lambda: write_rows(self.runs("rows", empty=True), out, num_nodes, found["num_pairs"]),
        )

    def finish(self, name: str, found: Facts, cleaning: Cleaning, notes: Sequence[str]) -> None:
        """Writes the manifest, which makes the folder a store, and clears up."""
        if self.on_stage is not None:
            self.on_stage("checksums")
        kept = ("num_nodes", "num_pairs", "num_features", "label_names")
        about = {"name": name, "cleaning": asdict(cleaning), "notes": list(notes)}
        about |= {"types": found["types"]} if found.get("types") else {}
        write_manifest(self.folder, about | {key: found[key] for key in kept})
        drop_work(self.folder)

    def _clear(self) -> None:
        """Takes away what another ingest left; its notes, which tell that it was one, last."""
        for name in (MANIFEST, *FILES):
            (self.folder / name).unlink(missing_ok=True)
        drop_work(self.folder)


def ingest(
    edges: Path,
    out: Path,
    *,
    nodes: Path | None = None,
    id: str | None = None,
    label: str | None = None,
    missing: str = "error",
    like: Path | None = None,
    kinds: Kinds = PLAIN,
    reading: Mapping[str, Any] | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> Store:
    """Makes a store of a list of edges and a table of nodes.

    Args:
        edges: in any format of edges; text and Parquet are read in batches.
        out: the folder of the store.
        nodes: a table of the nodes.
        id: its column of ids.
        label: its column with classes.
        missing: what a missing number of it becomes: ``error``, ``mean`` or ``zero``.
        like: a run or store whose features the table is encoded like, instead of anew.
        kinds: what is said of the kind of graph.
        reading: how to read the edges, by the arguments of
            :func:`~maskgae.io.read_edges`.
        force: whether a store in ``out`` is replaced, once the new one is complete.
        on_stage: told of each stage when it begins.
    """
    stamp = _stamp(edges)  # before anything of it is read
    flow, encoder = open_edges(edges, **(reading or {})), None
    if like is not None:
        text = read_with(like / ENCODING, lambda path: path.read_text(encoding="utf-8"), "JSON")
        encoder = TableEncoder.from_json(text, str(like / ENCODING))
    with store_folder(out, force) as place:
        table = _Table(nodes, id, label, missing, encoder, kinds)
        source = {"edges": stamp, "reading": dict(reading or {}), **table.source()}
        _ingest(flow, edges, table, Stages(place, source, on_stage))
    return open_store(out)


@dataclass(frozen=True)
class _Table:
    """A table of nodes, and how it becomes features."""

    path: Path | None
    id: str | None
    label: str | None
    missing: str
    encoder: TableEncoder | None
    kinds: Kinds

    def source(self) -> Facts:
        """What tells one from another."""
        return {
            "nodes": None if self.path is None else _stamp(self.path),
            "label": self.label,
            "missing": self.missing,
            "like": None if self.encoder is None else self.encoder.to_json(),
            **({"id": self.id} if self.id else {}),
            **{name: value for name, value in asdict(self.kinds).items() if value},
        }

    def read(self, ids: IdArray) -> NodeTable:
        """The table; ids are what a matrix calls its rows where its file does not say."""
        assert self.path is not None
        asked = self.id or (self.encoder.id if self.encoder else None)
        return read_nodes(self.path, asked, ids=ids)


def _ingest(flow: EdgeFlow, edges: Path, table: _Table, stages: Stages) -> None:
    out = stages.folder
    found = stages.run("ids", lambda: _number_ids(out, flow, edges, table))
    found |= stages.run("edges", lambda: _write_keys(stages, flow, edges))
    directed = table.kinds.directed
    found |= stages.finish_pairs(found["num_nodes"], flow.weighted, directed)
    found |= stages.run("nodes", lambda: _write_nodes(out, table))
    found |= stages.run("types", lambda: _write_types(stages, flow, table, found))
    cleaning = Cleaning(
        self_loops=found["edges"] - found["proper"],
        duplicates=found["proper"] - found["directed"],
        symmetrised=0 if directed else 2 * found["num_pairs"] - found["directed"],
        isolated=found["isolated"],
    )
    notes = [*found["notes"], *found["said"], *_about_alone(found, table), str(cleaning)]
    for key, path in (("edges", edges), ("nodes", table.path)):
        if path is not None and _stamp(path) != stages.source[key]:
            raise changed(path)
    stages.finish(flow.name, found, cleaning, notes)


@contextmanager
def store_folder(out: Path, force: bool) -> Iterator[Path]:
    """Where to make a store, held against other processes; an old one stays until it is done."""
    with locked(out), writing(out):
        settle(out, WHOLE)
        check_folder(out, force)
        with replacing(out, WHOLE, anew=force) as place:
            yield place


def check_folder(out: Path, force: bool) -> None:
    """Refuses a folder that holds a store already, or something else."""
    if is_store(out):
        drop_work(out)  # it may have been killed when only this was left to do
        if not force:
            raise InputError(
                f"--out {out} is a store already: choose another, or --force to replace"
            )
    elif unfinished(out) is None:
        with suppress(OSError):
            (out / WORK).rmdir()  # one that was killed before its first note
        _check_names(out, {LOCK, NEW})
    if (out / NEW).is_dir():
        _check_names(out / NEW, {WORK, *WHOLE})


def _check_names(folder: Path, known: set[str]) -> None:
    if names := {path.name for path in folder.iterdir()} - known:
        raise InputError(
            f"--out {folder} is not empty and no store, there is {min(names)}: choose another "
            "folder"
        )


def _stamp(path: Path) -> Facts:
    """What tells one state of a file from another without reading it."""
    if not path.exists():
        raise InputError(f"{path} does not exist: check the path")
    found = path.stat()
    return {"path": str(path.resolve()), "bytes": found.st_size, "changed": found.st_mtime_ns}


def _number_ids(out: Path, flow: EdgeFlow, edges: Path, table: _Table) -> Facts:
    """Writes the ids of all nodes in the order of their numbers."""
    ids = flow.ids()
    if not len(ids):
        raise InputError(f"{edges} has 0 edges, and a graph needs one at least: check the file")
    notes = flow.notes(ids)
    if table.path is not None:
        nodes = table.read(ids)
        ids = table_ids(nodes, ids)[0]
        notes += nodes.note()
    write_ids(out, ids)
    return {"num_nodes": len(ids), "notes": notes}


def _read_ids(out: Path) -> IdArray:
    with opened(out / IDS) as parquet:
        return as_ids(parquet.read()["id"])


def _write_keys(stages: Stages, flow: EdgeFlow, path: Path) -> Facts:
    """Numbers the ends of all edges and writes their keys as sorted runs."""
    ids = _read_ids(stages.folder)
    number, runs = Numbering(ids, path), stages.runs("keys", empty=True)
    touched = np.zeros((2, len(ids)), dtype=np.bool_)
    edges = proper = forward = 0
    for source, target, weights in flow.batches():
        u, v = number(source), number(target)
        touched[0, u] = touched[1, v] = True
        kept = u != v
        keys = directed_keys(u[kept], v[kept], len(ids))
        runs.add(keys, None if weights is None else weights[kept])
        edges, proper = edges + u.size, proper + keys.size
        forward += int(np.count_nonzero(u < v))
    runs.flush()
    write_array(stages.work / SIDES, touched)
    count = int(touched.any(0).sum())
    return {"edges": edges, "proper": proper, "forward": forward, "touched": count}


def _write_types(stages: Stages, flow: EdgeFlow, table: _Table, facts: Facts) -> Facts:
    """Writes the types of nodes that are asked for or found."""
    asked = table.kinds.type
    found: FoundTypes | str | None = None
    if asked not in (None, NONE):
        ids = _read_ids(stages.folder)
        nodes = None if table.path is None else table.read(ids)
        found = table_types(nodes, ids, str(asked))
    elif asked is None:
        found = found_sides(flow.sides, mapped(stages.work / SIDES), facts["num_pairs"])
    if not isinstance(found, FoundTypes):
        said = [found] if found else []
        return {"said": said if table.kinds.directed else [*said, *_about_ways(facts)]}
    write_array(stages.folder / "types.npy", found.codes.astype(np.int32))
    return {"said": [found.note], "types": {"names": found.names, "column": found.column}}


def _about_ways(facts: Facts) -> list[str]:
    pairs = facts["num_pairs"]
    return one_way_note(facts["edges"], facts["forward"], pairs, 2 * pairs - facts["directed"])


def _about_alone(found: Facts, table: _Table) -> list[str]:
    alone = found["num_nodes"] - found["touched"]
    if table.path is None or not alone:
        return []
    return [f"{alone:,} nodes of the table have no edge and are kept"]


def _write_nodes(out: Path, table: _Table) -> Facts:
    """Writes features and labels of the table, and how they came about."""
    if table.path is None:
        return {"num_features": 0, "label_names": []}
    ids = _read_ids(out)
    nodes = table.read(ids)
    encoder = table.encoder or fit_encoder(
        nodes,
        table.label,
        missing=table.missing,
        skipped=table.kinds.columns,
        id=table.id,
    )
    features = encoder.transform(nodes, ids)
    write_text(out / ENCODING, encoder.to_json())
    names: tuple[str, ...] = ()
    if encoder.label is not None and encoder.label in nodes.columns:
        found = encode_labels(nodes, encoder.label)
        names = found.names
        write_array(out / "labels.npy", found.codes[nodes.rows_of(ids)].astype(np.int32))
    if features is not None:
        write_features(out, features)
    return {
        "num_features": 0 if features is None else features.num_columns,
        "label_names": list(names),
    }
