"""What columns become, with the numbers worked out by hand."""

import math
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.data import SparseFeatures
from maskgae.io import NodeTable, TableEncoder, as_ids, encode_labels, fit_encoder


def table(**columns: Any) -> NodeTable:
    cells = {name: pa.chunked_array([values]) for name, values in columns.items()}
    return NodeTable(as_ids(range(len(next(iter(cells.values()))))), cells)


def encoded(
    data: NodeTable, **options: Any
) -> tuple[list[tuple[str, str, int]], list[list[float]]]:
    encoder = fit_encoder(data, **options)
    features = encoder.transform(data)
    assert features is not None and features.num_columns == encoder.width
    return list(encoder.rows()), features.dense().numpy().round(4).tolist()


def test_numbers() -> None:
    rows, features = encoded(table(x=["1", "2", "3", " 2e0"], y=[4, 4, 8, 8]))
    assert rows == [("x", "numeric", 1), ("y", "numeric", 1)]
    s = round(math.sqrt(2), 4)
    assert np.allclose(features, [[-s, -1], [0, -1], [s, 1], [0, 1]], atol=1e-4)


def test_mostly_zero_numbers_keep_their_zeros() -> None:
    rows, features = encoded(table(x=[0, 0, 3, -4]))
    assert rows == [("x", "sparse", 1)]
    rms = math.sqrt((9 + 16) / 2)
    assert np.allclose(features, [[0], [0], [3 / rms], [-4 / rms]], atol=1e-4)


@pytest.mark.parametrize(
    "cells", [["true", "False", "TRUE"], ["yes", "no", "yes"], ["1", "0", "1"], [True, False, True]]
)
def test_booleans(cells: list[Any]) -> None:
    assert encoded(table(x=cells)) == ([("x", "binary", 1)], [[1], [0], [1]])


def test_few_values_are_one_hot() -> None:
    rows, features = encoded(table(x=["b", "a", "", "b", "NA", "NA"]))
    assert rows == [("x", "one-hot", 3)]
    # NA, a, b
    assert features == [[0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_other_text_is_hashed_by_word() -> None:
    rows, features = encoded(table(x=["Big, BIG cat!", "", "Žena"]), text_width=64)
    assert rows == [("x", "words", 64)]
    expected = np.zeros((3, 64))
    for row, word in [(0, "big"), (0, "cat"), (2, "žena")]:
        expected[row, zlib.crc32(word.encode()) % 64] = 1
    assert features == expected.tolist()


def test_constant_columns_are_dropped() -> None:
    data = table(a=["1", "1"], b=["x", "x"], c=["", ""], d=["1", "2"])
    encoder = fit_encoder(data)
    assert [row[1] for row in encoder.rows()] == ["constant"] * 3 + ["numeric"]
    assert (encoder.dropped, encoder.width) == (3, 1)
    assert fit_encoder(table(a=["1", "1"])).transform(table(a=["1"])) is None


def test_wide_text_stays_sparse() -> None:
    data = table(x=[f"word{i}" for i in range(40)], y=list(range(40)))
    features = fit_encoder(data, text_width=1000).transform(data)
    assert isinstance(features, SparseFeatures)
    assert features.shape == (40, 1001)


@pytest.mark.parametrize("gap", ["", "NA", "nan", "inf", "null"])
def test_missing_numbers(gap: str) -> None:
    data = table(x=[1.0, math.inf, 3.0, 5.0] if gap == "inf" else ["1", gap, "3", "5"])
    with pytest.raises(InputError, match="column 'x' must have a number in every row, but row 2"):
        fit_encoder(data)
    rows, features = encoded(data, missing="mean")
    assert rows == [("x", "numeric (1 missing: mean)", 1)]
    s = round(math.sqrt(2), 4)  # of 1, 3, 3, 5
    assert np.allclose(features, [[-s], [0], [0], [s]], atol=1e-4)
    encoder = fit_encoder(data, missing="zero")
    values = np.array([1, 0, 3, 5])
    expected = (values - values.mean()) / values.std()
    dense = encoder.transform(data)
    assert dense is not None and np.allclose(dense.dense()[:, 0], expected)
    with pytest.raises(InputError, match="error, mean or zero"):
        fit_encoder(data, missing="drop")


def test_numbers_beyond_32_bits_are_missing() -> None:
    data = table(x=["1e99", "1", "3"], y=["1e999", "", "1e99"])
    with pytest.raises(InputError, match="row 1 has '1e99'"):
        fit_encoder(data)
    rows, features = encoded(data, missing="mean")
    assert rows == [("x", "numeric (1 missing: mean)", 1), ("y", "constant (3 missing: mean)", 0)]
    assert np.allclose(features, [[0], [-1.2247], [1.2247]], atol=1e-4)


def test_new_rows_are_encoded_as_the_fitted_ones() -> None:
    data = table(x=["1", "3"] * 2, y=["u", "v"] * 2, z=["a b", "c", "d", "e"])
    encoder = fit_encoder(data)
    assert [row[1] for row in encoder.rows()] == ["numeric", "one-hot", "words"]
    columns = table(z=["b", "a"], y=["w", "u"], x=["5", "2"]).columns  # in another order
    other = NodeTable(as_ids(["p", "q"]), columns)
    features = encoder.transform(other, as_ids(["q", "p", "q"]))
    assert features is not None
    assert features.dense()[:, :3].tolist() == [[0, 1, 0], [3, 0, 0], [0, 1, 0]]
    wrong = table(x=["1", "old"], y=["u", "v"], z=["a", "b"])
    with pytest.raises(InputError, match=r"column 'x' must have numbers .* row 2 has 'old'"):
        encoder.transform(wrong)
    with pytest.raises(InputError, match="none for 7"):
        encoder.transform(data, as_ids([7]))


def test_other_columns_are_named() -> None:
    encoder = fit_encoder(table(x=[1, 2], y=[1, 2], l=["a", "b"]), "l")
    with pytest.raises(InputError, match="'y' missing and 'z' new"):
        encoder.transform(table(x=[1, 2], z=[1, 2]))
    assert encoder.transform(table(x=[1, 2], y=[1, 2])) is not None  # the label may be left out


def test_a_type_without_features_is_named() -> None:
    with pytest.raises(InputError, match="column 'x' has the type list"):
        fit_encoder(table(x=[[1, 2], [3]]))


def test_matrices_stay_as_they_are() -> None:
    dense = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]])
    huge = np.nan_to_num(dense, nan=1e300)
    for matrix in (dense, sp.csr_matrix(dense), huge):
        data = NodeTable(as_ids("abc"), matrix=matrix)
        with pytest.raises(InputError, match="row 1, column 1"):
            fit_encoder(data)
        for rule, value in (("zero", 0), ("mean", 3)):
            encoder = fit_encoder(data, missing=rule)
            assert list(encoder.rows()) == [("matrix", f"matrix (1 missing: {rule})", 2)]
            features = TableEncoder.from_json(encoder.to_json()).transform(data, as_ids("cb"))
            assert features is not None
            assert features.dense().tolist() == [[5, 4], [3, value]]
    with pytest.raises(InputError, match="2 columns that were fitted, but it has 1"):
        encoder.transform(NodeTable(as_ids("a"), matrix=np.ones((1, 1))))
    with pytest.raises(InputError, match="must be of the kind that was fitted, a matrix"):
        encoder.transform(table(x=[1]))


