"""One's own graph on the command line: from files to files, and every way to get it wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.base.settings_text import read_toml
from maskgae.cli import app
from maskgae.datasets.generated import generate
from maskgae.evaluation.metrics import link_metrics
from maskgae.report.map import map_data
from maskgae.run import Run, fit, read
from maskgae.run.page import report_data

RUNNER = CliRunner()
QUICK = ("--set", "training.epochs=5", "--threads", "1", "--quiet")
ODD = ("007", "NA", "null", "a,b", "Zoë", "<script>alert(1)</script>", "=1+1", "x y")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Edges and a table of 150 nodes; the first eight have awkward names."""
    folder = tmp_path_factory.mktemp("own")
    graph = generate(150, 700, num_features=4, communities=3, seed=3)
    names = [*ODD, *(f"n{i}" for i in range(len(ODD), 150))]
    quoted = [f'"{name}"' for name in names]
    lines = [f"{quoted[u]},{quoted[v]}" for u, v in graph.pairs.T.tolist()]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    assert graph.features is not None and graph.labels is not None
    rows = [
        ",".join([name, *(f"{x:.4f}" for x in row), f"c{label}"])
        for name, row, label in zip(
            quoted, graph.features.dense().tolist(), graph.labels.tolist(), strict=True
        )
    ]
    (folder / "nodes.csv").write_text("id,a,b,c,d,group\n" + "\n".join(rows) + "\n")
    return folder


def run(*arguments: str | Path) -> str:
    result = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def fitted(files: Path) -> Path:
    out = files / "run"
    run(
        "fit",
        files / "edges.csv",
        "--nodes",
        files / "nodes.csv",
        "--label",
        "group",
        "--out",
        out,
        *QUICK,
    )
    return out


def test_links_are_printed_where_no_file_is_named(fitted: Path, tmp_path: Path) -> None:
    said = run("links", fitted, "--top", "2", "--node", "007", "--node", "a,b")
    lines = said.splitlines()
    assert lines[0].split() == ["source", "target", "probability", "precision"]
    assert [line.split()[0] for line in lines[1:5]] == ["007", "007", "a,b", "a,b"]
    assert "validation pairs; Brier score at the test" in said
    assert "expect it where as many links are missing" in said
    assert max(map(len, lines)) <= 80
    listed = tmp_path / "some.txt"
    listed.write_text("007\na,b\n007\n")
    assert run("links", fitted, "--top", "2", "--nodes-from", listed) == said
    record = json.loads((fitted / "metrics.json").read_text())
    assert 0 < record["facts"]["brier"] < 0.5 and record["facts"]["reliability"]
    assert record["facts"]["test_pairs"] == 70


def test_a_run_tells_what_fit_chose_and_why(fitted: Path) -> None:
    said = " ".join(run("settings", fitted).split())
    assert "Narrow layers: 150 nodes cannot train many weights." in said
    assert "encoder.hidden = 64 (default 128)" in said
    assert "mask.p = 0.3" in said
    assert "Given, by a preset" in said and "training.epochs = 5 (default" in said


def test_the_limit_of_epochs_and_few_test_edges_are_told(tmp_path: Path) -> None:
    ring = [f"{i},{(i + step) % 30}" for i in range(30) for step in (1, 2)]
    (tmp_path / "ring.csv").write_text("\n".join(["source,target", *ring]))
    words = ("--set", "training.epochs=1", "--set", "training.eval_every=1")
    said = run("fit", tmp_path / "ring.csv", "--out", tmp_path / "run", *words)
    assert "tested on 6 edges: so few that chance alone moves figures by up to 20" in said
    assert "stopped by the limit of 1 epochs at its best one" in said
    assert f"--from {tmp_path / 'run'} --out NEW" in said


def test_communities_and_the_map_are_in_a_file(fitted: Path, tmp_path: Path) -> None:
    table = pq.read_table(fitted / "nodes.parquet")
    assert table.column_names == ["id", "community", "x", "y"]
    saved = Run.load(fitted)
    assert table["id"].to_pylist() == saved.ids.tolist()
    page = map_data(report_data(saved), [], Stream(0, ("report",)))
    np.testing.assert_allclose(page["x"], table["x"].to_numpy(), atol=1e-4)
    groups = np.asarray(page["groups"]["community"]["of"]) + 1
    assert groups.tolist() == table["community"].to_pylist()
    saved.save(tmp_path / "again")
    assert pq.read_table(tmp_path / "again" / "nodes.parquet").equals(table)


