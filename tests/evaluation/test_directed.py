"""Directed graphs: which way edges go, in splits, rules, rankings and links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.splits import joined, split_links
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.directed_rules import Directed
from maskgae.evaluation.ranking import full_rankings, left_out
from maskgae.evaluation.scorer import Columns
from maskgae.run import Run, fit, read
from maskgae.store.ingest import ingest

#: 0 and 1 cite 2 and 3; 2 cites 3 and is cited by it; 4 cites 2.
EDGES = [(0, 2), (0, 3), (1, 2), (2, 3), (3, 2), (4, 2)]
CITATIONS = Graph.from_edges(EDGES, 5, directed=True)


def random_citations(nodes: int = 40, edges: int = 160, seed: int = 0) -> Graph:
    """Later nodes cite earlier ones, nine times of ten."""
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(nodes, size=(edges, 2)), axis=1)[:, ::-1]
    ends = np.where(random.random((edges, 1)) < 0.1, ends[:, ::-1], ends)
    return Graph.from_edges(ends.T.copy(), nodes, directed=True)


def test_a_pair_keeps_its_direction() -> None:
    assert CITATIONS.pairs.tolist() == [[0, 0, 1, 2, 2], [2, 3, 2, 3, 4]]
    assert CITATIONS.directions is not None
    assert CITATIONS.directions.tolist() == [1, 1, 1, 3, 2]
    asked = torch.tensor([[0, 2, 3, 4, 2, 0], [2, 0, 2, 2, 4, 1]])
    assert CITATIONS.has(asked).tolist() == [True, False, True, True, False, False]
    found = {tuple(edge) for edge in CITATIONS.edges(torch.arange(5)).T.tolist()}
    assert found == set(EDGES)
    assert CITATIONS.arcs.out.counts().tolist() == [2, 1, 1, 1, 1]
    assert CITATIONS.arcs.into.counts().tolist() == [0, 0, 4, 2, 0]


def test_levels_descend_from_those_who_cite_to_those_who_are_cited() -> None:
    levels = Graph.from_edges([(0, 1), (1, 2), (2, 3)], directed=True).arcs.levels
    assert (np.diff(levels) > 0).all()


def test_splits_hold_out_both_ways_of_a_pair_together() -> None:
    graph = random_citations()
    split = split_links(graph, 0.1, 0.2, stream(0))
    assert audit_split(graph, split)["held_out_duplicates"] == 0
    assert graph.has(split.test).all()
    assert not split.train.contains(split.test).any()
    assert not graph.contains(split.test_negatives).any()
    whole = joined(joined(split.train, split.val, None), split.test, None)
    assert torch.equal(whole.pairs, graph.pairs)
    assert whole.directions is not None
    assert graph.directions is not None
    assert torch.equal(whole.directions, graph.directions)


def test_rules_tell_a_source_from_a_target_by_hand() -> None:
    rules = Directed(CITATIONS)
    pair = torch.tensor([[1], [3]])  # 1 -> 2 <- 0 -> 3, 1 -> 2 <- 3 and 1 -> 2 -> 3
    found = rules.pairs(pair, np.array([False]))
    assert found["in_degree"].tolist() == [2]
    assert found["out_degree"].tolist() == [1]
    # 2 has four edges into it and one out of it; 0 has two out of it.
    assert found["forward_paths"] == pytest.approx([1 / 5])
    assert found["shared_targets"] == pytest.approx([1 / 5])
    assert found["directed_three_steps"] == pytest.approx([1 / 4 * 1 / 2])


def test_the_gap_of_levels_has_a_weight_on_either_side_of_zero() -> None:
    rules = Directed(CITATIONS, ["level_gap", "upstream"])
    pairs = torch.tensor([[0, 2], [2, 0]])
    found = rules.pairs(pairs, np.zeros(2, np.bool_))
    gap = CITATIONS.arcs.levels[2] - CITATIONS.arcs.levels[0]
    assert gap > 0
    assert found["level_gap"] == pytest.approx([gap, -gap])
    assert found["upstream"] == pytest.approx([0, gap])


def test_paths_of_a_directed_graph_count_by_logarithm() -> None:
    names = ["forward_paths", "resource_allocation", "upstream"]
    pairs = torch.tensor([[1, 3], [3, 1]])
    found = Columns.of(CITATIONS, None, names).pairs(pairs)
    # 1 -> 2 -> 3 by a node of five edges; 1 and 3 have it in common, of four neighbours.
    scale = 5 / 32
    assert found[:, 0].tolist() == pytest.approx([np.log1p(scale / 5), 0])
    assert found[:, 1].tolist() == pytest.approx([np.log1p(scale / 4)] * 2)
    # A scorer from before weighs their roots.
    older = Columns.of(CITATIONS, None, names[:2]).pairs(pairs)
    assert older[0].tolist() == pytest.approx([(1 / 5) ** 0.5, (1 / 4) ** 0.5])


def test_as_many_ends_are_ranked_as_are_asked_for() -> None:
    quick = {"split.ranked_ends": 7, "split.val": 0.2, "split.test": 0.2}
    run = fit(random_citations(60, 500), quick, quick=True)
    assert run.record["facts"]["ranked_ends"] == 7


def test_what_speaks_for_the_reverse_is_the_rule_of_the_pair_turned_round() -> None:
    graph, edge = random_citations(), np.zeros(60, np.bool_)
    pairs = torch.from_numpy(np.random.default_rng(1).integers(40, size=(2, 60)))
    pairs = pairs[:, ~graph.contains(pairs)]
    found, back = (Directed(graph).pairs(each, edge) for each in (pairs, pairs.flip(0)))
    for name, other in {
        "source_in_degree": "in_degree",
        "target_out_degree": "out_degree",
        "backward_paths": "forward_paths",
        "turned_three_steps": "directed_three_steps",
    }.items():
        np.testing.assert_allclose(found[name], back[other])


def test_a_network_is_also_asked_for_the_pair_turned_round() -> None:
    graph = random_citations()

    class Numbers:
        def pairs(self, pairs: torch.Tensor) -> torch.Tensor:
            return pairs[0] * 100.0 + pairs[1]

        def rows(self, nodes: torch.Tensor, incoming: bool = False) -> torch.Tensor:
            every = torch.arange(40.0)
            return nodes[:, None] + 100 * every if incoming else 100.0 * nodes[:, None] + every

    columns = Columns.of(graph, Numbers())
    assert columns.names[:2] == ("network", "network_reverse")
    assert columns.pairs(torch.tensor([[3], [5]]))[0, :2].tolist() == [305, 503]
    for incoming in (False, True):
        rows = columns.rows(torch.tensor([3]), incoming)[0, 5, :2].tolist()
        assert rows == ([503, 305] if incoming else [305, 503])
    # A scorer from before the reverse was asked for.
    assert Columns.of(graph, Numbers(), ["network", "in_degree"]).names == ("network", "in_degree")


@pytest.mark.parametrize("incoming", [False, True])
def test_rows_are_the_scores_of_pairs(incoming: bool) -> None:
    graph = random_citations()
    rules, nodes = Directed(graph), torch.tensor([3, 17])
    rows = rules.rows(nodes, incoming)
    every = torch.arange(graph.num_nodes).repeat(2)
    pairs = torch.stack([nodes.repeat_interleave(graph.num_nodes), every])
    pairs = pairs.flip(0) if incoming else pairs
    no_edge = (~graph.contains(pairs) & (pairs[0] != pairs[1])).numpy()
    for name, values in rules.pairs(pairs, np.zeros(pairs.shape[1], np.bool_)).items():
        np.testing.assert_allclose(rows[name].reshape(-1)[no_edge], values[no_edge], atol=1e-9)


def test_an_edge_is_scored_as_if_it_were_not_there() -> None:
    graph = random_citations()
    edge = graph.edges(torch.tensor([5]))[:, :1]
    without = graph.subgraph(torch.arange(graph.num_pairs) != 5)
    if graph.directions is not None and int(graph.directions[5]) == 3:
        without = joined(without, edge.flip(0), None)
    one = Directed(graph).pairs(edge, np.array([True]))
    other = Directed(without).pairs(edge, np.array([False]))
    for name in ("in_degree", "out_degree"):
        np.testing.assert_allclose(one[name], other[name])
    assert one["directed_three_steps"] >= 0


def test_only_edges_of_the_asked_way_are_no_candidates() -> None:
    assert sorted(left_out(CITATIONS, torch.tensor([2]))[1].tolist()) == [2, 3]
    assert sorted(left_out(CITATIONS, torch.tensor([2]), True)[1].tolist()) == [0, 1, 2, 3, 4]
    scores = -torch.arange(5.0)
    rank = full_rankings(
        lambda nodes: {"": scores.expand(nodes.numel(), 5)},
        torch.tensor([[1], [4]]),
        CITATIONS,
        stream(0),
    )[""]
    assert rank.ranks.tolist() == [3]  # of 1 among 0, 3 and 4: 2 is known


def test_a_directed_fit_and_what_is_asked_of_it(tmp_path: Path) -> None:
    graph = random_citations(90, 1500)
    edges = graph.edges(torch.arange(graph.num_pairs)).T.tolist()
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in edges))
    quick = {"training.epochs": 20, "split.val": 0.2, "split.test": 0.2}
    run = fit(read(path, directed=True), quick, folder=tmp_path / "run")
    assert {"pooled_direction_auc", "in_rank_mrr"} <= run.metrics.keys()
    assert run.metrics["direction_auc"] > 0.5
    # Pairs are random but for their way, so that ranking has nothing to learn from; levels have.
    assert run.record["sanity"]["level_gap"]["direction_auc"]["mean"] > 0.75
    again = Run.load(tmp_path / "run")
    out, into = again.links(top=2), again.links(top=2, incoming=True)
    np.testing.assert_allclose(out["score"], run.links(top=2)["score"], rtol=1e-4)
    for found in (out, into):
        pairs = np.stack([found["source"], found["target"]])
        numbers = again.source.numbers(pairs.reshape(-1).tolist()).reshape(2, -1)
        assert not again.graph.has(torch.from_numpy(numbers)).any()
    np.testing.assert_allclose(
        again.score([(into["source"][0], into["target"][0])]), into["score"][:1], rtol=1e-4
    )
    source, target = next((u, v) for u, v in edges if [v, u] not in edges)
    assert again.why(target, source).source == target  # the way back is missing
    with pytest.raises(InputError, match="linked already"):
        again.why(source, target)
    with pytest.raises(InputError, match="--directed"):
        fit(read(path), {"training.epochs": 1}).links(incoming=True)


def test_a_store_keeps_directions(tmp_path: Path) -> None:
    from maskgae.io.kinds import Kinds

    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in EDGES))
    store = ingest(path, tmp_path / "store", kinds=Kinds(directed=True))
    assert store.graph.directions is not None
    assert CITATIONS.directions is not None
    assert store.graph.directions.tolist() == CITATIONS.directions.tolist()


def test_a_list_that_stands_one_way_is_told_of_directed(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in [*EDGES, (2, 1), (3, 1)]))
    assert any("--directed" in note for note in read(path).notes)


def test_batches_and_new_nodes_keep_directions(tmp_path: Path) -> None:
    graph = random_citations(60, 500)
    edges = graph.edges(torch.arange(graph.num_pairs)).T.tolist()
    path, grown = tmp_path / "edges.csv", tmp_path / "grown.csv"
    text = "source,target\n" + "".join(f"{u},{v}\n" for u, v in edges)
    path.write_text(text)
    grown.write_text(text + "60,3\n61,4\n")
    run = fit(read(path, directed=True), {"training.epochs": 2}, batch_pairs=64)
    assert run.settings.training.fanouts
    assert run.embed(grown).values.shape[0] == 62
