"""The graph: simple and undirected whatever comes in, and the same when it goes out and back."""

import math
from typing import Any

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.data.pairs import Cleaning

# A triangle 0 1 2 with a tail 2 - 3, and node 4 on its own.
TRIANGLE = [(0, 1), (2, 0), (1, 2), (3, 2)]
PAIRS = [[0, 0, 1, 2], [1, 2, 2, 3]]


@pytest.fixture
def graph() -> Graph:
    split = NodeSplit(torch.tensor([0]), torch.tensor([1]), torch.tensor([2, 3]))
    return Graph.from_edges(
        TRIANGLE, 5, features=np.arange(10).reshape(5, 2), labels=[0, 1, 1, 2, 0], node_split=split
    )


def test_a_literal_graph(graph: Graph) -> None:
    assert graph.pairs.tolist() == PAIRS
    assert graph.keys.tolist() == [1, 2, 7, 13]
    assert graph.degrees.tolist() == [2, 2, 3, 1, 0]
    assert (graph.num_pairs, graph.num_classes) == (4, 3)
    assert repr(graph) == "Graph(nodes=5, pairs=4, features=2 (dense), classes=3)"


def test_structure_holds_both_directions(graph: Graph) -> None:
    csr = graph.structure.csr
    assert csr.row_of_entry().tolist() == [0, 0, 1, 1, 2, 2, 2, 3]
    assert csr.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    assert graph.structure.pair_of_entry.tolist() == [0, 1, 0, 2, 1, 2, 3, 3]
    assert graph.structure.reverse_entry.tolist() == [2, 4, 0, 5, 1, 3, 7, 6]


def test_contains_looks_in_both_directions(graph: Graph) -> None:
    asked = torch.tensor([[0, 1, 3, 0, 4, 2], [1, 0, 2, 3, 4, 2]])
    assert graph.contains(asked).tolist() == [True, True, True, False, False, False]


def test_subgraph_by_mask_and_by_index(graph: Graph) -> None:
    by_mask = graph.subgraph(torch.tensor([False, True, False, True]))
    assert by_mask.pairs.tolist() == [[0, 2], [2, 3]]
    assert graph.subgraph(torch.tensor([3, 1])).pairs.equal(by_mask.pairs)
    assert by_mask.num_nodes == 5 and by_mask.features is graph.features


def test_cleaning_counts() -> None:
    edges = [(0, 1), (0, 1), (1, 0), (2, 2), (1, 2), (3, 3), (3, 3), (2, 3), (2, 3)]
    graph = Graph.from_edges(edges, 6)
    assert graph.cleaning == Cleaning(self_loops=3, duplicates=2, symmetrised=2, isolated=2)
    assert graph.pairs.tolist() == [[0, 1, 2], [1, 2, 3]]


def test_weights_of_merged_edges_add_up() -> None:
    edges = [(2, 1), (0, 1), (1, 0), (0, 0), (0, 1)]
    graph = Graph.from_edges(edges, weights=[7, 1, 2, 50, 4])
    assert graph.weights is not None
    assert graph.weights.tolist() == [7.0, 7.0]
    kept = graph.subgraph(torch.tensor([1]))
    assert kept.weights is not None and kept.weights.tolist() == [7.0]


@pytest.mark.parametrize(
    "edges",
    [
        TRIANGLE,
        np.array(TRIANGLE),
        np.array(TRIANGLE).T,
        torch.tensor(TRIANGLE).T,
        np.array(TRIANGLE, dtype=np.uint8),
        [list(pair) for pair in TRIANGLE],
    ],
)
def test_edges_in_any_container_and_either_shape(edges: Any) -> None:
    assert Graph.from_edges(edges).pairs.tolist() == PAIRS


def test_a_two_by_two_list_is_a_list_of_pairs_and_an_array_is_not() -> None:
    assert Graph.from_edges([(0, 1), (0, 2)]).pairs.tolist() == [[0, 0], [1, 2]]
    for rows in (np.array([(0, 0), (1, 2)]), (np.array([0, 0]), np.array([1, 2]))):
        assert Graph.from_edges(rows).pairs.tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
