"""Cells and seeds: independence, addresses on disk, and resuming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.base.processor import processor
from maskgae.base.settings import Settings
from maskgae.datasets.generated import generate
from maskgae.evaluation.outcome import forget_peak, peak_rss_mb
from maskgae.lab import Cell, Outcome, Records, cell_record, evaluate, make_cell, run_missing
from maskgae.run import fit

QUICK = {"training.epochs": 3, "encoder.hidden": 8, "encoder.dim": 8}


def quick_cell(task: str = "link", **overrides: object) -> Cell:
    return make_cell(task, "imports", overrides={**QUICK, **overrides})


@pytest.mark.parametrize("task", ["link", "node"])
def test_run_i_of_n_equals_run_i_alone(task: str) -> None:
    cell = quick_cell(task, **{"probe.grid": [1.0]})
    together, alone = evaluate(cell, [0, 1]), evaluate(cell, [1])
    for name, summary in together["metrics"].items():
        assert summary["values"][1] == alone["metrics"][name]["values"][0], name


def test_settings_decide_the_digest_and_the_seed_does_not() -> None:
    assert quick_cell().digest() == quick_cell(seed=7).digest()
    assert quick_cell().digest() != quick_cell(**{"mask.p": 0.31}).digest()
    assert quick_cell().digest() != quick_cell("node").digest()


def test_presets_then_overrides() -> None:
    cell = make_cell("link", "cora", mask="path", overrides={"mask.q": 0.33})
    assert (cell.preset, cell.dataset) == ("link-cora-path", "Cora")
    assert (cell.settings.mask.kind, cell.settings.mask.q) == ("path", 0.33)


@pytest.mark.parametrize(
    ("task", "dataset", "method"),
    [("lnk", "Cora", "maskgae"), ("link", "Corra", "maskgae"), ("link", "Cora", "maskgea")],
)
def test_unknown_names_are_refused(task: str, dataset: str, method: str) -> None:
    with pytest.raises(InputError, match="did you mean"):
        make_cell(task, dataset, method=method)


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    records, cell = Records(tmp_path), quick_cell()
    tasks, path = [(cell, 0), (cell, 1)], records.path(cell.task, cell.dataset)
    assert len(list(run_missing(tasks, records))) == 2
    assert list(run_missing(tasks, records)) == []
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(first)
    assert [seed for _, seed in run_missing(tasks, records)] == [1]
    assert path.read_bytes().startswith(first)
    record = records.record(cell, [0, 1, 2])
    assert record is not None and record["seeds"] == [0, 1]


def test_a_deleted_run_comes_back_with_the_same_numbers(tmp_path: Path) -> None:
    records, cell = Records(tmp_path), quick_cell()
    list(run_missing([(cell, 0)], records))
    before = records.load(cell, 0)
    records.path(cell.task, cell.dataset).unlink()
    list(run_missing([(cell, 0)], records, jobs=1))
    after = records.load(cell, 0)
    assert before is not None and after is not None
    assert (before.metrics, before.sanity) == (after.metrics, after.sanity)


def test_a_record_of_one_seed_has_no_deviation() -> None:
    run = Outcome(5, {"auc": 0.5}, {"row": {"auc": 0.25}}, {"held_out_leaks": 0}, {}, TIMES)
    record = cell_record(quick_cell(), [run])
    assert record["metrics"]["auc"]["mean"] == 0.5
    assert record["metrics"]["auc"]["std"] is None
    assert record["sanity"]["row"]["auc"]["values"] == [0.25]


TIMES = {"train": 1.0, "evaluate": 0.5}


def test_a_record_tells_the_most_memory_that_any_run_took() -> None:
    runs = [Outcome(0, {}, {}, {}, {}, TIMES, peak) for peak in (100.0, 300.0, 200.0)]
    assert cell_record(quick_cell(), runs)["peak_rss_mb"] == 300.0


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system cannot")
def test_a_peak_can_be_forgotten() -> None:
    forget_peak()
    before = peak_rss_mb()
    np.ones(2**25).sum()
    assert peak_rss_mb() > before + 200
    forget_peak()
    assert peak_rss_mb() < before + 100


def test_a_node_run_may_train_on_all_pairs_to_the_end() -> None:
    to_the_end = {"split.val": 0.0, "training.select": "last", "training.patience": 0}
    record = evaluate(quick_cell("node", **to_the_end), [0])
    assert record["facts"]["stopped"] == "epochs"
    with pytest.raises(InputError, match="leaves no edges to select an epoch on"):
        evaluate(quick_cell("node", **{**to_the_end, "training.select": "val_auc"}), [0])


@pytest.mark.parametrize(
    ("missing", "words"),
    [("split.val", "leaves no edges to select an epoch on"), ("split.test", "--holdout 0")],
)
def test_links_to_select_or_to_test_on_are_missed_before_the_training(
    missing: str, words: str
) -> None:
    def no_training(seed: int) -> Callable[[Any], None]:
        return lambda row: pytest.fail("trained")

    with pytest.raises(InputError, match=words):
        evaluate(quick_cell("link", **{missing: 0.0}), [0], on_epoch=no_training)


def test_a_method_that_learns_from_labels_is_refused_on_links() -> None:
    with pytest.raises(InputError, match="gcn learns from labels"):
        make_cell("link", "imports", method="gcn")


def test_a_named_mask_wins_over_a_setting() -> None:
    cell = make_cell("link", "imports", mask="path", overrides={"mask.kind": "edge"})
    assert cell.settings.mask.kind == "path"


def test_a_record_tells_where_its_runs_were_made() -> None:
    versions = ("1", "2")
    runs = [Outcome(0, {}, {}, {}, {}, TIMES, 0.0, {"torch": v}, 1) for v in versions]
    record = cell_record(quick_cell(), runs)
    assert record["versions"] == {"torch": ["1", "2"]} and record["threads"] == 1


def test_a_record_of_runs_from_before_the_processor_was_kept_has_what_all_of_them_name() -> None:
    here = {"torch": "1", "processor": processor()}
    runs = [
        Outcome(n, {}, {}, {}, {}, TIMES, 0.0, v, 1) for n, v in enumerate([here, {"torch": "1"}])
    ]
    assert cell_record(quick_cell(), runs)["versions"] == {"torch": "1"}


def test_a_run_names_the_instructions_that_its_digits_come_from() -> None:
    named = Outcome(0, {}, {}, {}).versions["processor"]
    assert named == processor() and named.endswith(torch.backends.cpu.get_cpu_capability())


def test_a_protocol_says_what_was_done() -> None:
    graph = generate(60, 200, num_features=4, communities=2)
    settings = Settings().updated({"training.epochs": 1})
    whole = fit(replace(graph, name="Collab"), settings, holdout=False).record["protocol"]
    assert whole == {"split": "none: all edges are trained on", "selection": "last"}
    split = fit(replace(graph, name="Collab"), settings).record["protocol"]["split"]
    assert split == "val 0.05, test 0.1 of the edges, a new split per seed"


def test_columns_that_only_fit_makes_are_refused() -> None:
    with pytest.raises(InputError, match=r"encoder\.structure adds columns that fit makes"):
        make_cell("link", "Cora", overrides={"encoder.structure": 8})


def test_a_baseline_takes_no_settings_of_maskgae_and_its_record_has_none() -> None:
    with pytest.raises(InputError, match=r"gae has a recipe of its own and no encoder\.dim"):
        make_cell("link", "imports", method="gae", overrides={"encoder.dim": 8})
    cell = make_cell("link", "imports", method="sgc", overrides={"training.max_steps": 1})
    record = evaluate(cell, [0])
    assert record["mask"] is None and record["semantics"] is None
    rooms = {key.partition(".")[0] for key in record["settings"]}
    assert rooms == {"probe", "scorer", "split", "training"}  # how it is judged, and when it stops


def test_a_dataset_has_its_tasks() -> None:
    with pytest.raises(InputError, match="Collab is for the link task"):
        make_cell("node", "Collab")
