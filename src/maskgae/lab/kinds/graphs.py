"""Which graphs are read how, what is run on each, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.lab.contest.entry import Entry
from maskgae.run.defaults import resolve_settings
from maskgae.run.fit import QUICK
from maskgae.run.source import Source, read

TASK = "kinds"

#: What ``fit`` is given by the name of a row; ``None`` where it takes no part.
ROWS: dict[str, Mapping[str, Any] | None] = {
    "fit": {},
    "quick": QUICK,
    "undirected": {},
    "undirected-quick": QUICK,
    "lightgcn": None,
}


@dataclass(frozen=True)
class Kind:
    """A graph and what is run on it.

    Args:
        folder: where its files are, below the folder of all graphs.
        rows: names of :data:`ROWS`.
        seeds: how many.
        reading: how its edges are read, as :func:`~maskgae.run.source.read` takes it.
        nodes: the file of its table.
        settings: beside what suits the graph.
    """

    folder: str
    rows: tuple[str, ...]
    seeds: int = 1
    reading: Mapping[str, Any] = field(default_factory=dict)
    nodes: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


SMALL = ("fit", "quick", "undirected", "undirected-quick")
WAYS = {"directed": True}
#: Without training a large graph ranks some 200 ends: a share is then known to within 3 points.
RANKED = {"split.ranked_ends": 2000}
KINDS: dict[str, Kind] = {
    "gowalla": Kind("gowalla-bipartite", ("quick", "lightgcn")),
    "cora_ml": Kind("cora_ml-directed", SMALL, 5, WAYS, "features.npz"),
    "polblogs": Kind("polblogs-directed", SMALL, 5, WAYS),
    "arxiv": Kind(
        "arxiv-citations-directed", ("quick", "undirected-quick"), 1, WAYS, settings=RANKED
    ),
    "arxiv-by-year": Kind(
        "arxiv-citations-directed",
        ("quick",),
        1,
        {**WAYS, "label": "label", "time": "year"},
        "nodes.csv.gz",
        {"split.val_from": "2018", "split.test_from": "2019", **RANKED},
    ),
}


def kind_of(name: str) -> Kind:
    if name not in KINDS:
        raise InputError(f"no graph of the kinds is called '{name}': {nearest(name, KINDS)}")
    return KINDS[name]


def there(graphs: Path, name: str) -> bool:
    """Whether the files of a graph are there."""
    return (graphs / kind_of(name).folder / "edges.csv.gz").exists()


@lru_cache(maxsize=1)
def load_kind(graphs: str, name: str) -> Source:
    """A graph as ``fit`` reads it, without classes: nothing here is about them."""
    kind = kind_of(name)
    place = Path(graphs) / kind.folder
    nodes = None if kind.nodes is None else place / kind.nodes
    source = read(place / "edges.csv.gz", nodes, **kind.reading)
    return source.with_graph(replace(source.graph, labels=None))


def source_of(entry: Entry) -> Source:
    return load_kind(entry.place, entry.dataset)


def entries(graphs: str, name: str, rows: Sequence[str] = ()) -> list[Entry]:
    """What is run on a graph, but for the seeds."""
    from maskgae.lab.kinds.lightgcn import SETTINGS

    kind, found = kind_of(name), []
    for row in rows or kind.rows:
        given = ROWS[row]
        if given is None:
            settings: dict[str, Any] = SETTINGS
        else:
            graph = load_kind(graphs, name).graph
            settings = resolve_settings(graph, overrides={**kind.settings, **given}).changed()
        found.append(Entry(name, row, settings, graphs, TASK))
    return found