def test_labels_of_any_type_and_read_only_ones(kind: type) -> None:
    labels = np.array([0, 1, 2], dtype=kind)
    labels.flags.writeable = False
    for form in (labels, labels.tolist(), torch.tensor([0, 1, 2])):
        graph = Graph.from_edges([(0, 1)], 3, labels=form)
        assert graph.labels is not None and graph.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [[0.7, 1.0], [math.nan, 1], ["a", "b"], [-2, 0]])
def test_labels_that_are_no_classes_are_refused(labels: list[Any]) -> None:
    with pytest.raises(InputError, match=r"labels must be whole numbers.*factorize"):
        Graph.from_edges([(0, 1)], labels=labels)


@pytest.mark.parametrize("weight", [1e39, 1e-60, 0, math.inf])
def test_weights_that_32_bits_cannot_hold_are_refused(weight: float) -> None:
    with pytest.raises(InputError, match="positive numbers of 32 bits"):
        Graph.from_edges([(0, 1)], weights=[weight])


@pytest.mark.parametrize("edges", [[], np.empty((2, 0)), torch.empty(0, 2)])
def test_no_edges_at_all(edges: Any) -> None:
    graph = Graph.from_edges(edges, 3)
    assert graph.degrees.tolist() == [0, 0, 0]
    assert graph.cleaning.isolated == 3
    assert not graph.contains(torch.tensor([[0], [1]])).any()


@st.composite
def raw_edges(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[int]]:
    nodes = draw(st.integers(1, 7))
    ids = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(ids, ids), max_size=20))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(edges), max_size=len(edges)))
    return nodes, edges, weights


@given(raw_edges())
@settings(deadline=None)
def test_equals_a_slow_and_obvious_builder(raw: tuple[int, list[Any], list[int]]) -> None:
    nodes, edges, weights = raw
    table: dict[tuple[int, int], int] = {}
    for (u, v), weight in zip(edges, weights, strict=True):
        if u != v:
            pair = (min(u, v), max(u, v))
            table[pair] = table.get(pair, 0) + weight
    graph = Graph.from_edges(edges, nodes, weights=weights)
    assert graph.weights is not None
    assert [tuple(pair) for pair in graph.pairs.T.tolist()] == sorted(table)
    assert graph.weights.tolist() == [table[pair] for pair in sorted(table)]
    proper = [edge for edge in edges if edge[0] != edge[1]]
    one_way = {edge for edge in proper if edge[::-1] not in proper}
    assert graph.cleaning == Cleaning(
        self_loops=len(edges) - len(proper),
        duplicates=len(proper) - len(set(proper)),
        symmetrised=len(one_way),
        isolated=nodes - len({node for pair in table for node in pair}),
    )
    neighbours = [{v for pair in table for v in pair if u in pair and v != u} for u in range(nodes)]
    assert graph.degrees.tolist() == [len(found) for found in neighbours]


def test_pyg_round_trip(graph: Graph) -> None:
    data = graph.to_pyg()
    assert data.is_undirected() and not data.has_self_loops() and data.num_nodes == 5
    back = Graph.from_pyg(data)
    assert back.pairs.equal(graph.pairs) and back.num_nodes == 5
    assert back.features is not None and graph.features is not None
    assert back.features.dense().equal(graph.features.dense())
    assert back.labels is not None and back.labels.tolist() == [0, 1, 1, 2, 0]
    assert back.node_split is not None and back.node_split.test.tolist() == [2, 3]


def test_pyg_data_of_one_direction_and_no_extras() -> None:
    back = Graph.from_pyg(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3))
    assert back.pairs.tolist() == [[0], [1]]
    assert (back.num_nodes, back.features, back.labels) == (3, None, None)


def test_pyg_data_with_a_part_of_a_split_or_several_splits() -> None:
    edges, mask = torch.tensor([[0], [1]]), torch.tensor([True, False])
    some = Data(edge_index=edges, num_nodes=2, train_mask=mask, test_mask=~mask)
    assert Graph.from_pyg(some).node_split is None
    several = dict.fromkeys(("train_mask", "val_mask", "test_mask"), torch.stack([mask, mask], 1))
    assert Graph.from_pyg(Data(edge_index=edges, num_nodes=2, **several)).node_split is None


