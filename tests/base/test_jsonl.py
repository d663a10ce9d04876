"""JSON lines: whole ones are read, a torn last one is none, and an append takes its place."""

import os
from pathlib import Path

import pytest

from maskgae.base.errors import InputError, RunError
from maskgae.base.jsonl import append_json, read_lines


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        (b'{"a":1}\n', b'{"a":1}\n'),
        (b'{"a":1}\n{"b":', b'{"a":1}\n'),
        (b'{"b":', b""),
        (b'{"a":1}\n\0\0\0', b'{"a":1}\n'),  # as a file system may leave it
        (b'{"a":1}\n{"b":"\xc3', b'{"a":1}\n'),  # torn inside a letter
        (b'{"a":1}', b'{"a":1}\n'),  # as an editor may leave it
    ],
)
def test_an_append_starts_on_a_fresh_line(tmp_path: Path, there: bytes, kept: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(there)
    before = read_lines(path)
    assert before == [{"a": 1}] * kept.count(b"\n")
    assert path.read_bytes() == there
    append_json(path, {"c": [2, 3]})
    assert path.read_bytes() == kept + b'{"c":[2,3]}\n'
    assert read_lines(path) == [*before, {"c": [2, 3]}]


@pytest.mark.parametrize("line", [b"<<<<<<< HEAD", b'{"b":', b"", b"\xff"])
def test_a_line_that_is_no_json_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'\n{"c":2}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2 is no JSON") as caught:
        read_lines(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("there", [None, b'{"a":1}\n'])
def test_what_cannot_be_written_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bytes | None
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.jsonl"
    if there is not None:
        path.write_bytes(there)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"a\.jsonl could not be written .No space left"):
        append_json(path, {"b": 2})
    assert (path.read_bytes() if path.exists() else None) == there


def test_what_is_no_json_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        append_json(tmp_path / "a.jsonl", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*a\.jsonl"):
        read_lines(tmp_path / "a.jsonl")
