"""The command line's root: global flags, and the verbs of the other files of this room."""

from __future__ import annotations

from typing import Annotated

import typer

from maskgae import __version__

app = typer.Typer(
    name="maskgae",
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
