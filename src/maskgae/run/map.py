"""Where each node lies on the map and which community it belongs to: ``nodes.parquet`` of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskgae.base.rng import Stream
from maskgae.io.writers import write_table
from maskgae.report.communities import communities
from maskgae.report.layout import layout
from maskgae.run.folder import NODES

if TYPE_CHECKING:
    from maskgae.run.run import Run

#: Numbers of an embedding that are laid out at once, 1 GB on the way.
LAID_OUT = 2**25


class NodeMap(NamedTuple):
    """What is drawn of every node.

    Shapes:
        - **communities:** ``[N]``, 0 for the largest, or ``None`` where edges are too many
        - **places:** ``[N, 2]``, or ``None`` where nodes are
    """

    communities: NDArray[np.int64] | None
    places: NDArray[np.float64] | None


def node_map(run: Run) -> NodeMap:
    """The map of a run's graph, as its page draws it; empty where that shows a sample."""
    if not run.net.fits(run.graph):
        return NodeMap(None, None)
    stream, places = Stream(0, ("report",)), None
    if run.embedding.size <= LAID_OUT:
        places = layout(run.embedding, stream)
    return NodeMap(communities(run.graph.pairs.numpy(), run.graph.num_nodes, stream), places)


def write_nodes(run: Run, folder: Path) -> None:
    """Writes what is known of the map: id, community from 1 on, 0 for a node alone, and place."""
    columns: dict[str, Any] = {}
    found, places = run.map
    if found is not None:
        columns["community"] = np.where(np.bincount(found)[found] < 2, 0, found + 1)
    if places is not None:
        columns |= dict(zip(("x", "y"), places.T.astype(np.float32), strict=True))
    if columns:
        write_table(folder / NODES, {"id": run.ids, **columns})
