"""The command line's root: global flags, and where each verb is found."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from maskgae import __version__
from maskgae.base.errors import InputError, nearest

#: Where each verb stands, under the heading that the help gives it, in the order in which a
#: newcomer wants them. A verb's module is imported when it is called: the library's verbs load
#: nothing of the laboratory.
PANELS = {
    "Your own graph": {
        "demo": "maskgae.lab.cli.demo",
        **dict.fromkeys(("fit", "links"), "maskgae.cli.own"),
        **dict.fromkeys(("why", "similar"), "maskgae.cli.ask"),
        **dict.fromkeys(("score", "embed", "report"), "maskgae.cli.own"),
        "ingest": "maskgae.cli.ingest",
        "settings": "maskgae.lab.cli.settings",
    },
    "The paper, its methods and their alternatives": {
        **{
            verb: f"maskgae.lab.cli.{verb}"
            for verb in ("evaluate", "reproduce", "ablate", "tune", "analyze", "contest")
        },
        **dict.fromkeys(("datasets", "presets"), "maskgae.cli.show"),
    },
}
VERBS = {verb: module for verbs in PANELS.values() for verb, module in verbs.items()}


class Verbs(TyperGroup):
    """Knows all verbs by name, and imports those that are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            raise InputError(f"there is no command '{cmd_name}': {nearest(cmd_name, VERBS)}")
        import_module(VERBS[cmd_name])
        command: Any = get_group(app).commands[cmd_name]
        command.rich_help_panel = next(p for p, verbs in PANELS.items() if cmd_name in verbs)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Runs a verb; an unknown option that is a setting is told by the setting's name."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # By name, since releases of Typer keep them in different places.
            kind, option = type(error).__name__, str(getattr(error, "option_name", ""))
            if kind == "NoSuchOption":
                check_setting(option)
            if kind == "BadOptionUsage":  # too few values, or one too many
                verb = f"maskgae {ctx.invoked_subcommand} --help"
                raise InputError(f"{str(error).rstrip('.')}: see '{verb}'") from None
            raise


def check_setting(option: str) -> None:
    """Refuses an option that is a setting, with what to write instead."""
    from maskgae.base.settings import KEYS

    name = option.lstrip("-").replace("-", "_")
    found = [key for key in KEYS if name in (key, key.rpartition(".")[2])]
    if found:
        raise InputError(
            f"{option} is a setting: write {' or '.join(f'--set {k}=...' for k in found)}"
        )


app = typer.Typer(
    name="maskgae",
    cls=Verbs,
    help="Masked graph autoencoders: node embeddings and missing links from an unlabelled graph.",
    epilog="To begin: [bold]maskgae fit edges.csv --out run[/], then [bold]maskgae links run[/]; "
    "or [bold]maskgae demo[/] without a file.",
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
