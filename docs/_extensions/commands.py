"""The directives ``commands`` and ``settings``: what verbs and ``--set`` take, from their help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from maskgae.base.settings import Settings, help_text, range_text
from maskgae.cli.app import VERBS, app


class Commands(SphinxDirective):
    """A section for each verb, in the order of the help."""

    def run(self) -> list[nodes.Node]:
        group: Any = get_command(app)
        text = "\n".join(section(verb, group.get_command(None, verb)) for verb in VERBS)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def section(name: str, command: Any) -> str:
    """A verb, or a verb of a verb, as Markdown."""
    usage = " ".join([name, *(each.metavar or each.name.upper() for each in arguments(command))])
    lines = [f"## {name}", "", f"`maskgae {usage}`", "", command.help or "", ""]
    for part, below in getattr(command, "commands", {}).items():
        lines += [f"**`maskgae {name} {part}`**", "", below.help or "", "", *table(below)]
    return "\n".join([*lines, *table(command), ""])


def arguments(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "argument"]


def table(command: Any) -> list[str]:
    rows = list(options(command))
    return ["| option | what it does |", "|---|---|", *rows, ""] if rows else []


def options(command: Any) -> Iterator[str]:
    for each in command.params:
        if each.param_type_name != "option" or "--help" in each.opts:
            continue
        names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
        default = each.default
        shown = default not in (None, False, True, (), []) and not callable(default)
        beside = f" Default: `{default}`." if shown else ""
        yield f"| {names} | {escaped(each.help or '')}{beside} |"


class SettingsTable(SphinxDirective):
    """A row for each setting."""

    def run(self) -> list[nodes.Node]:
        rows = ["| setting | default | what it is |", "|---|---|---|"]
        for key, value in Settings().flat().items():
            meaning = "; ".join(filter(None, (help_text(key), range_text(key))))
            rows.append(f"| `{key}` | `{value}` | {escaped(meaning)} |")
        return self.parse_text_to_nodes("\n".join(rows))


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    app.add_directive("settings", SettingsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
