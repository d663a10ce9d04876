"""Nearest vectors by cosine: every one compared, or an index where many are asked for.

The index is usearch's graph of near neighbours (HNSW, Malkov and Yashunin 2018). It is approximate
and takes about as long to make as a few tenths of all comparisons; without usearch, all vectors are
compared, unless the index was asked for.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.sizes import CHUNK_NUMBERS

#: Up to this many cosines all are computed; an index is made to spare more.
EXACT_COSINES = 2**32
#: Without the library more than this would take hours, and are refused.
MOST_COSINES = 10**12
#: How many near ones the index looks at, for each that is added and for each that is asked for.
ADDED, ASKED = 64, 128


class Near(NamedTuple):
    """The nearest of each asked node, the nearest first, ``[n, k]`` each."""

    nodes: Tensor
    cosines: Tensor


class Nearest:
    """Looks for the vectors that point the same way.

    Args:
        vectors: one for each node, ``[N, d]``.
        asked: how many nodes will be asked about; of few an index is not worth its making.
        index: whether one is made in any case.

    >>> table = Nearest(torch.tensor([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0]]), asked=1)
    >>> table.search(torch.tensor([0]), 2).nodes.tolist(), table.indexed
    ([[1, 2]], False)
    """

    def __init__(self, vectors: Tensor, asked: int, index: bool = False) -> None:
        self.vectors = F.normalize(vectors.float(), dim=1)
        self.index, cosines = None, asked * vectors.shape[0]
        if index or (cosines > EXACT_COSINES and find_spec("usearch") is not None):
            self.index = _made(self.vectors)
        elif cosines > MOST_COSINES:
            raise InputError(
                f"links of {asked:,} nodes would compare {cosines:,} pairs of embeddings, and "
                f"without an index {MOST_COSINES:,} at most are: pip install 'maskgae[index]', or "
                "ask for fewer nodes"
            )

    @property
    def indexed(self) -> bool:
        """Whether an index answers, approximately."""
        return self.index is not None

    def search(self, nodes: Tensor, count: int) -> Near:
        """The nearest of each node, itself left out, ``[n] -> [n, count]`` or fewer."""
        return _without_itself(nodes, *self.find(self.vectors[nodes], count + 1))

    def find(self, vectors: Tensor, count: int) -> Near:
        """The nearest nodes of given vectors, ``[n, d] -> [n, count]`` or fewer."""
        count, asked = min(count, self.vectors.shape[0]), F.normalize(vectors.float(), dim=1)
        if self.index is not None:
            return _found(self.index, asked, count)
        parts = [
            _compared(self.vectors, part, count)
            for part in asked.split(max(1, CHUNK_NUMBERS // max(1, self.vectors.shape[0])))
        ]
        return Near(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _compared(vectors: Tensor, asked: Tensor, count: int) -> Near:
    best = (asked @ vectors.T).topk(count, dim=1)
    return Near(best.indices, best.values)


def _made(vectors: Tensor) -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise InputError(
            f"an index needs usearch, which cannot be imported ({error}): pip install "
            "'maskgae[index]', or leave out --index"
        ) from None
    index = Index(ndim=vectors.shape[1], metric="cos", dtype="bf16", expansion_add=ADDED)
    index.expansion_search = ASKED
    keys = torch.arange(vectors.shape[0]).numpy()
    index.add(keys, vectors.numpy(), threads=torch.get_num_threads())
    return index


def _found(index: Any, vectors: Tensor, count: int) -> Near:
    found = index.search(vectors.numpy(), count, threads=torch.get_num_threads())
    # of one vector usearch gives one row without its place
    keys, distances = (part.reshape(len(vectors), -1) for part in (found.keys, found.distances))
    return Near(torch.from_numpy(keys.astype("int64")), 1 - torch.from_numpy(distances))


def _without_itself(nodes: Tensor, near: Tensor, cosines: Tensor) -> Near:
    """One column less: the node itself or, where others are as near, the last."""
    own = near == nodes.unsqueeze(1)
    own[:, -1] |= ~own.any(dim=1)
    return Near(*(part[~own].view(nodes.numel(), -1) for part in (near, cosines)))
