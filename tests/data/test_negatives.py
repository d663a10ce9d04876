"""Non-edges are numbered exactly, drawn uniformly, and never edges."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.negatives import Corrupted, NonEdges
from maskgae.data.pairs import pair_ranks, rank_pairs


def all_pairs(num_nodes: int) -> np.ndarray:
    return np.stack(np.triu_indices(num_nodes, 1))


@st.composite
def incomplete_graphs(draw: st.DrawFn) -> Graph:
    num_nodes = draw(st.integers(2, 9))
    pairs = all_pairs(num_nodes)
    total = pairs.shape[1]
    kept = draw(st.sets(st.integers(0, total - 1), max_size=total - 1))
    return Graph.from_edges(pairs[:, sorted(kept)], num_nodes)


def complement(graph: Graph) -> set[tuple[int, int]]:
    everything = {(int(u), int(v)) for u, v in all_pairs(graph.num_nodes).T}
    return everything - {(u, v) for u, v in graph.pairs.T.tolist()}


@pytest.mark.parametrize("num_nodes", [2, 3, 4, 7, 50])
def test_ranks_number_the_upper_triangle_row_by_row(num_nodes: int) -> None:
    pairs = all_pairs(num_nodes)
    ranks = np.arange(pairs.shape[1])
    assert (pair_ranks(pairs, num_nodes) == ranks).all()
    assert (rank_pairs(ranks, num_nodes) == pairs).all()


@pytest.mark.parametrize("num_nodes", [10**4, 10**6, 10**8, 10**9])
def test_ranks_are_exact_at_both_ends_of_every_row_of_large_graphs(num_nodes: int) -> None:
    rows = np.concatenate(
        [
            np.arange(1000),
            np.random.default_rng(0).integers(0, num_nodes - 1, 100_000),
            np.arange(num_nodes - 1001, num_nodes - 1),
        ]
    )
    first = np.stack([rows, rows + 1])
    last = np.stack([rows, np.full_like(rows, num_nodes - 1)])
    for pairs in (first, last):
        assert (rank_pairs(pair_ranks(pairs, num_nodes), num_nodes) == pairs).all()


@settings(max_examples=60, deadline=None)
@given(incomplete_graphs(), st.integers(0, 40), st.integers(0, 1000))
def test_draws_are_exactly_as_many_non_edges(graph: Graph, count: int, seed: int) -> None:
    non_edges = NonEdges(graph)
    pairs = non_edges.sample(count, stream(seed, "negatives"))
    assert pairs.shape == (2, count) and pairs.dtype == torch.long
    assert {(u, v) for u, v in pairs.T.tolist()} <= complement(graph)
    keys = pairs[0] * graph.num_nodes + pairs[1]
    assert (keys.diff() >= 0).all()


@settings(max_examples=60, deadline=None)
@given(incomplete_graphs(), st.floats(0, 1), st.integers(0, 1000))
def test_distinct_draws_do_not_repeat(graph: Graph, share: float, seed: int) -> None:
    non_edges = NonEdges(graph)
    assert non_edges.count == len(complement(graph))
    count = round(share * non_edges.count)
    drawn = non_edges.sample_distinct(count, stream(seed)).T.tolist()
    assert len(drawn) == count == len({(u, v) for u, v in drawn})
    assert {(u, v) for u, v in drawn} <= complement(graph)


def test_all_non_edges_of_a_literal_graph() -> None:
    # 0-1, 0-3, 2-3, 3-4; the complement has six pairs.
    graph = Graph.from_edges([(1, 0), (3, 0), (2, 3), (4, 3)])
    drawn = NonEdges(graph).sample_distinct(6, stream(0))
    assert drawn.T.tolist() == [[0, 2], [0, 4], [1, 2], [1, 3], [1, 4], [2, 4]]


@pytest.mark.parametrize("distinct", [False, True])
def test_every_non_edge_is_equally_likely(distinct: bool) -> None:
    graph = Graph.from_edges([(0, 1), (0, 4), (1, 2), (3, 4), (2, 5), (4, 5)], num_nodes=7)
    non_edges = NonEdges(graph)  # 15 of them
    draw = non_edges.sample_distinct if distinct else non_edges.sample
    drawn = [draw(5, stream(0, step)) for step in range(5000)]
    ranks = pair_ranks(torch.cat(drawn, 1).numpy(), 7)
    counts = np.unique(ranks, return_counts=True)[1]
    assert counts.size == 15
    assert chisquare(counts).pvalue > 1e-4


def test_a_graph_without_edges_has_all_pairs_as_negatives() -> None:
    graph = Graph.from_edges(np.empty((2, 0), dtype=np.int64), num_nodes=3)
    drawn = NonEdges(graph).sample_distinct(3, stream(0))
    assert drawn.T.tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("num_nodes", [1, 2, 5])
def test_a_complete_graph_has_no_negatives(num_nodes: int) -> None:
    graph = Graph.from_edges(all_pairs(num_nodes), num_nodes, name="K")
    with pytest.raises(InputError, match=r"K has no non-edges to serve as negative samples"):
        NonEdges(graph)


def test_more_distinct_negatives_than_there_are() -> None:
    graph = Graph.from_edges([(0, 1), (1, 2)])
    with pytest.raises(InputError, match=r"2 different negatives .* only 1 non-edges"):
        NonEdges(graph).sample_distinct(2, stream(0))


def test_same_stream_same_draw_and_global_state_untouched() -> None:
    non_edges = NonEdges(Graph.from_edges([(0, 1), (1, 2)], num_nodes=100))
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    for draw in (non_edges.sample, non_edges.sample_distinct):
        first, again = (draw(50, stream(1, "negatives", 2)) for _ in range(2))
        assert torch.equal(first, again)
        assert not torch.equal(first, draw(50, stream(1, "negatives", 3)))
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002
    assert before[2] == random.getstate()


def test_repr() -> None:
    assert repr(NonEdges(Graph.from_edges([(0, 1), (1, 2)]))) == "NonEdges(1)"


KINDS = ("even", "degree", "mixed")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(graph=incomplete_graphs(), count=st.integers(1, 4), seed=st.integers(0, 1000))
def test_corrupted_pairs_are_as_many_non_edges(
    kind: str, graph: Graph, count: int, seed: int
) -> None:
    drawn = Corrupted(graph, kind).sample(graph.pairs, count, stream(seed))
    assert drawn.shape == (2, graph.num_pairs * 2 * count)
    assert not graph.contains(drawn).any() and bool((drawn[0] != drawn[1]).all())
    assert torch.equal(drawn, Corrupted(graph, kind).sample(graph.pairs, count, stream(seed)))


def corrupted_ends(graph: Graph, kind: str) -> torch.Tensor:
    """How often each node replaces an end of (0, 1), in 2 x 2,000 draws."""
    target = torch.tensor([[0], [1]])
    kept, other = Corrupted(graph, kind).sample(target, 2000, stream(0))
    assert kept.tolist() == [0] * 2000 + [1] * 2000
    return torch.bincount(other, minlength=graph.num_nodes).double() / 4000


def test_the_other_end_is_drawn_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskgae.data.negatives.DRAWS", 20)
    # Only 0-1 touches the target; 2 has four neighbours, 3 to 6 one or two each, 7 none.
    graph = Graph.from_edges([(0, 1), (2, 3), (2, 4), (2, 5), (2, 6), (3, 4)], num_nodes=8)
    even, degree, mixed = (corrupted_ends(graph, kind) for kind in KINDS)
    assert even[2:].tolist() == pytest.approx([1 / 6] * 6, abs=0.03)
    expected = torch.tensor([4, 2, 2, 1, 1, 0]) / 10
    assert degree[2:].tolist() == pytest.approx(expected.tolist(), abs=0.03)
    half = (expected + 1 / 6) / 2
    assert mixed[2:].tolist() == pytest.approx(half.tolist(), abs=0.03)


def test_an_end_that_knows_all_others_gives_way_to_any_non_edge() -> None:
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    drawn = Corrupted(star, "even").sample(torch.tensor([[0], [1]]), 50, stream(0))
    assert drawn.shape == (2, 100) and not star.contains(drawn).any()
    assert bool((drawn[0, 50:] == 1).any())
