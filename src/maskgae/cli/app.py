"""The command line's root: global flags, and where each verb is found."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from maskgae import __version__

#: Where each verb stands, in the order in which a newcomer wants them: a first look, one's own
#: graph, the paper, what there is. A verb's module is imported when it is called: the library's
#: verbs load nothing of the laboratory.
VERBS = {
    "demo": "maskgae.lab.cli.demo",
    **dict.fromkeys(("fit", "embed", "links", "score", "report"), "maskgae.cli.own"),
    **dict.fromkeys(("similar", "why"), "maskgae.cli.ask"),
    "ingest": "maskgae.cli.ingest",
    **{
        verb: f"maskgae.lab.cli.{verb}"
        for verb in ("evaluate", "reproduce", "ablate", "tune", "analyze", "contest")
    },
    **dict.fromkeys(("datasets", "presets"), "maskgae.cli.show"),
    "settings": "maskgae.lab.cli.settings",
}


class Verbs(TyperGroup):
    """Knows all verbs by name, and imports those that are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        import_module(VERBS[cmd_name])
        return get_group(app).commands[cmd_name]


app = typer.Typer(
    name="maskgae",
    cls=Verbs,
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
