"""``maskgae demo``: the main job on the embedded graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Quiet, Threads, prepare_torch

#: Where a demo goes, and replaces the one before.
DEMO = Path("runs/demo")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="The run folder.", metavar="RUN")] = DEMO,
    threads: Threads = 0,
    quiet: Quiet = False,
) -> None:
    """Train and evaluate on the embedded graph: your own libraries' import statements."""
    from maskgae.cli.progress import FitProgress
    from maskgae.datasets.imports import imports_source, installed_packages
    from maskgae.run import Source, fit

    prepare_torch("cpu", threads)
    screen.out.print(
        f"The graph: modules of the installed {', '.join(installed_packages())},\n"
        "joined where one imports the other; features: words of their docstrings.\n"
    )
    progress = FitProgress(quiet)
    with progress.watched():
        fit(Source(*imports_source()), folder=out, force=out == DEMO, callbacks=[progress])
    asked = f"maskgae links {screen.plain(out)} --node scipy.sparse --top 3"
    verbs = {
        asked: "missing links",
        "maskgae fit EDGES.csv --out RUN": "your own graph",
        "maskgae evaluate link --dataset Cora": "the paper's benchmarks",
        "maskgae --help": "everything else",
    }
    screen.out.print("\nnext:")
    for command, what in verbs.items():
        screen.out.print(f"  [bold]{command:<{len(asked)}}[/]   {what}", soft_wrap=True)
