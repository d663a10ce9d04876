"""The hub's own package: it reads our card, and finds a run in its cache of downloads."""

import shutil
from pathlib import Path

import pytest

from maskgae import InputError, Run, fit

hub = pytest.importorskip("huggingface_hub", reason="make ecosystem installs it")
pytestmark = pytest.mark.slow
EDGES = [(i, (i * 7 + j) % 60) for i in range(60) for j in (1, 2, 3)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hub") / "ring"
    fit(EDGES, {"training.epochs": 3}).save_pretrained(place, repo_id="user/ring")
    return place


def test_the_card_is_read(saved: Path) -> None:
    data = hub.ModelCard.load(saved / "README.md").data
    assert data.library_name == "maskgae"
    assert data.pipeline_tag == "graph-ml"
    found = {result.metric_type: result.metric_value for result in data.eval_results}
    assert found["auc"] == Run.load(saved).metrics["auc"]


def test_a_downloaded_run_is_loaded(saved: Path, tmp_path: Path) -> None:
    # As the hub's cache has it: content by number, and links to it by name.
    home = tmp_path / "models--user--ring"
    commit = "0" * 40
    for number, path in enumerate(sorted(p for p in saved.rglob("*") if p.is_file())):
        blob = home / "blobs" / str(number)
        link = home / "snapshots" / commit / path.relative_to(saved)
        for parent in (blob.parent, link.parent):
            parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, blob)
        link.symlink_to(blob)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    run = Run.from_pretrained("user/ring", cache_dir=tmp_path, local_files_only=True)
    assert (run.embedding == Run.load(saved).embedding).all()
    with pytest.raises(InputError, match="user/other is no folder, and the hub does not give it"):
        Run.from_pretrained("user/other", cache_dir=tmp_path, local_files_only=True)


def test_a_run_is_sent(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, dict[str, object]] = {}

    def upload(self: object, **how: object) -> str:
        calls["upload"] = how
        return "there"

    monkeypatch.setattr(hub.HfApi, "create_repo", lambda self, *a, **k: calls.update(made=k))
    monkeypatch.setattr(hub.HfApi, "upload_folder", upload)
    run = Run.load(saved)
    how = {"repo_id": "user/ring", "private": True, "commit_message": "A ring"}
    assert run.save_pretrained(saved, push_to_hub=True, **how) == "there"
    assert calls["made"] == {"private": True, "exist_ok": True}
    assert calls["upload"]["folder_path"] == str(saved)
    assert calls["upload"]["commit_message"] == "A ring"
