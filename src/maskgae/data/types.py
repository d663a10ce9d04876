r"""Types of nodes: which kinds of things a graph joins, and which of them may be joined.

A graph of users and items joins users with items only: a link between two users is no mistake but
an impossibility. Negatives, rankings and candidates therefore ask here which pairs may be.

The pairs that may be are numbered block by block, a block for each two types :math:`a \le b` that
edges join: :math:`n_a n_b` pairs row by row, and the :math:`n_a (n_a - 1) / 2` of one type as
:func:`~maskgae.data.pairs.pair_ranks` numbers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError, nearest
from maskgae.data.features import DenseFeatures
from maskgae.data.pairs import pair_ranks, rank_pairs

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Types:
    """A type for each node, and which types edges join.

    Args:
        codes: the type of each node.
        names: what the types are called.
        joined: whether an edge may go from one type to another; symmetric where edges have no
            direction.
        column: of the table of nodes that they come from; ``None`` where they are sides.

    Shapes:
        - **codes:** ``[N]``
        - **joined:** ``[T, T]`` bool

    >>> sides = Types.of([0, 0, 1, 1], ["user", "item"], torch.tensor([[0], [2]]))
    >>> sides.allow(torch.tensor([[0, 1, 2], [3, 0, 3]])).tolist(), sides.triangles
    ([True, False, False], False)
    """

    codes: Tensor
    names: tuple[str, ...]
    joined: Tensor
    column: str | None = None

    @classmethod
    def of(
        cls,
        codes: Any,
        names: Sequence[str],
        pairs: Tensor,
        directed: bool = False,
        column: str | None = None,
    ) -> Types:
        """The types of a graph; those that its edges ``[2, M]`` join may be joined."""
        own = torch.as_tensor(np.asarray(codes), dtype=torch.long)
        count = len(names)
        if own.numel() and not 0 <= int(own.min()) <= int(own.max()) < count:
            raise InputError(f"a node's type must be one of {', '.join(names)}: each needs one")
        found = torch.bincount(own[pairs[0]] * count + own[pairs[1]], minlength=count * count)
        joined = found.view(count, count) > 0
        return cls(own, tuple(names), joined if directed else joined | joined.T, column)

    @property
    def count(self) -> int:
        return len(self.names)

    @cached_property
    def triangles(self) -> bool:
        """Whether two ends of an edge may have a neighbour in common."""
        either = (self.joined | self.joined.T).long()
        return bool(((either @ either) * either).any())

    @cached_property
    def sizes(self) -> Tensor:
        """Nodes of each type, ``[T]``."""
        return torch.bincount(self.codes, minlength=self.count)

    def one_hot(self) -> DenseFeatures:
        """A column for each type, as an encoder reads it."""
        return DenseFeatures(torch.nn.functional.one_hot(self.codes, self.count).float())

    def allow(self, pairs: Tensor) -> Tensor:
        """Which pairs may be edges, from first to second, ``[2, P] -> [P]`` bool."""
        return self.joined[self.codes[pairs[0].long()], self.codes[pairs[1].long()]]

    def barred(self, ends: Tensor, incoming: bool = False) -> Tensor:
        """Which nodes no edge of the ends can go to, or come from, ``[n] -> [n, N]`` bool."""
        joined = self.joined.T if incoming else self.joined
        return ~joined[self.codes[ends]][:, self.codes]

    def only(self, source: str, target: str) -> Types:
        """The same types, of which edges may go from one to another only.

        >>> sides = Types.of([0, 0, 1], ["user", "item"], torch.tensor([[0], [2]]))
        >>> sides.only("item", "user").joined.int().tolist()
        [[0, 0], [1, 0]]
        """
        for name in (source, target):
            if name not in self.names:
                raise InputError(f"no node is of the type '{name}': {nearest(name, self.names)}")
        places = self.names.index(source), self.names.index(target)
        if not self.joined[places]:
            raise InputError(
                f"no edge goes from '{source}' to '{target}': links between them are none"
            )
        narrow = torch.zeros_like(self.joined)
        narrow[places] = True
        return replace(self, joined=narrow)

    def partners(self, ends: Tensor) -> Tensor:
        """How many nodes are of a type that may be joined to each end, ``[n] -> [n]``."""
        return (self.joined.long() @ self.sizes)[self.codes[ends]]

    @cached_property
    def pools(self) -> tuple[Integers, Integers, Integers]:
        """The partners of each type one after the other, where they begin, and how many."""
        either = self.joined | self.joined.T
        lists = [np.flatnonzero(either[t][self.codes].numpy()) for t in range(self.count)]
        sizes = np.array([found.size for found in lists])
        return np.concatenate(lists), np.cumsum(sizes) - sizes, sizes


class TypedPairs:
    """The numbers of all pairs that may be edges, in whatever direction.

    >>> sides = Types.of([0, 1, 0, 1], ["user", "item"], torch.tensor([[0], [1]]))
    >>> space = TypedPairs(sides)
    >>> space.count, space.pairs(np.arange(4)).tolist()
    (4, [[0, 0, 1, 2], [1, 3, 2, 3]])
    >>> space.ranks(np.array([[1], [2]])).tolist()
    [2]
    """

    def __init__(self, types: Types) -> None:
        self.codes, self.sizes = types.codes.numpy(), types.sizes.numpy()
        self.order = np.argsort(self.codes, kind="stable")
        self.first = np.cumsum(self.sizes) - self.sizes
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(self.order.size) - self.first[self.codes[self.order]]
        either = np.triu((types.joined | types.joined.T).numpy())
        self.blocks = np.argwhere(either)
        a, b = self.blocks.T
        counts = np.where(
            a == b, self.sizes[a] * (self.sizes[a] - 1) // 2, self.sizes[a] * self.sizes[b]
        )
        self.starts, self.count = np.cumsum(counts) - counts, int(counts.sum())
        self.number = np.zeros((types.count, types.count), dtype=np.int64)
        self.number[a, b] = np.arange(a.size)

    def ranks(self, pairs: NDArray[Any]) -> Integers:
        """The numbers of pairs, in either direction, ``[2, P] -> [P]``."""
        order = np.lexsort((self.place[pairs], self.codes[pairs]), axis=0)
        ends = np.take_along_axis(pairs, order, axis=0)
        (a, b), (i, j) = self.codes[ends], self.place[ends]
        inside = np.where(
            a == b, pair_ranks(np.stack([i, j]), self.sizes[a]), i * self.sizes[b] + j
        )
        found: Integers = self.starts[self.number[a, b]] + inside
        return found

    def pairs(self, ranks: Integers) -> Integers:
        """The pairs with the given numbers, smaller end first, ``[P] -> [2, P]``."""
        block = np.searchsorted(self.starts, ranks, side="right") - 1
        (a, b), inside = self.blocks[block].T, ranks - self.starts[block]
        place = np.stack(np.divmod(inside, np.maximum(self.sizes[b], 1)))
        same = a == b
        place[:, same] = rank_pairs(inside[same], self.sizes[a[same]])
        return np.sort(self.order[self.first[np.stack([a, b])] + place], axis=0)
