"""The paper's ablations: one setting varied while the others stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.datasets.registry import find_dataset
from maskgae.lab.cell import Cell, make_cell


@dataclass(frozen=True)
class Sweep:
    """A setting, the values it is given, the mask it belongs to, and what the paper found."""

    name: str
    key: str
    values: tuple[Any, ...]
    mask: str | None
    claim: str


TENTHS = tuple(round(0.1 * i, 1) for i in range(1, 10))

SWEEPS = {
    sweep.name: sweep
    for sweep in (
        Sweep("p", "mask.p", TENTHS, "edge", "accuracy rises with p and is best at about 0.7"),
        Sweep("q", "mask.q", TENTHS, "path", "accuracy rises with q and is best at about 0.7"),
        Sweep(
            "alpha",
            "objective.alpha",
            (0.0, 0.001, 0.002, 0.003, 0.005, 0.01),
            None,
            "a small degree loss helps, a large one hurts",
        ),
        Sweep(
            "dim",
            "encoder.dim",
            (16, 32, 64, 128, 256, 512),
            None,
            "64 is enough; 64 to 512 do about equally well",
        ),
        Sweep("encoder", "encoder.kind", ("gcn", "sage", "gat"), None, "GCN is best"),
        Sweep("semantics", "mask.semantics", ("strict", "reference"), None, "not in the paper"),
        Sweep("depth", "encoder.layers", (1, 2, 3, 4), None, "two layers, four on arXiv"),
    )
}


@dataclass(frozen=True)
class Ablation:
    """A sweep on a dataset, from its recommended preset.

    Args:
        what: a name of :data:`SWEEPS`.
        dataset: a name of :data:`maskgae.datasets.registry.DATASETS`.
        task: ``node`` or ``link``.
        mask: ``edge``, ``path`` or ``none``; the sweep's own, else ``edge``, where it is ``None``.
        semantics: one curve for each.
        values: the sweep's own where there are none.
        seeds: runs a value.
        overrides: settings that differ from the preset throughout.

    >>> Ablation("dim", "cora", values=(16, 64)).name
    'dim-node-cora'
    """

    what: str
    dataset: str
    task: str = "node"
    mask: str | None = None
    semantics: tuple[str, ...] = ("strict",)
    values: tuple[Any, ...] = ()
    seeds: int = 5
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.what not in SWEEPS:
            raise InputError(f"no ablation is called '{self.what}': {nearest(self.what, SWEEPS)}")
        own = self.sweep.mask
        if own and self.mask and self.mask != own:
            raise InputError(
                f"{self.sweep.key} belongs to {own} masks, not to {self.mask} masks: "
                "leave --mask out"
            )
        object.__setattr__(self, "dataset", find_dataset(self.dataset).name)
        object.__setattr__(self, "values", self.values or self.sweep.values)

    @property
    def sweep(self) -> Sweep:
        return SWEEPS[self.what]

    @property
    def name(self) -> str:
        return f"{self.what}-{self.task}-{self.dataset.lower()}"

    @property
    def metric(self) -> str:
        return "auc" if self.task == "link" else "accuracy"

    def curves(self) -> dict[str, list[Cell]]:
        """For each semantics its cells, in the order of the values."""
        if self.what == "semantics":
            return {"": [self._cell({"mask.semantics": value}) for value in self.values]}
        return {
            kind: [
                self._cell({"mask.semantics": kind, self.sweep.key: value}) for value in self.values
            ]
            for kind in self.semantics
        }

    def runs(self) -> list[tuple[Cell, int]]:
        """All cells and seeds, one seed of every cell before the next."""
        cells = [cell for curve in self.curves().values() for cell in curve]
        return [(cell, seed) for seed in range(self.seeds) for cell in cells]

    def _cell(self, settings: dict[str, Any]) -> Cell:
        mask = self.mask or self.sweep.mask or "edge"
        changes = {**self.overrides, **settings}
        return make_cell(self.task, self.dataset, mask=mask, overrides=changes)

    @property
    def command(self) -> str:
        """The command that runs it alone."""
        parts = [f"maskgae ablate {self.what} --dataset {self.dataset} --seeds {self.seeds}"]
        parts += [f"--task {self.task}"] if self.task != "node" else []
        parts += [f"--mask {self.mask}"] if self.mask else []
        parts.append(f"--values {','.join(map(str, self.values))}")
        if self.semantics != ("strict",):
            parts.append(f"--semantics {','.join(self.semantics)}")
        parts += [f"--set {key}={value}" for key, value in self.overrides.items()]
        return " ".join(parts)


BOTH = ("strict", "reference")
ODD_TENTHS = TENTHS[::2]
#: Larger graphs take long, so their sweeps are shorter; they read the last layer alone.
SHORT = {"training.epochs": 200, "embedding.layers": "last"}

#: What ``docs/analysis.md`` shows, what matters most first.
ABLATIONS = (
    Ablation("p", "Cora", semantics=BOTH, values=ODD_TENTHS),
    Ablation("q", "Cora", semantics=BOTH, values=ODD_TENTHS),
    Ablation("p", "PubMed", semantics=BOTH, values=ODD_TENTHS, seeds=3, overrides=SHORT),
    Ablation("q", "PubMed", semantics=BOTH, values=ODD_TENTHS, seeds=3, overrides=SHORT),
    Ablation("alpha", "PubMed", values=(0.0, 0.001, 0.003, 0.01), seeds=3, overrides=SHORT),
    Ablation("dim", "Cora", seeds=3),
    Ablation("dim", "PubMed", values=(16, 64, 256), seeds=3, overrides=SHORT),
    Ablation("dim", "Photo", values=(16, 64, 256), seeds=3, overrides=SHORT),
    Ablation("dim", "Computers", values=(16, 64, 256), seeds=3, overrides=SHORT),
)
