"""Features of every kind multiply, drop and cut rows as the dense matrix does."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import features as feature_module
from maskgae.data.features import (
    DenseFeatures,
    Features,
    JoinedFeatures,
    SparseFeatures,
    _DroppedDense,
    as_features,
)
from maskgae.data.graph import Graph
from maskgae.nn import Adjacency, Sampler

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def numbers(rows: int, columns: int, density: float = 1.0) -> Tensor:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)
    return torch.from_numpy(array.astype(np.float32))


def joined() -> Features:
    return JoinedFeatures([as_features(numbers(40, 20, 0.05)), DenseFeatures(numbers(40, 3))])


KINDS: dict[str, Callable[[], Features]] = {
    "dense": lambda: as_features(numbers(40, 23)),
    "sparse": lambda: as_features(numbers(40, 23, 0.05)),
    "dropped": lambda: as_features(numbers(40, 23, 0.1)).dropout(0.3, stream(9)),
    "dense-dropped": lambda: _DroppedDense(numbers(40, 23), 0.3, stream(9)),
    "joined": joined,
    "joined-dropped": lambda: joined().dropout(0.3, stream(9)),
}


@pytest.fixture(params=KINDS)
def features(request: pytest.FixtureRequest) -> Features:
    return KINDS[request.param]()


def test_linear_equals_the_dense_product_with_its_gradient(features: Features) -> None:
    x, upstream = features.dense(), numbers(40, 5)
    ours, theirs = (numbers(23, 5).requires_grad_() for _ in range(2))
    out, expected = features.linear(ours), x @ theirs
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)
    (out * upstream).sum().backward()
    (expected * upstream).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_sums_over_neighbours_are_those_of_the_dense_rows(features: Features) -> None:
    graph = Graph.from_edges(stream(3).numpy().integers(40, size=(2, 90)), 40)
    block = Sampler(graph).blocks(torch.arange(40), [2], stream(4)).adjacencies[0]
    for adjacency in (Adjacency.of(graph), block):
        torch.testing.assert_close(
            features.around(adjacency), adjacency.normalized(features.dense()), atol=1e-5, rtol=1e-5
        )


def test_rows_shape_and_scipy_agree_with_dense(features: Features) -> None:
    index = torch.tensor([3, 0, 3, 39])
    assert features.rows(index).dense().equal(features.dense()[index])
    assert features.shape == (40, 23) == tuple(features.dense().shape)
    assert (features.scipy().toarray() == features.dense().numpy()).all()
    assert features.to("cpu").dense().equal(features.dense())


def test_dropout_zeroes_some_entries_and_scales_the_others(features: Features) -> None:
    before, after = features.dense(), features.dropout(0.5, stream(0)).dense()
    kept = after != 0
    assert (after[kept] / before[kept]).allclose(torch.tensor(2.0))
    held = int((before != 0).sum())
    assert abs(int(kept.sum()) - held / 2) < 4 * (held / 4) ** 0.5
    assert features.dense().equal(before)  # the original is left alone


def test_dropout_depends_on_the_stream_alone(features: Features) -> None:
    once, again, other = (features.dropout(0.5, stream(0, e)).dense() for e in (1, 1, 2))
    assert once.equal(again)
    assert not once.equal(other)
    assert features.dropout(0.0, stream(0)).dense().equal(features.dense())


def test_dropout_is_unbiased(features: Features) -> None:
    total = sum(features.dropout(0.5, stream(0, epoch)).dense() for epoch in range(400))
    # The mean of 400 draws of 0 or 2 has a standard deviation of 0.05.
    torch.testing.assert_close(total / 400, features.dense(), rtol=0.25, atol=1e-6)


def test_a_large_matrix_loses_what_a_small_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    small = DenseFeatures(numbers(40, 23)).dropout(0.5, stream(0))
    monkeypatch.setattr(feature_module, "LARGE", 40 * 23)
    large = DenseFeatures(numbers(40, 23)).dropout(0.5, stream(0))
    assert type(small) is DenseFeatures
    assert type(large) is _DroppedDense
    assert large.dense().equal(small.dense())


def test_joined_features_stand_side_by_side() -> None:
    left, right = as_features(numbers(40, 20, 0.05)), DenseFeatures(numbers(40, 3))
    assert JoinedFeatures([left, right]).dense().equal(torch.cat([left.dense(), right.dense()], 1))


def test_learnable_parts_get_a_gradient_through_dropout() -> None:
    learnt = numbers(40, 3).requires_grad_()
    x = JoinedFeatures([as_features(numbers(40, 20, 0.05)), DenseFeatures(learnt)])
    x.dropout(0.5, stream(0)).linear(torch.ones(23, 1)).sum().backward()
    assert learnt.grad is not None
    assert set(learnt.grad.flatten().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("wrap", [np.asarray, torch.as_tensor, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize(("density", "kind"), [(1.0, DenseFeatures), (0.05, SparseFeatures)])
def test_kind_follows_density_not_container(
    wrap: Callable[[object], object], density: float, kind: type[Features]
) -> None:
    array = numbers(40, 23, density).numpy()
    features = as_features(wrap(array))
    assert type(features) is kind
    assert (features.dense().numpy() == array).all()


def test_other_containers_and_types() -> None:
    assert as_features([[1, 2], [3, 4]]).dense().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert as_features(torch.eye(20, dtype=torch.bool)).dense().equal(torch.eye(20))
    assert as_features(torch.eye(20).to_sparse()).dense().equal(torch.eye(20))
    features = DenseFeatures(torch.ones(2, 2))
    assert as_features(features) is features


def test_read_only_arrays_are_welcome() -> None:
    array = np.ones((2, 2), dtype=np.float32)
    array.flags.writeable = False
    assert as_features(array).dense().equal(torch.ones(2, 2))


def test_repeated_entries_of_a_sparse_matrix_add_up() -> None:
    twice = sp.coo_array((np.ones(2), ([0, 0], [3, 3])), shape=(20, 20))
    assert as_features(twice).dense()[0, 3] == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("size", [2, 40])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_features_must_be_finite(wrap: Callable[[object], object], size: int, bad: float) -> None:
    array = np.eye(size)
    array[0, 1] = bad
    with pytest.raises(InputError, match="finite numbers, but 1 are NaN or infinite"):
        as_features(wrap(array))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones(3), "two dimensions, not 1"),
        (np.ones((2, 2, 2)), "two dimensions, not 3"),
        ([["a", "b"]], "must be numbers: could not convert string to float"),
    ],
)
def test_features_must_be_a_matrix_of_numbers(bad: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_features(bad)


def test_representations() -> None:
    assert repr(as_features(np.ones((2, 3)))) == "DenseFeatures(2, 3)"
    assert repr(joined()) == "JoinedFeatures(40, 23)"


def test_a_large_gradient_is_made_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weights = KINDS["dropped"](), []
    for many in (2**24, 1):
        monkeypatch.setattr(feature_module, "MANY", many)
        weight = numbers(23, 5).requires_grad_()
        (x.linear(weight) * numbers(40, 5)).sum().backward()
        weights.append(weight.grad)
    assert weights[0] is not None and weights[0].equal(weights[1])
