"""A cell: one method with its settings on one task of one dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.base.settings import Settings
from maskgae.datasets.registry import find_dataset
from maskgae.evaluation.method import Method
from maskgae.lab.methods import BASELINES, CONFIGURED, LINKS_ONLY, SUPERVISED
from maskgae.lab.methods.registry import divided
from maskgae.presets import TASKS, preset, recommended
from maskgae.training import MaskGAEMethod

#: Name -> how to make the method from the cell's settings and a device.
METHODS: dict[str, Callable[[Settings, str], Method]] = {
    "maskgae": lambda settings, device: MaskGAEMethod(settings, device),
    **BASELINES,
}


@dataclass(frozen=True)
class Cell:
    """What is run, but for the seed.

    Args:
        task: ``link`` or ``node``.
        dataset: a name of :data:`maskgae.datasets.registry.DATASETS`.
        settings: resolved settings; their seed plays no part.
        preset: where the settings came from, for the record.
        method: a name of :data:`METHODS`.
        own: the config of a method that has settings of its own.
    """

    task: str
    dataset: str
    settings: Settings
    preset: str | None = None
    method: str = "maskgae"
    own: Any = None

    def method_on(self, device: str, seed: int) -> Method:
        """The cell's method, ready to be fitted in the run of one seed."""
        settings = replace(self.settings, seed=seed)
        if self.own is not None:
            return CONFIGURED[self.method].method(self.own, settings, device)
        return METHODS[self.method](settings, device)

    @property
    def epochs(self) -> int:
        """At most this many epochs are trained."""
        return int((self.own or self.settings.training).epochs)

    def flat(self) -> dict[str, Any]:
        """All settings by dotted key, the method's own among them."""
        own = {} if self.own is None else CONFIGURED[self.method].flat(self.own)
        return self.settings.flat() | own

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults, the method's own among them."""
        return self.settings.changed() | self._own_changed()

    def _own_changed(self) -> dict[str, Any]:
        if self.own is None:
            return {}
        flat = CONFIGURED[self.method].flat
        before, now = flat(type(self.own)()), flat(self.own)
        return {key: now[key] for key in sorted(now) if now[key] != before[key]}

    @property
    def label(self) -> str:
        return f"{self.task} {self.dataset} {self.method} {self.settings.mask.kind}"

    def about(self) -> dict[str, Any]:
        """What a record's line says of it."""
        names = ("task", "dataset", "method", "preset")
        return {name: getattr(self, name) for name in names} | {"settings": self.changed()}

    def digest(self) -> str:
        """Sixteen hex digits that stand for everything that decides the result.

        >>> edge, path = (make_cell("link", "Cora", mask=m, method="gae") for m in ("edge", "path"))
        >>> edge.digest() == path.digest()
        True
        """
        changed = self.settings.changed().items()
        used = {key: value for key, value in changed if uses(self.method, key)}
        digest = Settings().updated(used).digest()
        parts: list[Any] = [self.task, self.dataset, self.method, digest]
        own = self._own_changed()
        if own:
            parts.append(own)
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


#: What settings mean to every method: how it scores and is judged, and when it stops at the latest.
SHARED = ("seed", "split.", "probe.", "scorer.", "training.max_steps")
#: Methods to which all settings mean something.
MASKGAE = ("maskgae", "maskgae-frozen", "untrained")


def uses(method: str, key: str) -> bool:
    """Whether a setting means anything to a method; all do to a masked autoencoder.

    >>> uses("maskgae", "mask.p"), uses("gae", "mask.p"), uses("gae", "split.val")
    (True, False, True)
    """
    return method in MASKGAE or key.startswith((*SHARED, f"{method}."))


def _refuse_unused(method: str, before: Settings, asked: Settings) -> None:
    was, now = before.flat(), asked.flat()
    for key in was:
        if was[key] != now[key] and not uses(method, key):
            own = f", see 'maskgae settings --method {method}'" if method in CONFIGURED else ""
            raise InputError(
                f"{method} has a recipe of its own and no {key}: leave it out{own}, or use "
                "--method maskgae"
            )


def check_method(name: str) -> None:
    """Refuses what is no method's name."""
    if name not in METHODS:
        raise InputError(f"no method is called '{name}': {nearest(name, METHODS)}")


def make_cell(
    task: str,
    dataset: str,
    *,
    mask: str | None = None,
    preset_name: str | None = None,
    overrides: dict[str, Any] | None = None,
    method: str = "maskgae",
) -> Cell:
    """A cell from names: the named preset, else the recommended one, with overrides on top.

    >>> make_cell("link", "cora", mask="path").preset
    'link-cora-path'
    """
    if task not in TASKS:
        raise InputError(f"no task is called '{task}': {nearest(task, TASKS)}")
    check_method(method)
    if task == "link" and method in SUPERVISED:
        raise InputError(f"{method} learns from labels and scores no pairs: use the node task")
    if task == "node" and method in LINKS_ONLY:
        raise InputError(f"{method} scores pairs and embeds no nodes: use the link task")
    entry = find_dataset(dataset)
    if task not in entry.tasks:
        raise InputError(f"{entry.name} is for the {entry.tasks[0]} task, not for {task}")
    known = entry.name
    chosen = preset(preset_name) if preset_name else recommended(task, known, mask or "edge")
    settings = Settings() if chosen is None else chosen.settings
    named = {} if mask is None else {"mask.kind": mask}
    own, others = divided(overrides or {}, method, CONFIGURED)
    asked = settings.updated({**others, **named})
    _refuse_unused(method, settings, asked)
    if asked.encoder.structure:
        raise InputError(
            "encoder.structure adds columns that fit makes from a graph's edges: leave it out, "
            "or use 'maskgae fit'"
        )
    config = CONFIGURED[method].configured(known, own) if method in CONFIGURED else None
    return Cell(task, known, asked, None if chosen is None else chosen.name, method, config)


def recorded_cell(about: Mapping[str, Any]) -> Cell:
    """The cell that a record's line is about: what it does not name was at its default."""
    rest = dict(about)
    own, others = divided(rest.pop("settings"), rest["method"], CONFIGURED)
    entry = CONFIGURED.get(rest["method"])
    config = None if entry is None else entry.configured(None, own)
    return Cell(settings=Settings().updated(others), own=config, **rest)