def test_vectors_for_search_are_one_column_of_lists(fitted: Path, tmp_path: Path) -> None:
    index = pytest.importorskip("usearch.index")
    out = tmp_path / "vectors.parquet"
    run("embed", fitted, "--vectors", "--out", out)
    table, saved = pq.read_table(out), Run.load(fitted)
    width = saved.embedding.shape[1]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), width)
    vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, width)
    assert np.array_equal(vectors, saved.embedding)
    store = index.Index(ndim=width, metric="cos", dtype="f32")
    store.add(np.arange(150), vectors)
    near = table["id"].take(store.search(vectors[7], 4).keys[1:].astype("int64")).to_pylist()
    assert near == saved.similar(saved.ids[7], 3)["target"].tolist()
    with pytest.raises(InputError, match=r"--vectors wants Parquet"):
        run("embed", fitted, "--vectors", "--out", tmp_path / "vectors.csv")


def test_the_run_folder_is_complete(fitted: Path) -> None:
    names = {path.name for path in fitted.iterdir()}
    assert names == {
        "model.safetensors",
        "config.toml",
        "graph",
        "features.json",
        "scorer.json",
        "readout.safetensors",
        "embeddings.parquet",
        "nodes.parquet",
        "metrics.json",
        "history.csv",
        "report.html",
    }
    record = json.loads((fitted / "metrics.json").read_text())
    assert {"auc", "accuracy"} <= set(record["metrics"])
    assert record["audit"]["held_out_leaks"] == 0
    assert record["audit"]["features_from_structure"] is False


