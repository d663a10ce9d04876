"""``maskgae evaluate``: a named dataset, several seeds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import (
    Assignments,
    ConfigFile,
    Device,
    JsonFile,
    MaskKind,
    PresetName,
    Quiet,
    Seeds,
    Threads,
    check_writable,
    overrides,
    prepare_torch,
)


@app.command()
def evaluate(
    task: Annotated[str, typer.Argument(help="link or node.", metavar="link|node")],
    dataset: Annotated[str, typer.Option(help="A name from 'maskgae datasets'.")] = "imports",
    mask: MaskKind = None,
    preset: PresetName = None,
    method: Annotated[str, typer.Option(help="maskgae, or a baseline.")] = "maskgae",
    seeds: Seeds = 5,
    first_seed: Annotated[
        int | None, typer.Option("--first-seed", help="The first run's seed.", min=0)
    ] = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    device: Device = "cpu",
    threads: Threads = 0,
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Train and score on a named dataset: independent runs, heuristic baselines, a leak audit."""
    from maskgae.base.files import write_json
    from maskgae.lab import make_cell

    check_writable(json)
    values = overrides(config, assignments)
    cell = make_cell(task, dataset, mask=mask, preset_name=preset, overrides=values, method=method)
    prepare_torch(device, threads)
    first = cell.settings.seed if first_seed is None else first_seed
    record = evaluated(cell, range(first, first + seeds), device, quiet)
    if json is not None:
        write_json(json, record)
    screen.show_record(record)


def evaluated(cell: Any, seeds: Any, device: str, quiet: bool) -> dict[str, Any]:
    """Runs a cell behind a progress bar."""
    from maskgae.lab import evaluate as run

    with screen.training_progress(quiet) as progress:
        bars: list[screen.TrainingProgress] = []

        def bar_of(seed: int) -> screen.TrainingProgress | None:
            for bar in bars:
                bar.close()
            bars.clear()
            if progress is not None:
                label = f"{cell.task} seed {seed}"
                bars.append(screen.TrainingProgress(progress, label, cell.epochs))
            return bars[0] if bars else None

        return run(cell, list(seeds), device=device, on_epoch=bar_of)
