"""Nodes that come later: what is drawn, that nobody sees it before, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.evaluation.outcome import Outcome
from maskgae.lab.contest import new_nodes
from maskgae.lab.contest.entry import Entry
from maskgae.lab.contest.graphs import Arena
from maskgae.lab.contest.new_nodes import TASK, Arrival, run_entry
from maskgae.lab.records import Records
from maskgae.lab.tables.new_nodes import new_node_block


@pytest.fixture(scope="module")
def graph() -> Graph:
    return generate(200, 1000, num_features=6, communities=4, seed=1)


def test_half_of_the_edges_of_later_nodes_are_given(graph: Graph) -> None:
    drawn = Arrival.draw(graph, Stream(0))
    assert int(drawn.later.sum()) == 10
    assert drawn.later[drawn.asked].any(0).all()
    assert not drawn.given.contains(drawn.asked).any()
    touching = int(drawn.later[graph.pairs.long()].any(0).sum())
    assert drawn.asked.shape[1] == round(touching / 2)


def test_before_they_come_there_is_no_trace_of_them(graph: Graph) -> None:
    drawn = Arrival.draw(graph, Stream(0))
    before, old = drawn.before, torch.from_numpy(drawn.before.ids)
    assert not drawn.later[old].any() and before.graph.num_nodes == 190
    assert graph.contains(old[before.graph.pairs]).all()
    assert torch.equal(before.graph.features.dense(), graph.features.dense()[old])
    assert before.graph.labels is None and drawn.after.graph.labels is None


@pytest.mark.parametrize("way", ["new", "seen"])
def test_both_fits_answer(graph: Graph, way: str) -> None:
    entry = Entry("made", f"{way} maskgae-quick", {}, "", TASK)
    outcome = run_entry(entry, Arena(graph), 3)
    assert {"accuracy", "rank_mrr", "rank_hits@10"} <= outcome.metrics.keys()
    assert outcome.facts["new_nodes"] == 10
    again = run_entry(entry, Arena(graph), 3)
    assert again.metrics == outcome.metrics


def test_the_table_has_both_beside_each_other(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert new_node_block(records) == "Nothing was run yet."
    for way, value in (("new", 0.78), ("seen", 0.8)):
        metrics = {"accuracy": value, "rank_hits@10": 0.3, "rank_mrr": 0.2}
        facts = {"new_nodes": 10, "asked_edges": 50}
        entry = Entry("made", f"{way} maskgae", {}, "", TASK)
        records.save(entry, Outcome(200, metrics, {}, {}, facts, {}))
    assert "| made | maskgae fit | 1 | 78.0 / 80.0 (-2.0) | 30.0 / 30.0 (+0.0) |" in new_node_block(
        records
    )


def test_only_what_can_read_new_nodes_takes_part() -> None:
    from maskgae.lab.cli.contest import _arrivals

    with pytest.raises(InputError, match="'svd' cannot read nodes that come later"):
        _arrivals(["imports"], "svd", 1, None)
    found = _arrivals(["imports"], None, 2, None)
    assert [seed for _, seed in found] == [200] * 4 + [201] * 4
    assert {entry.method.split()[0] for entry, _ in found} == set(new_nodes.WAYS)
