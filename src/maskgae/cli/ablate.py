"""``maskgae ablate``: the paper's ablation figures through the one runner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Assignments, ConfigFile, MaskKind, overrides, prepare_torch
from maskgae.cli.reproduce import Jobs, ResultsFolder, run_with_progress
from maskgae.words import percent


@app.command()
def ablate(
    what: Annotated[str, typer.Argument(metavar="p|q|alpha|dim|encoder|semantics|depth")],
    dataset: Annotated[str, typer.Option(help="A name from 'maskgae datasets'.")] = "imports",
    task: Annotated[str, typer.Option(help="node or link.")] = "node",
    mask: MaskKind = None,
    semantics: Annotated[
        str, typer.Option(help="strict, reference, or both separated by a comma.")
    ] = "strict",
    values: Annotated[str | None, typer.Option(help="Values, separated by commas.")] = None,
    seeds: Annotated[int, typer.Option(help="Runs a value.", min=1)] = 5,
    jobs: Jobs = 1,
    config: ConfigFile = None,
    assignments: Assignments = None,
    results: ResultsFolder = Path("results"),
    charts: Annotated[Path, typer.Option(help="Where charts are drawn.")] = Path("docs/charts"),
) -> None:
    """Vary one setting, keep the others, and draw what comes out."""
    from maskgae.experiment import Store
    from maskgae.experiment.suites import SWEEPS, sweep_cells

    extra = overrides(config, assignments)
    chosen = _parsed(values)
    kinds = [kind.strip() for kind in semantics.split(",")] if what != "semantics" else [""]
    cells = {
        kind: sweep_cells(
            what,
            dataset,
            task,
            mask,
            chosen,
            {**extra, **({"mask.semantics": kind} if kind else {})},
        )
        for kind in kinds
    }
    prepare_torch("cpu", 1)
    store = Store(results)
    tasks = [(cell, seed) for seed in range(seeds) for group in cells.values() for cell in group]
    run_with_progress(tasks, store, jobs, quiet=False)
    _draw(what, dataset, task, cells, store, range(seeds), charts)
    screen.out.print(f"the paper: {SWEEPS[what].claim}")


def _parsed(values: str | None) -> list[Any]:
    from maskgae.config import parse_assignment

    return [parse_assignment(f"x={text}")[1] for text in (values or "").split(",") if text]


def _draw(
    what: str, dataset: str, task: str, cells: Any, store: Any, seeds: range, folder: Path
) -> None:
    """One curve a semantics; mask ratios are drawn against the share that was really hidden."""
    from maskgae.experiment.suites import SWEEPS
    from maskgae.report.charts import curve_of, draw_curves

    metric = "auc" if task == "link" else "accuracy"
    key, by_share = SWEEPS[what].key, what in ("p", "q")
    curves = []
    for kind, group in cells.items():
        records = [store.record(cell, seeds) for cell in group]
        settings = [cell.settings.flat()[key] for cell in group]
        x = [100 * r["audit"]["hidden_share"] for r in records] if by_share else settings
        x = [str(value) for value in x] if not by_share and what not in ("alpha",) else x
        summaries = [record["metrics"][metric] for record in records]
        curves.append(curve_of(kind or "by semantics", x, summaries))
        for value, place, summary in zip(settings, x, summaries, strict=True):
            shown = f", {float(place):.0f} % hidden" if by_share else ""
            screen.out.print(f"{kind} {key}={screen.plain(value)}{shown}: {percent(summary)}")
    title = f"{dataset}, {task}: effect of {key}"
    x_label = "share of pairs hidden, %" if by_share else key
    path = folder / f"{what}-{task}-{dataset.lower()}"
    for made in draw_curves(path, curves, title, x_label, f"{metric}, %"):
        screen.out.print(f"drawn: {screen.plain(made)}")
