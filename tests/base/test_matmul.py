"""Products by oneDNN agree with torch's, whichever way their matrices lie."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from maskgae.base import matmul as module
from maskgae.base.matmul import matmul

HAS_ONEDNN = hasattr(torch.ops.mkldnn, "_linear_pointwise")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    if not HAS_ONEDNN:
        pytest.skip("torch has no such product here")
    monkeypatch.setattr(module, "MANY", 0)
    monkeypatch.setattr(module, "_onednn_is_quicker", lambda: True)


def drawn(rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows))


def laid(x: Tensor, how: str) -> Tensor:
    """The same numbers by row, by column, or every second one of a wider matrix."""
    if how == "rows":
        return x
    if how == "columns":
        return x.T.contiguous().T
    return x.repeat_interleave(2, dim=1)[:, ::2]


@pytest.mark.parametrize("left", ["rows", "columns", "apart"])
@pytest.mark.parametrize("right", ["rows", "columns", "apart"])
@pytest.mark.usefixtures("always")
def test_values_and_gradients_are_those_of_torch(left: str, right: str) -> None:
    a, b, slopes = laid(drawn(7, 5), left), laid(drawn(5, 3), right), drawn(7, 3)
    found = []
    for product in (matmul, torch.matmul):
        ends = [each.detach().requires_grad_() for each in (a, b)]
        out = product(*ends)
        (out * slopes).sum().backward()
        found.append([out, *(end.grad for end in ends)])
    torch.testing.assert_close(*found)


@pytest.mark.usefixtures("always")
def test_a_gradient_that_is_one_number_everywhere_is_taken() -> None:
    a = drawn(4, 3).requires_grad_()
    matmul(a, torch.ones(3, 2)).sum().backward()
    torch.testing.assert_close(a.grad, torch.full((4, 3), 2.0))


@pytest.mark.usefixtures("always")
def test_double_precision_stays_with_torch() -> None:
    a = torch.full((2, 2), 1 / 3, dtype=torch.float64)
    assert torch.equal(matmul(a, a), a @ a)


def test_small_products_keep_their_bits() -> None:
    a, b = drawn(50, 40), drawn(40, 30)
    assert torch.equal(matmul(a, b), a @ b)


def test_elsewhere_than_on_such_processors_torch_multiplies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "processor", lambda: "GenuineIntel 6 85 AVX512")
    module._onednn_is_quicker.cache_clear()
    try:
        assert not module._onednn_is_quicker()
    finally:
        module._onednn_is_quicker.cache_clear()


def test_a_torch_without_the_product_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(a: Tensor, b: Tensor) -> Tensor:
        raise AttributeError("no such operation")

    monkeypatch.setattr(module, "processor", lambda: "AuthenticAMD 26 2 AVX512")
    monkeypatch.setattr(module, "_by_onednn", absent)
    module._onednn_is_quicker.cache_clear()
    try:
        assert not module._onednn_is_quicker()
    finally:
        module._onednn_is_quicker.cache_clear()
