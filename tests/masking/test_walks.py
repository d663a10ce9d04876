"""Walks take real edges, uniformly or with node2vec's bias."""

from collections.abc import Callable

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from maskgae.base.rng import Stream, stream
from maskgae.data import Graph
from maskgae.masking import biased_walks, random_walks

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

# A triangle 0 1 2, a tail 2 - 3 - 4, and node 5 on its own.
GRAPH = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], 6)

Walk = Callable[[Graph, Tensor, int, Stream], Tensor]
WALKS: dict[str, Walk] = {
    "simple": random_walks,
    "returning": lambda g, s, n, r: biased_walks(g, s, n, 0.25, 4.0, r),
    "exploring": lambda g, s, n, r: biased_walks(g, s, n, 4.0, 0.25, r),
}


@pytest.fixture(params=WALKS)
def walk(request: pytest.FixtureRequest) -> Walk:
    return WALKS[request.param]


def visited(graph: Graph, starts: Tensor, entries: Tensor) -> Tensor:
    """The nodes of each walk, ``[length + 1, W]``; a walk without a step stays."""
    nodes = [starts]
    for step in entries:
        nodes.append(torch.where(step >= 0, graph.structure.csr.indices[step], nodes[-1]))
    return torch.stack(nodes)


def test_every_step_takes_an_edge_of_the_node_it_stands_on(walk: Walk) -> None:
    starts = torch.arange(5).repeat(200)
    entries = walk(GRAPH, starts, 6, stream(0))
    assert entries.shape == (6, 1000)
    nodes = visited(GRAPH, starts, entries)
    assert GRAPH.structure.csr.row_of_entry()[entries].equal(nodes[:-1])
    assert GRAPH.contains(torch.stack([nodes[:-1].flatten(), nodes[1:].flatten()])).all()


def test_a_walk_from_an_isolated_node_goes_nowhere(walk: Walk) -> None:
    entries = walk(GRAPH, torch.tensor([5, 0, 5]), 3, stream(0))
    assert (entries[:, [0, 2]] == -1).all()
    assert (entries[:, 1] >= 0).all()


def test_no_roots_no_walks(walk: Walk) -> None:
    assert walk(GRAPH, torch.empty(0, dtype=torch.long), 3, stream(0)).shape == (3, 0)


def test_the_stream_decides(walk: Walk) -> None:
    starts = torch.arange(5).repeat(20)
    once, again, other = (walk(GRAPH, starts, 3, stream(0, e)) for e in (1, 1, 2))
    assert once.equal(again)
    assert not once.equal(other)


def test_the_starts_are_left_alone(walk: Walk) -> None:
    starts = torch.zeros(10, dtype=torch.long)
    walk(GRAPH, starts, 3, stream(0))
    assert starts.sum() == 0


@pytest.mark.parametrize(
    "unbiased", [random_walks, lambda g, s, n, r: biased_walks(g, s, n, 1, 1, r)]
)
def test_unbiased_steps_are_uniform_over_neighbours(unbiased: Walk) -> None:
    starts = torch.full((30_000,), 2)
    nodes = visited(GRAPH, starts, unbiased(GRAPH, starts, 2, stream(0)))
    counts = torch.bincount(nodes[1], minlength=6)
    assert counts[[2, 4, 5]].sum() == 0
    assert chisquare(counts[[0, 1, 3]].numpy()).pvalue > 1e-4
    second = torch.bincount(nodes[2][nodes[1] == 0], minlength=6)
    assert chisquare(second[[1, 2]].numpy()).pvalue > 1e-4


def second_steps(p: float, q: float) -> Tensor:
    """Where the second step goes after 1 -> 2: back to 1, to their neighbour 0, or on to 3."""
    starts = torch.ones(40_000, dtype=torch.long)
    nodes = visited(GRAPH, starts, biased_walks(GRAPH, starts, 2, p, q, stream(0)))
    return torch.bincount(nodes[2][nodes[1] == 2], minlength=6)


@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.25), (0.5, 1.0), (2.0, 2.0)])
def test_biased_steps_have_node2vecs_weights(p: float, q: float) -> None:
    counts = second_steps(p, q)
    weights = torch.tensor([1.0, 1 / p, 1 / q], dtype=torch.float64)  # to 0, 1, 3
    found = counts[[0, 1, 3]]
    assert int(found.sum()) == int(counts.sum())
    expected = weights / weights.sum() * found.sum()
    assert chisquare(found.numpy(), expected.numpy()).pvalue > 1e-4


def test_a_huge_return_bias_always_returns() -> None:
    counts = second_steps(1e-9, 1.0)
    assert counts[1] == counts.sum()


def test_a_tiny_return_bias_returns_from_dead_ends_only() -> None:
    assert second_steps(1e9, 1.0)[1] == 0
    starts = torch.full((500,), 3)
    nodes = visited(GRAPH, starts, biased_walks(GRAPH, starts, 2, 1e9, 1.0, stream(0)))
    assert (nodes[2][nodes[1] == 4] == 3).all()
