"""Questions about nodes and links: ``maskgae similar`` and ``why``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskgae.base.files import check_readable
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Threads
from maskgae.cli.own import RunFolder, opened

if TYPE_CHECKING:
    from maskgae.run.why import Why


@app.command()
def similar(
    run: RunFolder,
    node: Annotated[str, typer.Argument(help="A node.", metavar="NODE")],
    top: Annotated[int, typer.Option(help="How many, at most.", min=1)] = 10,
    threads: Threads = 0,
) -> None:
    """List the nodes whose embeddings point most the same way."""
    check_readable(run)
    found = opened(run, None, threads).similar(node, top)
    screen.listing({"node": found["target"], "cosine": [f"{x:.4f}" for x in found["cosine"]]})


@app.command()
def why(
    run: RunFolder,
    one: Annotated[str, typer.Argument(help="A node.", metavar="A")],
    other: Annotated[str, typer.Argument(help="A node that it has no link with.", metavar="B")],
    threads: Threads = 0,
) -> None:
    """Say why a missing link is suggested: what its score is made of, with names."""
    check_readable(run)
    _show_why(opened(run, None, threads).why(one, other))


def _show_why(found: Why) -> None:
    ends = f"{screen.plain(found.source)} – {screen.plain(found.target)}"
    screen.out.print(f"[bold]{ends}[/]: score {found.score:.2f}, of which", soft_wrap=True)
    for reason in found.reasons:
        screen.row(f"{reason.share:+8.2f}  {reason.kind}")
        for name, share in reason.parts:
            screen.row(f"{share:+16.2f}  {name}")
    screen.out.print(
        f"chance {found.probability:.4f} where edges and negative samples are as many; a share of\n"
        "0 is that of an average candidate"
    )
