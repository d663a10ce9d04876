"""The Open Graph Benchmark's arXiv, MAG and Collab, from the files that the ogb package unpacks.

=======  ============  =================================================================
arXiv    ogbn-arxiv    citations, made undirected; public split of nodes by year
MAG      ogbn-mag      papers and their citations only, made undirected; same kind of split
Collab   ogbl-collab   joint papers by year; public split of pairs, see :func:`load_collab`
=======  ============  =================================================================

All are under ODC-BY. The ogb package knows where the files are and fetches them. They are read here
and not by its dataset classes, which keep a pickled copy, ask questions on the terminal and, at
1.3.6, do not fit torch 2.6 or later. Tables are plain text; Collab's split is a pickle by origin:
it is opened where its content is known (:mod:`~maskgae.datasets.cache`), and then by torch's
restricted reader, which builds arrays and nothing else.
"""

from __future__ import annotations

import _codecs
import csv
import pickle
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.extras import missing, need
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.datasets.cache import (
    cache_folder,
    filled_folder,
    find_folder,
    is_trusted,
    network_timeout,
    not_found,
    trust,
    trusted_list,
)


@dataclass(frozen=True)
class Source:
    """A dataset's name in OGB, the part of the package that lists it, and the files we read."""

    ogb_name: str
    listing: str
    num_nodes: str
    features: str
    split: tuple[str, str, str]
    edges: str = ""
    labels: str = ""

    @property
    def folder(self) -> str:
        return self.ogb_name.replace("-", "_")

    @property
    def files(self) -> tuple[str, ...]:
        every = (self.num_nodes, self.features, *self.split, self.edges, self.labels)
        return tuple(file for file in every if file)


def _split(pattern: str) -> tuple[str, str, str]:
    return pattern.format("train"), pattern.format("valid"), pattern.format("test")


SOURCES: dict[str, Source] = {
    "arXiv": Source(
        "ogbn-arxiv",
        "nodeproppred",
        num_nodes="raw/num-node-list.csv.gz",
        features="raw/node-feat.csv.gz",
        split=_split("split/time/{}.csv.gz"),
        edges="raw/edge.csv.gz",
        labels="raw/node-label.csv.gz",
    ),
    "MAG": Source(
        "ogbn-mag",
        "nodeproppred",
        num_nodes="raw/num-node-dict.csv.gz",
        features="raw/node-feat/paper/node-feat.csv.gz",
        split=_split("split/time/paper/{}.csv.gz"),
        edges="raw/relations/paper___cites___paper/edge.csv.gz",
        labels="raw/node-label/paper/node-label.csv.gz",
    ),
    # The training part of the split has the same edges as raw/edge.csv.gz.
    "Collab": Source(
        "ogbl-collab",
        "linkproppred",
        num_nodes="raw/num-node-list.csv.gz",
        features="raw/node-feat.csv.gz",
        split=_split("split/time/{}.pt"),
    ),
}


@dataclass(frozen=True, eq=False)
class PublicLinkSplit:
    """A split of pairs that a benchmark fixes, with its own negatives.

    Args:
        graph: the training pairs, each once.
        val_pairs: held out for selection.
        val_negatives: what ``val_pairs`` are ranked against.
        test_pairs: held out for the test.
        test_negatives: what ``test_pairs`` are ranked against.
        repeated: how many training pairs repeat an earlier one, in either direction.

    Shapes:
        - **pairs and negatives:** ``[2, P]`` each
    """

    graph: Graph
    val_pairs: Tensor
    val_negatives: Tensor
    test_pairs: Tensor
    test_negatives: Tensor
    repeated: int

    @property
    def known(self) -> dict[str, int]:
        """How many held-out pairs are training pairs too: people who meet again."""
        held_out = {"val": self.val_pairs, "test": self.test_pairs}
        return {part: int(self.graph.contains(pairs).sum()) for part, pairs in held_out.items()}


def is_ogb_available(name: str) -> bool:
    """Whether the files of arXiv, MAG or Collab are on this machine."""
    return find_folder(SOURCES[name].folder, SOURCES[name].files) is not None


def load_ogb(name: str) -> Graph:
    """arXiv or MAG with labels and public node split, or Collab's training graph."""
    if name == "Collab":
        return load_collab().graph
    source, folder = SOURCES[name], _folder(name)
    return Graph.from_edges(
        _table(folder / source.edges, "int64").T,
        _num_nodes(folder / source.num_nodes),
        features=_table(folder / source.features, "float32"),
        labels=_table(folder / source.labels, "int64").reshape(-1),
        node_split=NodeSplit(*(_ids(folder / file) for file in source.split)),
        name=name,
    )


