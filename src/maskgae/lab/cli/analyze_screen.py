"""How ``maskgae analyze`` shows what it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from maskgae.cli import screen

if TYPE_CHECKING:
    from maskgae.data import Graph
    from maskgae.lab.analysis import Assessment, GraphFacts, OverlapRow
    from maskgae.run.defaults import Suggestion


def show_overlap(
    graph: Graph, rows: Sequence[OverlapRow], near: Sequence[OverlapRow], seeds: int
) -> None:
    """Prints overlaps with the paper's beside them, then the bounds with what they assume."""
    from maskgae.lab.analysis import ASSUMPTIONS, comparison

    masks = f"{seeds} mask{'s' if seeds > 1 else ''}"
    screen.out.print(f"[bold]subgraph overlap · {screen.plain(graph.name)}[/] · {masks} · percent")
    screen.out.print(_overlap_table(graph.name, rows))
    if not all(row.exact for row in rows):
        screen.out.print("From a sample of the pairs; ± is the standard error.")
    gap = comparison.distance(graph.name, near)
    if gap is not None:
        values = ", ".join(f"{_two(row)} (k = {row.hops})" for row in near)
        screen.out.print(
            "\nThe paper's path column follows from no reading that we tried. The nearest, strict "
            f"with q = 0.7 and walks of one step, gives {values}: {100 * gap:.1f} points off."
        )
    screen.out.print("\n[bold]information bound[/] of Proposition 1: shared² / largest, in γ²")
    screen.out.print(_bound_table(rows))
    _bullets(ASSUMPTIONS)
    if not all(row.exact for row in rows):
        _bullets(["the largest subgraph is the largest seen, so the bound may be too high"])


def _overlap_table(name: str, rows: Sequence[OverlapRow]) -> Table:
    from maskgae.lab.analysis.comparison import paper_values

    theirs = [paper_values(name, row) for row in rows]
    numbers = ["k", "O_node", "O_edge", *(["paper's"] if any(theirs) else []), "hidden"]
    table = _table(["mask", "semantics"], numbers)
    for row, values in zip(rows, theirs, strict=True):
        beside = "" if values is None else " / ".join(f"{100 * value:.2f}" for value in values)
        table.add_row(
            row.mask,
            row.semantics or "",
            str(row.hops),
            _with_error(row.o_node, row.se),
            _with_error(row.o_edge, row.se_edge),
            *([beside] if any(theirs) else []),
            f"{100 * row.hidden_share:.0f}",
        )
    return table


def _bound_table(rows: Sequence[OverlapRow]) -> Table:
    table = _table(["mask", "semantics"], ["k", "shared nodes", "largest subgraph", "bound"])
    for row in rows:
        sizes = (str(row.hops), f"{row.shared_nodes:.1f}", f"{row.largest:,}", f"{row.bound:.3g}")
        table.add_row(row.mask, row.semantics or "", *sizes)
    return table


def _table(words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in words:
        table.add_column(title, no_wrap=True)
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _bullets(texts: Sequence[str]) -> None:
    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    for text in texts:
        grid.add_row("  -", Text(text))
    screen.out.print(grid)


def _with_error(value: float, error: float | None) -> str:
    return f"{100 * value:.2f}" + (f" ±{100 * error:.2f}" if error else "")


def _two(row: OverlapRow) -> str:
    return f"{100 * row.o_node:.2f} / {100 * row.o_edge:.2f}"


def show_facts(graph: Graph, facts: GraphFacts, masked: OverlapRow) -> None:
    """Prints what was measured; ``masked`` is the overlap under the suggested mask."""
    screen.out.print(f"[bold]{screen.plain(graph.name)}[/]")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in _fact_lines(facts):
        table.add_row(name, value)
    if facts.overlap is not None:
        before, after = 100 * facts.overlap.o_node, 100 * masked.o_node
        text = f"two neighbours share {before:.0f} % of the nodes within two steps"
        table.add_row("overlap", f"{text}; {after:.0f} % under the mask below")
    screen.out.print(table)


def _fact_lines(facts: GraphFacts) -> list[tuple[str, str]]:
    quantiles = ", ".join(f"{value} ({at})" for at, value in facts.degree_quantiles.items())
    lines = [
        ("size", f"{facts.nodes:,} nodes, {facts.pairs:,} edges, density {facts.density:.2g}"),
        (
            "components",
            f"{facts.components:,}; the largest has {100 * facts.largest_component:.1f} % of the "
            f"nodes, {100 * facts.isolated:.1f} % have no edge",
        ),
        ("degree", f"mean {facts.mean_degree:.1f}, largest {facts.max_degree:,}, {_tail(facts)}"),
        ("quantiles", quantiles),
        ("clustering", f"{facts.clustering:.3f}"),
    ]
    if facts.edge_homophily is not None:
        adjusted = facts.adjusted_homophily
        beyond = "" if adjusted is None else f", adjusted {adjusted:.2f} (0: chance)"
        text = f"{100 * facts.edge_homophily:.1f} % of the edges join equals{beyond}"
        lines.append(("labels", f"{facts.classes} classes; {text}"))
    if facts.feature_auc is not None:
        lines.append(
            (
                "features",
                f"{facts.features:,} columns, {100 * (facts.feature_density or 0):.1f} % not zero; "
                f"cosine {facts.feature_cosine_edges:.3f} on edges, "
                f"{facts.feature_cosine_random:.3f} on random pairs (AUC {facts.feature_auc:.2f})",
            )
        )
    return lines


def _tail(facts: GraphFacts) -> str:
    hubs = facts.max_degree > 20 * facts.mean_degree
    return f"Gini {facts.degree_gini:.2f} ({'heavy tail: hubs' if hubs else 'no heavy tail'})"


def show_reading(reading: Assessment, start: Suggestion) -> None:
    """Prints whether the method suits the graph, and the settings to start from, with reasons."""
    answer = {"yes": "yes", "no": "probably not", "unclear": "hard to say"}[reading.suits]
    screen.out.print(f"\n[bold]Does the method suit it?[/] {answer}")
    _bullets(reading.reasons)
    screen.out.print("\n[bold]Start from[/]")
    _bullets(start.reasons)
    flags = " ".join(f"--set {key}={value}" for key, value in start.settings.items())
    screen.out.print(f"\n{flags}", markup=False, soft_wrap=True)
