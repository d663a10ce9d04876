"""Overlap and bound against values worked out by hand, a plain loop, and the paper's table."""

from itertools import combinations

import networkx
import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.settings import MaskConfig
from maskgae.data import Graph
from maskgae.datasets.registry import is_available, load_dataset
from maskgae.lab.analysis import information_bound, overlap, overlap_row, subgraph_overlap
from maskgae.lab.analysis.comparison import (
    NEAREST_PATH,
    PAPER,
    PAPER_MASK,
    distance,
    overlap_rows,
    paper_values,
)

PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
TAILED_TRIANGLE = Graph.from_edges([(0, 1), (0, 2), (1, 2), (2, 3)])
STAR = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
BOW_TIE = Graph.from_edges([(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)])

BY_HAND = [
    # V(0) = 01, V(1) = 012, V(2) = 123, V(3) = 23
    ("path", PATH, 1, (5 / 6 + 2 / 3 + 5 / 6) / 3, (3 / 4 + 1 / 2 + 3 / 4) / 3),
    # V(0) = 012, V(1) = V(2) = all, V(3) = 123
    ("path", PATH, 2, (7 / 8 + 1 + 7 / 8) / 3, (5 / 6 + 1 + 5 / 6) / 3),
    # V(0) = V(1) = 012 with 3 edges, V(2) = all with 4, V(3) = 23 with 1
    ("triangle", TAILED_TRIANGLE, 1, (1 + 7 / 8 + 7 / 8 + 3 / 4) / 4, (1 + 7 / 4 + 5 / 8) / 4),
    ("triangle", TAILED_TRIANGLE, 2, 1.0, 1.0),
    # V(0) = all with 3 edges, a leaf's has 2 nodes and 1 edge
    ("star", STAR, 1, 3 / 4, 2 / 3),
    ("star", STAR, 2, 1.0, 1.0),
    # a wing's V has 3 nodes and 3 edges, the knot's all 5 and 6
    ("bow tie", BOW_TIE, 1, (2 + 4 * 4 / 5) / 6, (2 + 4 * 3 / 4) / 6),
    ("bow tie", BOW_TIE, 2, 1.0, 1.0),
]


@pytest.mark.parametrize(("graph", "hops", "o_node", "o_edge"), [row[1:] for row in BY_HAND])
def test_values_worked_out_by_hand(graph: Graph, hops: int, o_node: float, o_edge: float) -> None:
    found = subgraph_overlap(graph, hops=hops)
    assert (found.o_node, found.o_edge) == pytest.approx((o_node, o_edge))
    assert found.exact
    assert found.se_node == found.se_edge == 0


def test_a_hidden_pair_is_looked_at_in_what_stays_visible() -> None:
    # Without (1, 2) the ends of the path's middle share nothing at any distance.
    visible = PATH.subgraph(torch.tensor([True, False, True]))
    found = subgraph_overlap(visible, torch.tensor([[1], [2]]), hops=2)
    assert (found.o_node, found.o_edge, found.shared_nodes, found.largest) == (0, 0, 0, 2)
    # Without (0, 1) the ends 0 and 1 of a triangle still share node 2; V(2) has all three.
    triangle = Graph.from_edges([(0, 2), (1, 2)])
    one = subgraph_overlap(triangle, torch.tensor([[0], [1]]), hops=1)
    assert (one.o_node, one.o_edge, one.shared_nodes, one.largest) == (1 / 2, 0, 1, 3)


def test_an_end_without_edges_shares_none() -> None:
    alone = Graph.from_edges([(0, 1)], num_nodes=3)
    found = subgraph_overlap(alone, torch.tensor([[0], [2]]), hops=2)
    assert (found.o_node, found.o_edge) == (0, 0)


def plain_loop(reference: networkx.Graph, hops: int) -> tuple[float, float]:
    around = {v: networkx.ego_graph(reference, v, hops) for v in reference}
    terms = []
    for u, v in reference.edges:
        one, two = around[u], around[v]
        nodes = len(set(one) & set(two))
        edges = len({frozenset(e) for e in one.edges} & {frozenset(e) for e in two.edges})
        terms.append(
            (
                (nodes / len(one) + nodes / len(two)) / 2,
                (edges / one.size() + edges / two.size()) / 2,
            )
        )
    return tuple(np.mean(terms, axis=0))


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 1 << 24])
def test_agrees_with_a_plain_loop(hops: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "CHUNK_NUMBERS", chunk)
    reference = networkx.gnm_random_graph(70, 110, seed=hops)
    found = subgraph_overlap(Graph.from_networkx(reference), hops=hops)
    assert (found.o_node, found.o_edge) == pytest.approx(plain_loop(reference, hops))
    balls = [len(networkx.ego_graph(reference, v, hops)) for v in reference]
    assert found.largest == max(balls)


