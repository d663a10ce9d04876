"""Runs with a model card: saved, read back, sent; and what notebooks show of them."""

import json

import pytest

from maskgae import InputError, MaskGAE, Run, fit
from maskgae.run.hub import model_card

EDGES = [(i, (i * 7 + j) % 60) for i in range(60) for j in (1, 2, 3)]


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(EDGES, {"training.epochs": 3})


def test_a_run_comes_back(run: Run, tmp_path) -> None:
    assert run.save_pretrained(tmp_path / "ring") is None
    again = Run.from_pretrained(tmp_path / "ring")
    assert (again.embedding == run.embedding).all()
    assert 'Run.from_pretrained("ring")' in (tmp_path / "ring" / "README.md").read_text()
    again.save_pretrained(tmp_path / "ring", repo_id="user/ring")  # in its own place
    assert "user/ring" in (tmp_path / "ring" / "README.md").read_text()
    model = MaskGAE.from_pretrained(tmp_path / "ring")
    model.save_pretrained(tmp_path / "other")
    assert (tmp_path / "other" / "model.safetensors").is_file()


def test_the_card_has_the_record(run: Run) -> None:
    card = model_card(run, "user/ring")
    about = dict(line.split(": ", 1) for line in card.split("---\n")[1].splitlines())
    assert json.loads(about["library_name"]) == "maskgae"
    (result,) = json.loads(about["model-index"])[0]["results"]
    assert {"type": "auc", "value": run.metrics["auc"]} in result["metrics"]
    rows = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    own = dict(zip(rows[0], next(row for row in rows if row[0] == "this run"), strict=True))
    assert own["AUC"] == f"{100 * run.metrics['auc']:.2f}"
    assert "common neighbours" in card
    assert "60 nodes" in card
    assert "`training.epochs = 3`" in card


def test_a_card_obeys_no_name(run: Run) -> None:
    bare = Run(run.net, run.source)
    card = model_card(bare, "a`\n# b")
    assert "nothing was measured" in card
    assert "\n# b" not in card


def test_what_is_nowhere_is_an_error(tmp_path, monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="huggingface_hub is not installed: pip install"):
        Run.from_pretrained(tmp_path / "absent")


def test_a_notebook_shows_the_head_of_the_page(run: Run) -> None:
    head = run._repr_html_()
    assert f"{100 * run.metrics['auc']:.2f}" in head
    assert "best baseline" in head
    assert "60" in head
    assert "<script" not in head
    model = MaskGAE()
    assert "maskgae run" not in model._repr_html_()
    model._keep(run, 0)
    shown = model._repr_mimebundle_()["text/html"]
    assert shown.startswith(head)
    assert "MaskGAE" in shown[len(head) :]
