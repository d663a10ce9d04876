"""Your own graph: ``maskgae fit``, ``embed``, ``links``, ``score`` and ``report``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.base.errors import InputError, StoppedError
from maskgae.base.files import check_readable
from maskgae.cli import screen
from maskgae.cli.answers import explain, show_links, show_recall
from maskgae.cli.app import app
from maskgae.cli.options import (
    GRAPH,
    TRAINING,
    Assignments,
    CheckpointEvery,
    ConfigFile,
    Device,
    Index,
    JsonFile,
    MaskKind,
    PresetName,
    Quiet,
    Reading,
    Threads,
    check_writable,
    overrides,
    prepare_torch,
    reading,
)

EdgeFile = Annotated[
    Path,
    typer.Argument(
        help="Edges: CSV, TSV, text, Parquet, npz, mtx, GraphML; or a store.", metavar="EDGES"
    ),
]
NodeFile = Annotated[
    Path | None,
    typer.Option("--nodes", help="A table of the nodes.", metavar="TABLE", rich_help_panel=GRAPH),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="The table's column of ids; left out: id, node, node_id, name, or the first.",
        metavar="COLUMN",
        rich_help_panel=GRAPH,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label", help="The table's column with classes.", metavar="COLUMN", rich_help_panel=GRAPH
    ),
]
MissingRule = Annotated[
    str,
    typer.Option(
        "--missing",
        help="What a missing number becomes: error, mean or zero.",
        metavar="RULE",
        rich_help_panel=GRAPH,
    ),
]
TypeColumn = Annotated[
    str | None,
    typer.Option(
        "--type",
        help="The table's column with a type for each node; links then join only types that edges "
        "join. Left out, two sides are found by themselves; none: no types.",
        metavar="COLUMN",
        rich_help_panel=GRAPH,
    ),
]
Directed = Annotated[
    bool,
    typer.Option(
        "--directed",
        help="Edges go from the first column to the second: keep that.",
        rich_help_panel=GRAPH,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time",
        help="The column of the edges, or of the table, with their time: train on the past, test "
        "on what came after (split.val_from, split.test_from, split.known).",
        metavar="COLUMN",
        rich_help_panel=GRAPH,
    ),
]
RunFolder = Annotated[Path, typer.Argument(help="A folder that 'fit' wrote.", metavar="RUN")]
OutFile = Annotated[
    Path, typer.Option("--out", help="Parquet, CSV, TSV, NPZ or NPY.", metavar="FILE")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="In CSV and TSV, put ' before ids that a spreadsheet would run as a formula.",
    ),
]


@app.command()
def fit(
    edges: EdgeFile,
    out: Annotated[Path, typer.Option("--out", help="The run folder.", metavar="RUN")],
    nodes: NodeFile = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    type: TypeColumn = None,
    directed: Directed = False,
    time: TimeColumn = None,
    missing: MissingRule = "error",
    read: Reading = None,
    dim: Annotated[
        int | None,
        typer.Option(
            help="Columns of the embedding.", min=1, metavar="N", rich_help_panel=TRAINING
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="No network: rules and smoothed features, in seconds.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    mask: MaskKind = None,
    preset: PresetName = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="The share of the edges to test on; 0: train on all, and test nothing. Left out, "
            "0.1, or less of very many.",
            metavar="SHARE",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    batch_pairs: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Batch size: masked edges per update, on sampled neighbourhoods; 0: the whole "
            "graph at once. "
            "Left out, the memory decides.",
            metavar="N",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from", help="An earlier run to start from.", metavar="RUN", rich_help_panel=TRAINING
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run in --out.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run in --out that was stopped.")
    ] = False,
    checkpoint_every: CheckpointEvery = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed.", min=0, metavar="N", rich_help_panel=TRAINING)
    ] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Train on your own graph, embed it, score held-out edges, and write a page to look at."""
    check_writable(json)
    check_readable(edges, nodes)
    flags = {"mask.kind": mask, "seed": seed, "training.checkpoint_every": checkpoint_every}
    values, how = overrides(config, assignments, flags), reading(read)

    from maskgae import run as runs
    from maskgae.base.files import write_json
    from maskgae.cli.progress import FitProgress

    prepare_torch(device, threads)
    kinds: dict[str, Any] = {"type": type, "directed": directed, "time": time}
    progress = FitProgress(quiet)
    try:
        with progress.watched():
            found = runs.fit(
                partial(runs.read, edges, nodes, label, id=id, missing=missing, **kinds, **how),
                values,
                preset=preset,
                dim=dim,
                quick=quick,
                holdout=True if holdout is None else holdout,
                batch_pairs=batch_pairs,
                start=start,
                folder=out,
                resume=resume,
                force=force,
                device=device,
                callbacks=[progress],
            )
    except StoppedError as stopped:
        raise typer.Exit(progress.stopped(stopped)) from None
    if json is not None and found.record:
        write_json(json, found.record)
    if found.record and not quiet:
        screen.next_command(f"maskgae links {screen.plain(out)} --top 3")


