"""The graph store: a folder of arrays that are mapped into memory, not read.

=====================  ======================================================================
manifest.json          sizes, types and checksums of all files; written last
pairs.npy              ``[2, M]``, each edge once, sorted
indptr.npy             ``[N + 1]``, where the neighbours of each node begin
indices.npy            ``[2 M]``, the neighbours
pair_of_entry.npy      ``[2 M]``, the pair that each of them belongs to
weights.npy            ``[M]``, where edges have weights
labels.npy             ``[N]``, where nodes have classes
directions.npy         ``[M]``, of a directed graph, which ways each pair goes
types.npy              ``[N]``, where nodes have types
times.npy, since.npy   ``[M]`` and ``[N]``, where edges have times
features.npy           ``[N, F]``; sparse ones are ``features_indptr.npy``,
                       ``features_indices.npy`` and ``features_values.npy``
ids.parquet            what the nodes are called
features.json          how the table of nodes became features
val.npy, test.npy      of a run, ``[2, V]`` and ``[2, T]``: what was held out, and beside it
                       ``val_negatives.npy`` and ``test_negatives.npy``
structural_*.npy       of a run, what made columns from edges, instead of features or beside them
=====================  ======================================================================

The store of a run that was fitted on another store refers to that one and has only what is new.

Whole numbers have 32 bits where they fit. A folder without a manifest is unfinished. Opening
checks the files' sizes, and taking the graph that no index points beyond it, since a store may come
from anywhere; :meth:`Store.verify` reads all files and compares checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.files import read_json, read_with, sha256, write_json
from maskgae.base.replace import settled
from maskgae.data.csr import CSR
from maskgae.data.features import DenseFeatures, Features, SparseFeatures
from maskgae.data.graph import Graph
from maskgae.data.pairs import Cleaning
from maskgae.data.structure import Structure
from maskgae.io.ids import IdArray, as_ids, repeated_ids
from maskgae.io.parquet import ParquetTable
from maskgae.io.sources import open_file
from maskgae.store.arrays import ascends, mapped, within
from maskgae.store.validate import faults

MANIFEST, IDS, ENCODING = "manifest.json", "ids.parquet", "features.json"
FAMILY = "maskgae-store-"
FORMAT = f"{FAMILY}1"

#: What an unfinished store keeps its notes in.
WORK = ".work"

#: Kind and shape of each array by the numbers of nodes, pairs and columns; ``None``: any length.
ARRAYS: dict[str, tuple[str, Callable[[int, int, int], tuple[int | None, ...]]]] = {
    "pairs": ("i", lambda n, m, f: (2, m)),
    "indptr": ("i", lambda n, m, f: (n + 1,)),
    "indices": ("i", lambda n, m, f: (2 * m,)),
    "pair_of_entry": ("i", lambda n, m, f: (2 * m,)),
    "weights": ("f", lambda n, m, f: (m,)),
    "labels": ("i", lambda n, m, f: (n,)),
    "directions": ("i", lambda n, m, f: (m,)),
    "types": ("i", lambda n, m, f: (n,)),
    "times": ("t", lambda n, m, f: (m,)),
    "since": ("t", lambda n, m, f: (n,)),
    "features": ("f", lambda n, m, f: (n, f)),
    "features_indptr": ("i", lambda n, m, f: (n + 1,)),
    "features_indices": ("i", lambda n, m, f: (None,)),
    "features_values": ("f", lambda n, m, f: (None,)),
    **dict.fromkeys(
        ("val", "test", "val_negatives", "test_negatives"), ("i", lambda n, m, f: (2, None))
    ),
    "structural_basis": ("f", lambda n, m, f: (n, None)),
    "structural_degrees": ("f", lambda n, m, f: (n,)),
    "structural_scale": ("f", lambda n, m, f: (None,)),
}

#: What the entries of each array stay below; ``None``: any number.
BELOW: dict[str, Callable[[int, int, int], int | None]] = {
    **dict.fromkeys(ARRAYS, lambda n, m, f: None),
    "pairs": lambda n, m, f: n,
    "indices": lambda n, m, f: n,
    "pair_of_entry": lambda n, m, f: m,
    "features_indices": lambda n, m, f: f,
    "directions": lambda n, m, f: 4,
    **dict.fromkeys(("val", "test", "val_negatives", "test_negatives"), lambda n, m, f: n),
}

#: What the numbers of an array may be held in.
TYPES = {
    "i": (np.dtype(np.int32), np.dtype(np.int64)),
    "f": (np.dtype(np.float32),),
    "t": (np.dtype(np.float64),),
}

#: The arrays of sparse features.
SPARSE = ("features_indptr", "features_indices", "features_values")

#: All files that a store may have beside the manifest.
FILES = (*(f"{name}.npy" for name in ARRAYS), IDS, ENCODING)

#: All of its files; the last one makes it a store.
WHOLE = (*FILES, MANIFEST)


@dataclass(frozen=True, eq=False)
class Store:
    """A finished store, opened.

    Args:
        folder: where it lies.
        manifest: what it holds.
    """

    folder: Path
    manifest: dict[str, Any]

    @property
    def digest(self) -> str:
        """What stands for all its bytes: the digest of the checksums."""
        return str(self.manifest["digest"])

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(self.manifest["label_names"])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.manifest["notes"])

    @cached_property
    def base(self) -> Store | None:
        """The store that this one refers to, where it is that of a run on another store."""
        reference = self.manifest.get("base")
        if reference is None:
            return None
        path = Path(reference["path"])
        if not path.is_dir():
            raise InputError(
                f"{self.folder.parent} was fitted on the store {path}, which is gone: put it back "
                "there"
            )
        store = open_store(path)
        if store.digest != reference["digest"]:
            raise InputError(
                f"{self.folder.parent} was fitted on the store {path}, which has changed since: "
                f"its digest was {reference['digest']} and is {store.digest}; put the old one back"
            )
        return store

    @cached_property
    def ids(self) -> IdArray:
        """What the nodes are called, ``[N]``."""
        if self.base is not None:
            return self.base.ids
        [cells] = ParquetTable(open_file(self.folder / IDS, (".parquet",))).read([0])
        if len(cells) != self.manifest["num_nodes"]:
            raise InputError(f"{self.folder / IDS} must have a row for each node: ingest it again")
        if cells.null_count or repeated_ids(ids := as_ids(cells)):
            raise InputError(f"{self.folder / IDS} must have an id for each node, each another")
        return ids

    @property
    def encoding(self) -> str | None:
        """What was fitted on the table of nodes, as JSON."""
        if ENCODING not in self.manifest["files"]:
            return None
        text = read_with(self.folder / ENCODING, lambda path: path.read_text("utf-8"), "JSON")
        return str(text)

    @cached_property
    def graph(self) -> Graph:
        """The graph, its arrays mapped: looked through once, then read where they are used."""
        about, features = self.manifest, self._features()
        if self.base is not None:
            graph = self.base.graph
            return graph if features is None else graph.with_features(features)
        graph = Graph(
            num_nodes=about["num_nodes"],
            pairs=self._tensor("pairs"),
            features=features,
            labels=self._tensor("labels").long() if self._has("labels") else None,
            weights=self._tensor("weights") if self._has("weights") else None,
            name=about["name"],
            cleaning=Cleaning(**about["cleaning"]),
            directions=self._tensor("directions") if self._has("directions") else None,
        )
        if self._has("times") and self._has("since"):
            graph = graph.with_times(self._tensor("times"), self._tensor("since"))
        if self._has("types"):
            graph = self._typed(graph)
        csr = self._csr("indptr", "indices", graph.num_nodes)
        structure = Structure(csr, self._tensor("pair_of_entry"))
        if reason := faults(graph, structure, len(self.label_names)):
            raise InputError(f"{self.folder} is no graph that maskgae wrote: {reason}")
        return graph.with_structure(structure)

    def _typed(self, graph: Graph) -> Graph:
        codes, about = self._tensor("types"), self.manifest.get("types", {})
        if not within(codes.numpy(), 0, len(about.get("names", ()))):
            raise InputError(f"{self.folder / 'types'}.npy must have a type that has a name each")
        return graph.with_types(codes.numpy(), about["names"], about["column"])

    def array(self, name: str) -> NDArray[Any] | None:
        """One of a run's own arrays, where there is one."""
        return self._tensor(name).numpy() if self._has(name) else None

    def verify(self) -> None:
        """Compares the checksum of every file; raises an error that names the first wrong one."""
        for name, entry in self.manifest["files"].items():
            if sha256(self.folder / name) != entry["sha256"]:
                raise InputError(
                    f"{self.folder / name} is not what was ingested: its checksum differs; "
                    "copy the store again or ingest it again"
                )

    def _has(self, name: str) -> bool:
        return f"{name}.npy" in self.manifest["files"]

    def _tensor(self, name: str) -> Tensor:
        # Copied on write: torch wants arrays that it may write to, and the file must not change.
        path, about = self.folder / f"{name}.npy", self.manifest
        array = read_with(path, lambda path: mapped(path, "c"), "NumPy")
        kind, shape_of = ARRAYS[name]
        shape = shape_of(about["num_nodes"], about["num_pairs"], about["num_features"])
        fits = len(shape) == array.ndim and all(
            wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype not in TYPES[kind] or not array.dtype.isnative:
            raise InputError(
                f"{path} must have the shape {list(shape)}, but it has {list(array.shape)} of "
                f"{array.dtype}: ingest it again"
            )
        high = BELOW[name](about["num_nodes"], about["num_pairs"], about["num_features"])
        if high is not None and not within(array, 0, high):
            raise InputError(f"{path} must have numbers from 0 to {high - 1:,}: ingest it again")
        return torch.from_numpy(array)

    def _csr(self, indptr: str, indices: str, width: int, values: Tensor | None = None) -> CSR:
        """Compressed rows; products would read beyond them if the pointers pointed anywhere."""
        csr = CSR(self._tensor(indptr), self._tensor(indices), width, values)
        at = csr.indptr.numpy()
        if values is not None and values.numel() != csr.num_entries:
            raise InputError(
                f"{self.folder}: {SPARSE[2]} must be as many as {indices}: ingest it again"
            )
        if at[0] != 0 or at[-1] != csr.num_entries or not ascends(at):
            raise InputError(
                f"{self.folder / indptr}.npy must ascend from 0 to {csr.num_entries:,}: "
                "ingest it again"
            )
        return csr

    def _features(self) -> Features | None:
        if self._has("features"):
            return DenseFeatures(self._tensor("features"))
        if not self._has(SPARSE[0]):
            return None
        indptr, indices, values = SPARSE
        width = self.manifest["num_features"]
        return SparseFeatures(self._csr(indptr, indices, width, self._tensor(values)))

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"


def is_store(folder: Path) -> bool:
    """Whether the folder has the manifest of a store, of this format or another version of it."""
    try:
        manifest = read_json(folder / MANIFEST)
    except InputError:
        return False
    return isinstance(manifest, dict) and str(manifest.get("format")).startswith(FAMILY)


def open_store(folder: Path) -> Store:
    """Opens a finished store; every file must be there with its size."""
    settled(folder, WHOLE)
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder} is not a finished store: there is no {MANIFEST} in it; give a file of "
            "edges, or run 'maskgae ingest', which goes on where it stopped"
        )
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{folder / MANIFEST} is not of the format {FORMAT}: ingest it again")
    _check_manifest(manifest, folder / MANIFEST)
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            raise InputError(
                f"{path} must have {entry['bytes']:,} bytes, but it is missing or cut: "
                "copy the store again or ingest it again"
            )
    return Store(folder, manifest)


