"""The command line's root: global flags, and the verbs of the other files of this room."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from maskgae import __version__

#: The verbs as help lists them: a first look, one's own graph, the paper, what there is.
ORDER = (
    *("demo", "fit", "embed", "links", "score", "report", "ingest"),
    *("evaluate", "reproduce", "ablate", "tune", "analyze"),
    *("datasets", "presets", "settings"),
)


class InOrder(TyperGroup):
    """Lists the commands in the order in which a newcomer wants them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="maskgae",
    cls=InOrder,
    help="Masked graph autoencoders: node embeddings and missing links from an unlabelled graph.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"maskgae {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Masked graph autoencoders: node embeddings and missing links from an unlabelled graph."""
