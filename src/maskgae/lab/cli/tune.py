"""``maskgae tune``: a grid of settings, judged on validation data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from maskgae.base.display import percent
from maskgae.base.errors import InputError
from maskgae.base.settings_text import parse_assignment
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import (
    Assignments,
    ConfigFile,
    JsonFile,
    Quiet,
    check_writable,
    overrides,
    prepare_torch,
)
from maskgae.lab.cli.reproduce import Jobs, run_with_progress


@app.command()
def tune(
    task: Annotated[str, typer.Argument(help="link or node.", metavar="link|node")],
    grid: Annotated[
        list[str],
        typer.Option("--grid", help="A setting and its values; repeatable.", metavar="KEY=[V,...]"),
    ],
    dataset: Annotated[str, typer.Option(help="A name from 'maskgae datasets'.")] = "imports",
    mask: Annotated[str, typer.Option(help="edge, path or none.")] = "edge",
    method: Annotated[str, typer.Option(help="maskgae, or a baseline.")] = "maskgae",
    seeds: Annotated[int, typer.Option(help="Runs per point of the grid.", min=1)] = 3,
    jobs: Jobs = 1,
    config: ConfigFile = None,
    assignments: Assignments = None,
    results: Annotated[Path, typer.Option(help="Where the log is kept.")] = Path("results/tune"),
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Try a grid of settings on validation data; the test is never looked at. Resumable."""
    from maskgae.base.files import write_json
    from maskgae.lab import Records
    from maskgae.lab.tuning import FIRST_SEED, grid_cells, ranking, validate_seed

    check_writable(json)
    axes: dict[str, list[object]] = {}
    for text in grid:
        key, values = _axis(text)
        if key in axes:
            raise InputError(f"--grid has {key} twice: put all its values into one list")
        axes[key] = values
    cells = grid_cells(task, dataset, mask, axes, overrides(config, assignments), method)
    prepare_torch("cpu", 1)
    records, numbers = Records(results), range(FIRST_SEED, FIRST_SEED + seeds)
    tasks = [(cell, seed) for seed in numbers for cell in cells]
    run_with_progress(tasks, records, jobs, quiet, run=validate_seed)
    table = Table(box=None, pad_edge=False)
    for name in (*axes, "validation", "n", "s a run"):
        table.add_column(name, no_wrap=True)
    points = []
    for row in ranking(cells, numbers, records):
        values = row.pop("cell").flat()
        chosen, count = {key: values[key] for key in axes}, len(row["values"])
        points.append({"settings": chosen, **row})
        words = map(str, chosen.values())
        table.add_row(*words, percent(row), str(count), f"{row['train_s'] / count:.0f}")
    screen.out.print(table)
    if json is not None:
        write_json(json, {"task": task, "dataset": dataset, "points": points})


def _axis(text: str) -> tuple[str, list[object]]:
    """A setting and its values; words need no quotes.

    >>> _axis("mask.p=[0.3,0.5]"), _axis("encoder.kind=[gcn,sage]")
    (('mask.p', [0.3, 0.5]), ('encoder.kind', ['gcn', 'sage']))
    """
    key, _, inner = text.partition("=")
    found = re.fullmatch(r"\s*\[(.*\S.*)\]\s*", inner)
    if found is None:
        raise InputError(
            f"--grid takes a setting and its values, such as mask.p=[0.3,0.5], not '{text}'"
        )
    values = parse_assignment(text)[1]
    if not isinstance(values, list):
        values = [parse_assignment(f"{key}={word}")[1] for word in found[1].split(",")]
    return key.strip(), values
