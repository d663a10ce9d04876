"""``maskgae analyze overlap`` and ``maskgae analyze graph``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskgae.base.errors import InputError, nearest
from maskgae.base.settings import Settings, choices
from maskgae.cli.app import app
from maskgae.cli.options import (
    Assignments,
    ConfigFile,
    FirstSeed,
    JsonFile,
    Reading,
    Threads,
    check_writable,
    overrides,
    prepare_torch,
    reading,
)
from maskgae.lab.cli.analyze_screen import show_facts, show_overlap, show_reading

if TYPE_CHECKING:
    from maskgae.base.settings import MaskConfig
    from maskgae.data import Graph

analyze = typer.Typer(no_args_is_help=True, help="Why masking works, and whether it suits a graph.")
app.add_typer(analyze, name="analyze")

DatasetName = Annotated[
    str | None, typer.Option("--dataset", help="A name from 'maskgae datasets'.")
]
EdgeFile = Annotated[
    Path | None, typer.Option("--edges", help="Your own graph: a file of edges.", metavar="FILE")
]


# Click's options take one value each; what follows it, as in '--hops 2 3', arrives in ctx.args.
@analyze.command(context_settings={"allow_extra_args": True})
def overlap(
    ctx: typer.Context,
    dataset: DatasetName = None,
    edges: EdgeFile = None,
    read: Reading = None,
    hops: Annotated[
        list[str] | None, typer.Option(help="Radius of subgraphs: 2 3.", show_default="2 3")
    ] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option(help="Any of none, edge, path.", show_default="none edge path"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Masks that are averaged.", min=1)] = 3,
    first_seed: FirstSeed = 0,
    sample: Annotated[
        int, typer.Option(help="Pairs that are counted; 0: all, if affordable.", min=0)
    ] = 0,
    config: ConfigFile = None,
    assignments: Assignments = None,
    threads: Threads = 0,
    json: JsonFile = None,
) -> None:
    """How much paired subgraphs overlap, with and without masks, and the information bound.

    Masks hide with chance 0.7, as the paper's, under both semantics, unless --set says otherwise.
    """
    from maskgae.base.files import write_json
    from maskgae.lab.analysis import comparison

    check_writable(json)
    prepare_torch("cpu", threads)
    radii, kinds = _hops_and_masks(hops, mask, ctx.args)
    chosen, semantics = _mask_settings(overrides(config, assignments))
    graph = _load(dataset, edges, read)
    draws = range(first_seed, first_seed + seeds)
    rows = comparison.overlap_rows(graph, kinds, radii, chosen, semantics, draws, sample)
    near = comparison.nearest_path_rows(graph, graph.name, radii if "path" in kinds else (), draws)
    show_overlap(graph, rows, near, seeds)
    if json is not None:
        write_json(json, comparison.overlap_document(graph.name, rows, near, chosen, draws))


@analyze.command(name="graph")
def graph_verb(
    dataset: DatasetName = None,
    edges: EdgeFile = None,
    read: Reading = None,
    nodes: Annotated[
        Path | None, typer.Option(help="A table of its nodes: their features.", metavar="FILE")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of --nodes with classes.", metavar="COLUMN")
    ] = None,
    threads: Threads = 0,
    json: JsonFile = None,
) -> None:
    """What a graph is like, whether the method suits it, and which settings to start from."""
    from maskgae.base.files import write_json
    from maskgae.lab.analysis import assess, measure_graph, overlap_row
    from maskgae.run.defaults import suggest

    check_writable(json)
    prepare_torch("cpu", threads)
    graph = _load(dataset, edges, read, nodes, label)
    facts = measure_graph(graph)
    assessment, start = assess(facts), suggest(graph)
    counted = 0 if facts.overlap is None else facts.overlap.pairs
    suggested = Settings().updated(start.settings).mask
    masked = overlap_row(graph, suggested, hops=2, seeds=[0], sample=counted)
    show_facts(graph, facts, masked)
    show_reading(assessment, start)
    if json is not None:
        document = {"graph": graph.name, "facts": facts.document()}
        document |= {"assessment": asdict(assessment), "suggestion": asdict(start)}
        write_json(json, document | {"masked_overlap": asdict(masked)})


def _load(
    dataset: str | None,
    edges: Path | None,
    read: Sequence[str] | None,
    nodes: Path | None = None,
    label: str | None = None,
) -> Graph:
    if (dataset is None) == (edges is None):
        raise InputError("one graph is needed: give either --dataset NAME or --edges FILE")
    if edges is None and (nodes is not None or read):
        raise InputError("--nodes and --read go with --edges: a named dataset needs neither")
    if nodes is None and label is not None:
        raise InputError("--label names a column of --nodes, and no --nodes was given")
    if dataset is not None:
        from maskgae.datasets.registry import load_dataset

        return load_dataset(dataset)
    assert edges is not None
    from maskgae.run import read as read_graph

    return read_graph(edges, nodes, label, **reading(read)).graph


def _hops_and_masks(
    hops: Sequence[str] | None, mask: Sequence[str] | None, more: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Splits '2 3', '2,3' and repeated options alike; numbers are hops and words are masks."""
    words = [w for text in (*(hops or ()), *(mask or ()), *more) for w in text.split(",") if w]
    radii = list(dict.fromkeys(int(word) for word in words if word.isdecimal()))
    kinds = list(dict.fromkeys(word for word in words if not word.isdecimal()))
    known = choices("mask.kind")
    for kind in kinds:
        if kind not in known:
            raise InputError(
                f"'{kind}' is neither a number of hops nor a mask: {nearest(kind, known)}"
            )
    if 0 in radii:
        raise InputError("--hops must be 1 or more, not 0")
    return radii or [2, 3], kinds or ["none", "edge", "path"]


def _mask_settings(values: dict[str, Any]) -> tuple[MaskConfig, tuple[str, ...]]:
    """The paper's ratios with what was set, and the semantics: both, unless one was set."""
    from maskgae.lab.analysis.comparison import PAPER_MASK

    settings = Settings(mask=PAPER_MASK).updated(values)
    if "mask.semantics" in values:
        return settings.mask, (settings.mask.semantics,)
    return settings.mask, ("reference", "strict")
