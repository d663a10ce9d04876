"""The overlap table: masks and semantics side by side, and the paper's numbers beside ours.

Masks of the table hide with chance 0.7, as the paper's do, unless told otherwise. The paper's path
column follows from none of the masks that its text or the published code describe:
:data:`NEAREST_PATH` comes nearest at the paper's ratio of those tried (roots by node or edge,
ratios 0.5 and 0.7, one to five steps, both semantics, visible edges symmetric or directed).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from maskgae.base.rng import stream
from maskgae.base.settings import MaskConfig
from maskgae.data.graph import Graph
from maskgae.lab.analysis.bound import ASSUMPTIONS, information_bound
from maskgae.lab.analysis.overlap import Overlap, subgraph_overlap
from maskgae.masking import Masked, draw_mask

#: The paper's table of subgraph overlap: dataset, mask, hops -> O_node and O_edge.
PAPER: dict[tuple[str, str, int], tuple[float, float]] = {
    ("Cora", "none", 2): (0.6343, 0.6217),
    ("Cora", "none", 3): (0.6911, 0.6868),
    ("Cora", "edge", 2): (0.3174, 0.2957),
    ("Cora", "edge", 3): (0.3966, 0.3878),
    ("Cora", "path", 2): (0.2697, 0.2490),
    ("Cora", "path", 3): (0.3356, 0.3284),
    ("CiteSeer", "none", 2): (0.7193, 0.7097),
    ("CiteSeer", "none", 3): (0.7890, 0.7861),
    ("CiteSeer", "edge", 2): (0.3301, 0.3094),
    ("CiteSeer", "edge", 3): (0.4107, 0.4066),
    ("CiteSeer", "path", 2): (0.1705, 0.1566),
    ("CiteSeer", "path", 3): (0.2268, 0.2234),
}

#: The ratios of the paper's masks.
PAPER_MASK = MaskConfig(p=0.7, q=0.7)

#: One step from each root, hidden in both directions.
NEAREST_PATH = replace(PAPER_MASK, kind="path", length=1, roots="node", semantics="strict")


@dataclass(frozen=True)
class OverlapRow:
    """Overlap under one kind of mask, averaged over several draws of it.

    ``se`` and ``se_edge`` are standard errors of the two means: over masks, which takes in the
    sampling of pairs, or over sampled pairs where there is no mask; ``None`` for a single mask.
    ``ratio`` is the mask's p or q, ``shared_nodes`` and ``largest`` are means over masks, and
    ``bound`` is that of Proposition 1 in units of gamma squared.
    """

    mask: str
    semantics: str | None
    ratio: float | None
    hops: int
    o_node: float
    o_edge: float
    se: float | None
    se_edge: float | None
    hidden_share: float
    visible_targets: float
    masks: int
    pairs: int
    exact: bool
    shared_nodes: float
    largest: int
    bound: float


def overlap_row(
    graph: Graph, config: MaskConfig, hops: int, seeds: Iterable[int] = range(3), sample: int = 0
) -> OverlapRow:
    """Overlap of the targets' subgraphs in what a mask leaves visible.

    Args:
        graph: the graph that is masked.
        config: the mask; path masks walk one step more than there are hops, as an encoder of so
            many layers has them, unless it says otherwise.
        hops: the radius of the subgraphs.
        seeds: one mask is drawn for each.
        sample: pairs that are counted; 0: all, where that is affordable.
    """
    unmasked = config.kind == "none"
    drawn: list[tuple[Masked, Overlap]] = []
    for seed in list(seeds)[: 1 if unmasked else None]:
        masked = draw_mask(graph, config, hops, stream(seed, "mask"))
        visible, targets = graph.subgraph(masked.visible), graph.pairs[:, masked.targets]
        drawn.append((masked, subgraph_overlap(visible, targets, hops, sample=sample, seed=seed)))
    overlaps = [overlap for _, overlap in drawn]
    first = overlaps[0]
    return OverlapRow(
        mask=config.kind,
        semantics=None if unmasked else config.semantics,
        ratio={"edge": config.p, "path": config.q}.get(config.kind),
        hops=hops,
        o_node=fmean(o.o_node for o in overlaps),
        o_edge=fmean(o.o_edge for o in overlaps),
        se=first.se_node if unmasked else _standard_error([o.o_node for o in overlaps]),
        se_edge=first.se_edge if unmasked else _standard_error([o.o_edge for o in overlaps]),
        hidden_share=fmean(masked.hidden_share for masked, _ in drawn),
        visible_targets=fmean(masked.visible_targets for masked, _ in drawn),
        masks=0 if unmasked else len(drawn),
        pairs=round(fmean(o.pairs for o in overlaps)),
        exact=all(o.exact for o in overlaps),
        shared_nodes=fmean(o.shared_nodes for o in overlaps),
        largest=round(fmean(o.largest for o in overlaps)),
        bound=information_bound(overlaps),
    )


def overlap_rows(
    graph: Graph,
    kinds: Sequence[str] = ("none", "edge", "path"),
    hops: Sequence[int] = (2, 3),
    config: MaskConfig = PAPER_MASK,
    semantics: Sequence[str] = ("reference", "strict"),
    seeds: Sequence[int] = range(3),
    sample: int = 0,
) -> list[OverlapRow]:
    """A row for each mask, semantics and radius."""
    rows = []
    for kind in kinds:
        for meaning in semantics[:1] if kind == "none" else semantics:
            chosen = replace(config, kind=kind, semantics=meaning)
            rows += [overlap_row(graph, chosen, k, seeds, sample) for k in hops]
    return rows


def paper_values(dataset: str, row: OverlapRow) -> tuple[float, float] | None:
    """The paper's O_node and O_edge for a row, where it has them: it masks at 0.7 only."""
    if row.ratio not in (None, PAPER_MASK.p):
        return None
    return PAPER.get((dataset, row.mask, row.hops))


