"""Graphs with two sides, directions and times: the suite on small ones, and its tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.splits import split_links
from maskgae.evaluation.audit import audit_split
from maskgae.lab.cli.kinds import kind_tasks
from maskgae.lab.kinds import lightgcn
from maskgae.lab.kinds.exam import run_kind
from maskgae.lab.kinds.graphs import entries, source_of
from maskgae.lab.kinds.sides import recommended, wanted_items
from maskgae.lab.kinds.ways import without_ways
from maskgae.lab.records import Records
from maskgae.lab.runner import run_missing
from maskgae.lab.tables.kinds import kind_blocks


def write(path: Path, header: str, rows: list[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [header, *(",".join(row) for row in rows)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    """Users who go to places near their own number, and blogs that cite earlier ones."""
    random = np.random.default_rng(0)
    visits = {(u, int(p)) for u in range(40) for p in (u + random.integers(8, size=9)) % 30}
    named = [(f"u{u}", f"i{p}") for u, p in sorted(visits)]
    held = random.random(len(named)) < 0.2
    folder = tmp_path / "graphs/gowalla-bipartite"
    for name, kept in (("edges", ~held), ("test", held)):
        rows = [row for row, there in zip(named, kept, strict=True) if there]
        write(folder / f"{name}.csv.gz", "user,item", rows)
    cited = [(str(a), str(b)) for a in range(1, 80) for b in set(random.integers(a, size=5))]
    write(tmp_path / "graphs/polblogs-directed/edges.csv.gz", "source,target", cited)
    return tmp_path / "graphs"


def test_the_suite_keeps_what_it_runs_and_fills_its_tables(
    graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lightgcn, "SETTINGS", {**lightgcn.SETTINGS, "epochs": 2, "batch": 64})
    records = Records(tmp_path / "results")
    rows = {
        "gowalla": ["quick", "lightgcn"],
        "polblogs": ["quick", "undirected-quick"],
    }
    for name, wanted in rows.items():
        tasks = [(entry, 200) for entry in entries(str(graphs), name, wanted)]
        assert len(list(run_missing(tasks, records, 1, run_kind, source_of))) == 2
        assert not list(run_missing(tasks, records, 1, run_kind, source_of))
    blocks = kind_blocks(records)
    for title in ("fit --quick", "LightGCN of PyG", "popularity", "published | "):
        assert title in blocks["kinds sides"]
    for title in ("#### polblogs", "undirected", "in-degree of the target", "direction AUC"):
        assert title in blocks["kinds ways"]
    assert blocks["kinds years"] == "Nothing was run yet."


def test_a_recommender_is_asked_for_what_is_no_training_item(graphs: Path) -> None:
    entry = entries(str(graphs), "gowalla", ["quick"])[0]
    source = source_of(entry)
    graph, test = source.graph, wanted_items(entry, source)
    there = graph.to_scipy()
    knows = torch.zeros(graph.num_nodes, graph.num_nodes)
    knows[test.row_of_entry(), test.indices.long()] = 1
    # Whoever likes training items best and the test's next finds all of these.
    liked = knows + 2 * torch.from_numpy(there.toarray())
    found = recommended(lambda users: {"all": liked[users], "none": -liked[users]}, graph, test)
    assert found["all"] == pytest.approx({"recall@20": 1.0, "ndcg@20": 1.0})
    assert found["none"]["ndcg@20"] < 0.5


def test_an_undirected_run_has_the_same_pairs_without_their_ways() -> None:
    random = np.random.default_rng(1)
    graph = Graph.from_edges(random.integers(40, size=(2, 300)), 40, directed=True)
    split = split_links(graph, 0.1, 0.2, stream(0))
    plain = without_ways(split)
    whole = Graph.from_edges(graph.pairs, 40)
    assert audit_split(whole, plain)["held_out_duplicates"] == 0
    assert plain.train.num_pairs + plain.val.shape[1] + plain.test.shape[1] == graph.num_pairs
    assert plain.test_negatives.shape == plain.test.shape


def test_a_folder_is_needed_and_graphs_have_names(graphs: Path) -> None:
    with pytest.raises(InputError, match="--graphs"):
        kind_tasks(None, [], None, 0)
    with pytest.raises(InputError, match="polblogs"):
        kind_tasks(graphs, ["polblog"], None, 0)
    tasks = kind_tasks(graphs, ["polblogs", "cora_ml"], 2, 0)
    assert {entry.dataset for entry, _ in tasks} == {"polblogs"}
    assert {seed for _, seed in tasks} == {200, 201}
