"""Blocks: equal to the whole visible graph with all neighbours, unbiased with some of them."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.base.settings import EncoderConfig, choices
from maskgae.data import Features, Graph, as_features
from maskgae.nn import Adjacency, Encoder, Sampler, blocks
from maskgae.nn.blocks import ALL, transpose_order, visible_degrees

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


@pytest.mark.parametrize("chunk", [2**21, 7])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kind", choices("encoder.kind"))
def test_all_neighbours_give_what_the_whole_graph_gives(
    kind: str, weights: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "CHUNK_ENTRIES", chunk)
    graph, net, x = graph_of(weights), encoder(kind).eval(), dense_features()
    visible, seeds = some_visible(graph), torch.tensor([63, 5, 0, 17, 40])
    whole = net(x, [Adjacency.of(graph, visible)] * 2)[-1]
    cut = Sampler(graph, visible).blocks(seeds, [ALL, ALL])
    torch.testing.assert_close(
        net(x.rows(cut.nodes), cut.adjacencies)[-1], whole[seeds], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("features", ["dense", "sparse", "learnt"])
@pytest.mark.parametrize("kind", choices("encoder.kind"))
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


def test_every_set_of_neighbours_is_as_likely_as_any_other() -> None:
    graph = Graph.from_edges([(0, i) for i in range(1, 7)])
    sampler, counts = Sampler(graph), dict[tuple[int, ...], int]()
    for step in range(3000):
        csr = sampler.blocks(torch.arange(7), [2], stream(0, step)).adjacencies[0].csr
        drawn = tuple(csr.indices[:2].tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 15
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


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
