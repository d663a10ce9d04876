"""Graphs in time: the past is trained on, and only what was there is asked among."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, joined
from maskgae.data.time_split import split_by_time, time_starts
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.ranking import full_rankings, left_out_flags
from maskgae.run import Run, fit, read
from maskgae.run.task import prepared

#: Two papers a year from 2000 on, of which each cites four that came before it.
YEARS = np.repeat(np.arange(2000, 2030), 4)


def citations(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    ends = []
    for paper in range(8, YEARS.size):
        ends += [(paper, int(cited)) for cited in random.choice(paper, 4, replace=False)]
    return np.array(ends)


def grown(directed: bool = True) -> Graph:
    edges = citations()
    graph = Graph.from_edges(edges.T.copy(), YEARS.size, directed=directed)
    return graph.with_times(YEARS[graph.pairs.numpy()].max(0), YEARS)


def split_of(graph: Graph) -> LinkSplit:
    return split_by_time(graph, (2022, 2026), 1 / 3, stream(0))


def test_first_nodes_keep_their_numbers() -> None:
    graph = grown()
    past = graph.first(40)
    assert past.num_nodes == 40
    assert graph.has(past.edges(torch.arange(past.num_pairs))).all()
    assert past.num_pairs == int((graph.pairs < 40).all(0).sum())


@pytest.mark.parametrize("directed", [False, True])
def test_the_past_is_trained_on(directed: bool) -> None:
    graph = grown(directed)
    split, clock = split_of(graph), graph.clock
    assert clock is not None
    counts = audit_split(graph, split)
    assert counts["later_targets"] == counts["later_messages"] == counts["held_out_leaks"] == 0
    assert split.train.num_nodes == int((YEARS < 2022).sum())
    assert clock.at(split.train.pairs).max() < 2022
    assert ((clock.at(split.val) >= 2022) & (clock.at(split.val) < 2026)).all()
    assert clock.at(split.test).min() >= 2026
    assert split.seen.num_nodes == int((YEARS < 2026).sum())
    assert split.val_negatives.max() < split.seen.num_nodes


def test_a_third_of_the_references_of_a_later_paper_is_known() -> None:
    graph = grown()
    messages = split_of(graph).messages("train_val")
    counts = messages.arcs.degrees[0]
    new = YEARS >= 2026
    assert (counts[new] == 2).all()  # of four, rounded up
    assert (counts[(YEARS < 2026) & (np.arange(YEARS.size) >= 8)] == 4).all()


def keys_of(graph: Graph, part: Graph) -> torch.Tensor:
    """Which pairs of a graph are in a part of it, ``[M]`` bool."""
    return part.contains(graph.pairs) & (graph.pairs < part.num_nodes).all(0)


@pytest.mark.parametrize(
    ("where", "count"), [("train", "later_targets"), ("val_messages", "later_messages")]
)
def test_one_planted_later_edge_fails_the_audit(where: str, count: str) -> None:
    graph = grown()
    split = split_of(graph)
    kept = keys_of(graph, getattr(split, where))
    following = split.val_messages if where == "train" else split.test_messages
    assert following is not None
    # what is known of nodes that come next, but no edge that is asked for
    assert graph.clock is not None
    later = keys_of(graph, following) & (graph.clock.times >= (2022 if where == "train" else 2026))
    kept[later.nonzero()[-1]] = True
    with pytest.raises(RunError, match=f"the leak audit failed.*: {count} 1;"):
        audit_split(graph, replace(split, **{where: graph.subgraph(kept)}))


def test_an_asked_edge_among_the_messages_fails_the_audit() -> None:
    graph = grown()
    split = split_of(graph)
    assert split.test_messages is not None
    seen = joined(split.test_messages, split.test[:, :1], None)
    with pytest.raises(RunError, match="held_out_leaks 1"):
        audit_split(graph, replace(split, test_messages=seen))


def test_an_edge_between_old_nodes_is_no_message_before_its_time() -> None:
    edges = torch.tensor([[0, 1, 2, 0, 1, 0, 3], [1, 2, 3, 2, 3, 3, 4]])
    graph = Graph.from_edges(edges, 6).with_times([1, 3, 7, 2, 8, 1, 8], [0, 0, 0, 1, 4, 9])
    # in the order of pairs: (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)
    clean = split_by_time(graph, (7, 8), 0.5, stream(0))
    assert audit_split(graph, clean, refuse=False)["later_messages"] == 0
    early = replace(clean, val_messages=graph.first(5))
    assert audit_split(graph, early, refuse=False)["later_messages"] >= 2


def test_partners_are_ranked_among_what_was_there() -> None:
    graph = grown()
    pair = graph.edges(torch.arange(graph.num_pairs))[:, -1:]
    early = graph.edges(torch.arange(graph.num_pairs))[:, :1]
    for asked in (pair, early):
        scores = torch.arange(float(graph.num_nodes))
        found = full_rankings(
            lambda nodes, s=scores: {"": s.expand(nodes.numel(), -1)}, asked, graph, stream(0)
        )[""]
        assert graph.clock is not None
        there = int(graph.clock.there(graph.clock.at(asked)))
        known = set(graph.arcs.out.rows(asked[0]).indices.tolist()) | {int(asked[0])}
        above = [n for n in range(int(asked[1]) + 1, there) if n not in known]
        assert found.ranks.tolist() == [1 + len(above)]
        flags = left_out_flags(graph, asked, torch.arange(graph.num_nodes))
        assert flags[0, there:].all()


def test_shares_become_times() -> None:
    graph = grown()
    first, second = time_starts(graph, 0.1, 0.2)
    assert (first, second) == (2021, 2024)
    assert time_starts(graph, 0.1, 0.2, test_from=2020) == (2017, 2020)


def write(folder: Path) -> tuple[Path, Path]:
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    lines = [f"p{u},p{v},{YEARS[u]}-06-01" for u, v in citations()]
    edges.write_text("source,target,day\n" + "\n".join(lines) + "\n")
    rows = [f"p{i},{year},{i % 5}" for i, year in enumerate(YEARS)]
    nodes.write_text("id,year,size\n" + "\n".join(rows) + "\n")
    return edges, nodes


QUICK = {"training.epochs": 3}


@pytest.mark.parametrize("column", ["year", "day"])
def test_a_fit_in_time_and_what_is_asked_of_it(tmp_path: Path, column: str) -> None:
    edges, nodes = write(tmp_path)
    starts = ("2022", "2026") if column == "year" else ("2022-01-01", "2026-01-01")
    values = {**QUICK, "split.val_from": starts[0], "split.test_from": starts[1]}
    source = read(edges, nodes, directed=True, time=column)
    assert any(f"times from column '{column}'" in note for note in source.notes)
    run = fit(source, values, folder=tmp_path / "run")
    assert run.record["audit"]["later_messages"] == 0
    assert "by time" in run.record["protocol"]["split"]
    assert run.embedding.shape[0] == YEARS.size
    again = Run.load(tmp_path / "run")
    assert again.graph.clock is not None
    np.testing.assert_allclose(again.links(top=2)["score"], run.links(top=2)["score"], rtol=1e-4)
    one, other = again.test_scores(), run.test_scores()
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one[0], other[0], rtol=1e-4)


def test_a_year_is_the_first_day_of_it_where_edges_have_dates(tmp_path: Path) -> None:
    edges, nodes = write(tmp_path)
    graph = read(edges, nodes, directed=True, time="day").graph
    parts = []
    for first, second in (("2022", "2026"), ("2022-01-01", "2026-01-01")):
        values = {"split.val_from": first, "split.test_from": second}
        task = prepared(graph, Settings().updated(values), True)
        assert task.split is not None
        parts.append(task.split.test)
    assert torch.equal(*parts)


def test_structural_features_come_from_the_past(tmp_path: Path) -> None:
    edges, _ = write(tmp_path)
    run = fit(read(edges, time="day"), QUICK)
    assert run.structural is not None
    assert run.structural.basis.shape[0] == YEARS.size
    past = int(run.graph.clock.there(run.graph.clock.at(run.held_out["val"]).min()[None]))  # type: ignore[union-attr]
    assert not run.structural.basis[past:].any()


@pytest.mark.parametrize(
    ("values", "how", "rule"),
    [
        ({}, {"time": "month"}, "neither edges"),
        ({}, {"time": "word"}, "a time must be a number or a date"),
        ({"split.test_from": "1990"}, {"time": "year"}, "leaves no edge for training"),
        ({"split.test_from": "2999"}, {"time": "year"}, "leaves no edge for the test"),
        ({"split.test_from": "2019-99"}, {"time": "year"}, "is no time"),
        ({"split.hard_negatives": 3}, {"time": "year"}, "knows no time"),
    ],
)
def test_bad_times_are_one_line(
    tmp_path: Path, values: dict[str, str], how: dict[str, str], rule: str
) -> None:
    edges, nodes = write(tmp_path)
    rows = [f"p{i},{year},then" for i, year in enumerate(YEARS)]
    nodes.write_text("id,year,word\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match=rule) as caught:
        fit(read(edges, nodes, **how), {**QUICK, **values})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_graph_in_python_takes_no_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="with_times"):
        read([(0, 1), (1, 2)], time="year")
