r"""Randomness with an address.

Every draw of this package comes from a :class:`Stream`, which is nothing but a seed and an
address such as ``("mask", epoch, step)``. A stream is derived afresh wherever it is needed and
never carried along, so resuming, ranks and batches need no generator state, run *i* of *n*
equals run *i* alone, and global random state stays untouched.

The library code that can only draw globally runs inside :func:`isolated_rng`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Stream:
    """A seed and an address; two streams draw the same numbers if and only if both agree.

    >>> stream(0, "mask", 3) == stream(0, "mask").at(3)
    True
    >>> stream(0, "mask").key == stream(0, "mask").key
    True
    """

    seed: int
    address: tuple[str | int, ...] = ()

    def at(self, *more: str | int) -> Stream:
        """The stream below this one at the given address."""
        return Stream(self.seed, self.address + more)

    @property
    def key(self) -> int:
        """Sixty-three bits that stand for seed and address."""
        # Plain types only, since NumPy's whole numbers equal Python's and print differently.
        address = (str(part) if isinstance(part, str) else int(part) for part in self.address)
        text = repr((int(self.seed), *address)).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1

    def torch(self, device: torch.device | str = "cpu") -> torch.Generator:
        """A torch generator at its beginning."""
        return torch.Generator(device=device).manual_seed(self.key)

    def numpy(self) -> np.random.Generator:
        """A NumPy generator at its beginning (SFC64, the fastest of NumPy's bit generators)."""
        return np.random.Generator(np.random.SFC64(self.key))


def stream(seed: int, *address: str | int) -> Stream:
    """The stream of ``seed`` at ``address``, e.g. ``stream(0, "mask", epoch, step)``."""
    return Stream(seed, address)


@contextmanager
def isolated_rng(seed: Stream) -> Iterator[None]:
    """Seeds the global generators of torch, NumPy and Python inside, and restores them after."""
    kept_numpy, kept_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed.key)
        np.random.seed(seed.key % 2**32)  # noqa: NPY002
        random.seed(seed.key)
        try:
            yield
        finally:
            np.random.set_state(kept_numpy)  # noqa: NPY002
            random.setstate(kept_python)


def hash_uniform(keys: Tensor, seed: Stream) -> Tensor:
    r"""Maps integer keys to numbers that look uniform on :math:`[0, 2^{53})`, without any state.

    Each key is mixed with the stream's own key by the finaliser of SplitMix64 (Steele, Lea and
    Flood, 2014), so any worker can evaluate the draw of any key on its own.

    Shapes:
        - **keys:** any shape, int64
        - **output:** the same shape, int64 in :math:`[0, 2^{53})`

    >>> a = hash_uniform(torch.arange(4), stream(0, "mask", 1))
    >>> b = hash_uniform(torch.tensor([2]), stream(0, "mask", 1))
    >>> bool(a[2] == b[0])
    True
    """
    # int64 wraps around as uint64 does; only the right shift has to be made logical by a mask.
    x = (keys + 1) * -0x61C8864680B583EB
    x.add_(seed.key)
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15)):
        x.bitwise_xor_((x >> shift).bitwise_and_((1 << (64 - shift)) - 1)).mul_(factor)
    x.bitwise_xor_((x >> 31).bitwise_and_((1 << 33) - 1))
    return (x >> 11).bitwise_and_((1 << 53) - 1)


def hash_below(keys: Tensor, probability: float, seed: Stream) -> Tensor:
    """True with the given probability, independently for each distinct key."""
    return hash_uniform(keys, seed) < int(probability * 2**53)
