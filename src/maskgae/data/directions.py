r"""Directions: which way the edges of a directed graph go.

A pair :math:`u < v` goes forward, :math:`u \to v`, backward, or both ways. Masks and splits treat
the two ways together, since one gives the other away; everything that scores a pair asks for a way.

The level of a node is how far down the flow it lies, SpringRank's (De Bacco et al., 2018) potential

.. math::

    s = \arg\min_s \sum_{u \to v} (s_v - s_u - 1)^2 + |s|^2 ,

one sparse linear system: what is cited lies lower than what cites it, and :math:`s_v - s_u` tells
which way an edge between them would go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.csr import CSR, csr_from_coordinates
from maskgae.data.features import DenseFeatures

#: Bits of a pair's direction.
FORWARD, BACKWARD = 1, 2
#: What an encoder reads of directions: columns a node.
WAY_COLUMNS = 3
#: Steps after which the solver of levels stops.
STEPS = 200


def pair_directions(edges: NDArray[Any], keys: NDArray[Any], num_nodes: int) -> Tensor:
    """Which ways each pair goes among raw edges, ``[2, E]`` and ascending ``[M] -> [M]``.

    >>> edges = np.array([[0, 2, 1], [1, 1, 2]])
    >>> pair_directions(edges, np.array([1, 5]), 3).tolist()
    [1, 3]
    """
    u, v = edges[:, edges[0] != edges[1]]
    place = np.searchsorted(keys, np.minimum(u, v) * np.int64(num_nodes) + np.maximum(u, v))
    ways = np.zeros(keys.size, dtype=np.int32)
    ways[place[u < v]] |= FORWARD
    ways[place[u > v]] |= BACKWARD
    return torch.from_numpy(ways)


@dataclass(frozen=True, eq=False)
class Arcs:
    """The edges of a directed graph by the node they come from and by the one they go to.

    Shapes:
        - **out**, **into:** ``[N, N]``, columns ascending in each row
    """

    out: CSR
    into: CSR

    @classmethod
    def of(cls, pairs: Tensor, directions: Tensor, num_nodes: int) -> Arcs:
        ends = arcs_of(pairs, directions)
        shape = (num_nodes, num_nodes)
        parts = []
        for rows, columns in (ends, ends.flip(0)):
            order = torch.argsort(rows * num_nodes + columns)
            parts.append(csr_from_coordinates(rows[order], columns[order], shape))
        return cls(*parts)

    def way(self, incoming: bool) -> CSR:
        return self.into if incoming else self.out

    def reversed(self) -> Arcs:
        """The edges turned round, which turns the levels too."""
        turned = Arcs(self.into, self.out)
        turned.__dict__["levels"] = -self.levels
        return turned

    @cached_property
    def degrees(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Edges out of and into each node, ``[N]`` each."""
        out, into = (csr.counts().numpy().astype(np.float64) for csr in (self.out, self.into))
        return out, into

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """How far down the flow each node lies, ``[N]``."""
        from scipy.sparse.linalg import cg

        out, into = self.degrees
        forward = matrix(self.out)
        springs = sp.diags_array(out + into + 1) - forward - forward.T
        found: NDArray[np.float64] = cg(springs.tocsr(), into - out, rtol=1e-6, maxiter=STEPS)[0]
        return found

    def columns(self) -> DenseFeatures:
        """What an encoder reads of directions: degrees of both ways and the level, ``[N, 3]``."""
        table = np.column_stack([*np.log1p(self.degrees), self.levels])
        spread = table.std(0)
        scaled = (table - table.mean(0)) / np.where(spread > 0, spread, 1)
        return DenseFeatures(torch.from_numpy(scaled.astype(np.float32)))


def arcs_of(pairs: Tensor, directions: Tensor) -> Tensor:
    """Source and target of each edge, the forward ones first, ``[2, M], [M] -> [2, A]``."""
    ahead, back = (pairs[:, (directions & bit) > 0].long() for bit in (FORWARD, BACKWARD))
    return torch.cat([ahead, back.flip(0)], dim=1)


def matrix(csr: CSR) -> sp.csr_array:
    """The ones of compressed rows as SciPy has them."""
    arrays = (np.ones(csr.num_entries), csr.indices.numpy(), csr.indptr.numpy())
    return sp.csr_array(arrays, shape=(csr.num_rows, csr.num_columns))
