"""``maskgae settings``: what ``--set`` takes, and what a fit chose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from maskgae.base.errors import InputError, nearest
from maskgae.cli import screen
from maskgae.cli.app import app


@app.command()
def settings(
    key: Annotated[
        str | None,
        typer.Argument(
            help="Only this one, or those of a concern, such as mask; or a run, for what 'fit' "
            "chose and why.",
            metavar="[KEY|RUN]",
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Those of a baseline that has its own, such as dgi.")
    ] = None,
) -> None:
    """List the settings that --set takes: default, range and meaning."""
    from maskgae.base.settings import Settings, help_text, range_text

    if method is not None:
        _show_method(method, key)
        return
    if key is not None and (Path(key) / "config.toml").is_file():
        _show_run(Path(key))
        return
    defaults = Settings().flat()
    table = _table()
    for each in _chosen(key, defaults):
        table.add_row(each, _text(defaults[each]), _meaning(help_text(each), range_text(each)))
    screen.out.print(table)


def _show_run(folder: Path) -> None:
    """What a fit chose: settings that follow from one reason stand together."""
    from maskgae.run import Run
    from maskgae.run.choices import choices

    together: dict[str, list[str]] = {}
    for key, value, default, why in choices(Run.load(folder)):
        text = f"  {key} = {_text(value)} (default {_text(default)})"
        together.setdefault(why, []).append(text)
    for why, lines in together.items():
        screen.out.print(screen.plain(why))
        for line in lines:
            screen.out.print(screen.plain(line), soft_wrap=True)
    screen.out.print("All others are the defaults, as 'maskgae settings' lists them.")


def _show_method(method: str, key: str | None) -> None:
    from maskgae.lab.methods import CONFIGURED

    if method not in CONFIGURED:
        known = nearest(method, CONFIGURED)
        raise InputError(f"'{method}' is no baseline with settings of its own: {known}")
    entry = CONFIGURED[method]
    defaults, table = entry.flat(entry.config()), _table()
    table.add_column("elsewhere", overflow="fold")
    for each in _chosen(key, defaults):
        rule = entry.rules[each]
        elsewhere = {
            name: found
            for name in entry.by_dataset
            if (found := entry.flat(entry.configured(name))[each]) != defaults[each]
        }
        words = ", ".join(f"{name} {_text(value)}" for name, value in elsewhere.items())
        table.add_row(each, _text(defaults[each]), _meaning(rule.help, rule.limits), words)
    screen.out.print(table)


def _chosen(key: str | None, known: Mapping[str, Any]) -> list[str]:
    found = [each for each in known if key is None or each == key or each.startswith(f"{key}.")]
    if not found:
        raise InputError(f"no setting is called '{key}': {nearest(key or '', known)}")
    return found


def _table() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("default", overflow="fold", max_width=10)
    table.add_column("what it is", overflow="fold")
    return table


def _meaning(text: str, limits: str) -> str:
    return text + (f"; {limits}" if limits else "")


def _text(value: Any) -> str:
    return ",".join(f"{each:g}" for each in value) if isinstance(value, tuple) else str(value)