@app.command()
def embed(
    run: RunFolder,
    out: OutFile,
    edges: Annotated[
        Path | None, typer.Option("--edges", help="A new or grown graph.", metavar="EDGES")
    ] = None,
    nodes: NodeFile = None,
    read: Reading = None,
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", help="In Parquet, one column 'vector' of lists, as vector stores read it."
        ),
    ] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    threads: Threads = 0,
) -> None:
    """Write the embeddings of the fitted graph, or of a new or grown one of the same kind."""
    if edges is None and (nodes is not None or read):
        raise InputError("--nodes and --read go with --edges: give the edges of the new graph too")
    check_readable(run, edges, nodes)

    if vectors and out.suffix.lower() != ".parquet":
        raise InputError(f"--vectors wants Parquet, and --out is {out}: name a file.parquet")

    from maskgae.io.writers import write_vectors
    from maskgae.run.files import write_embeddings

    saved = opened(run, out, threads)
    found = saved.embed(edges, nodes, **reading(read))
    if vectors:
        write_vectors(out, *found)
    else:
        write_embeddings(out, *found, spreadsheet_safe=spreadsheet_safe)
    screen.written(f"{len(found.ids):,} embeddings", out)


@app.command()
def links(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Parquet, CSV, TSV, NPZ or NPY; printed without.", metavar="FILE"
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Links per node, at most.", min=1, metavar="N")] = 10,
    node: Annotated[
        list[str] | None,
        typer.Option("--node", help="Only of this node; repeatable.", metavar="ID"),
    ] = None,
    nodes_from: Annotated[
        Path | None,
        typer.Option(
            "--nodes-from", help="Only of the nodes in this file, one per line.", metavar="FILE"
        ),
    ] = None,
    incoming: Annotated[
        bool, typer.Option("--in", help="Of a directed graph: links to each node, not from it.")
    ] = False,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--between",
            help="Only from nodes of one type to nodes of another.",
            metavar="TYPE TYPE",
        ),
    ] = None,
    index: Index = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    threads: Threads = 0,
) -> None:
    """List the highest-scored missing links of each node."""
    check_readable(run, nodes_from)
    saved = opened(run, out, threads)
    asked = _asked(node, nodes_from)
    found = saved.links(top, asked, incoming, between, index)
    if out is None:
        show_links(saved, found)
    else:
        _write_scores(saved, out, found, "links", spreadsheet_safe)
    show_recall(saved, saved.link_recall(top, asked, incoming, index))


def _asked(nodes: list[str] | None, listed: Path | None) -> list[Any] | None:
    """The nodes to ask about, each once; none where all are meant."""
    from maskgae.io import read_ids

    if listed is None:
        return nodes or None
    names = [str(name) for name in read_ids(listed).tolist()]
    if not names:
        raise InputError(f"{listed} names no node: write one per line")
    return list(dict.fromkeys([*(nodes or []), *names]))


@app.command()
def score(
    run: RunFolder,
    pairs: Annotated[Path, typer.Argument(help="Pairs of ids, in any format of edges.")],
    out: OutFile,
    read: Reading = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    threads: Threads = 0,
) -> None:
    """Write the scores of given pairs."""
    check_readable(run, pairs)

    import numpy as np

    from maskgae.io import read_id_pairs

    saved = opened(run, out, threads)
    source, target = read_id_pairs(pairs, **reading(read))
    scores = saved.score(np.stack([source.astype(object), target.astype(object)], axis=1))
    columns = {"source": source, "target": target, "score": scores}
    _write_scores(saved, out, columns, "scores", spreadsheet_safe)


@app.command()
def report(run: RunFolder, threads: Threads = 0) -> None:
    """Write the page of a run again."""
    check_readable(run)
    page = opened(run, None, threads).report()
    screen.out.print(f"the page: {screen.plain(page)}", soft_wrap=True)


def opened(run: Path, out: Path | None, threads: int) -> Any:
    """A run, once it is known that what is asked of it can be written."""
    from maskgae.io import check_table
    from maskgae.run import Run

    if out is not None:
        check_table(out)
    prepare_torch("cpu", threads)
    return Run.load(run)


def _write_scores(
    run: Any, out: Path, columns: dict[str, Any], what: str, spreadsheet_safe: bool
) -> None:
    from maskgae.io import write_table

    write_table(out, columns, spreadsheet_safe=spreadsheet_safe)
    screen.written(f"{columns['score'].size:,} {what}", out)
    explain(run)
