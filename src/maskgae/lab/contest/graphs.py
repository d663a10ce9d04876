"""Graphs of a contest: named datasets and folders of files, and which edges a seed holds out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit, joined, split_links
from maskgae.datasets.registry import DATASETS, load_dataset
from maskgae.io import read_edges
from maskgae.io.matrices import read_matrix

#: Defaults are chosen on these, on validation edges; all other graphs are only reported.
CHOOSING = (
    "dblp",
    "facebook-pages",
    "deezer-hu",
    "cora_ml-directed",
    "ddi",
    "Cora",
    "CiteSeer",
    "polblogs-directed",
    "Photo",
    "Computers",
)
#: Shares of the edges that are held out for validation and for the test.
VAL, TEST = 0.05, 0.10
#: Splits of a graph, and edges above which there is one.
SPLITS, MANY_EDGES = 5, 500_000


@dataclass(frozen=True, eq=False)
class Arena:
    """A graph with all its edges and, where it comes with one, the split that everybody uses."""

    graph: Graph
    public: LinkSplit | None = None

    @property
    def splits(self) -> int:
        """How many splits it is worth: one where it is large or has its own."""
        return 1 if self.public is not None or self.graph.num_pairs > MANY_EDGES else SPLITS

    def split(self, seed: int, validation: bool = False) -> tuple[Graph, LinkSplit]:
        """All edges that are known on a seed's split, and the split.

        Args:
            seed: of a random split, the one that ``fit`` itself draws with it.
            validation: whether to leave the test's edges out altogether and to hold out others, of
                those that are left, in their place.
        """
        stream = Stream(seed).at("split")
        split = self.public or split_links(self.graph, VAL, TEST, stream)
        if not validation:
            return self.graph, split
        known, inner = split.messages("train_val"), stream.at("validation")
        if self.public is None:
            return known, split_links(known, VAL, TEST, inner)
        return known, _before_public(self.public, known, inner)


def _before_public(public: LinkSplit, known: Graph, stream: Stream) -> LinkSplit:
    """The public validation edges in the place of the test; others of training in theirs."""
    inner = split_links(public.train, VAL, 0.0, stream)
    count = inner.val.shape[1]
    drawn = NonEdges(known).sample_distinct(2 * count, stream.at("negatives"))
    keys, taken = (pair_keys(p, known.num_nodes) for p in (drawn, public.val_negatives))
    free = drawn[:, ~torch.isin(keys, taken)]
    order = torch.randperm(free.shape[1], generator=stream.at("free").torch())[:count]
    return replace(
        inner,
        val_negatives=free[:, order.sort().values],
        test=public.val,
        test_negatives=public.val_negatives,
    )


def graph_name(place: str) -> str:
    """What a graph is called: a dataset's own name, or that of its folder.

    >>> graph_name("cora"), graph_name("graphs/dblp/")
    ('Cora', 'dblp')
    """
    known = {name.lower(): name for name in DATASETS}
    return known.get(place.lower()) or Path(place).resolve().name


@lru_cache(maxsize=1)
def load_arena(place: str) -> Arena:
    """A named dataset, or the graph in a folder."""
    if Path(place).is_dir():
        return read_folder(Path(place))
    if graph_name(place) not in DATASETS:
        raise InputError(f"'{place}' is no folder and no dataset: there are {', '.join(DATASETS)}")
    return Arena(load_dataset(place))


def read_folder(folder: Path) -> Arena:
    """Reads ``edges.csv`` and, where they are there, features, labels and a split.

    Nodes are whole numbers from 0 on; row i of ``features.npz``, a sparse matrix of SciPy, is node
    i; ``labels.csv`` or ``nodes.csv`` has the columns ``id`` and ``label``. A split that everybody
    uses is in ``valid.csv``, ``test.csv`` and ``*_negatives.csv``. Tables may be gzipped, and the
    direction of an edge plays no part.
    """
    parts = {name: _pairs(folder, name) for name in ("edges", *PUBLIC)}
    if parts["edges"] is None:
        raise InputError(f"{folder} has no edges.csv or edges.csv.gz: name a folder with one")
    features = None
    if (folder / "features.npz").exists():
        features = read_matrix(folder / "features.npz")
    most = max(int(part.max()) for part in parts.values() if part is not None)
    nodes = most + 1 if features is None else features.shape[0]
    labels = _labels(folder, nodes)
    graph = Graph.from_edges(
        parts["edges"], nodes, features=features, labels=labels, name=folder.name
    )
    if any(parts[name] is None for name in PUBLIC):
        return Arena(graph)
    val, test, val_negatives, test_negatives = (
        torch.from_numpy(np.sort(parts[name], axis=0)) for name in PUBLIC
    )
    held_out: list[Tensor] = [val, test]
    public = LinkSplit(graph, val, test, val_negatives, test_negatives)
    return Arena(joined(graph, torch.cat(held_out, dim=1), None), public)


#: The files of a public split.
PUBLIC = ("valid", "test", "valid_negatives", "test_negatives")


def _table(folder: Path, name: str) -> Path | None:
    places = (folder / f"{name}.csv", folder / f"{name}.csv.gz")
    return next((path for path in places if path.exists()), None)


def _pairs(folder: Path, name: str) -> Any:
    """The edges of a table as node numbers, ``[2, E]``, or ``None`` where it is not there."""
    path = _table(folder, name)
    if path is None:
        return None
    table = read_edges(path, header=True)
    if table.ids.dtype.kind not in "iu":
        raise InputError(
            f"{path} has names such as {table.ids[0]!r} for nodes, which have to be whole numbers: "
            "number them; two-sided graphs do not take part yet"
        )
    return table.ids[table.edges].astype(np.int64)


def _labels(folder: Path, num_nodes: int) -> Any:
    path = _table(folder, "labels") or _table(folder, "nodes")
    if path is None:
        return None
    from pyarrow.csv import read_csv

    table = read_csv(path)
    labels = np.full(num_nodes, -1)
    # Classes may be words; their numbers say nothing.
    labels[table["id"].to_numpy()] = np.unique(table["label"].to_numpy(), return_inverse=True)[1]
    return labels