def test_blocks_that_fit_in_memory_do_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = Graph.from_networkx(networkx.gnm_random_graph(70, 110, seed=0))
    whole = subgraph_overlap(graph, hops=2)
    monkeypatch.setattr(overlap, "EDGE_BITS", 14 * graph.num_pairs)
    assert subgraph_overlap(graph, hops=2, sample=graph.num_pairs) == whole
    sampled = subgraph_overlap(graph, hops=2)
    assert (sampled.pairs, sampled.of_pairs, sampled.exact) == (7, 110, False)
    assert sampled.se_node > 0


def test_a_sample_hits_the_exact_mean_within_its_error() -> None:
    graph = Graph.from_networkx(networkx.barabasi_albert_graph(400, 3, seed=0))
    exact = subgraph_overlap(graph, hops=2)
    sampled = [subgraph_overlap(graph, hops=2, sample=200, seed=seed) for seed in range(40)]
    z = np.array([(one.o_node - exact.o_node) / one.se_node for one in sampled])
    assert abs(z.mean()) < 3 / np.sqrt(40)
    assert 0.6 < z.std() < 1.5
    assert sampled[0] == subgraph_overlap(graph, hops=2, sample=200, seed=0)


def test_direction_repeats_and_numbering_do_not_matter() -> None:
    pairs = BOW_TIE.pairs
    twice = torch.cat([pairs, pairs.flip(0)], dim=1)
    one, two = subgraph_overlap(BOW_TIE, hops=1), subgraph_overlap(BOW_TIE, twice, hops=1)
    assert (one.o_node, one.o_edge) == pytest.approx((two.o_node, two.o_edge))
    order = torch.tensor([3, 0, 4, 1, 2])
    other = subgraph_overlap(Graph.from_edges(order[pairs]), hops=1)
    assert (other.o_node, other.o_edge) == pytest.approx((one.o_node, one.o_edge))


def test_a_complete_graph_overlaps_wholly_and_has_the_largest_bound() -> None:
    complete = Graph.from_edges(list(combinations(range(5), 2)))
    found = subgraph_overlap(complete, hops=1)
    assert (found.o_node, found.o_edge) == (1, 1)
    assert information_bound([found]) == 5  # 5² / 5


def test_the_bound_by_hand() -> None:
    # Path of four at one hop: 2, 2 and 2 shared nodes, at most 3 in a subgraph.
    assert information_bound([subgraph_overlap(PATH, hops=1)]) == pytest.approx(4 / 3)
    with pytest.raises(InputError, match="needs one overlap"):
        information_bound([])


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="hops must be 1 or more, not 0"):
        subgraph_overlap(PATH, hops=0)
    with pytest.raises(InputError, match="no pairs"):
        subgraph_overlap(PATH, torch.empty(2, 0, dtype=torch.long))


def test_masks_reduce_overlap_and_bound() -> None:
    graph = Graph.from_networkx(networkx.connected_watts_strogatz_graph(120, 6, 0.1, seed=0))
    none, reference, strict = overlap_rows(graph, ["none", "edge"], [2], seeds=range(4))
    assert none.o_node > reference.o_node > strict.o_node > 0
    assert none.bound > reference.bound > strict.bound
    assert (none.semantics, none.masks, none.hidden_share) == (None, 0, 0)
    assert strict.hidden_share == pytest.approx(0.7, abs=0.05)
    assert reference.hidden_share == pytest.approx(0.49, abs=0.06)
    assert strict.se is not None
    assert overlap_row(graph, MaskConfig(), 2, seeds=[0]).se is None


def test_the_papers_values_stand_beside_its_own_ratio_only() -> None:
    rows = [overlap_row(BOW_TIE, MaskConfig(p=p), 2) for p in (0.7, 0.3)]
    assert paper_values("Cora", rows[0]) == (0.3174, 0.2957)
    assert paper_values("Cora", rows[1]) is None
    assert paper_values("Photo", rows[0]) is None


cora_and_citeseer = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not is_available(name), reason=f"{name} is not on this machine"
            ),
        )
        for name in ("Cora", "CiteSeer")
    ],
)


@cora_and_citeseer
@pytest.mark.parametrize("hops", [2, 3])
def test_the_papers_values_without_a_mask(name: str, hops: int) -> None:
    found = subgraph_overlap(load_dataset(name), hops=hops)
    assert (found.o_node, found.o_edge) == pytest.approx(PAPER[name, "none", hops], abs=1e-4)


@cora_and_citeseer
def test_the_papers_values_with_masks(name: str) -> None:
    # One mask's mean spreads by 0.6 points; the paper's values for two hops, of unknown masks,
    # lie 1.0 to 1.4 points below ours, those for three hops 0.0 to 0.4.
    graph = load_dataset(name)
    rows = overlap_rows(graph, ["edge"], semantics=["reference"], seeds=range(5))
    for row, allowed in zip(rows, (0.018, 0.012), strict=True):
        paper = PAPER[name, "edge", row.hops]
        assert (row.o_node, row.o_edge) == pytest.approx(paper, abs=allowed)
    strict = overlap_row(graph, PAPER_MASK, 2)
    assert strict.o_node < 0.09
    path = [overlap_row(graph, NEAREST_PATH, hops) for hops in (2, 3)]
    assert distance(name, path) == pytest.approx(0.016, abs=0.012)
