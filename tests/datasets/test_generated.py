"""Generated graphs: exact counts, the asked homophily, heavy tails, one address one graph."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import DenseFeatures, SparseFeatures
from maskgae.datasets.generated import Blueprint, blueprint, draw_pairs, generate


def share_inside(graph):
    u, v = graph.pairs
    return float((graph.labels[u] == graph.labels[v]).double().mean())


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_pairs_are_exact_distinct_and_sorted(data):
    nodes = data.draw(st.integers(1, 40))
    most = nodes * (nodes - 1) // 2
    graph = generate(
        nodes,
        data.draw(st.integers(0, most)),
        num_features=0,
        communities=data.draw(st.integers(1, 5)),
        homophily=data.draw(st.sampled_from([0.0, 0.5, 1.0])),
        seed=data.draw(st.integers(0, 5)),
    )
    u, v = graph.pairs
    assert (u < v).all() and (u >= 0).all() and (v < nodes).all()
    assert (graph.keys.diff() > 0).all()
    assert graph.cleaning.isolated == int((graph.degrees == 0).sum())


def test_count_is_exact():
    assert generate(3000, 20000, num_features=0).num_pairs == 20000
    assert generate(20, 190, num_features=0).degrees.tolist() == [19] * 20


def test_communities_too_small_for_the_pairs_are_filled_up():
    # 50 communities of about 4 nodes have some 300 pairs inside; the rest must come from between.
    graph = generate(200, 2000, homophily=1.0, communities=50, num_features=0)
    assert graph.num_pairs == 2000
    inside = share_inside(graph) * 2000
    sizes = torch.bincount(graph.labels)
    assert inside >= 0.9 * int((sizes * (sizes - 1) // 2).sum())


@pytest.mark.parametrize(("homophily", "expected"), [(0.0, 0.1), (0.5, 0.55), (0.8, 0.82)])
def test_homophily(homophily, expected):
    # h + (1 - h) / C of the pairs join equals, for C = 10.
    graph = generate(20000, 60000, communities=10, homophily=homophily, num_features=0)
    assert share_inside(graph) == pytest.approx(expected, abs=0.03)


def test_degrees_have_a_heavy_tail():
    graph = generate(50000, 250000, num_features=0, exponent=2.5)
    degrees = graph.degrees.double()
    assert float(degrees.mean()) == 10.0
    assert int(degrees.max()) > 500
    assert float(degrees.median()) < 8
    # A power law's tail: P(degree > 4 t) / P(degree > t) = 4 ** (1 - 2.5) = 1 / 8.
    tail = (degrees > 200).double().mean() / (degrees > 50).double().mean()
    assert float(tail) == pytest.approx(1 / 8, rel=0.35)
    light = generate(50000, 250000, num_features=0, exponent=6.0)
    assert int(light.degrees.max()) < 200


def test_dense_features_are_centre_plus_noise():
    graph = generate(20000, 10, num_features=32, communities=4, signal=0.5, seed=3)
    assert isinstance(graph.features, DenseFeatures)
    x = graph.features.tensor
    means = torch.stack([x[graph.labels == c].mean(0) for c in range(4)])
    residual = x - means[graph.labels]
    assert float(residual.std()) == pytest.approx(1.0, abs=0.01)
    assert float(means.std()) == pytest.approx(0.5, rel=0.25)
    plain = generate(20000, 10, num_features=32, communities=4, signal=0, seed=3)
    means = torch.stack([plain.features.tensor[plain.labels == c].mean(0) for c in range(4)])
    assert float(means.abs().max()) < 0.06


def test_sparse_features_are_bags_of_words():
    graph = generate(5000, 10, num_features=1000, words=20, communities=2, signal=0.5)
    assert isinstance(graph.features, SparseFeatures)
    assert graph.features.by_row.values.unique().tolist() == [1.0]
    counts = graph.features.by_row.counts()
    assert int(counts.max()) <= 20 and int(counts.min()) >= 1
    x = graph.features.dense()
    used = torch.stack([x[graph.labels == c].mean(0) for c in range(2)])
    # The common order's first word is frequent in both, each community has one of its own.
    assert float(used[:, 0].min()) > 0.3
    assert used[0, 1:].argmax() != used[1, 1:].argmax()


def test_same_address_same_graph():
    a = generate(500, 2000, seed=1)
    b = generate(500, 2000, seed=stream(1, "generate"))
    assert torch.equal(a.pairs, b.pairs)
    assert torch.equal(a.labels, b.labels)
    assert torch.equal(a.features.tensor, b.features.tensor)
    assert not torch.equal(a.pairs, generate(500, 2000, seed=2).pairs)


def test_global_random_state_is_untouched():
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    generate(100, 200)
    assert torch.equal(torch_before, torch.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002


def test_pick_follows_the_mass():
    # Three nodes of mass 1, 2 and 1; the inner order is the outer one.
    plan = Blueprint(np.arange(3), np.array([0, 3]), np.array([0.0, 1, 3, 4]), 0.0, stream(0))
    at = np.array([0.0, 0.99, 1.0, 2.99, 3.0, 3.99, 4.0])
    assert plan._pick(at).tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_chunks_stand_on_their_own():
    plan = blueprint(1000, 5000, 5, 0.8, 2.5, stream(0))
    third = plan.chunk(2, 100)
    assert np.array_equal(third, plan.chunk(2, 100))
    assert not np.array_equal(third, plan.chunk(3, 100))
    assert draw_pairs(plan, 5000).size == 5000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_nodes": 0, "num_pairs": 0}, "at least one node, not 0"),
        ({"num_pairs": 46}, "10 nodes have from 0 to 45 pairs, not 46: ask for fewer"),
        ({"num_pairs": -1}, "not -1"),
        ({"homophily": 1.5}, "homophily must lie in 0 to 1, not 1.5"),
        ({"exponent": 2.0}, "exponent must be larger than 2, not 2.0"),
        ({"communities": 0}, "communities must be 1 or more, not 0"),
        ({"words": -1}, "words must be 0 or more, not -1"),
    ],
)
def test_refusals(wrong, message):
    with pytest.raises(InputError, match=message):
        generate(**{"num_nodes": 10, "num_pairs": 20, **wrong})
