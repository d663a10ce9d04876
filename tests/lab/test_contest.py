"""The contest: who takes part, what they are asked, what is kept and what the page says of it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.cli import app
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import split_links
from maskgae.datasets.generated import generate
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.hard import hard_metrics
from maskgae.evaluation.outcome import Outcome
from maskgae.evaluation.rules import Rules
from maskgae.evaluation.scorer import Scorer
from maskgae.lab import Records
from maskgae.lab.contest import contestants
from maskgae.lab.contest.contestants import CONTESTANTS, RuleScores, contestant, fitted
from maskgae.lab.contest.embeddings import COLUMNS
from maskgae.lab.contest.entry import TASK, VALIDATION, Entry, entries, run_entry, time_limit
from maskgae.lab.contest.exam import exam_of, off_rows
from maskgae.lab.contest.graphs import Arena, graph_name, load_arena, read_folder
from maskgae.lab.contest.products import Products, best_products, regressed_weights
from maskgae.lab.contest.refit import refitted, rescaled
from maskgae.lab.tables.contest import contest_blocks, difference, draw_contest, standing
from maskgae.run.fit import fit

SHORT = {"training__epochs": 3, "encoder__hidden": 8, "encoder__dim": 8}


def made() -> Graph:
    return generate(160, 800, num_features=6, communities=4, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph as a folder of files."""
    place, graph = tmp_path_factory.mktemp("graphs") / "tiny", made()
    place.mkdir()
    _write(place / "edges.csv.gz", "source,target", graph.pairs.T.tolist())
    assert graph.features is not None and graph.labels is not None
    sp.save_npz(place / "features.npz", sp.csr_array(graph.features.dense().numpy()))
    _write(place / "labels.csv", "id,label", enumerate(graph.labels.tolist()))
    return place