def test_json_keeps_everything() -> None:
    data = table(
        x=["1", "2", "", "1"], y=["ü", "b", "ü", "b"], z=["a", "b", "c d", "e"], l=["1"] * 4
    )
    encoder = fit_encoder(data, "l", missing="mean")
    again = TableEncoder.from_json(encoder.to_json())
    assert again == encoder
    first, second = encoder.transform(data), again.transform(data)
    assert first is not None and second is not None
    assert first.dense().equal(second.dense())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"numeric"', '"magic"'),
        ('"scale": 0.5', '"scale": 0'),
        ('"scale": 0.5', '"scale": NaN'),
        ('"width": 1', '"width": 2'),
        ('"width": 1', '"width": 1e99'),
        ('"format": 1', '"format": 2'),
        ('"missing": "error"', '"missing": []'),
        ('"fill"', '"filled"'),
        ("{", "[" * 100_000),
        ("{", ""),
    ],
)
def test_json_of_others_is_checked(old: str, new: str) -> None:
    text = fit_encoder(table(x=[1, 2])).to_json()
    assert old in text
    with pytest.raises(InputError, match=r"features\.json must be what fitting a table wrote"):
        TableEncoder.from_json(text.replace(old, new, 1))


def test_labels() -> None:
    data = table(a=["x", "", "NA", "x"], b=["10", "9", "NA", "10"], c=[2, None, 1, 2], d=[""] * 4)
    assert encode_labels(data, "a").codes.tolist() == [1, -1, 0, 1]
    assert encode_labels(data, "a").names == ("NA", "x")
    assert encode_labels(data, "b").codes.tolist() == [1, 0, -1, 1]
    assert encode_labels(data, "b").names == ("9", "10")
    assert encode_labels(data, "c").codes.tolist() == [1, -1, 0, 1]
    with pytest.raises(InputError, match="no label at all"):
        encode_labels(data, "d")
    with pytest.raises(InputError, match="no column 'e' for labels"):
        fit_encoder(data, "e")
