"""Settings of a method's own: shown, set, checked, recorded, and part of what a cell is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.base.settings import Settings
from maskgae.cli import app
from maskgae.datasets.registry import DATASETS
from maskgae.lab import Records, cell_record, evaluate, make_cell, run_missing
from maskgae.lab.methods import CONFIGURED
from maskgae.lab.row import Row

QUICK = {"dgi.dim": 4, "dgi.epochs": 2}


@pytest.mark.parametrize("name", CONFIGURED)
def test_every_setting_has_a_text_and_values_that_pass_their_check(name: str) -> None:
    entry = CONFIGURED[name]
    assert f"{name}.epochs" in entry.rules
    for dataset in ("Cora", *entry.by_dataset):
        assert dataset in DATASETS
        config = entry.configured(dataset)
        assert entry.configured(dataset, entry.flat(config)) == config
    assert all(len(rule.help) > 5 for rule in entry.rules.values())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"dgi.dimm": 3}, ("dgi.dimm", "did you mean 'dgi.dim'")),
        ({"dgi.dim": 0}, ("dgi.dim must lie in [1, inf)", "0")),
        ({"dgi.lr": "fast"}, ("dgi.lr must be a number", "learning rate")),
        ({"dg.dim": 3}, ("did you mean 'dgi.dim'",)),
        ({"mask.p": 0.5}, ("no mask.p", "maskgae settings --method dgi")),
    ],
)
def test_a_bad_setting_is_one_line(values: dict[str, object], words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        make_cell("node", "Cora", method="dgi", overrides=values)
    assert all(word in str(error.value) for word in words), error.value


def test_a_setting_of_another_method_says_whose_it_is() -> None:
    with pytest.raises(InputError, match="belongs to dgi, not to maskgae: use --method dgi"):
        make_cell("node", "Cora", overrides={"dgi.dim": 3})


def test_settings_are_those_of_the_dataset_then_those_asked_for() -> None:
    assert make_cell("node", "pubmed", method="dgi").own.dim == 256
    cell = make_cell("node", "PubMed", method="dgi", overrides={"dgi.dim": 8})
    assert (cell.own.dim, cell.own.epochs) == (8, 1000)


def test_they_decide_the_digest_and_leave_other_methods_alone() -> None:
    first, other = (
        make_cell("node", "imports", method="dgi", overrides={"dgi.dim": dim}) for dim in (4, 8)
    )
    assert first.digest() != other.digest()
    plain = make_cell("node", "imports", method="dgi")
    assert plain.digest() == replace(plain, own=None).digest() != first.digest()
    assert make_cell("node", "imports").own is None


def test_they_stand_in_the_record_and_on_disk(tmp_path: Path) -> None:
    cell, records = make_cell("node", "imports", method="dgi", overrides=QUICK), Records(tmp_path)
    record = evaluate(cell, [0])
    assert record["settings"]["dgi.dim"] == 4 and "mask.p" not in record["settings"]
    assert record["facts"]["epochs"] == 2
    assert record["protocol"]["selection"] == "training loss"
    list(run_missing([(cell, 0)], records))
    kept = records.load(cell, 0)
    assert kept is not None
    assert cell_record(cell, [kept])["metrics"] == record["metrics"]
    assert list(run_missing([(cell, 0)], records)) == []


def test_the_command_of_a_cell_sets_what_differs() -> None:
    cell = make_cell("node", "PubMed", method="dgi", overrides={"dgi.lr": 0.5})
    command = Row("node", cell, 1, {}).command
    assert "--set dgi.lr=0.5" in command and "dgi.dim" not in command


def test_updates_are_cut_by_the_cell() -> None:
    settings = Settings().updated({"training.max_steps": 7})
    method = CONFIGURED["dgi"](settings, "cpu")
    assert method.config.epochs == 7  # type: ignore[attr-defined]


def test_the_command_line_lists_them() -> None:
    result = CliRunner().invoke(app, ["settings", "--method", "dgi"], env={"COLUMNS": "140"})
    assert result.exit_code == 0
    assert all(word in result.output for word in ("dgi.dim", "512", "PubMed 256", "learning rate"))
    with pytest.raises(InputError, match="did you mean 'dgi'"):
        CliRunner().invoke(app, ["settings", "--method", "dgy"], catch_exceptions=False)
