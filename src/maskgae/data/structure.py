"""The rows of a graph: both directions of every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.data.csr import CSR, csr_from_coordinates


@dataclass(frozen=True)
class Structure:
    """Both directions of every pair, by row: what encoders, walks and masks run on.

    Shapes:
        - **csr:** ``[N, N]``, columns ascending in each row
        - **pair_of_entry:** ``[2 M]``, the pair that each entry belongs to
    """

    csr: CSR
    pair_of_entry: Tensor

    @classmethod
    def of(cls, pairs: Tensor, num_nodes: int) -> Structure:
        """The rows of pairs ``[2, M]``, each of them once and in ascending order."""
        u, v = pairs.long()
        rows, columns = torch.cat([u, v]), torch.cat([v, u])
        order = torch.argsort(rows * num_nodes + columns)
        csr = csr_from_coordinates(rows[order], columns[order], (num_nodes, num_nodes))
        return cls(csr, order % pairs.shape[1] if pairs.shape[1] else order)

    @cached_property
    def reverse_entry(self) -> Tensor:
        """The entry of the opposite direction, ``[2 M]``."""
        # By column and then by row, the entries of a symmetric matrix are its transposed ones.
        return self.csr.transpose_order()

    def select(self, kept: NDArray[np.bool_]) -> Structure:
        """The rows of some of the pairs, ``[M]`` bool, as sorting those pairs would give them."""
        entries, indices = self.pair_of_entry.numpy(), self.csr.indices.numpy()
        number = np.cumsum(kept, dtype=entries.dtype)
        number -= 1
        stays = kept[entries]
        before = np.zeros(stays.size + 1, np.int32 if stays.size < 2**31 else np.int64)
        np.cumsum(stays, out=before[1:])
        csr = CSR(
            torch.from_numpy(before[self.csr.indptr.numpy()].astype(np.int64)),
            torch.from_numpy(indices[stays]),
            self.csr.num_columns,
        )
        return Structure(csr, torch.from_numpy(number[entries[stays]]))
