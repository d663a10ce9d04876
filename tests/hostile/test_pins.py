"""Everything that a fresh installation brings along is pinned to one version."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"

#: What torch brings along on machines with a GPU, and is not installed by CPU builds.
ACCELERATORS = re.compile(r"nvidia-.*|triton|cuda-.*|intel-.*|pytorch-triton.*")


def pinned() -> dict[str, str]:
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if line and line[0] != "#"]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+-]+", line) for line in lines), "exact versions only"
    return {canonicalize_name(name): number for name, number in (x.split("==") for x in lines)}


def wanted(name: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """What a distribution asks for on this machine, with the extras that it is asked with."""
    for text in requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": e}) for e in extras or {""}):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def closure() -> set[str]:
    """All that the package brings along with its extras, as far as these are installed.

    What builds the site is installed by ``make docs`` alone; its roots are pinned in any case.
    """
    project = tomllib.loads((CONSTRAINTS.parent / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    roots = (Requirement(text) for text in asked)
    pending = [(canonicalize_name(root.name), frozenset(root.extras)) for root in roots]
    site = {
        canonicalize_name(Requirement(text).name)
        for text in project["optional-dependencies"]["docs"]
    }
    seen = {("maskgae", frozenset({"ogb", "charts"}))}
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            pending += wanted(name, extras | {""})
        except PackageNotFoundError:
            spared = ACCELERATORS.fullmatch(name) or name in site
            assert spared, f"{name} is wanted and not installed"
    return {name for name, _ in seen} - {"maskgae"}


def test_every_distribution_is_pinned() -> None:
    names = {name for name in closure() if not ACCELERATORS.fullmatch(name)}
    # Every environment has setuptools or none; it builds and is never imported by what runs.
    assert sorted(names - set(pinned()) - {"setuptools"}) == []


def test_the_tests_run_against_the_pinned_versions() -> None:
    differing = {}
    for name, number in pinned().items():
        try:
            found = version(name).partition("+")[0]
        except PackageNotFoundError:
            continue  # wanted on another system or by another Python only
        if found != number.partition("+")[0]:
            differing[name] = (number, found)
    assert differing == {}
