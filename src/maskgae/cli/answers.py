"""How answers about nodes and links are shown, and what their numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from maskgae.cli import screen

if TYPE_CHECKING:
    from maskgae.run import Run
    from maskgae.run.links import Recall
    from maskgae.run.why import Why

#: Lines of a list that a terminal shows; a pipe gets all of them.
SHOWN_LINES = 500


def show_similar(found: Mapping[str, Any]) -> None:
    """Prints the nodes that are most like one."""
    screen.listing({"node": found["target"]}, {"cosine": [f"{x:.4f}" for x in found["cosine"]]})


def show_links(run: Run, found: Mapping[str, Any]) -> None:
    """Prints missing links, and what their numbers rest on."""
    count = len(found["score"])
    shown = min(count, SHOWN_LINES) if screen.out.is_terminal else count
    ends = {name: found[name][:shown] for name in ("source", "target")}
    numbers = {"probability": [probability(score) for score in found["score"][:shown]]}
    if run.precision:
        ranks = _ranks(ends["source"])
        numbers["precision"] = [_precision(run.precision, rank) for rank in ranks]
    screen.listing(ends, numbers)
    if shown < count:
        screen.notice(f"{count - shown:,} more links: give --out FILE, or --node for one node")
    explain(run, "probability")


def show_recall(run: Run, recall: Recall | None) -> None:
    """Prints what candidates miss, where not all pairs were scored."""
    if recall is not None:
        screen.out.print(
            f"approximate: of {run.graph.num_nodes:,} nodes, those up to three steps away and near "
            f"in the embedding\n  were scored; that finds {100 * recall.share:.1f} % of the best "
            f"{recall.top} among all, measured on {recall.nodes} nodes"
        )


def explain(run: Run, score: str = "score") -> None:
    """Prints what a score and a precision mean, and what they rest on."""
    for line in meanings(run, score):
        screen.out.print(line, soft_wrap=True)


def meanings(run: Run, score: str) -> Iterator[str]:
    """In lines of 80 columns, what the score, by its name, and the precision are."""
    facts, scored = run.record.get("facts", {}), run.scorer.facts
    yield f"{score}: how likely an edge is where edges and negative samples are as many;"
    if "pairs" in scored:
        tested = f"; Brier score at the test {facts['brier']:.3f}" if "brier" in facts else ""
        yield f"  calibrated on {scored['pairs']:,} validation pairs{tested}"
    else:
        yield "  not calibrated, since no validation pairs were kept for it"
    if run.precision:
        last = min(10, len(run.precision))
        first, all_of_them = (_precision(run.precision, k) for k in (1, last))
        yield (
            f"precision: how many of a node's first k links were held-out edges, {first} for\n"
            f"  k = 1, {all_of_them} for k = {last}; expect it where as many links are missing as "
            f"the test\n  hid, {facts['test_pairs']:,}"
        )


def probability(score: float) -> str:
    """Four digits, which never claim a certainty.

    >>> probability(0.25), probability(0.99999)
    ('0.2500', '>0.9999')
    """
    return ">0.9999" if score > 0.99995 else f"{score:.4f}"


def show_why(found: Why) -> None:
    """Prints what a score is made of."""
    ends = f"{screen.plain(found.source)} – {screen.plain(found.target)}"
    screen.out.print(f"[bold]{ends}[/]: score {found.score:.2f}, of which", soft_wrap=True)
    for reason in found.reasons:
        screen.row(f"{reason.share:+8.2f}  {reason.kind}")
        for name, share in reason.parts:
            screen.row(f"{share:+16.2f}  {name}")
    screen.out.print(
        f"probability {probability(found.probability)} where edges and negative samples are as "
        "many;\na share of 0 is that of an average candidate"
    )


def _ranks(sources: Any) -> Iterator[int]:
    """Each link's place among those of its node, which stand together."""
    before, rank = None, 0
    for source in sources:
        rank = rank + 1 if source == before else 1
        before = source
        yield rank


def _precision(known: list[float], rank: int) -> str:
    """The precision of the first links, to a tenth of a percent."""
    return f"{100 * known[rank - 1]:.1f} %" if rank <= len(known) else ""
