"""``maskgae reproduce``: the paper's tables from kept records, running what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.base.errors import InputError
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import FirstSeed, JsonFile, Quiet, check_writable, prepare_torch
from maskgae.cli.signals import stopped_at_once

Jobs = Annotated[int, typer.Option(help="Processes of one thread each.", min=1)]
ResultsFolder = Annotated[Path, typer.Option("--results", help="Where the records are kept.")]
Datasets = Annotated[
    str | None, typer.Option("--datasets", help="Only these, separated by commas.")
]
Run = Annotated[
    bool, typer.Option("--run/--no-run", help="Run what is missing, or only write tables.")
]

#: Filled in where they exist: in a checkout of the project.
DOCUMENTS = (Path("docs/results.md"), Path("docs/methods.md"), Path("README.md"))


@app.command()
def reproduce(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="ranking|parts|heart|vectors|link|node|encoders|methods|kinds|all",
            help="Which table.",
        ),
    ],
    datasets: Datasets = None,
    methods: Annotated[
        str | None, typer.Option("--methods", help="Only these, separated by commas.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs per cell; 10 or 5 by default.", min=1)
    ] = None,
    first_seed: FirstSeed = 0,
    jobs: Jobs = 1,
    results: ResultsFolder = Path("results"),
    documents: Annotated[
        list[Path] | None,
        typer.Option("--document", help="Where tables are filled in; repeatable."),
    ] = None,
    graphs: Annotated[
        Path | None,
        typer.Option(help="Of 'kinds': the folder with a folder of files for each graph."),
    ] = None,
    run: Run = True,
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Run what is missing of the paper's tables and write them beside the published numbers."""
    from dataclasses import replace

    from maskgae.base.files import write_json
    from maskgae.datasets.registry import is_available
    from maskgae.lab import Records
    from maskgae.lab.cli.pages import write_blocks
    from maskgae.lab.suites import suite as rows_of
    from maskgae.lab.tables.methods import method_blocks
    from maskgae.lab.tables.results import result_blocks
    from maskgae.lab.tables.tuning import tuning_blocks

    check_writable(json)
    names = listed(datasets)
    if suite == "kinds":
        if methods:
            raise InputError(
                f"kinds has no methods to choose from, so --methods {methods} means nothing: leave "
                "it out, or choose another table"
            )
        _kinds(graphs, names, seeds, first_seed, jobs, Records(results), documents, run, quiet)
        return
    rows = rows_of(suite, names, listed(methods))
    if seeds is not None:
        rows = [replace(row, seeds=seeds) for row in rows]
    prepare_torch("cpu", 1)
    absent = sorted({row.cell.dataset for row in rows if not is_available(row.cell.dataset)})
    if absent:
        screen.err.print(f"not on this machine, left out: {', '.join(absent)}")
    records = Records(results)
    tasks = [
        (row.cell, seed)
        for row in rows
        if row.cell.dataset not in absent
        for seed in row.numbers(first_seed)
    ]
    if run:
        run_with_progress(tasks, records, jobs, quiet)
    if json is not None:
        found = (records.record(row.cell, row.numbers(first_seed)) for row in rows)
        write_json(json, [record for record in found if record is not None])
    # The project's own pages show everything with the usual seeds, whatever was asked for here.
    pages = [] if documents or first_seed else [path for path in DOCUMENTS if path.exists()]
    blocks: dict[str, str] = {}
    if pages or suite == "methods":
        blocks |= method_blocks(rows_of("methods") if pages else rows, records, first_seed)
    if pages or suite != "methods":
        blocks |= result_blocks(rows_of("all") if pages else rows, records, first_seed)
        blocks |= tuning_blocks(Records(results / "tune"))
    write_blocks(blocks, documents or pages)


def listed(text: str | None) -> list[str]:
    """Names between commas.

    >>> listed("Cora, PubMed"), listed(None)
    (['Cora', 'PubMed'], [])
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _kinds(
    graphs: Path | None,
    names: list[str],
    seeds: int | None,
    first_seed: int,
    jobs: int,
    records: Any,
    documents: list[Path] | None,
    run: bool,
    quiet: bool,
) -> None:
    """The suite of graphs with two sides, directions and times, which are read from files."""
    from maskgae.lab.cli.kinds import kind_tasks, run_kind, source_of, write_kinds

    prepare_torch("cpu", 1)
    if run:
        tasks = kind_tasks(graphs, names, seeds, first_seed)
        run_with_progress(tasks, records, jobs, quiet, run=run_kind, load=source_of)
    write_kinds(records, documents)


def run_with_progress(tasks: list[Any], records: Any, jobs: int, quiet: bool, **how: Any) -> None:
    """Runs what is missing behind one bar over all of it, with the time left."""
    from maskgae.lab import run_missing

    todo = [task for task in tasks if records.load(*task) is None]
    kept = len(tasks) - len(todo)
    screen.err.print(f"{kept} of {len(tasks)} runs are there, {len(todo)} to go")
    with stopped_at_once(), screen.overall_progress(quiet, len(todo)) as advance:
        for cell, seed in run_missing(todo, records, jobs, **how):
            advance(f"{cell.label} {seed}")
