"""``maskgae ablate``: the paper's ablation figures through the one runner."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import (
    Assignments,
    ConfigFile,
    JsonFile,
    MaskKind,
    Quiet,
    check_writable,
    overrides,
    prepare_torch,
)
from maskgae.lab.cli.reproduce import Jobs, ResultsFolder, Run, run_with_progress

#: Filled in where it exists: in a checkout of the project.
DOCUMENT = Path("docs/analysis.md")


@app.command()
def ablate(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="p|q|alpha|dim|encoder|semantics|depth|all",
            help="What is varied; all: the sweeps of docs/analysis.md, as they stand there.",
        ),
    ],
    dataset: Annotated[str, typer.Option(help="A name from 'maskgae datasets'.")] = "imports",
    task: Annotated[str, typer.Option(help="node or link.")] = "node",
    mask: MaskKind = None,
    semantics: Annotated[
        str, typer.Option(help="strict, reference, or both separated by a comma.")
    ] = "strict",
    values: Annotated[str | None, typer.Option(help="Values, separated by commas.")] = None,
    seeds: Annotated[int, typer.Option(help="Runs per value.", min=1)] = 5,
    jobs: Jobs = 1,
    config: ConfigFile = None,
    assignments: Assignments = None,
    results: ResultsFolder = Path("results"),
    charts: Annotated[Path, typer.Option(help="Where charts are drawn.")] = Path("docs/charts"),
    run: Run = True,
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Vary one setting, keep the others, and draw what comes out."""
    from maskgae.base.files import write_json
    from maskgae.lab import Records
    from maskgae.lab.sweeps import ABLATIONS, Ablation
    from maskgae.lab.tables.ablations import title

    check_writable(json)
    if what == "all":
        _refuse_options_of_one(context)
        ablations = list(ABLATIONS)
    else:
        kinds = tuple(kind.strip() for kind in semantics.split(","))
        extra = overrides(config, assignments)
        chosen = tuple(_parsed(values))
        ablations = [Ablation(what, dataset, task, mask, kinds, chosen, seeds, extra)]
    prepare_torch("cpu", 1)
    records = Records(results)
    if run:
        tasks = [pair for ablation in ablations for pair in ablation.runs()]
        run_with_progress(tasks, records, jobs, quiet)
    for ablation in ablations:
        _show(ablation, records, charts)
    _write(ablations, records)
    if json is not None:
        write_json(json, {title(each): _curves(each, records) for each in ablations})


def _curves(ablation: Any, records: Any) -> dict[str, Any]:
    """The points of each curve as plain values."""
    from maskgae.lab.tables.ablations import points

    found = points(ablation, records)
    return {kind: [asdict(point) for point in curve] for kind, curve in found.items()}


def _refuse_options_of_one(context: typer.Context) -> None:
    """The sweeps of the page are as it says: an option that would be ignored is an error."""
    from maskgae.base.errors import InputError

    names = {"config": "--config", "assignments": "--set"}
    names |= {
        key: f"--{key}" for key in ("dataset", "task", "mask", "semantics", "values", "seeds")
    }
    for key, flag in names.items():
        source = context.get_parameter_source(key)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{flag} is for one sweep, not for all: name the sweep, as in "
                f"'maskgae ablate p {flag} ...', or leave {flag} out"
            )


def _parsed(values: str | None) -> list[Any]:
    from maskgae.base.settings_text import parse_assignment

    return [parse_assignment(f"x={text}")[1] for text in (values or "").split(",") if text]


def _show(ablation: Any, records: Any, charts: Path) -> None:
    from maskgae.base.display import percent
    from maskgae.lab.tables.ablations import complete, draw_ablation, finding, points, title

    found = points(ablation, records)
    if not complete(ablation, found):
        screen.out.print(f"\n{title(ablation)}: not run yet")
        return
    screen.out.print(f"\n{title(ablation)}")
    for kind, curve in found.items():
        for point in curve:
            hidden = "" if point.hidden is None else f", {100 * point.hidden:.0f} % hidden"
            value = f"{ablation.sweep.key}={screen.plain(point.value)}"
            screen.out.print(f"{kind} {value}{hidden}: {percent(point.summary)}".strip())
    screen.out.print(f"The paper: {ablation.sweep.claim}. {finding(ablation, found)}", markup=False)
    for made in draw_ablation(ablation, found, charts):
        screen.out.print(f"drawn: {screen.plain(made)}")


def _write(ablations: Any, records: Any) -> None:
    """Fills in the sweeps that the project's page shows, and only if they are run as it says."""
    from maskgae.lab.cli.pages import write_blocks
    from maskgae.lab.sweeps import ABLATIONS
    from maskgae.lab.tables.ablations import ablation_blocks

    shown = [each for each in ablations if each in ABLATIONS]
    if shown and DOCUMENT.exists():
        write_blocks(ablation_blocks(shown, records), [DOCUMENT])
