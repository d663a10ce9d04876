"""Classes of the nodes, and which of them a classifier learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError


@dataclass(frozen=True)
class NodeSplit:
    """Node ids for training, validation and test of a classifier, each ``[n]``."""

    train: Tensor
    val: Tensor
    test: Tensor


def as_labels(labels: Any) -> Tensor:
    """A class for each node as whole numbers, ``[N]``.

    >>> as_labels([0, 2, -1])
    tensor([ 0,  2, -1])
    """
    codes = np.asarray(labels)
    whole = codes.dtype.kind in "biu" or (codes.dtype.kind == "f" and (codes % 1 == 0).all())
    if not whole or (codes.size and codes.min() < -1):
        raise InputError(
            "labels must be whole numbers from 0 on, -1 where a class is unknown, not "
            f"{codes.dtype} such as {codes.reshape(-1)[:3].tolist()}: number the classes, for "
            "example by pandas.factorize"
        )
    return torch.from_numpy(codes.astype(np.int64))
