import networkx as nx
import numpy as np
import pytest

from maskgae.base.rng import Stream
from maskgae.report import communities as room
from maskgae.report.communities import communities


def pairs_of(graph: nx.Graph) -> np.ndarray:
    return np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2).T


def modularity(graph: nx.Graph, member: np.ndarray) -> float:
    groups = [set(np.flatnonzero(member == g).tolist()) for g in np.unique(member)]
    return float(nx.community.modularity(graph, groups))


def test_two_cliques_are_two_communities_the_larger_first() -> None:
    graph = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(6))
    graph.add_edge(0, 4)
    graph.add_node(10)
    found = communities(pairs_of(graph), 11, Stream(0))
    assert found is not None
    assert found.tolist() == [1] * 4 + [0] * 6 + [2]


@pytest.mark.usefixtures("global_rng_untouched")
@pytest.mark.parametrize(
    "graph",
    [
        nx.karate_club_graph(),
        nx.planted_partition_graph(8, 25, 0.4, 0.02, seed=0),
        nx.powerlaw_cluster_graph(300, 4, 0.5, seed=0),
        nx.star_graph(30),
        nx.cycle_graph(60),
    ],
    ids=["karate", "planted", "powerlaw", "star", "cycle"],
)
def test_as_modular_as_networkx_finds_and_deterministic(graph: nx.Graph) -> None:
    found = communities(pairs_of(graph), graph.number_of_nodes(), Stream(0))
    again = communities(pairs_of(graph), graph.number_of_nodes(), Stream(0))
    assert found is not None
    assert again is not None
    assert np.array_equal(found, again)
    reference = nx.community.louvain_communities(graph, weight=None, seed=0)
    wanted = nx.community.modularity(graph, reference, weight=None)
    for edge in graph.edges:
        graph.edges[edge].pop("weight", None)
    assert modularity(graph, found) >= 0.93 * wanted - 1e-9


def test_no_edges_no_communities() -> None:
    found = communities(np.empty((2, 0), dtype=np.int64), 3, Stream(0))
    assert found is not None
    assert found.tolist() == [0, 1, 2]


def test_huge_graphs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_PAIRS", 1)
    assert communities(np.array([[0, 1], [1, 2]]), 3, Stream(0)) is None