def _write(path: Path, header: str, rows: Iterable[Any]) -> None:
    text = "\n".join([header, *(f"{a},{b}" for a, b in rows)]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """``fit`` of three epochs, so that tests are over soon."""
    quick = {
        "maskgae": fitted("maskgae fit", **SHORT),
        "maskgae-network": fitted("network", scorer__kind="network", **SHORT),
    }
    monkeypatch.setattr(contestants, "CONTESTANTS", CONTESTANTS | quick)


def test_a_folder_is_read_as_the_graph_it_was_written_from(folder: Path) -> None:
    graph, original = read_folder(folder).graph, made()
    assert torch.equal(graph.pairs, original.pairs) and graph.name == "tiny"
    assert graph.features is not None and original.features is not None
    assert graph.labels is not None and original.labels is not None
    assert torch.allclose(graph.features.dense(), original.features.dense())
    assert torch.equal(graph.labels, original.labels)
    assert graph_name(str(folder)) == "tiny" and graph_name("citeseer") == "CiteSeer"


def test_classes_may_be_words(tmp_path: Path) -> None:
    _write(tmp_path / "edges.csv", "source,target", [(0, 1), (1, 3)])
    _write(tmp_path / "nodes.csv", "id,label", [(3, "tv"), (0, "film"), (1, "tv")])
    labels = read_folder(tmp_path).graph.labels
    assert labels is not None and labels.tolist() == [0, 1, -1, 1]


def test_what_is_no_graph_of_a_contest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder and no dataset"):
        load_arena("nowhere")
    with pytest.raises(InputError, match=r"no edges\.csv"):
        read_folder(tmp_path)
    _write(tmp_path / "edges.csv", "user,item", [("u0", "i0"), ("u1", "i0")])
    with pytest.raises(InputError, match="two-sided graphs do not take part"):
        read_folder(tmp_path)
    with pytest.raises(InputError, match=r"no contestant is called 'node3vec'.*node2vec"):
        contestant("node3vec")


def test_the_split_is_the_one_that_fit_draws(folder: Path) -> None:
    graph, split = load_arena(str(folder)).split(200)
    expected = split_links(graph, 0.05, 0.1, Stream(200).at("split"))
    assert torch.equal(split.test, expected.test) and torch.equal(split.val, expected.val)


def _public(tmp_path: Path) -> Path:
    split = split_links(made(), 0.1, 0.1, Stream(0))
    for name, pairs in (
        ("edges", split.train.pairs),
        ("valid", split.val),
        ("test", split.test.flip(0)),  # whichever way round
        ("valid_negatives", split.val_negatives),
        ("test_negatives", split.test_negatives),
    ):
        _write(tmp_path / f"{name}.csv", "source,target", pairs.T.tolist())
    return tmp_path


@pytest.mark.parametrize("public", [False, True])
def test_a_choice_sees_no_edge_of_the_test(folder: Path, tmp_path: Path, public: bool) -> None:
    arena = read_folder(_public(tmp_path) if public else folder)
    assert arena.splits == (1 if public else 5)
    _, tested = arena.split(1000)
    known, split = arena.split(1000, validation=True)
    hidden = pair_keys(tested.test, known.num_nodes)
    seen = torch.cat([known.pairs, split.val, split.test, split.train.pairs], dim=1)
    assert not torch.isin(pair_keys(seen, known.num_nodes), hidden).any()
    assert not any(audit_split(known, split).values())
    assert known.num_pairs == arena.graph.num_pairs - tested.test.shape[1]
    if public:
        assert torch.equal(split.test, tested.val)


def test_public_splits_are_taken_as_they_are(tmp_path: Path) -> None:
    arena = read_folder(_public(tmp_path))
    graph, split = arena.split(200)
    assert not any(audit_split(graph, split).values())
    assert graph.num_pairs == made().num_pairs
    exam = exam_of(arena, 200, False)
    assert "hits@20" in exam.grades(RuleScores(Rules(exam.train, ["adamic_adar"]), "adamic_adar"))


def test_scores_off_rows_are_those_of_pairs() -> None:
    graph = made()
    scores = RuleScores(Rules(graph, ["three_steps"]), "three_steps")
    pairs = NonEdges(graph).sample(400, Stream(0))
    assert torch.allclose(off_rows(scores, pairs), scores.pairs(pairs).double(), rtol=1e-4)


def test_grades_are_those_of_the_metrics() -> None:
    exam = exam_of(Arena(made()), 3, False)
    z = torch.randn(160, 4, generator=Stream(1).torch())
    scores = Products(z, torch.ones(4))
    assert exam.hard is not None
    asked, others = (scores.pairs(pairs) for pairs in exam.hard)
    expected = hard_metrics(asked, others.view(asked.numel(), -1))["hard_mrr"]
    assert exam.grades(scores)["hard_mrr"] == pytest.approx(expected)


def test_the_regression_finds_the_column_that_tells_edges() -> None:
    graph = made()
    assert graph.labels is not None
    noise = torch.randn(160, 3, generator=Stream(2).torch())
    sides = torch.nn.functional.one_hot(graph.labels).float()
    weights = regressed_weights(torch.cat([noise, sides], dim=1), graph, Stream(0))
    assert weights[3:].min() > weights[:3].abs().max()


def test_the_scorer_of_an_embedding_is_chosen_on_validation_edges() -> None:
    exam = exam_of(Arena(made()), 3, False)
    z = torch.randn(160, 4, generator=Stream(1).torch()).numpy()
    _, facts = best_products(z, exam, Stream(0))
    found = facts["validation_mrr"]
    assert set(found) == {"dot", "cosine", "logistic"}
    assert facts["scorer"] == max(found, key=lambda name: found[name])


@pytest.mark.parametrize("name", list(CONTESTANTS))
def test_every_contestant_takes_the_exam(folder: Path, name: str, short: None) -> None:
    (entry,) = entries(str(folder), [name])
    arena = load_arena(str(folder))
    outcome = run_entry(entry, arena, 200)
    ranked = {"rank_mrr", "rank_hits@10", "rank_hits@50", "auc", "ap", "hard_mrr"}
    assert ranked <= outcome.metrics.keys()
    embeds = contestant(name).kind in ("embedding", "fit") and name != "maskgae-refit"
    assert ("accuracy" in outcome.metrics) == embeds  # the refit is judged by its links alone
    assert outcome.time_s.keys() == {"train", "evaluate"} and outcome.peak_rss_mb > 0
    assert run_entry(entry, arena, 200).metrics == pytest.approx(dict(outcome.metrics))
    if name == "maskgae":
        assert outcome.sanity["network"]["auc"] > 0


def test_embeddings_have_so_many_columns_and_see_training_edges_alone(folder: Path) -> None:
    exam = exam_of(load_arena(str(folder)), 200, False)
    for name in ("svd", "spectral", "prone", "node2vec"):
        found = contestant(name).enter(exam, Stream(0)).embedding
        assert found.shape == (160, COLUMNS) and np.isfinite(found).all()


def test_only_those_who_can_take_part(folder: Path, tmp_path: Path) -> None:
    _write(tmp_path / "edges.csv", "source,target", made().pairs.T.tolist())
    names = [entry.method for entry in entries(str(tmp_path), list(CONTESTANTS))]
    assert set(CONTESTANTS) - set(names) == {
        "smoothed_cosine",
        "twice_smoothed_cosine",
        "smoothed",
    }


def test_an_entry_is_found_by_everything_that_decides_it(folder: Path) -> None:
    (fit,) = entries(str(folder), ["maskgae"])
    (other,) = entries(str(folder), ["maskgae-network"])
    (choice,) = entries(str(folder), ["maskgae"], validation=True)
    assert len({fit.digest(), other.digest(), choice.digest()}) == 3
    assert fit.digest() == Entry("tiny", "maskgae", fit.settings, "elsewhere").digest()
    assert fit.settings["scorer.kind"] == "combined"


def test_a_run_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(TimeoutError), time_limit(0.05):
        time.sleep(5)


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_runs_what_is_missing_and_fills_the_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    names = ("contest summary", "contest graphs", "contest choices", "contest rules")
    marks = "".join(f"<!-- begin {name} --><!-- end {name} -->\n" for name in names)
    (tmp_path / "docs/contest.md").write_text(marks)
    words = ("contest", folder, "--methods", "adamic_adar,maskgae", "--seeds", 2, "--quiet")
    assert "0 of 4 runs are there, 4 to go" in run(*words)
    page = (tmp_path / "docs/contest.md").read_text()
    assert "### tiny" in page and "Adamic-Adar" in page and "its network alone" in page
    assert (tmp_path / "docs/charts/contest.svg").exists()
    lines = (tmp_path / "results/contest/tiny.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert "4 of 4 runs are there, 0 to go" in run(*words)
    run("contest", "--no-run")
    assert (tmp_path / "docs/contest.md").read_text() == page
    choice = ("contest", folder, "--methods", "maskgae,maskgae-network", "--seeds", 1)
    run(*choice, "--validation", "--quiet")
    assert "| tiny | 1 |" in (tmp_path / "docs/contest.md").read_text()
    assert (tmp_path / "results/contest/validation/tiny.jsonl").exists()


def test_without_the_project_s_page_the_tables_are_printed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _kept(Records(tmp_path / "results"), "adamic_adar", {200: 0.5})
    words = ("--methods", "adamic_adar", "--seeds", 1, "--first-seed", 3, "--quiet")
    said = run("contest", folder, *words)
    assert "### tiny" in said and "| Adamic-Adar | 1 |" in said and "### g" not in said


def _kept(records: Records, method: str, values: dict[int, float], **settings: int) -> None:
    entry = Entry("g", method, settings, "")
    for seed, value in values.items():
        metrics = {"rank_hits@10": value, "rank_mrr": value / 2}
        times = {"train": 1.0, "evaluate": 1.0}
        records.save(entry, Outcome(seed, metrics, {}, {}, {}, times))


def test_differences_are_paired_and_marked_where_fit_is_below(tmp_path: Path) -> None:
    records = Records(tmp_path)
    _kept(records, "adamic_adar", {200: 0.50, 201: 0.60, 202: 0.10})
    _kept(records, "maskgae", {200: 0.90, 201: 0.90}, old=1)
    _kept(records, "maskgae", {200: 0.49, 201: 0.57}, new=1)
    gap = difference(standing(records, TASK, "g"), "adamic_adar", "rank_hits@10")
    assert gap is not None and gap.below
    assert str(gap) == "**-2.0 ± 1.0, below**"
    _kept(records, "maskgae", {200: 0.70, 201: 0.50}, newer=1)
    gap = difference(standing(records, TASK, "g"), "adamic_adar", "rank_hits@10")
    assert gap is not None and not gap.below and str(gap) == "+5.0 ± 15.0"
    line = contest_blocks(records)["contest summary"].splitlines()[2]
    assert line.startswith("| g | 2 | 60.0 | 55.0 (Adamic-Adar) | +5.0 ± 15.0 |")
    assert [path.suffix for path in draw_contest(records, tmp_path / "chart")] == [".png", ".svg"]


def test_label_probes_stand_beside_alternatives_and_the_joined_inputs(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert contest_blocks(records)["contest labels"] == "Nothing was run yet."
    for method, level in (("svd", 0.5), ("maskgae-quick", 0.7), ("maskgae", 0.8)):
        for seed in (200, 201):
            outcome = Outcome(seed, {"accuracy": level}, {}, {}, {"scorer": "dot"}, {"train": 1.0})
            records.save(Entry("g", method, {}, ""), outcome)
    line = contest_blocks(records)["contest labels"].splitlines()[2]
    start = "| g | 2 | 80.0 | 50.0 (SVD of the adjacency) | +30.0 ± 0.0 | +10.0 ± 0.0 |"
    assert line == start


def test_a_chart_is_drawn_before_fit_was_run_or_where_a_run_was_stopped(tmp_path: Path) -> None:
    records = Records(tmp_path)
    _kept(records, "adamic_adar", {200: 0.5})
    records.save(Entry("g", "node2vec", {}, ""), Outcome(200, {}, {}, {}, {}))
    drawn = draw_contest(records, tmp_path / "chart")
    assert all(path.stat().st_size > 0 for path in drawn)


def test_a_setting_is_tried_beside_what_suits_the_graph(
    folder: Path, tmp_path: Path, short: None
) -> None:
    tried = {"mask.p": 0.9}
    plain, given = (entries(str(folder), ["maskgae"], True, each)[0] for each in ({}, tried))
    assert plain.digest() != given.digest() and given.settings["mask.p"] == 0.9
    assert "given" not in plain.about() and given.about()["given"] == tried
    records = Records(tmp_path)
    for entry, hits in ((plain, 0.4), (given, 0.5)):
        metrics = {"rank_hits@10": hits, "rank_mrr": hits / 2, "auc": 0.9}
        records.save(entry, Outcome(1000, metrics, {}, {}, {}))
    block = contest_blocks(records)["contest settings"]
    assert "| tiny | `mask.p=0.9` | 1 | 40.0 | 50.0 | +10.0 | 20.0 | 25.0 | +5.0 |" in block
    assert standing(records, VALIDATION, "tiny")["maskgae"][1000]["metrics"]["rank_mrr"] == 0.2
    with pytest.raises(InputError, match="svd takes no settings"):
        entries(str(folder), ["svd"], True, tried)


def test_settings_are_tried_on_validation_edges_alone(folder: Path) -> None:
    told = CliRunner().invoke(app, ["contest", str(folder), "--set", "mask.p=0.9"])
    assert isinstance(told.exception, InputError) and "add --validation" in str(told.exception)


def test_refitted_weights_are_graded_beside_the_selected_ones(folder: Path) -> None:
    arena, seed = load_arena(str(folder)), 1000
    given = {"training.epochs": 20, "encoder.hidden": 8, "encoder.dim": 8}
    run = fit(replace(arena.graph, labels=None), {**given, "seed": seed})
    again = refitted(run, run.record["facts"]["best_epoch"])
    before, after = (each.columns.network for each in (run.pair_scores, again))
    assert before is not None and after is not None
    drawn = torch.randint(arena.graph.num_nodes, (2, 500), generator=torch.Generator())
    assert not torch.allclose(before.pairs(drawn), after.pairs(drawn))
    # A network counts as itself where nothing has changed.
    same = rescaled(run.scorer, before, before, drawn)
    assert same.mean == pytest.approx(run.scorer.mean)
    assert same.spread == pytest.approx(run.scorer.spread)


def test_a_logit_of_another_scale_counts_the_same(folder: Path) -> None:
    class Logits:
        def __init__(self, scale: float, shift: float) -> None:
            self.scale, self.shift = scale, shift

        def pairs(self, pairs: torch.Tensor) -> torch.Tensor:
            return self.scale * pairs[0].float() + self.shift

        def rows(self, nodes: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

    scorer = Scorer(("network",), (3.0,), (2.0,), (0.7,))
    pairs = torch.arange(10).repeat(2, 1)
    one, other = Logits(1.0, 0.0), Logits(5.0, -4.0)
    now = rescaled(scorer, one, other, pairs)
    before, after = (
        which.of(("network",), logits.pairs(pairs).unsqueeze(1))
        for which, logits in ((scorer, one), (now, other))
    )
    torch.testing.assert_close(before, after)
