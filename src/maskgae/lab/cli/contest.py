"""``maskgae contest``: the same held-out edges for ``fit`` and for its alternatives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.base.errors import InputError
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Quiet, prepare_torch
from maskgae.lab.cli.reproduce import Jobs, ResultsFolder, Run, run_with_progress

#: Filled in where it exists: in a checkout of the project.
DOCUMENT, CHART = Path("docs/contest.md"), Path("docs/charts/contest")
ADVICE = Path("docs/which-method.md")


@app.command()
def contest(
    graphs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GRAPH...",
            help="Names from 'maskgae datasets', or folders with edges.csv and, where they are "
            "there, features.npz and labels.csv.",
        ),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these contestants, separated by commas.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Splits; 5 by default, 1 above 500,000 edges.", min=1),
    ] = None,
    first_seed: Annotated[
        int | None,
        typer.Option("--first-seed", help="The first split's seed; 200, or 1000.", min=0),
    ] = None,
    validation: Annotated[
        bool,
        typer.Option("--validation", help="Choose: rank edges before the test, never the test."),
    ] = False,
    jobs: Jobs = 1,
    results: ResultsFolder = Path("results"),
    run: Run = True,
    quiet: Quiet = False,
) -> None:
    """Let fit and its alternatives predict the same held-out edges; what is there is kept."""
    from maskgae.lab import Records
    from maskgae.lab.contest.entry import arena_of, run_entry
    from maskgae.lab.contest.graphs import graph_name
    from maskgae.lab.tables.blocks import fill_file
    from maskgae.lab.tables.contest import contest_blocks, draw_contest
    from maskgae.lab.tables.which import which_blocks

    if run and not graphs:
        raise InputError("name graphs to run on, or write the page from what is kept by --no-run")
    prepare_torch("cpu", 1)
    records = Records(results)
    if run:
        tasks = _tasks(graphs or [], methods, seeds, first_seed, validation)
        run_with_progress(tasks, records, jobs, quiet, run=run_entry, load=arena_of)
    if DOCUMENT.exists():  # which shows every graph, whichever were asked for here
        fill_file(DOCUMENT, contest_blocks(records))
        draw_contest(records, CHART)
        if ADVICE.exists():
            fill_file(ADVICE, which_blocks(records))
        screen.out.print(f"tables written to {screen.plain(DOCUMENT)}")
        return
    names = [graph_name(place) for place in graphs or ()]
    for block in contest_blocks(records, names, first=0).values():
        screen.out.print(f"\n{block}", markup=False, soft_wrap=True)


def _tasks(
    places: list[str], methods: str | None, seeds: int | None, first: int | None, validation: bool
) -> list[tuple[Any, int]]:
    """Graph by graph and split by split, so that all contestants of one follow one another."""
    from maskgae.lab.contest.contestants import CHOICES, USUAL
    from maskgae.lab.contest.entry import entries
    from maskgae.lab.contest.graphs import load_arena
    from maskgae.lab.row import UNSEEN
    from maskgae.lab.tuning import FIRST_SEED

    usual = CHOICES if validation else USUAL
    names = [name.strip() for name in (methods or ",".join(usual)).split(",") if name.strip()]
    start = first if first is not None else FIRST_SEED if validation else UNSEEN
    tasks = []
    for place in places:
        entered = entries(place, names, validation)
        count = seeds or load_arena(place).splits
        tasks += [(entry, seed) for seed in range(start, start + count) for entry in entered]
    return tasks
