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
    for needed in ((True, True), (True, False), (False, True)):
        found = []
        for product in (matmul, torch.matmul):
            ends = [x.detach().requires_grad_(need) for x, need in zip((a, b), needed, strict=True)]
            out = product(*ends)
            assert (product is matmul) == (type(out.grad_fn).__name__ == "_ProductBackward")
            (out.add_(1.0) * slopes).sum().backward()
            found.append([out, *(end.grad for end in ends)])
        torch.testing.assert_close(*found)


@pytest.mark.usefixtures("always")
def test_a_gradient_that_is_one_number_everywhere_is_taken() -> None:
    a = drawn(4, 3).requires_grad_()
    matmul(a, torch.ones(3, 2)).sum().backward()
    torch.testing.assert_close(a.grad, torch.full((4, 3), 2.0))


@pytest.mark.usefixtures("always")
def test_what_only_torch_multiplies_is_left_to_it() -> None:
    for a, b in (
        (drawn(2, 2).double(), drawn(2, 2).double()),
        (drawn(6, 4).view(2, 3, 4), drawn(4, 2)),
        (drawn(3, 4), drawn(4, 1)[:, 0]),
        (drawn(3, 4).to_sparse(), drawn(4, 2)),
    ):
        out = matmul(a, b.requires_grad_())
        assert type(out.grad_fn).__name__ != "_ProductBackward"
        torch.testing.assert_close(out, a @ b)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        matmul(drawn(2, 3), drawn(2, 3))


@pytest.mark.usefixtures("always")
def test_a_gradient_of_its_gradient_is_an_error() -> None:
    a, b = drawn(3, 3).requires_grad_(), drawn(3, 3).requires_grad_()
    (slope,) = torch.autograd.grad(matmul(a, b).pow(2).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_small_products_are_torchs_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_onednn_is_quicker", lambda: True)
    a, b = drawn(50, 40).requires_grad_(), drawn(40, 30)
    assert type(matmul(a, b).grad_fn).__name__ == "MmBackward0"


@pytest.mark.parametrize(
    ("processor", "quicker"),
    [
        ("AuthenticAMD 26 2 AVX512", HAS_ONEDNN),
        ("AuthenticAMD 23 49 AVX2", False),
        ("GenuineIntel 6 85 AVX512", False),
        ("arm64 DEFAULT", False),
    ],
)
def test_it_is_for_processors_of_one_kind(
    processor: str, quicker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "processor", lambda: processor)
    module._onednn_is_quicker.cache_clear()
    try:
        assert module._onednn_is_quicker() == quicker
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
