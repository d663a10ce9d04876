"""Ids of nodes: what users call them, and the numbers 0 to N - 1 that the package calls them.

Ids are integers if every one of them is a whole number written in the one canonical way (``7``,
not ``007`` or ``+7``) that fits 64 bits, else they are strings; so an id that is written out
equals, character by character, the one that was read. Numbers follow the ids' order (integers by
value, strings by code point), so the rows of an edge list may come in any order and the nodes
are numbered alike.

All of it runs in pyarrow's hash tables: no loop over edges, no loop over ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskgae.base.errors import InputError

#: Ids: int64, or object with a ``str`` each.
IdArray = np.ndarray[Any, Any]

_CANONICAL = r"^(0|-?[1-9][0-9]{0,18})$"


def number_edges(
    source: pa.ChunkedArray, target: pa.ChunkedArray
) -> tuple[IdArray, np.ndarray[Any, Any]]:
    """The sorted ids of two columns, and both columns as numbers of them.

    Shapes:
        - **ids:** ``[N]``
        - **edges:** ``[2, E]``

    >>> column = lambda *cells: pa.chunked_array([list(cells)])
    >>> ids, edges = number_edges(column("10", "9"), column("9", "2"))
    >>> ids.tolist(), edges.tolist()
    ([2, 9, 10], [[2, 1], [1, 0]])
    >>> number_edges(column("10", "9"), column("9", "02"))[0].tolist()
    ['02', '10', '9']
    """
    both = pa.chunked_array(source.chunks + target.chunks, type=source.type)
    ids, codes = encode_ids(both)
    return ids, codes.reshape(2, -1)


def encode_ids(cells: pa.ChunkedArray) -> tuple[IdArray, np.ndarray[Any, Any]]:
    """The sorted distinct ids of a column, ``[N]``, and its cells as numbers of them."""
    chunks = cells.dictionary_encode().chunks  # of one dictionary
    distinct = chunks[0].dictionary if chunks else pa.array([], cells.type)
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks]
    ids = as_ids(distinct)
    order = _order(ids, distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return ids[order], rank[np.concatenate([np.empty(0, np.int64), *codes])]


def as_ids(cells: Any) -> IdArray:
    """Integers where all cells are canonical ones, else strings; in the given order.

    >>> as_ids(["1", "-20"]), as_ids(["1", "007"])
    (array([  1, -20]), array(['1', '007'], dtype=object))
    """
    array = as_arrow(cells)
    if pa.types.is_string(array.type):
        if not pc.all(pc.match_substring_regex(array, _CANONICAL), min_count=0).as_py():
            return _strings(array)
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 64 bits
            return _strings(array)
    return np.array(array.to_numpy(zero_copy_only=False), dtype=np.int64)


def as_arrow(ids: Any) -> pa.Array:
    """Ids as pyarrow's int64 or string; anything else is refused.

    Args:
        ids: a pyarrow array, a NumPy array or a sequence of strings or of integers.
    """
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
        ids = pa.concat_arrays(ids.chunks) if isinstance(ids, pa.ChunkedArray) else ids
    if not isinstance(ids, pa.Array):
        try:
            ids = pa.array(ids if isinstance(ids, np.ndarray) else list(ids))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError("ids must be all strings or all integers: convert them") from error
    if len(ids) == 0 and pa.types.is_null(ids.type):
        return ids.cast(pa.int64())
    kind = id_type(ids.type)
    if kind is None:
        raise InputError(f"ids must be strings or integers, not {ids.type}: convert them")
    try:
        return ids.cast(kind)
    except pa.ArrowInvalid:  # an unsigned integer beyond 63 bits
        return ids.cast(pa.string())


def id_type(kind: pa.DataType) -> pa.DataType | None:
    """The type that ids of a pyarrow type are kept in; none where they cannot be ids."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return pa.int64()
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.string() if any(check(kind) for check in is_text) else None


def find_ids(wanted: IdArray, known: IdArray) -> np.ndarray[Any, Any]:
    """The place of each wanted id among the known ones, -1 where it is not there.

    Integers and strings meet as strings, so 7 is ``"7"`` and not ``"007"``.

    >>> find_ids(as_ids(["7", "8"]), as_ids(["007", "7"])).tolist()
    [1, -1]
    """
    arrays = [as_arrow(wanted), as_arrow(known)]
    if arrays[0].type != arrays[1].type:
        arrays = [array.cast(pa.string()) for array in arrays]
    found = pc.fill_null(pc.index_in(arrays[0], value_set=arrays[1]), -1)
    return found.to_numpy(zero_copy_only=False).astype(np.int64)


def repeated_ids(ids: IdArray) -> Sequence[Any]:
    """The ids that occur more than once."""
    counts = pc.value_counts(as_arrow(ids))
    return counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist()


def _strings(array: pa.Array) -> IdArray:
    return np.array(array.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)


def _order(ids: IdArray, distinct: pa.Array) -> np.ndarray[Any, Any]:
    if ids.dtype == np.int64:
        return np.argsort(ids)
    # UTF-8 sorts by byte as Unicode does by code point.
    return pc.array_sort_indices(distinct.cast(pa.string())).to_numpy()
