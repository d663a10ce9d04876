"""Sparse rows: products, selections and transposition against dense matrices."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from maskgae.data.csr import CSR, SparseProduct, csr_from_coordinates


def dense(matrix: CSR) -> Tensor:
    values = matrix.values
    if values is None:
        values = torch.ones(matrix.num_entries)
    out = torch.zeros(matrix.num_rows, matrix.num_columns, dtype=values.dtype)
    return out.index_put_((matrix.row_of_entry(), matrix.indices), values, accumulate=True)


def sparse(matrix: Tensor, with_values: bool = True) -> CSR:
    rows, columns = matrix.nonzero().T
    csr = csr_from_coordinates(rows, columns, (matrix.shape[0], matrix.shape[1]))
    return CSR(
        csr.indptr, csr.indices, csr.num_columns, matrix[rows, columns] if with_values else None
    )


@st.composite
def matrices(draw: st.DrawFn) -> Tensor:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    numbers = st.sampled_from([0.0, 0.0, 1.0, -2.0, 3.5])
    values = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
    return torch.tensor(values).view(rows, columns)


# Rows of 2, 0 and 1 entries.
LITERAL = torch.tensor([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])


def test_a_literal_matrix() -> None:
    csr = sparse(LITERAL)
    assert csr.indptr.tolist() == [0, 2, 2, 3]
    assert csr.indices.tolist() == [1, 2, 0]
    assert csr.counts().tolist() == [2, 0, 1]
    assert csr.row_of_entry().tolist() == [0, 0, 2]
    assert csr.row_sums().tolist() == [5.0, 0.0, 5.0]
    assert csr.matmul(torch.tensor([[1.0], [10.0], [100.0]])).tolist() == [[320.0], [0.0], [5.0]]


@given(matrices(), st.booleans())
@settings(deadline=None)
def test_all_operations_agree_with_dense_ones(matrix: Tensor, with_values: bool) -> None:
    csr = sparse(matrix, with_values)
    expected = matrix if with_values else (matrix != 0).float()
    x = torch.arange(1.0, 2 * matrix.shape[1] + 1).view(-1, 2)
    assert dense(csr).equal(expected)
    assert csr.row_sums().equal(expected.sum(1))
    torch.testing.assert_close(csr.matmul(x), expected @ x)
    assert dense(csr.transposed(csr.transpose_order())).equal(expected.T)


@given(matrices(), st.data())
@settings(deadline=None)
def test_selections_agree_with_dense_ones(matrix: Tensor, data: st.DataObject) -> None:
    csr = sparse(matrix)
    index = torch.tensor(data.draw(st.lists(st.integers(0, matrix.shape[0] - 1))), dtype=torch.long)
    assert dense(csr.rows(index)).equal(matrix[index])
    kept = torch.tensor(
        data.draw(st.lists(st.booleans(), min_size=csr.num_entries, max_size=csr.num_entries)),
        dtype=torch.bool,
    )
    thinned = matrix.clone()
    thinned[matrix != 0] *= kept
    assert dense(csr.select(kept)).equal(thinned)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_a_matrix_without_entries(shape: tuple[int, int]) -> None:
    empty = CSR(torch.zeros(shape[0] + 1, dtype=torch.long), torch.empty(0, dtype=torch.long), 2)
    assert empty.matmul(torch.ones(2, 4)).equal(torch.zeros(shape[0], 4))
    assert empty.transposed(empty.transpose_order()).num_rows == 2


def test_the_product_has_the_transposed_gradient() -> None:
    csr = sparse(LITERAL.double())
    x = torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def product(x: Tensor) -> Tensor:
        back = csr.transposed(csr.transpose_order()).matmul
        out: Tensor = SparseProduct.apply(x, csr, back)
        return out

    assert torch.autograd.gradcheck(product, x.requires_grad_())


def test_a_product_takes_columns_of_any_stride() -> None:
    x = torch.arange(6.0).view(2, 3).T
    assert sparse(LITERAL).matmul(x).equal(LITERAL @ x)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_transposed_product_has_the_same_bits_row_by_row(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    generator = torch.Generator().manual_seed(0)
    dense = torch.randn(50, 20, generator=generator)
    csr = sparse(dense * (torch.rand(50, 20, generator=generator) < 0.3))
    x = torch.randn(50, 100, generator=generator)
    assert csr.transposed_matmul(x).equal(csr.transposed(csr.transpose_order()).matmul(x))
    torch.testing.assert_close(csr.transposed_matmul(x), csr.matmul(torch.eye(20)).T @ x)
