"""``maskgae datasets`` and ``maskgae presets``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from maskgae.cli import screen
from maskgae.cli.app import app


@app.command()
def datasets() -> None:
    """List the named datasets, and which of them are on this machine."""
    from maskgae.datasets.registry import DATASETS, is_available

    table = Table(box=None, pad_edge=False)
    for title in ("name", "nodes", "edges", "features", "classes"):
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    table.add_column("tasks", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for entry in DATASETS.values():
        numbers = (f"{n:,}" for n in (entry.nodes, entry.edges, entry.features, entry.classes))
        here = "yes" if is_available(entry.name) else "no"
        table.add_row(entry.name, *numbers, " ".join(entry.tasks), here)
    screen.out.print(table)
    screen.out.print(
        "\nEdges as the paper counts them: in both directions; for Collab one by one.\n"
        "A dataset that is not here is downloaded; or put its files under $MASKGAE_DATA."
    )


@app.command()
def presets(
    name: Annotated[str | None, typer.Argument(help="Show this one's file.")] = None,
) -> None:
    """List the presets, or show one."""
    from maskgae.presets import preset
    from maskgae.presets import presets as names

    if name is not None:
        screen.out.print(preset(name).text, markup=False, end="")
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for each in names():
        table.add_row(each, preset(each).description)
    screen.out.print(table)
