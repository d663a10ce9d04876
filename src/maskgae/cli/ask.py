"""Questions about nodes and links: ``maskgae similar`` and ``why``."""

from __future__ import annotations

from typing import Annotated

import typer

from maskgae.base.files import check_readable
from maskgae.cli.answers import show_similar, show_why
from maskgae.cli.app import app
from maskgae.cli.options import Index, Threads
from maskgae.cli.own import RunFolder, opened


@app.command()
def similar(
    run: RunFolder,
    node: Annotated[str, typer.Argument(help="A node.", metavar="NODE")],
    top: Annotated[int, typer.Option(help="How many, at most.", min=1, metavar="N")] = 10,
    index: Index = False,
    threads: Threads = 0,
) -> None:
    """List the nodes whose embeddings point most the same way."""
    check_readable(run)
    show_similar(opened(run, None, threads).similar(node, top, index))


@app.command()
def why(
    run: RunFolder,
    one: Annotated[str, typer.Argument(help="A node.", metavar="A")],
    other: Annotated[str, typer.Argument(help="A node that it has no link with.", metavar="B")],
    threads: Threads = 0,
) -> None:
    """Say why a missing link is suggested: what its score is made of, with names."""
    check_readable(run)
    show_why(opened(run, None, threads).why(one, other))
