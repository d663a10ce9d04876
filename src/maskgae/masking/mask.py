r"""What is hidden from the encoder, and what it has to predict.

==========  =============================================================================
``edge``    each edge is hidden with chance :math:`p`
``path``    roots are drawn with chance :math:`q`; the edges that their random walks run
            along are hidden
``none``    nothing is hidden and every edge is a target: the plain graph autoencoder
==========  =============================================================================

Visible edges are the message-passing edges of the encoder; masked edges are the targets (the
supervision edges) of the decoder.

Two semantics. ``strict`` is the paper's text, :math:`G_{vis} = G - G_{mask}`: a hidden pair is
hidden in both directions, so visible pairs and targets partition the graph. ``reference`` is what
the published code does: each direction is hidden on its own and what is left is made symmetric
again, so a target whose other direction was not drawn stays visible, and may be a target twice.

Under both, a path mask draws each root on its own with chance :math:`q`, so their number varies
around :math:`qN`; the published code takes exactly :math:`\mathrm{round}(qN)` nodes of a random
permutation. A node is a root as often; only the number of roots varies less there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, hash_below
from maskgae.base.settings import MaskConfig
from maskgae.base.sizes import CACHE_PAIRS
from maskgae.data.graph import Graph
from maskgae.masking.walks import biased_walks, random_walks

#: A mask that hides nothing is drawn again, this many times.
MAX_DRAWS = 100


@dataclass(frozen=True)
class Masked:
    """Which pairs are visible (message passing) and which are targets (masked, supervision).

    Shapes:
        - **visible:** ``[M]`` bool
        - **targets:** ``[T]``, indices of pairs; under ``reference`` a pair may stand twice
        - **degrees:** ``[N]``, the degree of each node in the masked graph
    """

    visible: Tensor
    targets: Tensor
    degrees: Tensor

    @property
    def hidden_share(self) -> float:
        """The share of the pairs that the encoder does not see."""
        return 1 - float(self.visible.float().mean())

    @property
    def visible_targets(self) -> float:
        """The share of the targets that the encoder sees all the same."""
        return float(self.visible[self.targets].float().mean())


def draw_mask(graph: Graph, config: MaskConfig, layers: int, stream: Stream) -> Masked:
    """Draws one mask.

    Args:
        graph: the training graph.
        config: kind, ratio and semantics.
        layers: depth of the encoder :math:`k`; walks have :math:`k + 1` steps where the
            configuration leaves it open.
        stream: where the randomness comes from.

    >>> from maskgae.base.rng import stream
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> masked = draw_mask(graph, MaskConfig(p=0.5), layers=2, stream=stream(0, "mask"))
    >>> bool(masked.visible[masked.targets].any())
    False
    """
    if graph.num_pairs == 0:
        raise InputError(f"{graph.name} has no edges, so there is nothing to hide or to learn")
    if config.kind == "none":
        everything = torch.ones(graph.num_pairs, dtype=torch.bool)
        return Masked(everything, torch.arange(graph.num_pairs), graph.degrees)
    for attempt in range(MAX_DRAWS):
        masked = _drawn_once(graph, config, layers, stream.at(attempt))
        if masked.targets.numel():
            return masked
    ratio = f"mask.p={config.p}" if config.kind == "edge" else f"mask.q={config.q}"
    raise InputError(
        f"{MAX_DRAWS} masks in a row hid none of {graph.num_pairs:,} edges: raise {ratio}"
    )


def hide(graph: Graph, hidden: Tensor) -> Masked:
    """The mask that hides some pairs, ``[M]`` bool, in both directions: they are the targets."""
    targets = hidden.nonzero().squeeze(1)
    ends = graph.pairs[:, targets].flatten()
    return Masked(~hidden, targets, torch.bincount(ends, minlength=graph.num_nodes))


def _drawn_once(graph: Graph, config: MaskConfig, layers: int, stream: Stream) -> Masked:
    if config.kind == "edge" and config.semantics == "strict":
        return hide(graph, _hashed(graph, config.p, stream, lambda keys: keys))
    if config.kind == "edge":
        # One key for each direction of a pair, so that the two are drawn apart.
        forward = _hashed(graph, config.p, stream, lambda keys: 2 * keys)
        backward = _hashed(graph, config.p, stream, lambda keys: 2 * keys + 1)
        return _reference(graph, forward, backward)
    walked = _walked_entries(graph, config, config.length or layers + 1, stream)
    entries = walked[walked >= 0]
    pairs = graph.structure.pair_of_entry[entries]
    if config.semantics == "strict":
        return hide(graph, _flags(graph.num_pairs, pairs))
    ascending = graph.structure.csr.indices[entries] == graph.pairs[1][pairs]
    forward = _flags(graph.num_pairs, pairs[ascending])
    return _reference(graph, forward, _flags(graph.num_pairs, pairs[~ascending]))


def _hashed(graph: Graph, p: float, stream: Stream, key: Callable[[Tensor], Tensor]) -> Tensor:
    """Which pairs the hash of their keys draws, ``[M]`` bool, with memory for a chunk beside."""
    drawn = torch.empty(graph.num_pairs, dtype=torch.bool)
    for start in range(0, graph.num_pairs, CACHE_PAIRS):
        part = slice(start, start + CACHE_PAIRS)
        u, v = graph.pairs[:, part].long()
        drawn[part] = hash_below(key(u * graph.num_nodes + v), p, stream)
    return drawn


def _walked_entries(graph: Graph, config: MaskConfig, length: int, stream: Stream) -> Tensor:
    csr, generator = graph.structure.csr, stream.at("roots").torch()
    if config.roots == "node":
        starts = (torch.rand(graph.num_nodes, generator=generator) < config.q).nonzero().squeeze(1)
    else:
        starts = csr.row_of_entry()[torch.rand(csr.num_entries, generator=generator) < config.q]
    if config.bias_p == config.bias_q == 1:
        return random_walks(graph, starts, length, stream.at("walks"))
    bias = (config.bias_p, config.bias_q)
    return biased_walks(graph, starts, length, *bias, stream.at("walks"))


def _reference(graph: Graph, forward: Tensor, backward: Tensor) -> Masked:
    """Directions ``u -> v`` and ``v -> u`` hidden apart; degrees count the heads of hidden ones."""
    ahead, back = forward.nonzero().squeeze(1), backward.nonzero().squeeze(1)
    heads = torch.cat([graph.pairs[1][ahead], graph.pairs[0][back]])
    degrees = torch.bincount(heads, minlength=graph.num_nodes)
    return Masked(~(forward & backward), torch.cat([ahead, back]), degrees)


def _flags(size: int, index: Tensor) -> Tensor:
    return torch.zeros(size, dtype=torch.bool).index_fill_(0, index.long(), True)