def test_scipy_round_trip_keeps_weights(graph: Graph) -> None:
    matrix = graph.to_scipy()
    assert (matrix != matrix.T).nnz == 0 and matrix.sum() == 8
    back = Graph.from_scipy(matrix)
    assert back.pairs.equal(graph.pairs) and back.num_nodes == 5 and back.weights is None
    weighted = Graph.from_edges(TRIANGLE, 5, weights=[1.5, 2.5, 3.5, 4.5])
    again = Graph.from_scipy(weighted.to_scipy())
    assert again.weights is not None and weighted.weights is not None
    assert again.weights.equal(weighted.weights)
    assert str(again.cleaning) == str(back.cleaning)


def test_scipy_matrices_of_one_direction_and_with_a_diagonal() -> None:
    directed = Graph.from_scipy(sp.coo_array(([2.0, 3.0], ([0, 1], [1, 0])), shape=(2, 2)))
    assert directed.weights is not None and directed.weights.tolist() == [5.0]
    looped = Graph.from_scipy(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert looped.cleaning == Cleaning(self_loops=1, isolated=1)
    assert looped.weights is None


def test_networkx_round_trip(graph: Graph) -> None:
    theirs = graph.to_networkx()
    assert dict(theirs.degree) == {0: 2, 1: 2, 2: 3, 3: 1, 4: 0}
    assert Graph.from_networkx(theirs).pairs.equal(graph.pairs)
    named = networkx.relabel_nodes(theirs, dict(enumerate("abcde")))
    assert Graph.from_networkx(named, name="letters").name == "letters"
    assert Graph.from_networkx(networkx.empty_graph(2)).num_nodes == 2
    star = networkx.star_graph(2)  # two edges lie in a square, which has no longer side
    assert Graph.from_networkx(star).pairs.T.tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": [(0, 5)], "num_nodes": 5}, "node ids must lie in 0 to 4, but one is 5"),
        ({"edges": [(0, -1)]}, "node ids must lie in 0 to 0, but one is -1"),
        ({"edges": [(0.0, 1.5)]}, "whole numbers from 0 on, not float64"),
        ({"edges": [(0, 1, 2)]}, r"shape \[2, E\] or \[E, 2\], not \[1, 3\]"),
        ({"edges": [0, 1]}, r"shape \[2, E\] or \[E, 2\], not \[2\]"),
        ({"edges": [(0, 1), (1, 2, 3)]}, "not rows of unlike length"),
        ({"edges": [(0, 1)], "features": np.ones((2, 2)), "num_nodes": 3}, "3 nodes, .* 2 rows"),
        ({"edges": [(0, 4)], "features": np.ones((2, 2))}, "0 to 1, but one is 4"),
        ({"edges": [(0, 1)], "features": [[1.0], [np.nan]]}, "1 are NaN or infinite"),
        ({"edges": [(0, 1)], "labels": [0, 1, 2]}, "2 nodes, the labels 3 values"),
        ({"edges": [(0, 1)], "weights": [-2.0]}, "1 are not, the first of them -2.0"),
        ({"edges": [(0, 1)], "weights": [np.nan]}, "the first of them nan"),
        ({"edges": [(0, 1)], "weights": [1.0, 2.0]}, "1 edges and 2 weights"),
    ],
)
def test_errors_say_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_edges(**arguments)


def test_an_adjacency_matrix_must_be_square() -> None:
    with pytest.raises(InputError, match=r"square, not \(2, 3\)"):
        Graph.from_scipy(sp.csr_array((2, 3)))


def test_weights_survive_networkx_and_pyg() -> None:
    graph = Graph.from_networkx(networkx.Graph([(0, 1, {"weight": 3}), (1, 2)]))
    assert graph.weights is not None
    assert graph.weights.tolist() == [3, 1]
    for again in (Graph.from_pyg(graph.to_pyg()), Graph.from_networkx(graph.to_networkx())):
        assert again.weights is not None
        assert again.weights.tolist() == [3, 1]
    one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_weight=torch.tensor([3.0, 1.0]))
    one_way.num_nodes = 3
    weights = Graph.from_pyg(one_way).weights
    assert weights is not None
    assert weights.tolist() == [3, 1]