def distance(dataset: str, rows: Sequence[OverlapRow]) -> float | None:
    """Mean absolute difference of rows to the paper's values, ``None`` where it has none."""
    gaps: list[float] = []
    for row in rows:
        published = paper_values(dataset, row)
        if published is not None:
            gaps += [abs(row.o_node - published[0]), abs(row.o_edge - published[1])]
    return fmean(gaps) if gaps else None


def nearest_path_rows(
    graph: Graph, dataset: str, hops: Sequence[int], seeds: Sequence[int]
) -> list[OverlapRow]:
    """The reading that comes nearest to the paper's path column, for the datasets it has."""
    known = [k for k in hops if (dataset, "path", k) in PAPER]
    return [overlap_row(graph, NEAREST_PATH, k, seeds) for k in known]


def overlap_document(
    name: str,
    rows: Sequence[OverlapRow],
    nearest: Sequence[OverlapRow],
    config: MaskConfig,
    seeds: Sequence[int],
) -> dict[str, Any]:
    """All of it as one JSON document; fractions throughout."""
    paired = ((row, paper_values(name, row)) for row in rows)
    published = {(row.mask, row.hops): values for row, values in paired if values is not None}
    return {
        "dataset": name,
        "mask": {k: v for k, v in asdict(config).items() if k not in ("kind", "semantics")},
        "seeds": list(seeds),
        "rows": [asdict(row) for row in rows],
        "paper": [
            {"mask": mask, "hops": hops, "o_node": values[0], "o_edge": values[1]}
            for (mask, hops), values in published.items()
        ],
        "nearest_path": {
            "reading": {"q": NEAREST_PATH.q, "roots": NEAREST_PATH.roots, "length": 1},
            "distance": distance(name, nearest),
            "rows": [asdict(row) for row in nearest],
        }
        if nearest
        else None,
        "assumptions": list(ASSUMPTIONS),
    }


def _standard_error(values: Sequence[float]) -> float | None:
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else None
