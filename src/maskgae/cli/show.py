"""``maskgae datasets``, ``maskgae presets`` and ``maskgae settings``."""

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


@app.command()
def settings(
    key: Annotated[
        str | None, typer.Argument(help="Only this one, or those of a concern, such as mask.")
    ] = None,
) -> None:
    """List the settings that --set takes: default, range and meaning."""
    from maskgae.base.errors import InputError, nearest
    from maskgae.base.settings import KEYS, Settings, help_text, range_text

    shown = [each for each in KEYS if key is None or each == key or each.startswith(f"{key}.")]
    if not shown:
        raise InputError(f"no setting is called '{key}': {nearest(key or '', KEYS)}")
    table = Table(box=None, pad_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("default", overflow="fold", max_width=10)
    table.add_column("what it is", overflow="fold")
    defaults = Settings().flat()
    for each in shown:
        value, limits = defaults[each], range_text(each)
        default = ",".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)
        table.add_row(each, default, help_text(each) + (f"; {limits}" if limits else ""))
    screen.out.print(table)
