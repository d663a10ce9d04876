"""Masks for one's own training loop: modules on ``edge_index``, transforms of PyG's ``Data``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.rng import Stream
from maskgae.base.settings import MaskConfig, Settings
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.masking.mask import draw_mask

#: Steps of a walk unless told, one more than a usual encoder has layers.
WALK_LENGTH = 3


class Mask(nn.Module):
    """Divides edges into what an encoder sees and what it has to predict.

    Called with ``edge_index`` it returns both; called with ``Data`` it returns a copy whose edges,
    with all their attributes, are the visible ones and whose ``masked_edge_index`` has the rest.
    Every call draws anew, from ``stream(seed, "mask", call)``.

    Shapes:
        - **input:** ``[2, E]``, in one direction or both
        - **visible:** ``[2, V]``, columns of the input in their order; self-loops stay
        - **masked:** ``[2, T]``, each hidden pair once, the smaller number first
    """

    def __init__(self, config: MaskConfig, seed: int) -> None:
        super().__init__()
        self.config, self.seed, self.calls = config, seed, 0

    def forward(
        self, graph: Any, num_nodes: int | None = None, *, stream: Stream | None = None
    ) -> Any:
        """The visible and the masked edges, or ``Data`` that has both.

        Args:
            graph: ``edge_index`` or PyG's ``Data``.
            num_nodes: of an ``edge_index``; one more than its largest number where left out.
            stream: where the randomness comes from, instead of counted calls.
        """
        if isinstance(graph, Tensor):
            visible, masked = self._drawn(graph, num_nodes, stream)
            return graph[:, visible], masked
        visible, masked = self._drawn(graph.edge_index, graph.num_nodes, stream)
        data = graph.edge_subgraph(visible)
        data.masked_edge_index = masked
        return data

    def _drawn(
        self, edge_index: Tensor, num_nodes: int | None, stream: Stream | None
    ) -> tuple[Tensor, Tensor]:
        """Which columns are visible, ``[E]`` bool, and the hidden pairs, ``[2, T]``."""
        if stream is None:
            self.calls += 1
            stream = Stream(self.seed, ("mask", self.calls))
        edges = edge_index.cpu()
        graph = Graph.from_edges(edges, num_nodes)
        found = draw_mask(graph, self.config, WALK_LENGTH - 1, stream)
        visible = edges[0] == edges[1]
        place = torch.searchsorted(graph.keys, pair_keys(edges[:, ~visible], graph.num_nodes))
        visible[~visible] = found.visible[place]
        masked = graph.pairs[:, found.targets].long()
        return visible.to(edge_index.device), masked.to(edge_index.device)


class MaskEdge(Mask):
    """Hides each edge with chance ``p``, by default in both directions.

    Args:
        p: chance of an edge to be hidden.
        semantics: ``strict``, or ``reference`` as in the published code, where a direction is
            hidden on its own and a masked edge may stay visible through the other.
        seed: where the draws start from.

    >>> mask = MaskEdge(p=0.5)
    >>> visible, masked = mask(torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    >>> visible.shape[1] + 2 * masked.shape[1]
    6
    """

    def __init__(
        self, p: float = MaskConfig().p, *, semantics: str = "strict", seed: int = 0
    ) -> None:
        keys = {"mask.kind": "edge", "mask.p": p, "mask.semantics": semantics}
        super().__init__(Settings().updated(keys).mask, seed)

    def extra_repr(self) -> str:
        """What its ``repr`` says beside the name."""
        return f"p={self.config.p}, semantics={self.config.semantics!r}"


class MaskPath(Mask):
    """Hides the edges that random walks run along, by default in both directions.

    Args:
        p: chance of a node, or of an edge in either direction, to be a root.
        walk_length: steps of a walk.
        start: ``node`` or ``edge``, what roots are drawn from.
        semantics: as in :class:`MaskEdge`.
        seed: where the draws start from.

    >>> MaskPath(p=0.2, walk_length=4)
    MaskPath(p=0.2, walk_length=4, start='node', semantics='strict')
    """

    def __init__(
        self,
        p: float = MaskConfig().q,
        *,
        walk_length: int = WALK_LENGTH,
        start: str = "node",
        semantics: str = "strict",
        seed: int = 0,
    ) -> None:
        keys = {"mask.kind": "path", "mask.q": p, "mask.length": walk_length, "mask.roots": start}
        super().__init__(Settings().updated({**keys, "mask.semantics": semantics}).mask, seed)

    def extra_repr(self) -> str:
        """What its ``repr`` says beside the name."""
        config = self.config
        walks = f"p={config.q}, walk_length={config.length}, start={config.roots!r}"
        return f"{walks}, semantics={config.semantics!r}"
