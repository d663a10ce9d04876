"""Every method on every task it fits: the rows of ``maskgae reproduce methods``.

Seeds are those that no choice has seen. The node task has twenty random splits beside a public one,
the link task hard negatives; what is cheapest comes first, so that a table fills early.
"""

from __future__ import annotations

from typing import Any

from maskgae.lab.cell import Cell, make_cell
from maskgae.lab.methods import LINKS_ONLY, SUPERVISED
from maskgae.lab.published import published
from maskgae.lab.row import CITATION, HARD_NEGATIVES, UNSEEN, Row
from maskgae.presets import preset, presets

#: Seconds that training takes on Cora, roughly: they only decide the order.
SECONDS = {
    "sgc": 1,
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
}

RANDOM_SPLITS = 20


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
    return sorted(rows, key=lambda row: LONGER[row.cell.dataset] * SECONDS[row.cell.method])


def _fits(task: str, dataset: str, method: str) -> bool:
    """Whether a method is for a task; links are judged on the citation graphs alone."""
    if task == "link":
        return method not in SUPERVISED and dataset in CITATION
    return method not in LINKS_ONLY


def _row(task: str, dataset: str, method: str, mask: str) -> Row:
    cell = _cell(task, dataset, method, mask)
    quoted = published(task, dataset, method)
    name = f"paper-{task}-{dataset.lower()}-{mask}"
    if method == "maskgae" and name in presets():
        quoted = dict(preset(name).published)
    return Row(f"methods {task}", cell, 5 if dataset in ("Cora", "CiteSeer") else 3, quoted, UNSEEN)


def _cell(task: str, dataset: str, method: str, mask: str) -> Cell:
    overrides: dict[str, Any] = {}
    if task == "link":
        overrides["split.hard_negatives"] = HARD_NEGATIVES
    elif dataset in CITATION and method not in SUPERVISED:
        overrides["probe.random_splits"] = RANDOM_SPLITS
    return make_cell(task, dataset, mask=mask, overrides=overrides, method=method)
