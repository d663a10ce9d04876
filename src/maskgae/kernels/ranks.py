"""Counting what stands above a score."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskgae.kernels.compiled import compiled


@compiled
def partner_ranks(
    scores: Any,
    row: Any,
    partner: Any,
    ends: Any,
    indptr: Any,
    indices: Any,
    counts: Any,
    ranks: Any,
) -> None:
    """Ranks of partners, ties at their mean; NaN where a score is none.

    Counts over the first so many of a row, then takes off what is no candidate: the end and its
    neighbours.

    Shapes:
        - **scores:** ``[n, N]``
        - **row**, **partner**, **counts**, **ranks:** ``[Q]``
        - **ends:** ``[n]``
        - **indptr**, **indices:** rows of all nodes
    """
    for query in range(row.size):
        own, asked = scores[row[query], : counts[query]], partner[query]
        end, found = ends[row[query]], own[asked]
        above, beside, odd = 0, 0, 0
        for node in range(own.size):  # a range, which is worked through many at a time
            above += own[node] > found
            beside += own[node] == found
            odd += own[node] != own[node]
        if end != asked and end < own.size:
            above -= own[end] > found
            beside -= own[end] == found
        for entry in range(indptr[end], indptr[end + 1]):
            node = indices[entry]
            if node != asked and node < own.size:
                above -= own[node] > found
                beside -= own[node] == found
        ranks[query] = np.nan if odd else 1 + above + (beside - 1) / 2
