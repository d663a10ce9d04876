"""Presets: settings with a name, one TOML file each, read strictly.

Two families share one form:

=====================================  ===========================================================
``paper-<task>-<dataset>-<mask>``      a row of the paper: its citation, its published number and
                                       the settings of the published command, under the semantics
                                       ``reference``; a comment marks where the paper's text says
                                       something else
``<task>-<dataset>-<mask>``            the package's own settings under the semantics ``strict``;
                                       taken where no preset is named
=====================================  ===========================================================

Both hold ``description``, ``task``, ``dataset``, ``mask`` and the tables ``[settings.*]``, which
name only what a preset decides; everything else stays at its default. ``mask`` is the setting
``mask.kind``. The first family also holds ``[citation]`` and ``[published]``, in fractions.

>>> preset("paper-node-cora-path").published["accuracy"]
{'mean': 0.843, 'std': 0.0039}
>>> recommended("link", "Cora", "edge").settings.mask.semantics
'strict'
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.base.settings import Settings
from maskgae.base.settings_text import flatten

__all__ = ["Preset", "parse", "preset", "presets", "recommended"]

TASKS = ("link", "node")
MASKS = ("edge", "path")
METRICS = {"link": ("auc", "ap", "hits@50"), "node": ("accuracy",)}

# What a table holds: key -> type. LINKS belong to a citation and may be left out.
HEAD: dict[str, type] = {"description": str, "task": str, "dataset": str, "mask": str}
CITATION: dict[str, type] = {"title": str, "venue": str, "year": int, "table": int}
LINKS: dict[str, type] = {"doi": str, "code": str}
NUMBER: dict[str, type] = {"mean": float, "std": float}


@dataclass(frozen=True)
class Preset:
    """Settings with a name and, for a row of the paper, the number it has there.

    Attributes:
        name: As the file is called, without ``.toml``.
        task: ``link`` or ``node``.
        dataset: As :mod:`maskgae.data` spells it.
        mask: ``edge`` or ``path``; ``none`` only through :func:`recommended`.
        description: One line for a list of presets.
        overrides: Dotted keys that differ from, or are fixed at, the defaults.
        published: Metric -> ``{"mean", "std"}`` in fractions; empty for the package's own.
        text: The file as it is written, comments included.
    """

    name: str
    task: str
    dataset: str
    mask: str
    description: str
    overrides: Mapping[str, Any]
    published: Mapping[str, Mapping[str, float]]
    text: str

    @property
    def settings(self) -> Settings:
        """The defaults with this preset's settings on top."""
        return Settings().updated(self.overrides)


def presets() -> list[str]:
    """The names of all presets, sorted."""
    names = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def preset(name: str) -> Preset:
    """The preset of that name; an unknown one is an error that names the nearest."""
    known = presets()
    if name not in known:
        raise InputError(f"no preset is called '{name}': {nearest(name, known)}")
    return parse(name, files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def recommended(task: str, dataset: str, mask: str) -> Preset | None:
    """The package's own preset, or ``None`` where it has none and the defaults serve.

    Without a mask (``none``) it is the one for edge masks with ``mask.kind`` changed, so that the
    two differ in the mask alone.

    >>> recommended("node", "Cora", "none").settings.mask.kind
    'none'
    """
    _check_word("task", task, TASKS)
    _check_word("mask", mask, (*MASKS, "none"))
    name = f"{task}-{dataset.lower()}-{'edge' if mask == 'none' else mask}"
    if name not in presets():
        return None
    found = preset(name)
    if mask != "none":
        return found
    return replace(found, mask=mask, overrides={**found.overrides, "mask.kind": mask})


def parse(name: str, text: str) -> Preset:
    """Reads a preset; whatever is unknown, missing or out of place is an error naming the file."""
    try:
        return _parsed(name, text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"preset {name}.toml is not a TOML file: {error}") from None
    except InputError as error:
        raise InputError(f"preset {name}.toml: {error}") from None


def _parsed(name: str, text: str) -> Preset:
    table = tomllib.loads(text)
    is_paper = name.startswith("paper-")
    parts: dict[str, type] = {"settings": dict}
    if is_paper:
        parts = {"citation": dict, "published": dict, **parts}
    _check_table("", table, {**HEAD, **parts})
    task, dataset, mask = table["task"], table["dataset"], table["mask"]
    _check_word("task", task, TASKS)
    _check_word("mask", mask, MASKS)
    expected = f"{'paper-' if is_paper else ''}{task}-{dataset.lower()}-{mask}"
    if name != expected:
        raise InputError(f"its name must be that of its content, {expected}")
    if is_paper:
        _check_table("citation.", table["citation"], CITATION, LINKS)
        _check_published(table["published"], METRICS[task])
    overrides = _overrides(table["settings"], mask)
    return Preset(
        name=name,
        task=task,
        dataset=dataset,
        mask=mask,
        description=table["description"],
        overrides=overrides,
        published=table.get("published", {}),
        text=text,
    )


def _overrides(table: Mapping[str, Any], mask: str) -> dict[str, Any]:
    overrides = flatten(table)
    for key in ("seed", "mask.kind"):
        if key in overrides:
            way_out = "the line 'mask' says it" if key == "mask.kind" else "a run decides it"
            raise InputError(f"settings must not hold {key}: {way_out}")
    overrides = {"mask.kind": mask, **overrides}
    Settings().updated(overrides)  # unknown keys and bad values end here
    return overrides


def _check_table(
    prefix: str,
    table: Mapping[str, Any],
    required: Mapping[str, type],
    optional: Mapping[str, type] | None = None,
) -> None:
    known = {**required, **(optional or {})}
    for key in table:
        if key not in known:
            raise InputError(f"no key is called '{prefix}{key}': {nearest(key, known)}")
    for key in required:
        if key not in table:
            raise InputError(f"the key '{prefix}{key}' is missing: add it")
    for key, value in table.items():
        if type(value) is not known[key]:
            wanted = {str: "text", int: "a whole number", float: "a number", dict: "a table"}
            raise InputError(f"{prefix}{key} must be {wanted[known[key]]}, not {value!r}")


def _check_word(key: str, word: str, known: Iterable[str]) -> None:
    if word not in known:
        raise InputError(f"{key} = '{word}' is not known: {nearest(word, known)}")


def _check_published(table: Mapping[str, Any], metrics: Iterable[str]) -> None:
    if not table:
        raise InputError("[published] is empty: give the mean and std of a metric")
    for metric, number in table.items():
        _check_word("the metric of [published]", metric, metrics)
        if type(number) is not dict:
            raise InputError(f"published.{metric} must be a table of mean and std, not {number!r}")
        _check_table(f"published.{metric}.", number, NUMBER)
        for key, value in number.items():
            if not 0 <= value <= 1:
                raise InputError(
                    f"published.{metric}.{key} must be a fraction in [0, 1], not {value:g}"
                )
