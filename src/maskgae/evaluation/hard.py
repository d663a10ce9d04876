r"""Hard negative samples: for each positive its own non-edges, alike where edges are alike.

Uniform non-edges are far apart and tell good methods from better ones no more: AUC on them is
saturated. Following HeaRT (Li et al., NeurIPS 2023), each positive :math:`(u, v)` is ranked
against :math:`K` non-edges that keep one of its ends: half are :math:`(u, w)`, half
:math:`(w, v)`. For a kept end :math:`s`, the :math:`w` are the hardest by the best of three ranks,

===================  ===========================================================================
resource allocation  :math:`\sum_{x \in \Gamma(s) \cap \Gamma(w)} 1 / d_x`
PageRank from s      :math:`\alpha \sum_k (1 - \alpha)^k (A D^{-1})^k e_s`, :math:`\alpha = 0.15`
feature cosine       :math:`x_s^\top x_w / (|x_s| |x_w|)`
===================  ===========================================================================

all on the message graph, with every edge of the whole graph left out. Resource allocation comes
with the PageRank: up to a factor :math:`d_s` it is the chance that a walk from :math:`s` is at
:math:`w` after two steps.

Only scores above zero have a rank. HeaRT gives all zeros the rank after the last, so that where
two nodes share a neighbour with :math:`s`, the whole rest of the graph comes third. Scores that
agree in four digits count as equal, and equals are ordered at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import Stream, hash_uniform
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.data.features import scaled_rows
from maskgae.data.graph import Graph
from maskgae.evaluation.metrics import HITS
from maskgae.evaluation.ranking import left_out

TELEPORT = 0.15

#: Steps after which the walk of PageRank is cut; a twentieth of them would go further.
WALK_STEPS = 18

# What ties are broken by, relative to the score.
_JITTER = 1e-4


def hard_negatives(
    messages: Graph, whole: Graph, pairs: Tensor, count: int, stream: Stream
) -> Tensor:
    """The negatives of each pair, one pair's after the other's.

    Args:
        messages: the graph on which hardness is judged; its weights are not used.
        whole: the graph of all known edges, none of which is a negative.
        pairs: the positives.
        count: negatives of each; the odd one keeps the first end.
        stream: where the order of equals comes from.

    Shapes:
        - **pairs:** ``[2, P]``
        - **output:** ``[2, P * count]``

    Raises:
        InputError: if an end has fewer non-edges than it should keep.

    >>> from maskgae.base.rng import stream
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    >>> hard_negatives(path, path, torch.tensor([[0], [1]]), 2, stream(0)).tolist()
    [[0, 1], [2, 3]]
    """
    first, second = count - count // 2, count // 2
    # The hardest partners of an end are the same in all of its pairs.
    ends, place = torch.unique(pairs, return_inverse=True)
    _check_room(whole, ends, first)
    if messages.features is not None:
        messages = replace(messages, features=scaled_rows(messages.features))
    chunks = ends.split(max(1, CHUNK_NUMBERS // whole.num_nodes))
    # [ends, first]
    partners = torch.cat([_partners(messages, whole, chunk, first, stream) for chunk in chunks])
    kept = torch.cat([pairs[0].repeat(first, 1), pairs[1].repeat(second, 1)])
    others = torch.cat([partners[place[0]], partners[place[1], :second]], dim=1)
    found = torch.stack([kept.T.reshape(-1), others.reshape(-1)])
    if whole.directed:  # a kept target stays one
        of_target = torch.arange(count).repeat(pairs.shape[1]) >= first
        found = torch.where(of_target, found.flip(0), found)
    return found


def hard_metrics(positive: ArrayLike, negative: ArrayLike) -> dict[str, float]:
    r"""How high each positive stands among its own negatives.

    With :math:`n_i` of them above it and :math:`m_i` beside it, its rank is
    :math:`1 + n_i + m_i / 2`; ``hard_mrr`` is the mean of 1 / rank and ``hard_hits@k`` the share
    of ranks up to :math:`k`, left out where there are fewer than k negatives.

    Shapes:
        - **positive:** ``[P]``
        - **negative:** ``[P, K]``

    >>> hard_metrics([0.9, 0.4], [[0.5, 0.1], [0.5, 0.4]])
    {'hard_mrr': 0.7}
    """
    positives, negatives = np.asarray(positive)[:, None], np.asarray(negative)
    if np.isnan(positives).any() or np.isnan(negatives).any():
        raise RunError("scores are not numbers (NaN): lower training.lr and run again")
    above = (negatives > positives).sum(axis=1)
    rank = 1 + above + (negatives == positives).sum(axis=1) / 2
    result = {"hard_mrr": float((1 / rank).mean())}
    for k in HITS:
        if negatives.shape[1] >= k:
            result[f"hard_hits@{k}"] = float((rank <= k).mean())
    return result


def _partners(messages: Graph, whole: Graph, ends: Tensor, count: int, stream: Stream) -> Tensor:
    """The hardest non-neighbours of each end by the best of their ranks, ``[S] -> [S, count]``."""
    known = left_out(whole, ends)
    keys = ends.unsqueeze(1) * whole.num_nodes + torch.arange(whole.num_nodes)
    # [S, N], below 1
    noise = hash_uniform(keys, stream).float().mul_(2.0**-53)
    best = torch.full_like(noise, count)
    ranks = torch.arange(count).float().expand(ends.numel(), -1)
    for scores in _similarities(messages, ends):
        scores.mul_(1 + _JITTER * noise)[known] = 0
        top = scores.topk(count, dim=1)
        found = torch.where(top.values > 0, ranks, float(count))
        best.scatter_reduce_(1, top.indices, found, "amin")
    # Nodes without any rank come last, in the order of the noise.
    best.add_(noise)[known] = float("inf")
    return best.topk(count, dim=1, largest=False).indices


def _similarities(graph: Graph, ends: Tensor) -> Iterator[Tensor]:
    """Each measure of all nodes against the ends, ``[S, N]``; features have rows of length one."""
    yield from walks(graph, ends)
    if graph.features is not None:
        rows = graph.features.rows(ends).dense()
        yield graph.features.linear(rows.T.contiguous()).T.contiguous()


def walks(graph: Graph, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Where walks from the ends are after two steps, and their PageRank, ``[S, N]`` each."""
    # [N, 1]
    leave = 1 / graph.degrees.clamp(min=1).float().unsqueeze(1)
    # [N, S]
    at = torch.zeros(graph.num_nodes, ends.numel())
    at[ends, torch.arange(ends.numel())] = 1
    pagerank = TELEPORT * at
    for step in range(1, WALK_STEPS + 1):
        at = graph.structure.csr.matmul(at * leave)
        pagerank.add_(at, alpha=TELEPORT * (1 - TELEPORT) ** step)
        if step == 2:
            two_steps = at.T.contiguous()
    return two_steps, pagerank.T.contiguous()


def _check_room(whole: Graph, ends: Tensor, count: int) -> None:
    room = whole.num_nodes - 1 - int(whole.degrees[ends].max())
    if whole.types is not None:
        left = whole.types.partners(ends) - whole.degrees[ends]
        room = int((left - whole.types.allow(torch.stack([ends, ends])).long()).min())
    if room < count:
        raise InputError(
            f"each end of a pair must have {count:,} non-edges to serve as hard negatives, but "
            f"one in {whole.name} has only {room:,}: set split.hard_negatives to {2 * room:,} or "
            "less"
        )
