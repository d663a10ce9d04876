"""A store that was killed, begun anew or replaced ends as one made at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.store_files import content, write_csv

from maskgae.base.errors import InputError
from maskgae.base.replace import NEW
from maskgae.store import ingest as ingesting
from maskgae.store.ingest import Stages, ingest
from maskgae.store.sorting import SortedRuns
from maskgae.store.store import open_store


@pytest.mark.parametrize("stage", ["ids", "edges", "pairs", "rows", "nodes", "checksums"])
def test_a_killed_ingest_goes_on_and_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    rng = np.random.default_rng(5)
    edges = write_csv(tmp_path / "edges.csv", rng.integers(0, 30, (200, 2)))
    nodes = write_csv(tmp_path / "nodes.csv", [(i, i**2) for i in range(31)], "id,x")
    ingest(edges, tmp_path / "whole", nodes=nodes)
    begun: list[str] = []

    def on_stage(name: str) -> None:
        begun.append(name)
        if name == stage and begun.count(stage) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(edges, tmp_path / "store", nodes=nodes, on_stage=on_stage)
    with pytest.raises(InputError, match="not a finished store"):
        open_store(tmp_path / "store")
    ingest(edges, tmp_path / "store", nodes=nodes, on_stage=on_stage)
    assert content(tmp_path / "store") == content(tmp_path / "whole")
    assert [begun.count(name) for name in dict.fromkeys(begun)].count(2) == 1


def test_half_written_stages_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = write_csv(tmp_path / "edges.csv", np.random.default_rng(5).integers(0, 30, (200, 2)))
    ingest(edges, tmp_path / "whole")
    real, calls = SortedRuns.flush, []

    def dying(self: SortedRuns) -> None:
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        real(self)

    monkeypatch.setattr(SortedRuns, "flush", dying)
    with pytest.raises(KeyboardInterrupt):
        ingest(edges, tmp_path / "store")
    ingest(edges, tmp_path / "store")
    assert content(tmp_path / "store") == content(tmp_path / "whole")


def test_another_source_begins_anew(tmp_path: Path) -> None:
    stages = Stages(tmp_path / "store", {"edges": "a"})
    assert stages.run("ids", lambda: {"found": 1}) == {"found": 1}
    assert Stages(tmp_path / "store", {"edges": "a"}).run("ids", dict) == {"found": 1}
    assert Stages(tmp_path / "store", {"edges": "b"}).run("ids", dict) == {}


def test_folders_that_are_in_use_are_refused(tmp_path: Path) -> None:
    edges = write_csv(tmp_path / "edges.csv", [(1, 2)])
    ingest(edges, tmp_path / "store")
    with pytest.raises(InputError, match="a store already"):
        ingest(edges, tmp_path / "store")
    write_csv(edges, [(1, 2), (2, 3)])
    assert ingest(edges, tmp_path / "store", force=True).graph.num_pairs == 2
    with pytest.raises(InputError, match="not empty and no store"):
        ingest(edges, tmp_path)
    with pytest.raises(InputError, match="could not be locked"):
        ingest(edges, edges)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    "name", [".work/thesis.txt", ".work/state.json", "manifest.json", "labels.npy"]
)
def test_only_what_an_ingest_wrote_is_taken_for_a_store(
    tmp_path: Path, name: str, force: bool
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "mine"
    for path in (out / "pairs.npy", out / name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"format": "mine", "source": {}, "done": {}}')
    before = content(out)
    with pytest.raises(InputError, match="not empty and no store"):
        ingest(edges, out, force=force)
    assert content(out) == before


def test_a_store_stays_until_the_new_one_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store"
    ingest(edges, out)
    (out / "notes.txt").write_text("mine")
    old = content(out)
    for rows in ([], [(1, "")]):
        with pytest.raises(InputError):
            ingest(write_csv(tmp_path / "bad.csv", rows), out, force=True)
        kept = {name: data for name, data in content(out).items() if not name.startswith(NEW)}
        assert kept == old
        open_store(out).verify()
    write_csv(edges, [(1, 2), (2, 3), (3, 4)])
    assert ingest(edges, out, force=True).graph.num_pairs == 3
    whole = ingest(edges, tmp_path / "whole")
    assert content(out) == content(whole.folder) | {"notes.txt": b"mine"}


def test_a_killed_replacement_goes_on(tmp_path: Path) -> None:
    edges, out, begun = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store", []
    ingest(edges, out)
    write_csv(edges, [(1, 2), (2, 3)])

    def dying(stage: str) -> None:
        begun.append(stage)
        if begun.count("rows") == 1 == begun.count(stage) and stage == "rows":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(edges, out, force=True, on_stage=dying)
    assert open_store(out).graph.num_pairs == 1
    with pytest.raises(InputError, match="a store already"):
        ingest(edges, out)
    assert ingest(edges, out, force=True, on_stage=dying).graph.num_pairs == 2
    assert begun.count("ids") == 1 and begun.count("rows") == 2
    assert not (out / NEW).exists()


@pytest.mark.parametrize("name", ["drop_work", "write_manifest"])
def test_a_replacement_killed_at_its_end_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store"
    ingest(edges, out)
    write_csv(edges, [(1, 2), (2, 3)])
    real = getattr(ingesting, name)

    def dying(folder: Path, *more: Any) -> None:
        if folder.name == NEW and (folder / "pairs.npy").exists():
            real(folder, *more)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ingesting, name, dying)
        ingest(edges, out, force=True)
    assert open_store(out).graph.num_pairs == 1
    assert ingest(edges, out, force=True).graph.num_pairs == 2
    assert content(out) == content(ingest(edges, tmp_path / "whole").folder)


def test_beginning_anew_removes_no_stranger(tmp_path: Path) -> None:
    edges, out = write_csv(tmp_path / "edges.csv", [(1, 2)]), tmp_path / "store"
    Stages(out, {"edges": "another"})
    strangers = [out / "notes.txt", out / ".work" / "notes.txt", out / ".work/keys/notes.txt"]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert ingest(edges, out).graph.num_pairs == 1
    assert [path.read_text() for path in strangers] == ["mine"] * 3
