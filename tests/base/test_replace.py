"""A swap that is cut off at any step leaves the old content or the new one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from maskgae.base.errors import RunError
from maskgae.base.lock import LOCK, locked
from maskgae.base.replace import MOVING, NEW, READY, replacing, settle, settled

FILES = ("part/a", "b", "c", "whole")
OLD = {"part/a": "old a", "b": "old b", "whole": "old"}
FRESH = {"part/a": "new a", "c": "new c", "whole": "new"}


def write(folder: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def content(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def replace(folder: Path) -> None:
    with locked(folder):
        settle(folder, FILES)
        with replacing(folder, FILES, anew=True) as place:
            write(place, FRESH)


@contextmanager
def cut_off(step: int) -> Iterator[list[str]]:
    """Ends the work at a change of a name, the first being 0; lists the changes before it."""
    done: list[str] = []

    def failing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Path, *more: Any, **named: Any) -> Any:
            if path.name != LOCK:
                if len(done) == step:
                    raise KeyboardInterrupt
                done.append(name)
            return real(path, *more, **named)

        return call

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        for name in ("rename", "replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(Path, name, failing(name, getattr(Path, name)))
        yield done


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("step", range(16))
def test_cut_off_anywhere_it_is_the_old_or_the_new(tmp_path: Path, step: int, linked: bool) -> None:
    folder, place = tmp_path / "run", tmp_path / "place"
    write(place, {**OLD, "mine": "kept"})
    folder.symlink_to(place) if linked else place.rename(folder)
    with cut_off(step) as done:
        replace(folder)
    assert len(done) == step or step > 12  # there are a dozen of them
    settled(folder, FILES)
    found = content(folder)
    assert found.pop("mine") == "kept"
    assert {n: t for n, t in found.items() if not n.startswith(NEW)} in (OLD, FRESH)
    replace(folder)
    assert content(folder) == {**FRESH, "mine": "kept"}
    assert {path.name for path in folder.iterdir()} == {"part", "c", "whole", "mine"}


def test_what_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, OLD)
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(5, "broken")))
    with pytest.raises(RunError, match="broken"):
        replace(tmp_path)
    monkeypatch.undo()
    replace(tmp_path)
    assert content(tmp_path) == FRESH


def test_what_was_not_completed_stays_beside(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    with locked(tmp_path), replacing(tmp_path, FILES, anew=True) as place:
        write(place, {"b": "half"})
    assert content(tmp_path) == {**OLD, f"{NEW}/b": "half"}
    with locked(tmp_path), replacing(tmp_path, FILES, anew=False) as place:
        assert place == tmp_path / NEW
        write(place, FRESH)
    assert content(tmp_path) == {**FRESH, "b": "half"}


def test_a_third_one_is_not_taken_for_the_second(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    write(tmp_path / NEW, FRESH)  # complete, and killed before the swap
    with replacing(tmp_path, FILES, anew=True) as place:
        write(place, {"b": "third"})
    assert content(tmp_path)["whole"] == "old"
    write(tmp_path / NEW, FRESH)
    with replacing(tmp_path, FILES, anew=False):
        pass
    assert content(tmp_path)["whole"] == "new"


def test_a_stranger_among_the_new_files_stays(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    with replacing(tmp_path, FILES, anew=True) as place:
        write(place, {**FRESH, "mine": "kept"})
    settled(tmp_path, FILES)
    assert content(tmp_path) == {**FRESH, f"{MOVING}/mine": "kept"}


def test_nothing_begun_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, OLD)
    with pytest.raises(KeyError), replacing(tmp_path, FILES, anew=True):
        raise KeyError
    assert {path.name for path in tmp_path.iterdir()} == {"part", "b", "whole"}
    with replacing(tmp_path, FILES, anew=False) as place:
        assert place == tmp_path


@pytest.mark.parametrize("name", [NEW, READY, MOVING])
def test_links_to_elsewhere_are_not_followed(tmp_path: Path, name: str) -> None:
    write(tmp_path / "elsewhere", FRESH)
    write(tmp_path / "run", {"whole": "old"})
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run" / "part").symlink_to(tmp_path / "elsewhere" / "part")
    settled(tmp_path / "run", FILES)
    with replacing(tmp_path / "run", FILES, anew=False) as place:
        assert place == tmp_path / "run"
    assert content(tmp_path / "elsewhere") == FRESH
