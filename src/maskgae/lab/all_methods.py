"""Every method on every task it fits: the rows of ``maskgae reproduce methods``.

Seeds are those that no choice has seen. The node task has twenty random splits beside a public one,
the link task hard negatives; what is cheapest comes first, so that a table fills early.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maskgae.lab.cell import Cell, make_cell
from maskgae.lab.methods import LINKS_ONLY, SUPERVISED
from maskgae.lab.published import published
from maskgae.lab.row import (
    CITATION,
    HARD_NEGATIVES,
    UNSEEN,
    Row,
    paper_preset,
    published_by_preset,
)

#: Seconds that training takes on Cora, roughly: they only decide the order.
SECONDS = {
    "sgc": 30,
    "mlp": 2,
    "gcn": 2,
    "gae": 2,
    "vgae": 2,
    "arga": 3,
    "arvga": 3,
    "sage": 3,
    "cca-ssg": 4,
    "sugrl": 5,
    "dgi": 6,
    "maskgae": 8,
    "mgae": 10,
    "gat": 10,
    "grace": 20,
    "gca": 25,
    "bgrl": 40,
    "mvgrl": 40,
    "gmi": 60,
    "seal": 100,
    "graphmae": 150,
}

#: How much longer it takes elsewhere, roughly.
LONGER = {
    "Cora": 1.0,
    "CiteSeer": 1.5,
    "Photo": 8.0,
    "PubMed": 25.0,
    "Computers": 25.0,
    "dblp": 25.0,
    "arXiv": 250.0,
    "Collab": 350.0,
    "MAG": 1000.0,
}

#: Who is run on the paper's largest graphs, where their data is: MaskGAE as published, and whoever
#: is likely to stay within half an hour and 8 GiB. That was tried by some updates for DGI, SUGRL,
#: GRACE and GCA on generated graphs of arXiv's size, and for DGI and GCA on those of MAG's.
LARGE: dict[str, tuple[str, ...]] = {
    "arXiv": ("sgc", "mlp", "gcn", "dgi", "sugrl", "grace", "gca", "maskgae"),
    "Collab": (
        *("sgc", "gae", "vgae", "arga", "arvga", "sage"),
        *("dgi", "sugrl", "grace", "gca", "maskgae"),
    ),
    "MAG": ("sgc", "mlp", "gcn", "dgi", "grace", "gca", "maskgae"),
}

RANDOM_SPLITS = 20

#: What was cut on the larger graphs, tried once on Cora: a method and its settings.
CHECKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grace", {"grace.sample": 512}),
    ("gca", {"gca.sample": 512}),
    ("gmi", {"gmi.sample": 512}),
    ("mvgrl", {"mvgrl.epochs": 300}),
    ("bgrl", {"bgrl.epochs": 600}),
    ("graphmae", {"graphmae.epochs": 400}),
)

#: What differs from the published settings for want of time, where it may matter.
CUTS: dict[str, dict[str, str]] = {
    "dgi": {
        "arXiv": "none published; width 256, at most 500 steps",
        "Collab": "none published; width 256, at most 500 steps",
        "MAG": "none published; width 64, at most 500 steps",
    },
    "bgrl": {
        "": "1,000 of 10,000 updates",
        "CiteSeer": "100 updates, by validation",
        "PubMed": "600 of 10,000 updates",
        "Computers": "600 of 10,000 updates",
        "dblp": "600 of 10,000 updates",
    },
    "grace": {
        "PubMed": "800 of 1,500 epochs, 1,024 nodes contrasted",
        "Photo": "1,000 of 2,000 epochs, 1,024 nodes contrasted",
        "Computers": "1,000 of 2,000 epochs, 1,024 nodes contrasted",
        "dblp": "1,024 nodes contrasted",
        "arXiv": "GRACE's in PyGCL, with two of three layers; 1,024 nodes contrasted",
        "Collab": "none published; arXiv's, 1,024 nodes contrasted",
        "MAG": "none published; arXiv's, 1,024 nodes contrasted",
    },
    "sugrl": {
        "arXiv": "the sum of the third term, the symmetric adjacency and features as elsewhere",
        "Collab": "none published; arXiv's",
    },
    "gmi": {
        "PubMed": "400 of 550 epochs, 2,048 nodes paired",
        "Photo": "2,048 nodes paired",
        "Computers": "2,048 nodes paired",
        "dblp": "400 of 550 epochs, 2,048 nodes paired",
    },
    "graphmae": {
        "PubMed": "width 256 of 1,024, 300 of 1,000 epochs",
        "Photo": "none published; width 256, 300 epochs",
        "Computers": "none published; width 256, 200 epochs",
        "dblp": "none published; width 256, 200 epochs",
    },
    "mvgrl": {
        "": "at most 500 of 3,000 steps",
        "PubMed": "at most 300 of 3,000 steps",
        "Computers": "at most 300 of 3,000 steps",
        "dblp": "at most 300 of 3,000 steps",
    },
    "seal": {
        "": "2 of 3 hops, width 32, 1,500 batches of 128",
        "PubMed": "1 of 3 hops, 3,000 batches of 128",
    },
}
CUTS["gca"] = CUTS["grace"]


def cut(method: str, dataset: str) -> str:
    """What was cut of a method's published settings on a dataset, or nothing.

    >>> cut("bgrl", "Cora"), cut("dgi", "Cora")
    ('1,000 of 10,000 updates', '')
    """
    found = CUTS.get(method, {})
    return found.get(dataset, found.get("", ""))


def method_rows() -> list[Row]:
    """A row for each method, mask, task and dataset, cheapest first."""
    rows = [
        _row(task, dataset, method, mask)
        for dataset in LONGER
        for task in ("node", "link")
        for method in SECONDS
        if _fits(task, dataset, method)
        for mask in (("edge", "path") if method == "maskgae" else ("edge",))
    ]
    rows += [_check(method, changes) for method, changes in CHECKS]
    return sorted(rows, key=lambda row: LONGER[row.cell.dataset] * SECONDS[row.cell.method])


def _fits(task: str, dataset: str, method: str) -> bool:
    """Whether a row is there; links are judged on the citation graphs and Collab alone."""
    if dataset in LARGE and method not in LARGE[dataset]:
        return False
    if task == "link":
        return method not in SUPERVISED and dataset in (*CITATION, "Collab")
    return method not in LINKS_ONLY and dataset != "Collab"


def _row(task: str, dataset: str, method: str, mask: str) -> Row:
    cell = _cell(task, dataset, method, mask)
    if method == "maskgae":
        quoted = published_by_preset(task, dataset, mask)
    else:
        quoted = published(task, dataset, method)
    return Row(f"methods {task}", cell, 5 if dataset in ("Cora", "CiteSeer") else 3, quoted, UNSEEN)


def _check(method: str, changes: Mapping[str, Any]) -> Row:
    return Row("methods checks", _cell("node", "Cora", method, "edge", changes), 3, {}, UNSEEN)


def _cell(
    task: str, dataset: str, method: str, mask: str, changes: Mapping[str, Any] | None = None
) -> Cell:
    overrides = dict(changes or {})
    if task == "link" and dataset not in LARGE:
        overrides["split.hard_negatives"] = HARD_NEGATIVES
    elif dataset in CITATION and method not in SUPERVISED:
        overrides["probe.random_splits"] = RANDOM_SPLITS
    # There is no preset of ours for the largest graphs.
    ours = method == "maskgae" and dataset in LARGE
    name = paper_preset(task, dataset, mask) if ours else None
    return make_cell(task, dataset, mask=mask, preset_name=name, overrides=overrides, method=method)
