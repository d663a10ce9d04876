"""Named datasets: one table, one loader.

>>> load_dataset("imports").labels is not None
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maskgae.base.errors import InputError, nearest
from maskgae.data.graph import Graph
from maskgae.datasets.folder import FOLDERS, is_folder_available, load_folder
from maskgae.datasets.imports import load_imports
from maskgae.datasets.ogb import SOURCES, PublicLinkSplit, is_ogb_available, load_collab, load_ogb
from maskgae.datasets.planetoid import CHECKSUMS, is_raw_available, load_raw


@dataclass(frozen=True)
class Dataset:
    """What is known of a dataset before it is loaded.

    Args:
        name: as the paper writes it.
        nodes: their number.
        edges: their number as in the paper's table: both directions, except for Collab, where
            the joint papers of all three parts are counted one by one.
        features: columns.
        classes: of the nodes; 0 where they have none.
        tasks: ``node``, ``link`` or both.
        split: ``public`` where everybody uses the same one, else ``random``.
    """

    name: str
    nodes: int
    edges: int
    features: int
    classes: int
    tasks: tuple[str, ...]
    split: str


_BOTH = ("node", "link")


def _table(rows: Iterable[Dataset]) -> dict[str, Dataset]:
    return {row.name: row for row in rows}


#: All named datasets, in the paper's order, one that it has not, and the embedded one.
DATASETS: dict[str, Dataset] = _table(
    [
        Dataset("Cora", 2708, 10556, 1433, 7, _BOTH, "public"),
        Dataset("CiteSeer", 3327, 9104, 3703, 6, _BOTH, "public"),
        Dataset("PubMed", 19717, 88648, 500, 3, _BOTH, "public"),
        Dataset("Photo", 7650, 238162, 745, 8, _BOTH, "random"),
        Dataset("Computers", 13752, 491722, 767, 10, _BOTH, "random"),
        Dataset("arXiv", 169343, 2315598, 128, 40, ("node",), "public"),
        Dataset("MAG", 736389, 10792672, 128, 349, ("node",), "public"),
        Dataset("Collab", 235868, 1285465, 128, 0, ("link",), "public"),
        Dataset("dblp", 17716, 105734, 1639, 4, _BOTH, "random"),
        # Its sizes depend on the versions of the installed packages.
        Dataset("imports", 1888, 12092, 4096, 23, _BOTH, "random"),
    ]
)


def find_dataset(name: str) -> Dataset:
    """The entry of a dataset, whatever the case of its name.

    >>> find_dataset("cora").nodes
    2708
    """
    for known, entry in DATASETS.items():
        if known.lower() == name.lower():
            return entry
    raise InputError(f"no dataset is called '{name}': {nearest(name, DATASETS)}")


def is_available(name: str) -> bool:
    """Whether a dataset can be loaded without a download.

    >>> is_available("imports")
    True
    """
    known = find_dataset(name).name
    if known in CHECKSUMS:
        return is_raw_available(known)
    if known in FOLDERS:
        return is_folder_available(known)
    return known not in SOURCES or is_ogb_available(known)


def load_dataset(name: str) -> Graph:
    """A named dataset as a graph, downloaded to the cache where it is not on this machine yet.

    dblp has to be put there: see :mod:`maskgae.datasets.folder`. Collab comes as its training
    graph; :func:`public_link_split` has the rest of it.

    Args:
        name: one of :data:`DATASETS`, in any case.
    """
    known = find_dataset(name).name
    if known in CHECKSUMS:
        return load_raw(known)
    if known in FOLDERS:
        return load_folder(known)
    if known in SOURCES:
        return load_ogb(known)
    return load_imports()


def public_link_split(name: str) -> PublicLinkSplit | None:
    """The pairs that a benchmark holds out, or ``None`` where they are to be drawn at random."""
    return load_collab() if find_dataset(name).name == "Collab" else None
