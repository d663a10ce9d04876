"""Candidates: near ones by hand and beside the rules' rows, and what they find of the best."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.evaluation.scorer import PairScorer, Scorer
from maskgae.nn import Dot
from maskgae.run import candidates, nearest
from maskgae.run.candidates import Candidates
from maskgae.run.links import missing_links
from maskgae.run.nearest import Nearest
from maskgae.training.logits import PairLogits

WEIGHTS = {
    "network": 0.5,
    "common_neighbours": 0.6,
    "resource_allocation": 0.4,
    "three_steps": 0.5,
    "degree_product": 0.3,
    "degree_gap": -0.2,
    "smoothed_cosine": 0.8,
}
SCORER = Scorer(
    tuple(WEIGHTS), (0.0,) * 7, (8.0, 0.5, 0.2, 0.1, 1.0, 1.0, 0.3), tuple(WEIGHTS.values())
)


def ends(search: Candidates, node: int, top: int = 1) -> set[int]:
    return set(search.of(torch.tensor([node]), top)[1][1].tolist())


def only_near(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(candidates, "NEAR", count)
    monkeypatch.setattr(candidates, "LEADERS", 0)
    monkeypatch.setattr(Candidates, "_elsewhere", lambda *_: iter(()))


def test_two_and_three_steps_away(monkeypatch: pytest.MonkeyPatch) -> None:
    only_near(monkeypatch, 10)
    path = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    z = torch.ones(5, 2)
    search = Candidates(PairLogits(z, Dot()), z, path, asked=1)
    assert ends(search, 0) == {2, 3} and ends(search, 2) == {0, 4}


def test_the_best_near_ones_are_the_scorers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of walks and degrees alone, the loop takes what the rules' rows rank first."""
    only_near(monkeypatch, 5)
    graph = generate(300, 900, seed=1)
    names = ("common_neighbours", "resource_allocation", "three_steps", "degree_gap")
    scorer = Scorer(names, (0.0,) * 4, (0.5, 0.2, 0.1, 1.0), (0.6, 0.4, 0.5, -0.2))
    scores = PairScorer.of(scorer, graph)
    z = torch.ones(300, 2)
    nodes = torch.arange(300)
    found = missing_links(scores, graph, 1, nodes, Candidates(scores, z, graph, asked=1))
    exact = missing_links(scores, graph, 1, nodes)
    reached = torch.isin(exact.source, found.source)
    close = torch.isclose(found.score, exact.score[reached], atol=1e-4)
    assert close.double().mean() > 0.97


def test_a_bounded_walk_leaves_the_hub_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    only_near(monkeypatch, 10)
    hub = [(0, 1)] + [(1, v) for v in range(2, 200)] + [(0, 200), (200, 201)]
    graph = Graph.from_edges(hub)
    z = torch.ones(202, 2)
    monkeypatch.setattr(candidates, "WALKED", 20)
    assert ends(Candidates(PairLogits(z, Dot()), z, graph, asked=1), 0) == {201}


def test_candidates_hold_what_scoring_every_pair_finds() -> None:
    graph = generate(1500, 6000, communities=10, seed=0)
    assert graph.features is not None
    z = graph.features.dense()
    scores = PairScorer.of(SCORER, graph, PairLogits(z, Dot()))
    search = Candidates(scores, z, graph, asked=1500)
    exact, quick = (missing_links(scores, graph, 10, candidates=c) for c in (None, search))
    wanted, found = (x.source * 1500 + x.target for x in (exact, quick))
    assert torch.isin(wanted, found).double().mean() > 0.95
    assert not graph.contains(torch.stack([quick.source, quick.target])).any()


def test_wide_vectors_keep_their_products() -> None:
    low = torch.randn(400, 20, generator=torch.Generator().manual_seed(0))
    wide = low @ torch.randn(20, 300, generator=torch.Generator().manual_seed(1))
    kept = candidates._leading(wide)
    assert kept.shape == (400, candidates.WIDTH)
    torch.testing.assert_close(kept @ kept.T, wide @ wide.T, rtol=1e-3, atol=0.1)


def test_links_of_a_directed_graph_go_one_way() -> None:
    edges = np.array([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]])
    graph = Graph.from_edges(edges, 5, directed=True)
    z = torch.ones(5, 2)
    scores = PairLogits(z, Dot())
    out, into = (Candidates(scores, z, graph, 1, incoming=way) for way in (False, True))
    assert ends(out, 1) == {0, 3, 4} and ends(into, 1) == {2, 3, 4}


def test_too_many_comparisons_ask_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "find_spec", lambda name: None)
    monkeypatch.setattr(nearest, "MOST_COSINES", 11)
    monkeypatch.setattr(nearest, "EXACT_COSINES", 11)
    with pytest.raises(InputError, match=r"pip install 'maskgae\[index\]', or ask for fewer"):
        Nearest(torch.ones(4, 2), asked=4)
    assert not Nearest(torch.ones(4, 2), asked=2).indexed
