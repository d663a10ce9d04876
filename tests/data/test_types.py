"""Types of nodes: which pairs may be, and that nothing else is ever drawn or asked."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.negatives import Corrupted, NonEdges
from maskgae.data.splits import split_links
from maskgae.data.types import TypedPairs, Types
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.hard import hard_negatives
from maskgae.evaluation.ranking import full_ranking, left_out_flags
from maskgae.evaluation.rules import default_rules


def two_sides(users: int = 12, items: int = 9, seed: int = 0) -> Graph:
    """Users have even numbers where there are items left, so that types are not in order."""
    random = np.random.default_rng(seed)
    codes = random.permutation(np.repeat([0, 1], [users, items]))
    own, other = np.flatnonzero(codes == 0), np.flatnonzero(codes == 1)
    edges = [(u, v) for u in own for v in other if random.random() < 0.3]
    return Graph.from_edges(np.array(edges).T, users + items).with_types(codes, ("user", "item"))


def three_types() -> Graph:
    """Authors write papers and papers cite papers; venues stand on their own."""
    codes = [0, 0, 1, 1, 1, 2]
    edges = [(0, 2), (1, 3), (2, 3), (3, 4)]
    return Graph.from_edges(edges, 6).with_types(codes, ("author", "paper", "venue"))


@pytest.mark.parametrize("graph", [two_sides(), three_types()], ids=["sides", "types"])
def test_numbers_of_pairs_and_pairs_of_numbers_are_inverse(graph: Graph) -> None:
    assert graph.types is not None
    space = TypedPairs(graph.types)
    pairs = space.pairs(np.arange(space.count))
    assert (space.ranks(pairs) == np.arange(space.count)).all()
    assert (space.ranks(pairs[::-1]) == np.arange(space.count)).all()
    every = torch.tensor(list(combinations(range(graph.num_nodes), 2))).T
    allowed = every[:, graph.types.allow(every)]
    assert {tuple(p) for p in pairs.T.tolist()} == {tuple(p) for p in allowed.T.tolist()}


@pytest.mark.parametrize("graph", [two_sides(), three_types()], ids=["sides", "types"])
def test_non_edges_are_exactly_those_that_could_be_edges(graph: Graph) -> None:
    non_edges = NonEdges(graph)
    found = non_edges.sample_distinct(non_edges.count, stream(0))
    every = torch.tensor(list(combinations(range(graph.num_nodes), 2))).T
    assert graph.types is not None
    wanted = every[:, graph.types.allow(every) & ~graph.contains(every)]
    assert sorted(map(tuple, found.T.tolist())) == sorted(map(tuple, wanted.T.tolist()))


@pytest.mark.parametrize("kind", ["even", "degree", "mixed"])
def test_corrupted_pairs_keep_to_the_types(kind: str) -> None:
    graph = two_sides()
    drawn = Corrupted(graph, kind).sample(graph.pairs, 5, stream(1))
    assert graph.types is not None
    assert graph.types.allow(drawn).all()
    assert not graph.contains(drawn).any()


def test_a_split_of_two_sides_passes_the_audit_and_a_wrong_negative_does_not() -> None:
    graph = two_sides(20, 15)
    split = split_links(graph, 0.1, 0.2, stream(0))
    assert audit_split(graph, split)["negative_types"] == 0
    assert graph.types is not None
    one, other = torch.nonzero(graph.types.codes == 0).squeeze(1)[:2].tolist()
    split.test_negatives[:, 0] = torch.tensor([one, other])
    assert audit_split(graph, split, refuse=False)["negative_types"] == 1


def test_ranking_asks_only_among_the_other_side() -> None:
    graph = Graph.from_edges([(0, 3), (1, 4)], 6).with_types([0, 0, 0, 1, 1, 1], ("a", "b"))
    # The asked partner scores lowest of all nodes, so its rank is the number of candidates.
    rank = full_ranking(
        lambda nodes: -torch.arange(6.0).expand(nodes.numel(), 6),
        torch.tensor([[0], [5]]),
        graph,
        stream(0),
    )
    assert rank.ranks.tolist() == [2, 1]  # from 0 among 4 and 5, from 5 among 0, 1 and 2
    flags = left_out_flags(graph, torch.tensor([[0], [5]]), torch.arange(6))
    assert flags.int().tolist() == [[1, 1, 1, 1, 0, 1]]


def test_hard_negatives_lie_on_the_other_side() -> None:
    graph = two_sides(20, 15)
    pairs = graph.pairs[:, :6]
    found = hard_negatives(graph, graph, pairs, 4, stream(0))
    assert graph.types is not None
    assert graph.types.allow(found).all()
    with pytest.raises(InputError, match="has only"):
        hard_negatives(graph, graph, pairs, 40, stream(0))


def test_rules_of_triangles_are_left_out_where_there_are_none() -> None:
    assert not any("neighbours" in name for name in default_rules(two_sides()))
    assert "common_neighbours" in default_rules(three_types())


def test_the_type_is_an_input_of_the_encoder() -> None:
    graph = three_types()
    assert graph.inputs is not None
    assert graph.inputs.dense().argmax(1).tolist() == [0, 0, 1, 1, 1, 2]
    assert graph.with_features(None).types is graph.types


def test_a_node_without_a_type_is_refused() -> None:
    with pytest.raises(InputError, match="each needs one"):
        Types.of([0, -1], ("a",), torch.tensor([[0], [1]]))
