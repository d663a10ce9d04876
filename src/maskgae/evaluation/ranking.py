r"""Full ranking: where a held-out partner stands among all nodes, as ``links`` would list it.

Each held-out pair :math:`(u, v)` is asked twice: for :math:`v` among all nodes from :math:`u`, and
for :math:`u` from :math:`v`. The end itself and its known neighbours other than the asked partner
are no candidates, nor are nodes of a type that no edge joins to its own or, where edges have times,
that came after the pair. With :math:`n` candidates
above the partner and :math:`m` beside it, its rank is

.. math::

    r = 1 + n + m / 2,

the mean rank on ties. ``rank_mrr`` is the mean of :math:`1 / r` and ``rank_hits@k`` the share of
:math:`r \le k`. Known are, at validation, the neighbours in training and validation, at the test
those in all three parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import Stream
from maskgae.base.threads import each
from maskgae.data.graph import Graph

#: Scores of some nodes against all nodes, ``[n] -> [n, N]``.
RowScorer = Callable[[Tensor], Tensor]
#: The same by several scorers, which share work.
RowScorers = Callable[[Tensor], Mapping[str, Tensor]]

#: Up to this many nodes every pair is asked from both ends.
EXACT_NODES = 10_000
#: Ends that are asked on larger graphs: a share of 0.3 is then known to within 0.01.
SAMPLED_ENDS = 2_000
#: Scores of one scorer that a sample of ends asks for, at most; 50 ends at least.
SAMPLED_SCORES = 2**28
#: The same where nothing was trained and an answer is wanted in seconds: 1,700 ends of 20,000
#: nodes, and a share of 0.3 to within 0.02 from 700 of 48,000.
QUICK_SCORES = 2**25
#: Numbers in one block of asked ends times nodes, 4 MB in float32 for each scorer.
BLOCK_NUMBERS = 2**20

RANK_HITS = (10, 50)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranks of asked partners.

    Args:
        asked: the end that asks and the partner it asks for.
        ranks: the partner's rank, ties at their mean.
        num_nodes: how many nodes there are.
        possible: how many ends could have been asked; more than were where they are a sample.

    Shapes:
        - **asked:** ``[2, Q]``
        - **ranks:** ``[Q]``
    """

    asked: Tensor
    ranks: Tensor
    num_nodes: int
    possible: int

    @property
    def sampled(self) -> bool:
        """Whether only a random sample of the ends was asked."""
        return self.ranks.numel() < self.possible

    def metrics(self) -> dict[str, float]:
        """``rank_mrr`` and ``rank_hits@k``; the latter where there are more than k nodes."""
        result = {"rank_mrr": float((1 / self.ranks).mean())}
        for k in RANK_HITS:
            if self.num_nodes > k:
                result[f"rank_hits@{k}"] = float((self.ranks <= k).double().mean())
        return result

    def precision(self, most: int = 50) -> list[float]:
        r"""What share of every node's first k links are held-out pairs, k from 1 to ``most``.

        A rank knows no other held-out partner of its end; in the list these stand too, so the
        i-th best of them is i - 1 places further down. A sample of ends stands for all.

        >>> asked = torch.tensor([[0, 0, 1], [2, 3, 2]])
        >>> Ranking(asked, torch.tensor([1.0, 1.0, 2.0]), 4, 3).precision(2)
        [0.25, 0.375]
        """
        order = np.lexsort((self.ranks.numpy(), self.asked[0].numpy()))
        ends = self.asked[0].numpy()[order]
        better = np.arange(ends.size) - np.searchsorted(ends, ends)
        place = np.ceil(self.ranks.numpy()[order]) + better
        most = min(most, self.num_nodes - 1)
        hits = np.bincount(place.astype(np.int64), minlength=most + 1)[1 : most + 1].cumsum()
        scale = self.possible / (self.ranks.numel() * self.num_nodes)
        return [float(h * scale / k) for k, h in enumerate(hits, start=1)]


