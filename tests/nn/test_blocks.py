"""Blocks: equal to the whole visible graph with all neighbours, unbiased with some of them."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from maskgae.base.rng import hash_uniform, stream
from maskgae.base.settings import EncoderConfig
from maskgae.data import Features, Graph, as_features
from maskgae.nn import Adjacency, Encoder, Sampler, blocks
from maskgae.nn.blocks import ALL, transpose_order, visible_degrees
from maskgae.nn.convs import CONVS

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def graph_of(weights: bool = False, features: Any = None) -> Graph:
    """Heavy-tailed, with nodes that have no neighbour at all."""
    rng = np.random.default_rng(0)
    edges = (rng.random((2, 300)) ** 2 * 60).astype(int)
    return Graph.from_edges(
        edges, 64, features=features, weights=rng.random(300) + 0.1 if weights else None
    )


def some_visible(graph: Graph) -> Tensor:
    return torch.from_numpy(np.random.default_rng(1).random(graph.num_pairs) < 0.7)


def encoder(kind: str, **values: Any) -> Encoder:
    config = EncoderConfig(kind=kind, layers=2, hidden=8, dim=4, heads=2, **values)
    net = Encoder(6, config, num_nodes=64)
    net.reset_parameters(stream(0).torch())
    for value in net.buffers():  # running statistics that are not the initial ones
        if value.is_floating_point():
            value.uniform_(0.5, 2, generator=stream(1).torch())
    return net


def dense_features() -> Features:
    return as_features(np.random.default_rng(2).normal(size=(64, 6)))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kind", tuple(CONVS))
def test_all_neighbours_give_what_the_whole_graph_gives(kind: str, weights: bool) -> None:
    graph, net, x = graph_of(weights), encoder(kind).eval(), dense_features()
    visible, seeds = some_visible(graph), torch.tensor([63, 5, 0, 17, 40])
    whole = net(x, [Adjacency.of(graph, visible)] * 2)[-1]
    cut = Sampler(graph, visible).blocks(seeds, [ALL, ALL])
    torch.testing.assert_close(
        net(x.rows(cut.nodes), cut.adjacencies)[-1], whole[seeds], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("features", ["dense", "sparse", "learnt"])
@pytest.mark.parametrize("kind", tuple(CONVS))
def test_gradients_equal_those_of_the_whole_graph(kind: str, features: str) -> None:
    x = dense_features()
    if features == "sparse":
        flags = np.random.default_rng(3).random((64, 6)) < 0.1
        x = as_features(x.dense().numpy() * flags)
    width = 3 if features == "learnt" else 0
    graph = graph_of()
    net = encoder(kind, norm="layer", dropout=0.0, node_embedding=width)
    visible, seeds = some_visible(graph), torch.arange(0, 64, 9)
    goal = torch.randn(seeds.numel(), 4, generator=stream(4).torch())

    def gradients(out: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad((out * goal).sum(), list(net.parameters())))

    full = net(net.input(x), [Adjacency.of(graph, visible)] * 2, stream(5))[-1][seeds]
    cut = Sampler(graph, visible).blocks(seeds, [ALL, ALL])
    part = net(net.input(x.rows(cut.nodes), cut.nodes), cut.adjacencies, stream(5))[-1]
    for one, other in zip(gradients(full), gradients(part), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_a_literal_block() -> None:
    # A star around 0 and a tail 3 - 4 - 5; the pair (0, 2) is hidden.
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3), (3, 4), (4, 5)])
    sampler = Sampler(graph, torch.tensor([True, False, True, True, True]))
    assert sampler.degrees.tolist() == [2, 1, 0, 2, 2, 1]
    cut = sampler.blocks(torch.tensor([3, 2]), [ALL, ALL])
    assert cut.nodes.tolist() == [3, 2, 0, 4, 1, 5]
    first, last = cut.adjacencies
    assert (last.csr.indptr.tolist(), last.csr.indices.tolist()) == ([0, 2, 2], [2, 3])
    assert first.csr.indptr.tolist() == [0, 2, 2, 4, 6]
    assert first.csr.indices.tolist() == [2, 3, 4, 0, 0, 5]
    assert first.degrees.tolist() == [2, 0, 2, 2, 1, 1]


def test_draws_are_distinct_visible_and_as_many_as_there_are() -> None:
    graph = graph_of()
    visible = some_visible(graph)
    seen = Adjacency.of(graph, visible).csr
    cut = Sampler(graph, visible).blocks(torch.arange(64), [3], stream(0))
    csr = cut.adjacencies[0].csr
    assert csr.counts().equal(seen.counts().clamp(max=3))
    assert cut.nodes.equal(torch.arange(64))
    for node in range(64):
        drawn = csr.indices[csr.indptr[node] : csr.indptr[node + 1]].tolist()
        row = seen.indices[seen.indptr[node] : seen.indptr[node + 1]].tolist()
        assert len(set(drawn)) == len(drawn) and set(drawn) <= set(row)


@pytest.mark.parametrize("fanout", [2, 3, 5])  # drawn from the row, and walked through
@pytest.mark.parametrize("hidden", [0, 4])
def test_every_set_of_neighbours_is_as_likely_as_any_other(fanout: int, hidden: int) -> None:
    graph = Graph.from_edges([(0, i) for i in range(1, 7 + hidden)])
    visible = torch.arange(6 + hidden) % 5 > 0 if hidden else torch.ones(6, dtype=torch.bool)
    seen = int(visible.sum())
    sampler, counts = Sampler(graph, visible), dict[tuple[int, ...], int]()
    for step in range(3000):
        cut = sampler.blocks(torch.tensor([0]), [fanout], stream(0, step))
        drawn = tuple(cut.nodes[cut.adjacencies[0].csr.indices].tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == math.comb(seen, fanout)
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_draws_of_a_node_in_two_steps_and_hops_are_independent() -> None:
    graph = Graph.from_edges([(i, j) for i in (0, 1) for j in range(2, 8)])
    sampler, counts = Sampler(graph), np.zeros((6, 6))
    for step in range(3600):
        cut = sampler.blocks(torch.tensor([0, 1]), [1], stream(0, step))
        one, other = (cut.nodes[cut.adjacencies[0].csr.indices] - 2).tolist()
        counts[one, other] += 1
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_the_hash_of_the_loops_is_that_of_the_streams() -> None:
    from maskgae.kernels.blocks import uniform

    keys, address = torch.tensor([0, 1, 2**40, 2**62]), stream(3, "hash")
    expected = hash_uniform(keys, address).double() * 2.0**-53
    assert [uniform(key, address.key) for key in keys.tolist()] == expected.tolist()


def test_threads_draw_what_one_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges(np.random.default_rng(0).integers(3000, size=(2, 20_000)))
    sampler, seeds = Sampler(graph, some_visible(graph)), torch.arange(3000)
    one = sampler.blocks(seeds, [3, 2], stream(0))
    monkeypatch.setattr("maskgae.kernels.compiled.torch.get_num_threads", lambda: 2)
    two = sampler.blocks(seeds, [3, 2], stream(0))
    assert one.nodes.equal(two.nodes)
    for a, b in zip(one.adjacencies, two.adjacencies, strict=True):
        assert a.csr.indices.equal(b.csr.indices)


@pytest.mark.parametrize("few", [True, False])
def test_nodes_are_numbered_as_sorting_would(few: bool) -> None:
    from maskgae.kernels.blocks import number_nodes

    rng = np.random.default_rng(0)
    place = np.full(100_000 if few else 300, -1, dtype=np.int32)
    nodes, columns = rng.permutation(300)[:20], rng.integers(300, size=200)
    given = columns.copy()
    found = number_nodes(place, nodes, columns)
    assert (place == -1).all() and (found[columns] == given).all()
    rest = np.setdiff1d(given, nodes)
    assert found.tolist() == [*nodes, *rest]


def test_the_draw_of_a_node_does_not_depend_on_who_asks_beside_it() -> None:
    sampler = Sampler(graph_of())
    alone, among = (
        sampler.blocks(nodes, [2], stream(0, "step"))
        for nodes in (torch.tensor([7]), torch.arange(3, 20))
    )
    mine = alone.nodes[alone.adjacencies[0].csr.indices]
    csr = among.adjacencies[0].csr
    assert mine.equal(among.nodes[csr.indices[csr.indptr[4] : csr.indptr[5]]])


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("product", ["sum", "mean", "normalized"])
def test_products_keep_their_expectation(product: str, weights: bool) -> None:
    if weights and product == "mean":
        pytest.skip("a ratio of two unbiased sums is biased")
    graph, x = graph_of(weights), dense_features().dense()
    expected = getattr(Adjacency.of(graph), product)(x)
    sampler = Sampler(graph)

    def drawn(step: int) -> Tensor:
        cut = sampler.blocks(torch.arange(64), [4], stream(0, step))
        out: Tensor = getattr(cut.adjacencies[0], product)(x)
        return out

    draws = torch.stack([drawn(step) for step in range(400)])
    error = draws.std(0) / len(draws) ** 0.5
    off = (draws.mean(0) - expected).abs() / (error + 1e-6)
    assert off.max() < 5


def test_attention_counts_a_drawn_neighbour_for_those_it_stands_for() -> None:
    # All neighbours alike: whatever is drawn, the output is that of the whole graph.
    graph = Graph.from_edges([(0, i) for i in range(1, 9)])
    x = as_features(np.array([[1.0, 0, 0, 0, 0, 0]] + [[0, 1.0, 0, 0, 0, 0]] * 8))
    net = encoder("gat").eval()
    whole = net.layer(0, x, Adjacency.of(graph))[0]
    cut = Sampler(graph).blocks(torch.tensor([0]), [3], stream(0))
    torch.testing.assert_close(net.layer(0, x.rows(cut.nodes), *cut.adjacencies)[0], whole)


def test_seeds_are_the_ends_of_pairs() -> None:
    sampler = Sampler(graph_of())
    pairs = torch.tensor([[5, 9, 5], [9, 2, 30]])
    for _ in range(2):  # the scratch is clean again
        seeds, local = sampler.seeds(pairs)
        assert seeds.tolist() == [2, 5, 9, 30]
        assert seeds[local].equal(pairs)


def test_orders_and_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CHUNK_PAIRS", 11)
    for weights in (False, True):
        graph = graph_of(weights)
        visible = some_visible(graph)
        whole = Adjacency.of(graph, visible)
        torch.testing.assert_close(visible_degrees(graph, visible), whole.degrees)
        torch.testing.assert_close(visible_degrees(graph), Adjacency.of(graph).degrees)
        assert transpose_order(whole.csr).equal(whole.csr.transpose_order())
