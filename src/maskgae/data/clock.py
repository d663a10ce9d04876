"""Clocks: when the nodes and the edges of a graph came about.

The nodes of a graph with a clock are numbered in the order in which they came, so that those which
were there at a time are the first so many: a graph of the past has fewer nodes, with the same
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.pairs import pair_keys

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clock:
    """When the nodes and pairs of a whole graph came about; its parts share it.

    Args:
        keys: of the whole graph's pairs, ascending.
        times: of each pair, the first where it stands several times.
        since: of each node, ascending.

    Shapes:
        - **keys**, **times:** ``[M]``
        - **since:** ``[N]``

    >>> clock = Clock.of(torch.tensor([[0, 0], [1, 2]]), [2017, 2019], [2015, 2017, 2019])
    >>> clock.at(torch.tensor([[2], [0]])).tolist(), clock.there(torch.tensor([2018.0])).tolist()
    ([2019.0], [2])
    """

    keys: Tensor
    times: Tensor
    since: Tensor

    @classmethod
    def of(cls, pairs: Tensor, times: Any, since: Any) -> Clock:
        """The clock of ascending pairs ``[2, M]``."""
        made = [torch.as_tensor(x, dtype=torch.float64) for x in (times, since)]
        return cls(pair_keys(pairs, made[1].numel()), *made)

    def at(self, pairs: Tensor) -> Tensor:
        """When edges of the whole graph came about, ``[2, P] -> [P]``."""
        keys = pair_keys(pairs.cpu(), self.since.numel())
        return self.times[torch.searchsorted(self.keys, keys)]

    def there(self, times: Tensor) -> Tensor:
        """How many nodes were there, ``[P] -> [P]``: those with the first so many numbers."""
        return torch.searchsorted(self.since, times, right=True)


def first_times(places: NDArray[Any], times: Floats, count: int) -> Floats:
    """The least time at each of ``count`` places, before all times where there is none.

    >>> first_times(np.array([0, 2, 0]), np.array([3.0, 5.0, 1.0]), 3).tolist()
    [1.0, -inf, 5.0]
    """
    found = np.full(count, np.inf)
    np.minimum.at(found, places, times)
    return np.where(np.isinf(found), -np.inf, found)
