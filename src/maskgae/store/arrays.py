"""Arrays in ``.npy`` files, written part by part and mapped into memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from maskgae.base.files import atomic
from maskgae.base.sizes import CHUNK_PAIRS, READ_BYTES
from maskgae.io.archives import load_npy
from maskgae.io.sources import open_file

# The length of NumPy's header, which leaves room for any number of rows.
_HEADER = 128

Array = NDArray[Any]


class ArrayFile:
    """A ``.npy`` file whose length is known only at its end; set ``shape`` for two dimensions."""

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any]) -> None:
        self.file, self.dtype, self.count = file, dtype, 0
        self.shape: tuple[int, ...] | None = None
        file.write(bytes(_HEADER))

    def append(self, values: Array) -> None:
        self.file.write(np.ascontiguousarray(values, self.dtype).data)
        self.count += values.size

    def blocks(self) -> Iterator[Array]:
        """What was appended so far, again."""
        self.file.seek(_HEADER)
        while block := self.file.read(READ_BYTES):
            yield np.frombuffer(block, self.dtype)

    def end(self) -> None:
        """Writes the header."""
        about = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": self.shape or (self.count,),
        }
        self.file.seek(0)
        np.lib.format.write_array_header_1_0(self.file, about)
        assert self.file.tell() == _HEADER


@contextmanager
def array_file(path: Path, dtype: Any) -> Iterator[ArrayFile]:
    """A ``.npy`` file to append to; it takes its name when it is whole."""
    with atomic(path) as temporary, temporary.open("w+b") as file:
        array = ArrayFile(file, np.dtype(dtype))
        yield array
        array.end()


def write_array(path: Path, array: Array) -> None:
    """Writes one array, whole or not at all."""
    with atomic(path) as temporary, temporary.open("xb") as file:
        np.save(file, array, allow_pickle=False)


def mapped(path: Path, mode: Literal["r", "c"] = "r") -> Array:
    """The array of a ``.npy`` file, mapped: to be read, or copied where it is written to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a header that Python 2 wrote
            return np.asarray(np.lib.format.open_memmap(path, mode=mode))
    except OSError:
        raise
    except Exception:  # it is empty, or claims more than is there, or its header is no Python
        return load_npy(open_file(path, (".npy",)))


def within(array: Array, low: int, high: int) -> bool:
    """Whether all entries lie in ``low`` to ``high``, itself not; read block by block."""
    flat = array.ravel("K")
    blocks = (flat[i : i + CHUNK_PAIRS] for i in range(0, flat.size, CHUNK_PAIRS))
    return all(block.min() >= low and block.max() < high for block in blocks)


def ascends(array: Array) -> bool:
    """Whether no entry is smaller than the one before it; read block by block."""
    blocks = (array[i : i + CHUNK_PAIRS + 1] for i in range(0, array.size, CHUNK_PAIRS))
    return all(bool((block[1:] >= block[:-1]).all()) for block in blocks)