def full_ranking(
    rows: RowScorer, pairs: Tensor, known: Graph, stream: Stream, ends: int | None = None
) -> Ranking:
    """Asks held-out pairs from both ends among all nodes, in blocks of bounded memory.

    Args:
        rows: scores of given nodes against all nodes; the higher, the likelier an edge.
        pairs: what was held out.
        known: the graph whose edges are no candidates; those among ``pairs`` are asked for.
        stream: where a sample of the ends comes from.
        ends: how many ends are asked at most; where it is ``None``, all of them up to
            :data:`EXACT_NODES` nodes and :data:`SAMPLED_ENDS` beyond.

    Shapes:
        - **pairs:** ``[2, P]``

    >>> from maskgae.base.rng import stream
    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    >>> closeness = lambda nodes: -(nodes.unsqueeze(1) - torch.arange(4)).abs().float()
    >>> full_ranking(closeness, torch.tensor([[0], [3]]), path, stream(0)).ranks.tolist()
    [2.0, 2.0]
    """
    return full_rankings(lambda nodes: {"": rows(nodes)}, pairs, known, stream, ends)[""]


def full_rankings(
    rows: RowScorers,
    pairs: Tensor,
    known: Graph,
    stream: Stream,
    ends: int | None = None,
    incoming: bool = False,
) -> dict[str, Ranking]:
    """The same ends asked by several scorers, see :func:`full_ranking`.

    In a directed graph sources ask for their targets; where ``incoming``, targets for their
    sources, of which ``rows`` are then the scores.
    """
    if not pairs.shape[1]:
        raise InputError("a ranking needs at least one held-out pair")
    both = torch.cat([pairs, pairs.flip(0)], dim=1).cpu()
    if known.directed:
        both = pairs.flip(0).cpu() if incoming else pairs.cpu()
    asked = both[:, _sample(both.shape[1], known.num_nodes, stream, ends)]
    # By end, so that an end of many pairs is scored once.
    asked = asked[:, asked[0].argsort(stable=True)]
    blocks = asked.split(max(1, BLOCK_NUMBERS // known.num_nodes), dim=1)
    ranks: dict[str, Tensor] = {}
    parts = each(lambda block: _ranks(rows, block, known, incoming), blocks)
    for number, part in enumerate(parts):
        # Small pieces that outlived their block would keep its memory from being used again.
        for name, found in part.items():
            if name not in ranks:
                ranks[name] = torch.empty(asked.shape[1], dtype=torch.double)
            start = number * blocks[0].shape[1]
            ranks[name][start : start + found.numel()] = found
    return {
        name: Ranking(asked, found, known.num_nodes, both.shape[1]) for name, found in ranks.items()
    }


def quick_ends(num_nodes: int) -> int:
    """How many ends are asked at most where nothing was trained.

    >>> quick_ends(2_708), quick_ends(48_000)
    (2000, 699)
    """
    return min(SAMPLED_ENDS, max(50, QUICK_SCORES // num_nodes))


def _sample(count: int, num_nodes: int, stream: Stream, ends: int | None) -> Tensor:
    most = count if ends is None else ends
    if ends is None and num_nodes > EXACT_NODES:
        most = min(SAMPLED_ENDS, max(50, SAMPLED_SCORES // num_nodes))
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=stream.torch())[:most]


def _ranks(rows: RowScorers, asked: Tensor, known: Graph, incoming: bool) -> dict[str, Tensor]:
    """The ranks of some partners by each scorer, ``[2, Q] -> [Q]``."""
    from maskgae.kernels.ranks import partner_ranks

    ends, place = torch.unique_consecutive(asked[0], return_inverse=True)
    csr, found = known.rows(incoming), {}
    barred = None if known.types is None else known.types.barred(ends, incoming)
    row, partner, end = place.numpy(), asked[1].numpy(), ends.numpy()
    known_rows = csr.indptr.numpy(), csr.indices.numpy(), candidate_counts(known, asked).numpy()
    # [ends, N] each
    for name, scores in rows(ends).items():
        ranks = torch.empty(asked.shape[1], dtype=torch.double)
        own = scores.cpu() if barred is None else scores.cpu().masked_fill(barred, -torch.inf)
        table = own.contiguous().numpy()
        partner_ranks(table, row, partner, end, *known_rows, ranks.numpy())
        if ranks.isnan().any():
            raise RunError("scores are not numbers (NaN): lower training.lr and run again")
        found[name] = ranks
    return found


def candidate_counts(known: Graph, asked: Tensor) -> Tensor:
    """How many nodes were there when each pair came about; all of them without times, ``[Q]``."""
    if known.clock is None:
        return torch.full((asked.shape[1],), known.num_nodes)
    return known.clock.there(known.clock.at(asked)).clamp(max=known.num_nodes)


def mean_ranks(found: Tensor, others: Tensor) -> Tensor:
    """The rank of each score among others, ``[Q], [Q, C] -> [Q]``; NaN is no candidate.

    >>> mean_ranks(torch.tensor([2.0]), torch.tensor([[3.0, 2.0, 1.0, torch.nan]])).tolist()
    [2.5]
    """
    asked = found.unsqueeze(1)
    return 1 + (others > asked).sum(1) + (others == asked).sum(1).double() / 2


def left_out(known: Graph, ends: Tensor, incoming: bool = False) -> tuple[Tensor, Tensor]:
    """Where each end meets what is no candidate, as rows and columns.

    That is the end itself, its known neighbours and, where nodes have types, those of a type that
    no edge joins to its own. In a directed graph neighbours are those that its edges go to or,
    where ``incoming``, come from.

    >>> path = Graph.from_edges([(0, 1), (1, 2)])
    >>> [part.tolist() for part in left_out(path, torch.tensor([1]))]
    [[0, 0, 0], [0, 2, 1]]
    """
    neighbours = known.rows(incoming).rows(ends)
    rows = [neighbours.row_of_entry(), torch.arange(ends.numel())]
    columns = [neighbours.indices.long(), ends]
    if known.types is not None:
        barred = known.types.barred(ends, incoming).nonzero()
        rows.append(barred[:, 0])
        columns.append(barred[:, 1])
    return torch.cat(rows), torch.cat(columns)


def left_out_flags(
    known: Graph, asked: Tensor, candidates: Tensor, incoming: Tensor | None = None
) -> Tensor:
    """Which of some nodes are no candidates beside the partner, ``[2, Q], [C] -> [Q, C]``.

    They are the partner, which stands apart, and what :func:`left_out` says.

    >>> path = Graph.from_edges([(0, 1), (1, 2)], num_nodes=4)
    >>> left_out_flags(path, torch.tensor([[0], [2]]), torch.tensor([1, 2, 3])).int().tolist()
    [[1, 1, 0]]
    """
    places = torch.arange(asked.shape[1])
    rows, nodes = left_out(known, asked[0])
    if incoming is not None and incoming.any():
        parts = [
            (places[incoming == way], *left_out(known, asked[0, incoming == way], way))
            for way in (False, True)
        ]
        rows = torch.cat([own[row] for own, row, _ in parts])
        nodes = torch.cat([column for _, _, column in parts])
    rows = torch.cat([rows, places])
    place = torch.full((known.num_nodes,), -1)
    place[candidates] = torch.arange(candidates.numel())
    column = place[torch.cat([nodes, asked[1]])]
    flags = torch.zeros(asked.shape[1], candidates.numel(), dtype=torch.bool)
    flags[rows[column >= 0], column[column >= 0]] = True
    if known.clock is not None:
        flags |= candidates >= candidate_counts(known, asked).unsqueeze(1)
    return flags