def _check_manifest(manifest: dict[str, Any], path: Path) -> None:
    """Refuses a manifest whose entries are not of their types, or that names other files."""
    rules: dict[str, Callable[[Any], bool]] = {
        "name": lambda x: isinstance(x, str),
        "digest": lambda x: isinstance(x, str),
        "files": lambda x: (
            x.keys() <= set(FILES) and all(_is_count(e["bytes"]) for e in x.values())
        ),
        "cleaning": lambda x: all(map(_is_count, vars(Cleaning(**x)).values())),
        **dict.fromkeys(("num_nodes", "num_pairs", "num_features"), _is_count),
        **dict.fromkeys(("notes", "label_names"), lambda x: all(isinstance(i, str) for i in x)),
    }
    if "types" in manifest:
        rules["types"] = lambda x: (
            all(isinstance(name, str) for name in x["names"])
            and isinstance(x["column"], str | None)
        )
    if "base" in manifest:
        rules["base"] = lambda x: isinstance(x["path"], str) and isinstance(x["digest"], str)
    for key, rule in rules.items():
        try:
            fits = rule(manifest[key])
        except (KeyError, TypeError, AttributeError):
            fits = False
        if not fits:
            raise InputError(f"{path}: '{key}' is not what maskgae writes: ingest it again")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def write_manifest(folder: Path, about: dict[str, Any]) -> None:
    """Checksums everything in a folder and writes the manifest, which makes it a store."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
        for name in FILES
        if (folder / name).exists()
    }
    sums = "".join(f"{name} {entry['sha256']}\n" for name, entry in files.items())
    digest = hashlib.sha256(sums.encode()).hexdigest()[:16]
    write_json(folder / MANIFEST, {"format": FORMAT, **about, "digest": digest, "files": files})
