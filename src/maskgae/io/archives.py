"""NumPy's files, without pickles and without surprises in size.

The header of every array is read before the array: objects are refused (they would have to be
unpickled), and so is a shape that promises more than the file holds. The sizes that a ``.npz``
archive states are checked before anything is unpacked.
"""

from __future__ import annotations

import math
import sys
import warnings
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from maskgae.base.errors import InputError
from maskgae.io.messages import five_of, one_line
from maskgae.io.sources import File, check_unpacked

Array = np.ndarray[Any, Any]

#: An array without a single entry may say that it has this many rows or columns.
_EMPTY = 1_000_000


def load_npy(file: File) -> Array:
    """The array of a ``.npy`` file."""
    size = file.path.stat().st_size
    try:
        with file.path.open("rb") as stream:
            return _array(file, stream, size, file.path.name)
    except (ValueError, OSError, EOFError) as error:
        raise _as_input_error(file, "a whole .npy array", error) from error


def load_npz(file: File) -> dict[str, Array]:
    """All arrays of a ``.npz`` archive by name."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            check_unpacked(file.path, file.path.stat().st_size, unpacked)
            arrays = {}
            for member in members:
                with archive.open(member) as stream:
                    name = member.filename.removesuffix(".npy")
                    arrays[name] = _array(file, stream, member.file_size, name)
            return arrays
    except (ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError) as error:
        raise _as_input_error(file, "a whole .npz archive", error) from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _as_input_error(file, "a whole .npz archive", error) from error


def _array(file: File, stream: IO[bytes], size: int, name: str) -> Array:
    """Reads one array after its header has been looked at."""
    shape, dtype = _header(stream)
    if dtype.hasobject:
        raise InputError(
            f"{file.path}: array '{name}' holds Python objects, which can only be unpickled and "
            "are refused: save numbers or fixed-width strings (dtype float32, int64 or U)"
        )
    # What takes no room in the file, as strings of no length, may still take some in memory.
    promised = math.prod(max(length, 1) for length in shape) * max(dtype.itemsize, 1)
    left = size - stream.tell() + (_EMPTY if 0 in shape else 0)
    if promised > left or min(shape, default=0) < 0:
        raise ValueError(f"array '{name}' promises {promised:,} bytes and has {left:,}")
    stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a header that Python 2 wrote
        array = np.lib.format.read_array(stream, allow_pickle=False)
    if dtype.kind == "U" and not _is_unicode(array):
        raise ValueError(f"array '{name}' has characters that Unicode does not know")
    return array


def _is_unicode(array: Array) -> bool:
    """Whether all characters of an array of strings exist: Python could not make others."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    codes = native.reshape(-1).view(np.uint32)
    return codes.size == 0 or int(codes.max()) <= sys.maxunicode


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"version {version} of NumPy's format is not known")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            shape, _, dtype = readers[version](stream)
    except Exception as error:  # of NumPy and of Python's own tokenizer, syntax and more
        raise ValueError("its header is broken") from error
    if bool in map(type, shape):  # which NumPy takes for a whole number, and later does not
        raise ValueError(f"its shape is {shape}")
    return shape, dtype


def _as_input_error(file: File, expected: str, error: BaseException) -> InputError:
    if isinstance(error, InputError):
        return error
    return file.not_what_it_says(expected, one_line(error))


def pick_array(file: File, arrays: dict[str, Array], preferred: tuple[str, ...]) -> Array:
    """The array that has one of the preferred names, or the only one."""
    for name in preferred:
        if name in arrays:
            return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise InputError(
        f"{file.path} must hold one array, or one called {' or '.join(preferred)}, but it holds "
        f"{five_of(list(arrays)) or 'none'}: save it under that name"
    )
