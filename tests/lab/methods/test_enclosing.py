"""Enclosing subgraphs against a search pair by pair."""

from __future__ import annotations

import networkx
import pytest
import torch

from maskgae.datasets.generated import generate
from maskgae.lab.methods.enclosing import Enclosing, enclosing_subgraphs

GRAPH = generate(40, 90, num_features=2, communities=2, seed=1)
PAIRS = torch.cat([GRAPH.pairs[:, ::7], torch.tensor([[0, 5, 9], [17, 3, 30]])], dim=1)


def plain(x: int, y: int, hops: int) -> tuple[set[int], set[tuple[int, int]], dict[int, int]]:
    """Nodes, edges in both directions and labels of one enclosing subgraph."""
    whole = GRAPH.to_networkx()
    nodes = {
        node
        for end in (x, y)
        for node in networkx.single_source_shortest_path_length(whole, end, cutoff=hops)
    }
    part = networkx.Graph(whole.subgraph(nodes))
    part.remove_edges_from([(x, y)])
    labels = {}
    for node in nodes:
        distances = []
        for end, away in ((x, y), (y, x)):
            rest = part.subgraph(nodes - {away})
            reach = networkx.single_source_shortest_path_length(rest, end)
            distances.append(reach.get(node))
        if node in (x, y):
            labels[node] = 1
        elif None in distances:
            labels[node] = 0
        else:
            total = sum(distances)
            half, odd = divmod(total, 2)
            labels[node] = 1 + min(distances) + half * (half + odd - 1)
    edges = {(u, v) for u, v in part.edges} | {(v, u) for u, v in part.edges}
    return nodes, edges, labels


def check(found: Enclosing, place: int, x: int, y: int, hops: int) -> None:
    one = found.select(torch.tensor([place]))
    nodes, edges, labels = plain(x, y, hops)
    assert set(one.nodes.tolist()) == nodes and one.nodes.numel() == len(nodes)
    row, column = one.nodes[one.csr.row_of_entry()], one.nodes[one.csr.indices]
    assert sorted(zip(row.tolist(), column.tolist(), strict=True)) == sorted(edges)
    assert dict(zip(one.nodes.tolist(), one.labels.tolist(), strict=True)) == labels


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_subgraphs_are_those_of_a_search_pair_by_pair(hops: int) -> None:
    found = enclosing_subgraphs(GRAPH, PAIRS, hops)
    assert found.num_pairs == PAIRS.shape[1]
    for place, (x, y) in enumerate(PAIRS.T.tolist()):
        check(found, place, x, y, hops)


def test_a_node_with_itself_has_its_surroundings() -> None:
    """Rankings among all nodes ask for such pairs too, and leave them out afterwards."""
    nodes = torch.arange(GRAPH.num_nodes)
    found = enclosing_subgraphs(GRAPH, torch.stack([nodes, nodes]), 2)
    whole = GRAPH.to_networkx()
    for node in nodes.tolist():
        one = found.select(torch.tensor([node]))
        around = networkx.single_source_shortest_path_length(whole, node, cutoff=2)
        assert sorted(around) == one.nodes.tolist()
        assert one.nodes[one.labels == 1].tolist() == [node] and one.labels.sum() == 1


def test_a_selection_is_the_union_of_its_subgraphs() -> None:
    found = enclosing_subgraphs(GRAPH, PAIRS, 2)
    order = torch.tensor([5, 0, 3])
    part = found.select(order)
    again = enclosing_subgraphs(GRAPH, PAIRS[:, order], 2)
    for one, other in (
        (part.offsets, again.offsets),
        (part.nodes, again.nodes),
        (part.labels, again.labels),
        (part.csr.indptr, again.csr.indptr),
        (part.csr.indices, again.csr.indices),
    ):
        assert torch.equal(one, other)


def test_a_cap_bounds_what_each_hop_adds() -> None:
    full, capped = (enclosing_subgraphs(GRAPH, PAIRS, 2, most) for most in (0, 3))
    assert capped.sizes.max() <= 2 + 2 * 3 < full.sizes.max()
    alone = enclosing_subgraphs(GRAPH, PAIRS[:, 2:3].flip(0), 2, 3)
    assert torch.equal(alone.nodes, capped.select(torch.tensor([2])).nodes)