def test_ids_come_back_unchanged(fitted: Path) -> None:
    ids = pq.read_table(fitted / "embeddings.parquet")["id"].to_pylist()
    assert set(ODD) <= set(ids) and len(ids) == 150


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "npz", "npy"])
def test_embed_writes_every_format(fitted: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"z.{ending}"
    run("embed", fitted, "--out", out)
    assert out.stat().st_size > 0


def test_a_grown_graph_is_embedded(fitted: Path, files: Path, tmp_path: Path) -> None:
    edges = tmp_path / "grown.csv"
    edges.write_text((files / "edges.csv").read_text() + '"new","NA"\n')
    nodes = tmp_path / "grown_nodes.csv"
    nodes.write_text((files / "nodes.csv").read_text() + '"new",0,0,0,0,c1\n')
    out = tmp_path / "z.parquet"
    run("embed", fitted, "--edges", edges, "--nodes", nodes, "--out", out)
    table = pq.read_table(out)
    assert table.num_rows == 151 and "new" in table["id"].to_pylist()


def test_the_ids_of_a_matrix_say_whose_row_is_whose(files: Path, tmp_path: Path) -> None:
    table = np.loadtxt(files / "nodes.csv", str, delimiter=",", skiprows=1, quotechar='"')
    vectors = []
    for rows, name in ((table, "forwards"), (table[::-1], "backwards")):
        np.savez(tmp_path / f"{name}.npz", x=rows[:, 1:5].astype(float), ids=rows[:, 0])
        nodes, out = ("--nodes", tmp_path / f"{name}.npz"), tmp_path / name
        run("fit", files / "edges.csv", *nodes, "--out", out, *QUICK)
        for more in ((), ("--edges", files / "edges.csv", *nodes)):
            run("embed", out, *more, "--out", tmp_path / "z.npy")
            vectors.append(np.load(tmp_path / "z.npy"))
    for other in vectors[1:]:
        np.testing.assert_allclose(other, vectors[0], atol=1e-5)


def test_links_leave_out_what_exists(fitted: Path, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "links.parquet"
    run("links", fitted, "--top", "2", "--node", "007", "--node", "a,b", "--out", out)
    table = pq.read_table(out).to_pydict()
    assert table["source"] == ["007", "007", "a,b", "a,b"]
    text = (files / "edges.csv").read_text()
    for source, target in zip(table["source"], table["target"], strict=True):
        assert f'"{source}","{target}"' not in text and f'"{target}","{source}"' not in text


def test_score_keeps_the_order_of_the_pairs(fitted: Path, tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.csv", tmp_path / "s.parquet"
    pairs.write_text("source,target\nNA,null\n007,Zoë\n")
    run("score", fitted, pairs, "--out", out)
    table = pq.read_table(out).to_pydict()
    assert table["source"] == ["NA", "007"] and table["target"] == ["null", "Zoë"]
    assert np.all((np.array(table["score"]) > 0) & (np.array(table["score"]) < 1))


def test_without_a_table_features_come_from_structure(files: Path, tmp_path: Path) -> None:
    run("fit", files / "edges.csv", "--out", tmp_path / "run", "--dim", "16", *QUICK)
    record = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert record["audit"]["features_from_structure"] is True
    assert pq.read_table(tmp_path / "run" / "embeddings.parquet").num_columns == 17
    grown = tmp_path / "grown.csv"
    grown.write_text((files / "edges.csv").read_text() + '"new","NA"\n')
    run("embed", tmp_path / "run", "--edges", grown, "--out", tmp_path / "z.csv")


@pytest.mark.parametrize("messages", ["train", "train_val"])
def test_the_page_shows_the_scores_of_the_record(
    files: Path, tmp_path: Path, messages: str
) -> None:
    """Features from structure must not tell the page of the test pairs either."""
    choice = ("--set", f"split.message_edges={messages}")
    run("fit", files / "edges.csv", "--out", tmp_path / "run", *QUICK, *choice)
    saved = Run.load(tmp_path / "run")
    page = report_data(saved)
    assert page.test_scores is not None
    assert link_metrics(*page.test_scores)["auc"] == saved.record["metrics"]["auc"]["mean"]
    assert page.best_epoch == saved.record["facts"]["best_epoch"]


def test_a_warm_start_begins_where_the_other_run_ended(
    fitted: Path, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    table = ("--nodes", files / "nodes.csv", "--label", "group")
    run("fit", files / "edges.csv", *table, "--from", fitted, "--out", out, *QUICK)
    first = (fitted / "history.csv").read_text().splitlines()[1].split(",")[1]
    warm = (out / "history.csv").read_text().splitlines()[1].split(",")[1]
    assert float(warm) < float(first)


BAD = [
    ("empty.csv", "", "empty"),
    ("one.csv", "a\nb\nc\n", "column"),
    ("ragged.csv", "source,target\na,b\nc\n", "line"),
    ("loops.csv", "source,target\na,a\nb,b\n", "no edges"),
    ("tiny.csv", "source,target\na,b\nb,c\n", "too few edges"),
    ("negative.csv", "source,target,weight\na,b,-1\nb,c,1\n", "-1"),
    ("words.csv", "source,target,weight\na,b,heavy\nb,c,1\n", "heavy"),
    ("fake.parquet", "source,target\na,b\n", "fake.parquet"),
    ("fake.npz", "source,target\na,b\n", "fake.npz"),
    ("edges.xyz", "a,b\n", "xyz"),
]


@pytest.mark.parametrize(("name", "text", "words"), BAD, ids=[name for name, _, _ in BAD])
def test_bad_edges_are_refused_and_nothing_is_written(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        run("fit", tmp_path / name, "--out", tmp_path / "run", *QUICK)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_other_bad_input(fitted: Path, files: Path, tmp_path: Path) -> None:
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        (("fit", files / "edges.csv", "--out", fitted, *QUICK), "--force"),
        (("fit", tmp_path / "no.csv", "--out", tmp_path / "r", *QUICK), r"no\.csv"),
        (("fit", files / "edges.csv", "--label", "group", "--out", tmp_path / "r"), "--nodes"),
        (("embed", tmp_path, "--out", tmp_path / "z.csv"), r"model\.safetensors"),
        (("embed", fitted, "--out", tmp_path / "z.xls"), r"\.xls"),
        (("embed", fitted, "--edges", files / "edges.csv", "--out", tmp_path / "z.csv"), "--nodes"),
        (("links", fitted, "--node", "nobody", "--out", tmp_path / "l.csv"), "nobody"),
        (("links", fitted, "--nodes-from", tmp_path / "absent.txt"), "absent.txt"),
    ]
    for arguments, words in cases:
        with pytest.raises(InputError, match=words):
            run(*arguments)


def test_learnable_vectors_refuse_new_nodes(files: Path, tmp_path: Path) -> None:
    learn = ("--set", "encoder.node_embedding=8")
    run("fit", files / "edges.csv", "--out", tmp_path / "run", *learn, *QUICK)
    grown = tmp_path / "grown.csv"
    grown.write_text((files / "edges.csv").read_text() + '"new","NA"\n')
    with pytest.raises(InputError, match="learnt an embedding"):
        run("embed", tmp_path / "run", "--edges", grown, "--out", tmp_path / "z.csv")


def test_batches_are_asked_for_or_refused(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = ("fit", files / "edges.csv", "--out", tmp_path / "run", "--threads", "1")
    words = run(*edges, "--batch-pairs", "100", "--set", "training.max_steps=4")
    assert "training on batches of 100 pairs with 10 neighbours sampled per hop" in words
    assert "edges per second" in words
    settings = read_toml(tmp_path / "run" / "config.toml")
    assert (settings["training.batch_pairs"], settings["training.fanouts"]) == (100, [10])
    monkeypatch.setenv("MASKGAE_MEMORY", "1MB")
    with pytest.raises(InputError, match=r"1 MiB are available: lower"):
        run(*edges, "--force", "--batch-pairs", "100")


def test_too_few_labels_do_not_lose_a_run() -> None:
    graph = generate(60, 200, num_features=8, communities=1)
    settings = Settings().updated({"training.epochs": 2})
    record = fit(graph, settings).record
    assert "accuracy" not in record["metrics"]
    assert "two classes" in record["protocol"]["probe"]


def test_edges_are_read_as_asked(tmp_path: Path) -> None:
    """Columns, separator and weights that no guess would find, in memory and in a store."""
    rows = [f"{i}|b{i * 7 % 23}|s{i * 5 % 17}|0" for i in range(200)]
    (tmp_path / "sales.csv").write_text("\n".join(["weight|buyer|seller|weight", *rows]))
    asked = ("source=buyer", "target=seller", "sep=|", "header=yes", "weight=none")
    how = [word for text in asked for word in ("--read", text)]
    text = run("ingest", tmp_path / "sales.csv", "--out", tmp_path / "store", *how)
    assert "edges from column 'buyer' to column 'seller'" in text
    run("fit", tmp_path / "sales.csv", "--out", tmp_path / "run", *how, *QUICK)
    graph = Run.load(tmp_path / "run").graph
    assert graph.num_nodes == 40 and graph.weights is None
    run("score", tmp_path / "run", tmp_path / "sales.csv", "--out", tmp_path / "s.csv", *how)


def test_the_column_of_ids_is_asked_for(tmp_path: Path) -> None:
    edges, table = tmp_path / "edges.csv", tmp_path / "goods.csv"
    names = [f"n{i}" for i in range(40)]
    pairs = [f"n{i},n{(i + step) % 40}" for i in range(40) for step in (1, 3, 7)]
    edges.write_text("\n".join(["source,target", *pairs]))
    rows = [f"{i % 5},{name},{i + 100}" for i, name in enumerate(names)]
    table.write_text("\n".join(["id,sku,size", *rows]))
    with pytest.raises(InputError, match=r"several of .*--id"):
        run("fit", edges, "--nodes", table, "--out", tmp_path / "run", *QUICK)
    how = ("--nodes", table, "--id", "sku")
    text = run("ingest", edges, *how, "--out", tmp_path / "store")
    assert "nodes by column 'sku' of goods.csv" in text
    run("fit", edges, *how, "--out", tmp_path / "run", *QUICK)
    saved = Run.load(tmp_path / "run")
    assert sorted(saved.ids.tolist()) == sorted(names)
    assert np.array_equal(saved.embed(edges, table).ids, saved.ids)
    assert np.array_equal(saved.embed(tmp_path / "store").ids, saved.ids)
    with pytest.raises(InputError, match="column 'size', name another by --id"):
        read(edges, table, id="size")
    with pytest.raises(InputError, match="has no column 'skew'"):
        read(edges, table, id="skew")
    with pytest.raises(InputError, match="'id' is about files"):
        read([(0, 1)], id="sku")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--read", "sepp=;"), "did you mean 'sep'"),
        (("--read", "header=1"), "--read header takes yes or no"),
        (("--missing", "mean"), "no --nodes was given"),
        (("--id", "name"), "--id names a column of --nodes"),
        (("--read", "source=a"), "name both columns"),
    ],
)
def test_ways_to_read_that_make_no_sense(
    files: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run("fit", files / "edges.csv", "--out", tmp_path / "run", *words, *QUICK)


def test_a_table_is_refused_where_the_run_had_none(files: Path, tmp_path: Path) -> None:
    run("fit", files / "edges.csv", "--out", tmp_path / "run", *QUICK)
    grown = ("--edges", files / "edges.csv", "--nodes", files / "nodes.csv")
    with pytest.raises(InputError, match="leave out --nodes"):
        run("embed", tmp_path / "run", *grown, "--out", tmp_path / "z.npy")
