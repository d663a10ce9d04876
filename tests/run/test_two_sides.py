"""Graphs of two sides and of several types, from files to links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.cli import main
from maskgae.run import Run, fit, read
from maskgae.store.ingest import ingest

QUICK = {"training.epochs": 3, "encoder.hidden": 8, "encoder.dim": 8, "training.eval_every": 1}


def write_purchases(folder: Path, users: int = 30, items: int = 20) -> Path:
    """Users of one taste buy items of that taste."""
    random = np.random.default_rng(0)
    rows = [
        f"u{user},i{item}"
        for user in range(users)
        for item in range(items)
        if random.random() < (0.4 if user % 2 == item % 2 else 0.05)
    ]
    path = folder / "purchases.csv"
    path.write_text("\n".join(["user,item", *rows]) + "\n")
    return path


def write_table(folder: Path, missing: bool = False) -> Path:
    random = np.random.default_rng(1)
    names = [f"u{i}" for i in range(30)] + [f"i{i}" for i in range(20)]
    rows = [f"{n},{'' if missing and n == 'u3' else n[0]},{random.random():.3f}" for n in names]
    path = folder / "table.csv"
    path.write_text("\n".join(["id,kind,size", *rows]) + "\n")
    return path


def joins_sides(links: dict[str, np.ndarray]) -> bool:
    ends = zip(links["source"], links["target"], strict=True)
    return all(str(one)[0] != str(other)[0] for one, other in ends)


def test_two_sides_are_found_and_every_question_keeps_to_them(tmp_path: Path) -> None:
    path = write_purchases(tmp_path)
    run = fit(read(path, header=True), QUICK, folder=tmp_path / "run")
    assert run.graph.types is not None
    assert run.graph.types.names == ("user", "item")
    assert any("two-sided" in note for note in run.source.notes)
    assert run.record["audit"]["negative_types"] == 0
    again = Run.load(tmp_path / "run")
    assert again.graph.types is not None
    assert torch.equal(again.graph.types.codes, run.graph.types.codes)
    links = again.links(top=3)
    assert links["source"].size == 3 * 50
    assert joins_sides(links)
    np.testing.assert_allclose(links["score"], run.links(top=3)["score"], rtol=1e-5)


def test_few_edges_are_ranked_by_paths(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    tags = [(i, (7 * i + 3 * j) % 11) for i in range(30) for j in range(3)]
    path.write_text("package,tag\n" + "".join(f"p{a},t{b}\n" for a, b in tags))
    run = fit(read(path), quick=True)
    assert run.scorer.facts["fixed"]
    assert run.metrics["auc"] > 0.6
    links = run.links(top=3, nodes="p3")
    assert (np.diff(links["score"]) <= 0).all()  # the best is the likeliest


def test_none_switches_sides_off(tmp_path: Path) -> None:
    assert read(write_purchases(tmp_path), type="none", header=True).graph.types is None


def test_a_column_names_the_types_and_is_no_feature(tmp_path: Path) -> None:
    source = read(write_purchases(tmp_path), write_table(tmp_path), type="kind", header=True)
    assert source.graph.types is not None
    assert source.graph.types.names == ("i", "u")
    assert source.graph.features is not None
    assert source.graph.features.num_columns == 1
    run = fit(source, QUICK)
    assert run.net.encoder.in_channels == 3
    assert joins_sides(run.links(top=2))


def test_a_run_with_batches_resumes_and_takes_new_nodes(tmp_path: Path) -> None:
    path = write_purchases(tmp_path)
    settings = {**QUICK, "training.fanouts": [5], "training.batch_pairs": 20}
    run = fit(read(path, header=True), settings, folder=tmp_path / "run")
    assert (
        fit(read(path, header=True), settings, folder=tmp_path / "run", resume=True).ids.size
        == run.ids.size
    )
    grown = tmp_path / "grown.csv"
    grown.write_text(path.read_text() + "u99,i1\n")
    found = run.embed(grown, header=True)
    assert found.values.shape == (51, run.embedding.shape[1])
    other = tmp_path / "other.csv"
    other.write_text(path.read_text() + "i1,i2\n")
    with pytest.raises(InputError, match="user, item"):
        run.embed(other, header=True)


def test_a_store_has_the_same_types(tmp_path: Path) -> None:
    path = write_purchases(tmp_path)
    store = ingest(path, tmp_path / "store", reading={"header": True})
    one, other = read(path, header=True), read(store.folder)
    assert one.graph.types is not None
    assert other.graph.types is not None
    assert torch.equal(one.graph.types.codes, other.graph.types.codes)
    assert one.notes == other.notes
    run = fit(other, QUICK, folder=tmp_path / "run")
    assert joins_sides(Run.load(run.folder).links(top=1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "{table}", "--type", "kind"], "every node needs a type"),
        (["--nodes", "{table}", "--type", "sort"], "no column 'sort' for types"),
        (["--type", "kind"], "no --nodes was given"),
    ],
)
def test_mistakes_cost_one_line(
    tmp_path: Path,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = write_table(tmp_path, missing=True)
    words = [word.format(table=table) for word in options]
    out = tmp_path / "run"
    command = ["fit", str(write_purchases(tmp_path)), "--out", str(out), "--read", "header=yes"]
    monkeypatch.setattr("sys.argv", ["maskgae", *command, *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert not out.exists()
    written = capsys.readouterr().err
    assert message in written
    assert written.count("\n") == 1


def test_python_graphs_bring_their_sides() -> None:
    import networkx
    import pandas
    from torch_geometric.data import HeteroData

    graph = networkx.Graph()
    graph.add_nodes_from(["a", "b"], bipartite=0)
    graph.add_nodes_from(["x", "y"], bipartite=1)
    graph.add_edges_from([("a", "x"), ("b", "y")])
    found = read(graph).graph.types
    assert found is not None
    assert found.codes.tolist() == [0, 0, 1, 1]
    data = HeteroData()
    data["user"].x, data["item"].num_nodes = torch.ones(3, 2), 4
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 3]])
    source = read(data)
    assert source.graph.types is not None
    assert source.graph.types.names == ("user", "item")
    assert source.ids.tolist()[:4] == ["user:0", "user:1", "user:2", "item:0"]
    assert source.graph.pairs.tolist() == [[0, 1, 2], [3, 4, 6]]
    frame = pandas.DataFrame({"buyer": ["a", "b"], "seller": ["x", "y"]})
    sides = read(frame).graph.types
    assert sides is not None
    assert sides.names == ("buyer", "seller")
