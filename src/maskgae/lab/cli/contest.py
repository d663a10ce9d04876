"""``maskgae contest``: the same held-out edges for ``fit`` and for its alternatives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.base.errors import InputError
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Assignments, Quiet, overrides, prepare_torch
from maskgae.lab.cli.reproduce import Jobs, ResultsFolder, Run, listed, run_with_progress

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
    new_nodes: Annotated[
        bool,
        typer.Option(
            "--new-nodes", help="Leave 5 % of the nodes out of fit, and ask about them afterwards."
        ),
    ] = False,
    assignments: Assignments = None,
    jobs: Jobs = 1,
    results: ResultsFolder = Path("results"),
    run: Run = True,
    quiet: Quiet = False,
) -> None:
    """Let fit and its alternatives predict the same held-out edges; what is there is kept."""
    from maskgae.lab import Records
    from maskgae.lab.contest.entry import arena_of, run_entry
    from maskgae.lab.contest.graphs import graph_name
    from maskgae.lab.contest.new_nodes import run_entry as run_arrival
    from maskgae.lab.tables.blocks import fill_file
    from maskgae.lab.tables.contest import contest_blocks, draw_contest
    from maskgae.lab.tables.new_nodes import new_node_block
    from maskgae.lab.tables.which import which_blocks

    if run and not graphs:
        raise InputError("name graphs to run on, or write the page from what is kept by --no-run")
    prepare_torch("cpu", 1)
    records = Records(results)
    given = overrides(None, assignments)
    if given and not validation:
        raise InputError("settings are chosen on validation edges: add --validation to --set")
    if new_nodes and validation:
        raise InputError("--new-nodes asks a question of its own: leave out --validation")
    if run and new_nodes:
        tasks = _arrivals(graphs or [], methods, seeds or 1, first_seed)
        run_with_progress(tasks, records, jobs, quiet, run=run_arrival, load=arena_of)
    elif run:
        tasks = _tasks(graphs or [], methods, seeds, first_seed, validation, given)
        run_with_progress(tasks, records, jobs, quiet, run=run_entry, load=arena_of)
    if DOCUMENT.exists():  # which shows every graph, whichever were asked for here
        blocks = contest_blocks(records) | {"contest new nodes": new_node_block(records)}
        fill_file(DOCUMENT, blocks)
        draw_contest(records, CHART)
        if ADVICE.exists():
            fill_file(ADVICE, which_blocks(records))
        screen.out.print(f"tables written to {screen.plain(DOCUMENT)}")
        return
    names = [graph_name(place) for place in graphs or ()]
    blocks = contest_blocks(records, names, first=0)
    if new_nodes:
        blocks = {"contest new nodes": new_node_block(records, first=0)}
    for block in blocks.values():
        screen.out.print(f"\n{block}", markup=False, soft_wrap=True)


def _tasks(
    places: list[str],
    methods: str | None,
    seeds: int | None,
    first: int | None,
    validation: bool,
    given: dict[str, Any],
) -> list[tuple[Any, int]]:
    """Graph by graph and split by split, so that all contestants of one follow one another.

    Where settings are given, ``fit`` is run with them and without.
    """
    from maskgae.lab.contest.contestants import CHOICES, USUAL
    from maskgae.lab.contest.entry import entries
    from maskgae.lab.contest.graphs import load_arena
    from maskgae.lab.row import UNSEEN
    from maskgae.lab.tuning import FIRST_SEED

    usual = ("maskgae",) if given else CHOICES if validation else USUAL
    names = listed(methods) or list(usual)
    start = first if first is not None else FIRST_SEED if validation else UNSEEN
    tasks = []
    for place in places:
        entered = entries(place, names, validation)
        entered += entries(place, names, validation, given) if given else []
        count = seeds or load_arena(place).splits
        tasks += [(entry, seed) for seed in range(start, start + count) for entry in entered]
    return tasks


def _arrivals(
    places: list[str], methods: str | None, seeds: int, first: int | None
) -> list[tuple[Any, int]]:
    """Graph by graph and seed by seed: each fit that never saw the new nodes, and one that did."""
    from maskgae.lab.contest.new_nodes import FITS, entries
    from maskgae.lab.row import UNSEEN

    names = listed(methods) or list(FITS)
    if unfit := [name for name in names if name not in FITS]:
        raise InputError(f"'{unfit[0]}' cannot read nodes that come later: {', '.join(FITS)} can")
    start = UNSEEN if first is None else first
    return [
        (entry, seed)
        for place in places
        for seed in range(start, start + seeds)
        for entry in entries(place, names)
    ]
