"""Missing links: by hand, among all pairs and among candidates."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import maskgae
from maskgae.cli import app
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.nn import Dot
from maskgae.run import links as links_module
from maskgae.run.candidates import Candidates
from maskgae.run.links import LinkSearch, missing_links
from maskgae.training.logits import PairLogits

ONES = torch.ones(4, 2)
PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)])


def test_the_best_missing_links_by_hand() -> None:
    # Products: 0·2 = 2, 0·3 = 3, 1·3 = 6; neighbours and the node itself are left out.
    z = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    links = missing_links(PairLogits(z, Dot()), PATH, top=1)
    assert links.source.tolist() == [0, 1, 2, 3]
    assert links.target.tolist() == [3, 3, 0, 1]
    assert links.score.tolist() == [3, 6, 2, 6]


def test_only_the_asked_nodes_in_their_order() -> None:
    z = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    links = missing_links(PairLogits(z, Dot()), PATH, top=5, nodes=torch.tensor([3, 0]))
    assert links.source.tolist() == [3, 3, 0, 0]
    assert links.target.tolist() == [1, 0, 3, 2]


def test_a_node_that_knows_everyone_has_no_missing_link() -> None:
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    links = missing_links(PairLogits(ONES, Dot()), star, top=3, nodes=torch.tensor([0]))
    assert links.source.numel() == 0


def test_the_same_candidates_for_one_node_as_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "EXACT_PAIRS", 0)
    graph = generate(400, 1200, communities=5, seed=0)
    assert graph.features is not None
    z = graph.features.dense()
    search = LinkSearch(PairLogits(z, Dot()), z, graph)
    every, one = search.links(3), search.links(3, torch.tensor([7]))
    assert every.target[every.source == 7].tolist() == one.target.tolist()
    recall = search.recall(10)
    assert recall is not None and recall.nodes == 100 and recall.top == 10
    assert 0.8 < recall.share <= 1


def test_an_approximate_answer_says_what_it_misses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    maskgae.fit(generate(80, 300, seed=1), {"training.epochs": 1}).save(tmp_path / "run")
    monkeypatch.setattr(links_module, "EXACT_PAIRS", 0)
    asked = ["links", str(tmp_path / "run"), "--node", "3", "--threads", "1"]
    printed = CliRunner().invoke(app, asked).output
    assert "approximate: of 80 nodes" in printed
    assert "% of the best 10 among all, measured on 80 nodes" in " ".join(printed.split())
    written = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "links.csv")]).output
    assert "approximate" in written


def test_a_small_graph_needs_no_candidates() -> None:
    z = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    search = LinkSearch(PairLogits(z, Dot()), z, PATH)
    assert search.recall(10) is None
    assert search.links(1).target.tolist() == [3, 3, 0, 1]


@pytest.mark.parametrize("exact", [True, False])
def test_links_join_two_sides_only(exact: bool) -> None:
    random = torch.Generator().manual_seed(0)
    edges = torch.nonzero(torch.rand(40, 30, generator=random) < 0.1).T
    edges[1] += 40
    graph = Graph.from_edges(edges, 70).with_types([0] * 40 + [1] * 30, ("user", "item"))
    z = torch.rand(70, 4, generator=random)
    scores = PairLogits(z, Dot())
    where = None if exact else Candidates(scores, z, graph, asked=70)
    found = missing_links(scores, graph, 5, candidates=where)
    assert ((found.source < 40) != (found.target < 40)).all()
    assert found.source.unique().numel() == 70
    assert not graph.contains(torch.stack([found.source, found.target])).any()
