"""``maskgae ingest``: files of any size to a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskgae.base.errors import InputError, nearest
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.options import Quiet, Reading, reading
from maskgae.cli.own import Directed, IdColumn, LabelColumn, MissingRule, NodeFile, TypeColumn

if TYPE_CHECKING:
    from maskgae.store.store import Store


@app.command("ingest")
def ingest_files(
    out: Annotated[Path, typer.Option("--out", help="The store's folder.", metavar="STORE")],
    edges: Annotated[
        Path | None, typer.Argument(help="Edges, in any format that 'fit' reads.")
    ] = None,
    generate: Annotated[
        str | None,
        typer.Option(
            help="Instead of EDGES: a generated graph, such as nodes=5e6,pairs=5e7,features=64.",
            metavar="KEY=VALUE,...",
        ),
    ] = None,
    nodes: NodeFile = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    type: TypeColumn = None,
    directed: Directed = False,
    missing: MissingRule = "error",
    read: Reading = None,
    like: Annotated[
        Path | None,
        typer.Option(help="Encode the table as this run or store did.", metavar="RUN"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a store in --out.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the store again and compare checksums.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Turn edges of any size into a store that 'fit' maps into memory instead of reading it.

    What was begun and not finished goes on where it stopped.
    """
    from maskgae.base.limits import check_memory
    from maskgae.datasets.generated_store import generate_store
    from maskgae.io.kinds import Kinds
    from maskgae.run.source import check_no_table
    from maskgae.store.ingest import ingest
    from maskgae.store.store import open_store

    check_memory()
    if verify and edges is None and generate is None:
        store = open_store(out)
        store.verify()
        _describe(store)
        return
    if (edges is None) == (generate is None):
        raise InputError("give EDGES or --generate, one of the two; neither, to --verify a store")
    if nodes is None:
        check_no_table(label, missing, id)
    common: Any = {
        "force": force,
        "on_stage": None if quiet else lambda stage: screen.err.print(f"{stage} ..."),
    }
    if generate is not None:
        store = generate_store(out, **_request(generate), **common)
    else:
        assert edges is not None
        table: Any = {"nodes": nodes, "id": id, "label": label, "missing": missing, "like": like}
        kinds = Kinds(type, directed)
        store = ingest(edges, out, kinds=kinds, reading=reading(read), **table, **common)
    if verify:
        store.verify()
    _describe(store)


#: What a generated graph takes, by the name on the command line.
REQUEST: dict[str, tuple[str, type]] = {
    "nodes": ("num_nodes", int),
    "pairs": ("num_pairs", int),
    "features": ("num_features", int),
    "communities": ("communities", int),
    "homophily": ("homophily", float),
    "exponent": ("exponent", float),
    "signal": ("signal", float),
    "words": ("words", int),
    "seed": ("seed", int),
}


def _request(text: str) -> dict[str, Any]:
    """The arguments of a generated graph.

    >>> _request("nodes=5e6,pairs=10")
    {'num_nodes': 5000000, 'num_pairs': 10}
    """
    request = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key not in REQUEST:
            raise InputError(f"--generate knows no '{key}': {nearest(key, REQUEST)}")
        name, kind = REQUEST[key]
        try:
            request[name] = kind(float(value))
        except (ValueError, OverflowError):
            raise InputError(f"--generate: {key} must be a number, not '{value}'") from None
    if not {"num_nodes", "num_pairs"} <= request.keys():
        raise InputError("--generate needs nodes and pairs, such as nodes=1e6,pairs=1e7")
    return request


def _describe(store: Store) -> None:
    screen.out.print(f"[bold]{screen.plain(store.graph.name)}[/]: {store.graph}", soft_wrap=True)
    for note in store.notes:
        screen.sentence(screen.plain(note), indent=2)
    size = sum(entry["bytes"] for entry in store.manifest["files"].values())
    folder, digest = screen.plain(store.folder), screen.plain(store.digest)
    words = f"store: {folder} · {size / 2**20:,.0f} MiB · digest {digest}"
    screen.out.print(words, soft_wrap=True)
