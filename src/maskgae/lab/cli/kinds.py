"""``maskgae reproduce kinds``: graphs with two sides, directions and times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maskgae.base.errors import InputError
from maskgae.cli import screen
from maskgae.lab.cli.pages import write_blocks
from maskgae.lab.contest.entry import Entry
from maskgae.lab.kinds.exam import run_kind
from maskgae.lab.kinds.graphs import KINDS, entries, kind_of, source_of, there
from maskgae.lab.records import Records
from maskgae.lab.row import UNSEEN
from maskgae.lab.tables.kinds import kind_blocks

#: Filled in where it exists: in a checkout of the project.
DOCUMENT = Path("docs/kinds.md")


def kind_tasks(
    graphs: Path | None, names: Sequence[str], seeds: int | None, first_seed: int
) -> list[tuple[Entry, int]]:
    """What is run, graph by graph and seed by seed; graphs that are not there are named."""
    if graphs is None:
        raise InputError(
            "kinds reads graphs from files: name their folder by --graphs, or write the page from "
            "what is kept by --no-run"
        )
    wanted = list(names) or list(KINDS)
    absent = [name for name in wanted if not there(graphs, name)]
    if absent:
        screen.err.print(f"not in {screen.plain(graphs)}, left out: {', '.join(absent)}")
    start, tasks = first_seed or UNSEEN, []
    for name in (name for name in wanted if name not in absent):
        numbers = range(start, start + (seeds or kind_of(name).seeds))
        found = entries(str(graphs), name)
        tasks += [(entry, seed) for seed in numbers for entry in found]
    return tasks


def write_kinds(records: Records, documents: Sequence[Path] | None) -> None:
    """The page from what is kept, or its tables to the screen where there is no page."""
    pages = list(documents or ()) or [path for path in (DOCUMENT,) if path.exists()]
    write_blocks(kind_blocks(records), pages)


__all__ = ["kind_tasks", "run_kind", "source_of", "write_kinds"]