def load_collab() -> PublicLinkSplit:
    """Collab's public split by year: training to 2017, validation 2018, test 2019."""
    source, folder = SOURCES["Collab"], _folder("Collab")
    train, val, test = (_arrays(folder / file) for file in source.split)
    graph = Graph.from_edges(
        train["edge"].T,
        _num_nodes(folder / source.num_nodes),
        features=_table(folder / source.features, "float32"),
        name="Collab",
    )
    return PublicLinkSplit(
        graph=graph,
        val_pairs=val["edge"].T,
        val_negatives=val["edge_neg"].T,
        test_pairs=test["edge"].T,
        test_negatives=test["edge_neg"].T,
        repeated=train["edge"].shape[0] - graph.cleaning.self_loops - graph.num_pairs,
    )


def _folder(name: str) -> Path:
    return find_folder(SOURCES[name].folder, SOURCES[name].files) or _download(name)


def _num_nodes(path: Path) -> int:
    """The number of nodes, or of papers where the table has a column for each kind of node."""
    if path.name == "num-node-list.csv.gz":
        return int(_table(path, "int64")[0, 0])
    return int(need("pandas", "datasets").read_csv(path, compression="gzip")["paper"].iloc[0])


def _table(path: Path, dtype: str) -> np.ndarray[Any, Any]:
    """A compressed table without a header, ``[rows, columns]``."""
    table = need("pandas", "datasets").read_csv(path, compression="gzip", header=None, dtype=dtype)
    return np.array(table.to_numpy())


def _ids(path: Path) -> Tensor:
    return torch.from_numpy(_table(path, "int64").reshape(-1))


def _arrays(path: Path) -> dict[str, Tensor]:
    """The pairs ``[P, 2]`` in a file that ``torch.save`` wrote; all but arrays is refused."""
    if not is_trusted(path):
        raise InputError(
            f"{path} is a pickle, and its content is not known, so it is not opened: move its "
            "folder away to have it downloaded, or, if you trust it, "
            f"sha256sum {path} >> {trusted_list()}"
        )
    try:
        with torch.serialization.safe_globals(_array_globals()):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError) as error:
        raise InputError(
            f"{path} must hold arrays and nothing else, which it does not: "
            "delete its dataset's folder to have it downloaded again"
        ) from error
    wanted = {"edge"} if path.stem == "train" else {"edge", "edge_neg"}
    if missing := sorted(wanted - set(content)):
        raise InputError(
            f"{path} must hold the arrays {sorted(wanted)}, but {missing} are missing: "
            "delete its dataset's folder to have it downloaded again"
        )
    return {key: torch.as_tensor(content[key]).long() for key in wanted}


def _array_globals() -> list[Any]:
    """What a pickled NumPy array is built from, under its old and its new module name."""
    rebuild = np.empty(0).__reduce__()[0]
    names = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
    dtypes = {type(np.dtype(kind)) for kind in ("i2", "i4", "i8", "f4", "f8")}
    return [*((rebuild, name) for name in names), np.ndarray, np.dtype, *dtypes, _codecs.encode]


def _download(name: str) -> Path:
    """Fetches and unpacks a dataset with the ogb package's own functions, without questions."""
    source = SOURCES[name]
    url, unpacked = _listed(source)
    fetch = need("ogb.utils.url", "datasets")
    final = cache_folder() / source.folder
    try:
        with network_timeout(), filled_folder(final) as folder:
            archive = fetch.download_url(url, str(folder.parent), log=False)
            fetch.extract_zip(archive, str(folder.parent), log=False)
            folder.rmdir()
            (folder.parent / unpacked).replace(folder)
            _check_complete(folder, source)
            if pickles := [folder / file for file in source.files if file.endswith(".pt")]:
                trust(pickles)
    except (OSError, HTTPException, BadZipFile, RuntimeError, TypeError) as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # which ogb turns into an error
            raise error.__context__ from None
        raise InputError(not_found(name, source.folder, error)) from error
    return final


def _listed(source: Source) -> tuple[str, str]:
    """Address and unpacked name of a dataset, from the table that the ogb package carries."""
    spec = find_spec("ogb")
    if spec is None or spec.origin is None:
        raise missing("ogb", "datasets")
    table = Path(spec.origin).parent / source.listing / "master.csv"
    with table.open(newline="") as file:
        rows = {row[""]: row[source.ogb_name] for row in csv.DictReader(file)}
    return rows["url"], rows["download_name"]


def _check_complete(folder: Path, source: Source) -> None:
    for file in source.files:
        if not (folder / file).is_file():
            raise FileNotFoundError(f"the archive of {source.ogb_name} has no {file}")
