"""``maskgae ingest``: files of any size to a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Quiet
from maskgae.cli.own import EdgeFile, LabelColumn, MissingRule, NodeFile
from maskgae.errors import InputError

if TYPE_CHECKING:
    from maskgae.graph.store import Store


@app.command("ingest")
def ingest_files(
    edges: EdgeFile,
    out: Annotated[Path, typer.Option("--out", help="The store's folder.", metavar="STORE")],
    nodes: NodeFile = None,
    label: LabelColumn = None,
    missing: MissingRule = "error",
    force: Annotated[bool, typer.Option("--force", help="Replace a store in --out.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the store again and compare checksums.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Turn edges of any size into a store that 'fit' maps into memory instead of reading it.

    What was begun and not finished goes on where it stopped.
    """
    from maskgae.graph.ingest import ingest

    if nodes is None and label is not None:
        raise InputError("--label names a column of --nodes, and no --nodes was given")
    store = ingest(
        edges,
        out,
        nodes=nodes,
        label=label,
        missing=missing,
        force=force,
        listener=None if quiet else lambda stage: screen.err.print(f"{stage} ..."),
    )
    if verify:
        store.verify()
    _describe(store)


def _describe(store: Store) -> None:
    screen.out.print(f"[bold]{screen.plain(store.graph.name)}[/]: {store.graph}", soft_wrap=True)
    for note in store.notes:
        screen.out.print(f"  {screen.plain(note)}", soft_wrap=True)
    size = sum(entry["bytes"] for entry in store.manifest["files"].values())
    screen.out.print(
        f"store: {store.folder} · {size / 2**20:,.0f} MiB · digest {store.digest}", soft_wrap=True
    )
