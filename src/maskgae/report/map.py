"""The map: where each node lies, what it is called and which groups it belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.rng import Stream
from maskgae.report.communities import communities
from maskgae.report.data import ReportData
from maskgae.report.figures import MAX_POINTS
from maskgae.report.layout import layout
from maskgae.report.palette import OTHER, PALETTE, SCALE, SYMBOLS

Ints = NDArray[np.int64]


def map_data(data: ReportData, links: Sequence[tuple[str, str, float]], stream: Stream) -> Any:
    """What the page's script draws the map from; groups are numbered by size, -1 is none."""
    chosen = drawn_nodes(data, links, stream)
    groups: dict[str, Any] = {}
    if data.labels is not None and any(name is not None for name in data.labels):
        groups["label"] = _label_groups(data.labels, chosen)
    found = data.communities
    if found is None:
        found = communities(np.asarray(data.pairs), data.num_nodes, stream)
    if found is not None and len(found):
        # A node on its own is no community.
        alone = np.bincount(found)[found] < 2
        names = [str(number + 1) for number in range(int(found[~alone].max(initial=-1)) + 1)]
        groups["community"] = {"names": names, "of": np.where(alone, -1, found)[chosen]}
    known = None if data.places is None else data.places[chosen]
    places = layout(np.asarray(data.embedding)[chosen], stream) if known is None else known
    return {
        "x": np.round(places[:, 0], 4),
        "y": np.round(places[:, 1], 4),
        "ids": [str(data.ids[node]) for node in chosen],
        "degree": data.node_degrees[chosen],
        "groups": groups,
        "total": data.num_nodes,
        "palette": PALETTE,
        "symbols": SYMBOLS,
        "other": OTHER,
        "scale": SCALE,
    }


def drawn_nodes(data: ReportData, links: Sequence[tuple[str, str, float]], stream: Stream) -> Ints:
    """All nodes, or a sample that holds the ends of the shown links."""
    if data.num_nodes <= MAX_POINTS:
        return np.arange(data.num_nodes)
    wanted = {end for source, target, _ in links for end in (source, target)}
    first = np.array([n for n, name in enumerate(data.ids) if name in wanted][:MAX_POINTS], int)
    order = stream.at("drawn").numpy().permutation(data.num_nodes)
    rest = order[~np.isin(order, first)][: MAX_POINTS - len(first)]
    return np.sort(np.concatenate([first, rest]))


def _label_groups(labels: Sequence[str | None], chosen: Ints) -> dict[str, Any]:
    counts = Counter(name for name in labels if name is not None)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    number: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    return {"names": names, "of": [number.get(labels[node], -1) for node in chosen]}
