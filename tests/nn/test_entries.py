"""Inner products at the entries of a sparse matrix, both ways, and their gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskgae.data import CSR
from maskgae.nn import entries
from maskgae.nn.entries import EntryProducts, entry_products

#: Rows 0 and 2 have two entries each, row 1 has none.
MATRIX = CSR(torch.tensor([0, 2, 2, 4]), torch.tensor([0, 3, 1, 3]), num_columns=4)


def tables(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(3, 2, 5, generator=generator, dtype=dtype)
    return left, torch.randn(4, 2, 5, generator=generator, dtype=dtype)


@pytest.mark.parametrize("many", [0, 2**40])
def test_compiled_loops_and_torch_agree_with_the_full_product(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MANY", many)
    monkeypatch.setattr(entries, "CHUNK", 3)
    left, right = tables()
    full = torch.einsum("ihd,jhd->ijh", left, right)
    expected = full[MATRIX.row_of_entry(), MATRIX.indices]
    torch.testing.assert_close(entry_products(left, right, MATRIX), expected)


def test_rows_that_do_not_lie_together_in_memory_are_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MANY", 0)
    left, right = tables()
    apart = left.transpose(0, 2).contiguous().transpose(0, 2)
    assert not apart.is_contiguous()
    assert entry_products(apart, right, MATRIX).equal(entry_products(left, right, MATRIX))


def test_the_gradient_is_right() -> None:
    left, right = (table[:, 0].clone().requires_grad_() for table in tables(torch.float64))
    assert torch.autograd.gradcheck(lambda a, b: EntryProducts.apply(a, b, MATRIX), (left, right))


def test_a_matrix_without_entries_has_no_products() -> None:
    left, right = tables()
    empty = CSR(torch.zeros(4, dtype=torch.long), torch.zeros(0, dtype=torch.long), num_columns=4)
    assert entry_products(left, right, empty).shape == (0, 2)
