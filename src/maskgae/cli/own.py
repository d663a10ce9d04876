"""Your own graph: ``maskgae fit``, ``embed``, ``links``, ``score`` and ``report``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskgae.base.errors import InputError
from maskgae.cli import screen
from maskgae.cli.app import app
from maskgae.cli.folder import (
    check_unchanged,
    claimed,
    complete,
    fit_and_save,
    follow,
    write_report,
)
from maskgae.cli.inputs import grown_graph, node_numbers, read_graph
from maskgae.cli.options import (
    Assignments,
    CheckpointEvery,
    ConfigFile,
    Device,
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

if TYPE_CHECKING:
    from maskgae.base.settings import Settings
    from maskgae.io import BuiltGraph, TableEncoder
    from maskgae.run.plan import Plan

EdgeFile = Annotated[
    Path, typer.Argument(help="Edges: CSV, TSV, text, Parquet, npz, mtx, GraphML; or a store.")
]
NodeFile = Annotated[
    Path | None, typer.Option("--nodes", help="A table of the nodes.", metavar="TABLE")
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="The table's column with classes.", metavar="COLUMN")
]
MissingRule = Annotated[
    str, typer.Option("--missing", help="What a missing number becomes: error, mean or zero.")
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
    label: LabelColumn = None,
    missing: MissingRule = "error",
    read: Reading = None,
    dim: Annotated[int | None, typer.Option(help="Columns of the embedding.", min=1)] = None,
    mask: MaskKind = None,
    preset: PresetName = None,
    holdout: Annotated[
        int,
        typer.Option(help="1: hold out pairs to stop and to test; 0: train on all.", min=0, max=1),
    ] = 1,
    batch_pairs: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Targets of one update on sampled neighbourhoods; 0: the whole graph at once. "
            "Left out, the memory decides.",
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="An earlier run to start from.", metavar="RUN")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run in --out.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run in --out that was stopped.")
    ] = False,
    checkpoint_every: CheckpointEvery = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    seed: Annotated[int | None, typer.Option(help="Address of all randomness.", min=0)] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    quiet: Quiet = False,
    json: JsonFile = None,
) -> None:
    """Train on your own graph, embed it, score held-out edges, and write a page to look at."""
    from maskgae.base.files import write_json
    from maskgae.base.replace import begun
    from maskgae.run.defaults import resolve_settings
    from maskgae.run.folder import is_complete, load_weights
    from maskgae.run.plan import plan_fit
    from maskgae.training.parallel import launched, restarted

    check_writable(json)
    how = reading(read)
    flags = {"training.checkpoint_every": checkpoint_every}
    values = overrides(config, assignments, flags)
    weights = None if start is None else load_weights(start)
    if restarted():  # torchrun has lost a rank and started all of them again
        force = force and is_complete(out) and not begun(out)  # it was lost before its first step
        resume = not force
    with launched(device) as (here, device):
        options = {"holdout": bool(holdout), "device": device, "start": weights}
        if not here.leads:
            built, _, _ = read_graph(edges, nodes, label, missing, how)
            prepare_torch(device, threads)
            agreed = here.agreed(None)
            if agreed is not None:
                follow(built.graph, agreed, out, resume, options)
            return
        with claimed(out, force=force, resume=resume) as place:
            if resume and is_complete(place):
                check_unchanged(place, values | {"mask.kind": mask, "seed": seed})
                here.agreed(None)
                complete(place)
                screen.out.print(f"{screen.plain(out)} is complete: nothing to do", soft_wrap=True)
                return
            built, encoder, store = read_graph(edges, nodes, label, missing, how)
            prepare_torch(device, threads)
            settings = resolve_settings(built.graph, mask, dim, seed, preset, values)
            plan = plan_fit(built.graph, settings, batch_pairs, given=values)
            if not quiet:
                _describe(built, encoder, plan)
            record = fit_and_save(
                built.graph,
                here.agreed(plan.settings),
                place,
                built.ids,
                quiet=quiet,
                resume=resume,
                options=options,
                encoding=None if encoder is None else encoder.to_json(),
                label_names=built.label_names,
                notes=built.notes,
                store=store,
            )
    if json is not None:
        write_json(json, record)
    _conclude(record, out, quiet)


def _conclude(record: dict[str, Any], out: Path, quiet: bool) -> None:
    """What came out, and where it lies."""
    if not quiet:
        rate = record["facts"]["pairs_per_s"]
        screen.out.print(f"trained on {rate:,.0f} pairs a second", soft_wrap=True)
    if record["metrics"]:
        screen.show_record(record)
    page = screen.plain(out / "report.html")
    screen.out.print(f"run folder: {screen.plain(out)} · the page: {page}", soft_wrap=True)


@app.command()
def embed(
    run: RunFolder,
    out: OutFile,
    edges: Annotated[
        Path | None, typer.Option("--edges", help="A new or grown graph.", metavar="EDGES")
    ] = None,
    nodes: NodeFile = None,
    read: Reading = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    threads: Threads = 0,
) -> None:
    """Write the embeddings of the fitted graph, or of a new or grown one of the same kind."""
    from maskgae.io import check_table
    from maskgae.run.folder import load_run, write_embeddings

    check_table(out)
    prepare_torch("cpu", threads)
    saved = load_run(run)
    graph, ids = saved.graph, saved.ids
    if edges is not None:
        graph, ids = grown_graph(saved, edges, nodes, reading(read))
    elif nodes is not None or read:
        raise InputError("--nodes and --read go with --edges: give the edges of the new graph too")
    embedding = saved.net.embed(graph)
    write_embeddings(out, ids, embedding, spreadsheet_safe=spreadsheet_safe)
    screen.out.print(
        f"{graph.num_nodes:,} embeddings written to {screen.plain(out)}", soft_wrap=True
    )


@app.command()
def links(
    run: RunFolder,
    out: OutFile,
    top: Annotated[int, typer.Option(help="Links a node, at most.", min=1)] = 10,
    node: Annotated[
        list[str] | None, typer.Option("--node", help="Only of this node; repeatable.")
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    threads: Threads = 0,
) -> None:
    """Write the highest-scored missing links of each node."""
    import torch

    from maskgae.io import check_table
    from maskgae.run.folder import load_run
    from maskgae.run.links import missing_links

    check_table(out)
    prepare_torch("cpu", threads)
    saved = load_run(run)
    asked = None
    if node:
        asked = torch.from_numpy(node_numbers(saved, node))
    z = saved.net.encode(saved.graph)[-1]
    found = missing_links(z, saved.net.decoder, saved.graph, top, asked)
    columns = {
        "source": saved.ids[found.source.numpy()],
        "target": saved.ids[found.target.numpy()],
        "score": found.score.numpy(),
    }
    _write_scores(out, columns, "links", spreadsheet_safe)


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
    import numpy as np
    import torch

    from maskgae.io import check_table, read_id_pairs
    from maskgae.run.folder import load_run

    check_table(out)
    prepare_torch("cpu", threads)
    saved = load_run(run)
    source, target = read_id_pairs(pairs, **reading(read))
    numbers = torch.from_numpy(np.stack([node_numbers(saved, source), node_numbers(saved, target)]))
    scores = saved.net.score(saved.graph, numbers).sigmoid().numpy()
    columns = {"source": source, "target": target, "score": scores}
    _write_scores(out, columns, "scores", spreadsheet_safe)


def _write_scores(out: Path, columns: dict[str, Any], what: str, spreadsheet_safe: bool) -> None:
    from maskgae.io import write_table

    write_table(out, columns, spreadsheet_safe=spreadsheet_safe)
    count = columns["score"].size
    screen.out.print(f"{count:,} {what} written to {screen.plain(out)}", soft_wrap=True)
    screen.out.print("score: the decoder's probability, for as many edges as non-edges")


@app.command()
def report(run: RunFolder, threads: Threads = 0) -> None:
    """Write the page of a run again."""
    from maskgae.run.folder import load_run

    prepare_torch("cpu", threads)
    saved = load_run(run)
    write_report(saved)
    screen.out.print(f"the page: {screen.plain(run / 'report.html')}", soft_wrap=True)


def _describe(built: BuiltGraph, encoder: TableEncoder | None, plan: Plan) -> None:
    """What was read, what became what, and what was chosen."""
    screen.out.print(f"[bold]{screen.plain(built.graph.name)}[/]: {built.graph}", soft_wrap=True)
    for note in built.notes:
        screen.out.print(f"  {screen.plain(note)}", soft_wrap=True)
    for line in () if encoder is None else _columns(encoder):
        screen.out.print(f"  {screen.plain(line)}", soft_wrap=True)
    settings = plan.settings
    screen.out.print(f"  settings: {_in_words(settings)}; all are in config.toml", soft_wrap=True)
    screen.out.print(f"  {plan}", soft_wrap=True)
    from maskgae.nn.convs import CONVS

    if built.graph.weights is not None and not CONVS[settings.encoder.kind].uses_weights:
        note = f"encoder.kind={settings.encoder.kind} takes no edge weights: they are left out"
        screen.out.print(f"  {note}", soft_wrap=True)


def _columns(encoder: TableEncoder) -> Iterator[str]:
    """What became of the table's columns, a line for each kind."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for name, kind, width in encoder.rows():
        kinds.setdefault(kind, []).append((name, width))
    for kind, found in kinds.items():
        listed = ", ".join(name for name, _ in found[:3])
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        yield f"{kind}: {listed}{more}, {sum(width for _, width in found):,} features"


def _in_words(settings: Settings) -> str:
    """The settings that matter most, in one line."""
    mask, encoder, training = settings.mask, settings.encoder, settings.training
    ratio = {"edge": f" p={mask.p:g}", "path": f" q={mask.q:g}", "none": ""}[mask.kind]
    widths = [encoder.hidden] * (encoder.layers - 1) + [encoder.dim]
    return (
        f"mask {mask.kind}{ratio} {mask.semantics}, {encoder.kind} of "
        f"{'-'.join(map(str, widths))}, dropout {encoder.dropout:g}, "
        f"at most {training.epochs:,} epochs"
    )
