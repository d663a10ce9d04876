r"""Wide sparse features, such as words of texts, in a few dense columns.

A column :math:`c` that is not zero in :math:`n_c` of :math:`N` rows counts
:math:`\log\frac{1 + N}{1 + n_c} + 1`, rows are brought to length one, and of the truncated singular
value decomposition :math:`X \approx U \Sigma V^\top` the columns :math:`X V = U \Sigma` are kept
(latent semantic analysis). The weights and :math:`V` are kept, so that rows that come later lie in
the same basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.features import Features, SparseFeatures, as_features, scaled_rows

#: Steps of subspace iteration, and columns that they carry beside those that are wanted.
STEPS, BESIDE = 4, 16


@dataclass(frozen=True, eq=False)
class WordMap:
    """What was fitted on the rows of some nodes and reduces any rows of the same columns.

    Shapes:
        - **weights:** ``[C]``, what a column counts
        - **axes:** ``[C, k]``, :math:`V`
    """

    weights: Tensor
    axes: Tensor

    @classmethod
    def fit(cls, features: Features, width: int, stream: Stream) -> WordMap | None:
        """A map to ``width`` columns, or ``None`` where there is nothing to reduce.

        >>> from maskgae.base.rng import stream
        >>> words = as_features(sp.random_array((50, 200), density=0.05, rng=stream(0).numpy()))
        >>> WordMap.fit(words, 8, stream(0)).transform(words).shape
        torch.Size([50, 8])
        """
        if not isinstance(features, SparseFeatures) or features.num_columns <= width:
            return None
        rows = features.scipy()
        weights = _weights(rows)
        axes = leading_axes(_weighted(rows, weights), min(width, rows.shape[0]), stream)
        return cls(torch.from_numpy(weights), torch.from_numpy(axes))

    def transform(self, features: Features) -> Tensor:
        """``[n, C] -> [n, k]``"""
        rows = _weighted(features.scipy(), self.weights.numpy())
        return torch.from_numpy(np.asarray(rows @ self.axes.numpy(), dtype=np.float32))


def rare_words_first(features: Features) -> Features:
    """Features in which rare columns count more (TF-IDF), rows of length one.

    Dense features have no rare columns; their rows are brought to length one.

    >>> rare_words_first(as_features(np.eye(2))).dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not isinstance(features, SparseFeatures):
        return scaled_rows(features)
    rows = features.scipy()
    return as_features(_weighted(rows, _weights(rows)))


def _weights(rows: sp.csr_matrix) -> np.ndarray:
    """What each column counts, the more, the fewer rows have it, ``[C]``."""
    used = np.bincount(rows.indices, minlength=rows.shape[1])
    return np.log((1 + rows.shape[0]) / (1 + used)).astype(np.float32) + 1


def _weighted(rows: sp.csr_matrix, weights: np.ndarray) -> sp.csr_matrix:
    """Columns weighted, rows of length one."""
    return scaled_rows(as_features(sp.csr_matrix(rows @ sp.diags_array(weights)))).scipy()


def leading_axes(rows: sp.csr_matrix | np.ndarray, rank: int, stream: Stream) -> np.ndarray:
    """The right singular vectors of the largest singular values, ``[C, rank]``.

    By subspace iteration with some columns more (Halko, Martinsson and Tropp, 2011); their signs
    are fixed, so that equal rows give equal axes.
    """
    wanted = min(rank + BESIDE, *rows.shape)
    start = stream.numpy().standard_normal((rows.shape[0], wanted)).astype(np.float32)
    basis = np.linalg.qr(rows.T @ start)[0]
    for _ in range(STEPS):
        basis = np.linalg.qr(rows.T @ (rows @ basis))[0]
    small = rows @ basis
    values, turn = np.linalg.eigh((small.T @ small).astype(np.float64))
    axes = basis @ turn[:, np.argsort(-values)[:rank]].astype(np.float32)
    largest = np.abs(axes).argmax(0)
    return axes * np.where(axes[largest, np.arange(rank)] < 0, -1, 1).astype(np.float32)
