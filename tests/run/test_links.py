"""Missing links: exact search against brute force, and the recall of candidates."""

from __future__ import annotations

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.nn import Dot
from maskgae.run import links as links_module
from maskgae.run.links import missing_links
from maskgae.training.logits import PairLogits

ONES = torch.ones(4, 2)
PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)])


def test_the_best_missing_links_by_hand() -> None:
    # Products: 0·2 = 2, 0·3 = 3, 1·3 = 6; neighbours and the node itself are left out.
    z = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    links = missing_links(PairLogits(z, Dot()), z, PATH, top=1)
    assert links.source.tolist() == [0, 1, 2, 3]
    assert links.target.tolist() == [3, 3, 0, 1]
    assert links.score.tolist() == [3, 6, 2, 6]


def test_only_the_asked_nodes_in_their_order() -> None:
    z = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    links = missing_links(PairLogits(z, Dot()), z, PATH, top=5, nodes=torch.tensor([3, 0]))
    assert links.source.tolist() == [3, 3, 0, 0]
    assert links.target.tolist() == [1, 0, 3, 2]


def test_a_node_that_knows_everyone_has_no_missing_link() -> None:
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    links = missing_links(PairLogits(ONES, Dot()), ONES, star, top=3, nodes=torch.tensor([0]))
    assert links.source.numel() == 0


def test_candidates_find_what_scoring_every_pair_finds() -> None:
    graph = generate(1500, 6000, communities=10, seed=0)
    assert graph.features is not None
    z = graph.features.dense()
    exact = missing_links(PairLogits(z, Dot()), z, graph, top=10, exact=True)
    quick = missing_links(PairLogits(z, Dot()), z, graph, top=10, exact=False)
    wanted = set(zip(exact.source.tolist(), exact.target.tolist(), strict=True))
    found = set(zip(quick.source.tolist(), quick.target.tolist(), strict=True))
    assert len(wanted & found) / len(wanted) > 0.8
    assert not graph.contains(torch.stack([quick.source, quick.target])).any()


def test_more_pairs_than_anybody_waits_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "MOST_PAIRS", 11)
    with pytest.raises(InputError, match="ask for fewer nodes"):
        missing_links(PairLogits(ONES, Dot()), ONES, PATH, top=1)
    assert (
        missing_links(PairLogits(ONES, Dot()), ONES, PATH, 1, torch.tensor([0])).source.numel() == 1
    )


@pytest.mark.parametrize("exact", [True, False])
def test_links_join_two_sides_only(exact: bool) -> None:
    random = torch.Generator().manual_seed(0)
    edges = torch.nonzero(torch.rand(40, 30, generator=random) < 0.1).T
    edges[1] += 40
    graph = Graph.from_edges(edges, 70).with_types([0] * 40 + [1] * 30, ("user", "item"))
    z = torch.rand(70, 4, generator=random)
    found = missing_links(PairLogits(z, Dot()), z, graph, top=5, exact=exact)
    assert ((found.source < 40) != (found.target < 40)).all()
    assert found.source.unique().numel() == 70
    assert not graph.contains(torch.stack([found.source, found.target])).any()
