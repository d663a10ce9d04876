"""A row of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from maskgae.lab.cell import Cell
from maskgae.lab.methods import CONFIGURED
from maskgae.presets import preset, presets

CITATION = ("Cora", "CiteSeer", "PubMed")
#: Hard negatives for each test pair on the citation graphs.
HARD_NEGATIVES = 500
#: The first seed of what was chosen on other seeds.
UNSEEN = 200


def paper_preset(task: str, dataset: str, mask: str) -> str | None:
    """The name of the preset with MaskGAE's published settings, where there is one."""
    name = f"paper-{task}-{dataset.lower()}-{mask}"
    return name if name in presets() else None


def published_by_preset(task: str, dataset: str, mask: str) -> dict[str, Any]:
    """The paper's numbers of MaskGAE, empty where it has none."""
    name = paper_preset(task, dataset, mask)
    return {} if name is None else dict(preset(name).published)


@dataclass(frozen=True)
class Row:
    """A cell of a table: how many seeds it is worth, what was published, its first seed."""

    table: str
    cell: Cell
    seeds: int
    published: dict[str, Any]
    first: int = 0

    def numbers(self, first: int = 0) -> range:
        """Its seeds, from its own first one on, or from another."""
        start = first or self.first
        return range(start, start + self.seeds)

    @property
    def command(self) -> str:
        """The command that runs this cell alone."""
        cell = self.cell
        parts = [f"maskgae evaluate {cell.task} --dataset {cell.dataset} --seeds {self.seeds}"]
        if self.first:
            parts.append(f"--first-seed {self.first}")
        if cell.method != "maskgae":
            parts.append(f"--method {cell.method}")
        if cell.preset is not None:
            parts.append(f"--preset {cell.preset}")
        base = preset(cell.preset).settings if cell.preset else type(cell.settings)()
        own = CONFIGURED[cell.method].configured(cell.dataset) if cell.own is not None else None
        before = replace(cell, settings=base, own=own).flat()
        changed = {k: v for k, v in cell.flat().items() if v != before[k] and k != "seed"}
        parts += [f"--set {key}={value}" for key, value in changed.items()]
        return " ".join(parts)
