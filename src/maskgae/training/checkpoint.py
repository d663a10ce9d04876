"""Checkpoints: what a training run that was stopped goes on from.

Each is one safetensors file with a checksum, ``checkpoints/epoch-000120.safetensors``, or
``epoch-000120-step-000045.safetensors`` for one inside an epoch: weights, optimiser, best and
averaged weights (EMA), history, and the identity of the run it belongs to. It is written beside its
place, flushed and renamed, and the last two are kept, so whatever happens there is a whole one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from maskgae.base.errors import InputError, StoppedError
from maskgae.base.files import make_folder
from maskgae.base.settings import KEYS, Settings
from maskgae.base.settings_text import interval
from maskgae.base.tensors import read_tensors, write_tensors
from maskgae.evaluation.outcome import made_with
from maskgae.training.state import Snapshot


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: where they lie; it is made in the run folder, which has to be there.
        every: ``"10"`` for epochs, ``"60s"`` for seconds, ``"0"`` for when it is stopped only.
        resume: go on from the newest whole one; else those of an earlier run are removed.
        stop: asked between two steps; where it says so, the training is saved and left.
        notice: told, in a line, what the user should know.
    """

    def __init__(
        self,
        folder: Path,
        every: str = "60s",
        *,
        resume: bool = False,
        stop: Callable[[], bool] = lambda: False,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.folder, self.resume, self.stop, self.notice = folder, resume, stop, notice
        self.epochs, self.seconds = interval(every)
        self.identity: Mapping[str, Any] = {}
        self.versions = made_with()
        self._kept: list[Path] = []
        self._saved = time.monotonic()

    @property
    def latest(self) -> Path | None:
        """The newest that this training wrote or went on from."""
        return self._kept[-1] if self._kept else None

    def begin(self, identity: Mapping[str, Any]) -> Snapshot | None:
        """Where to go on from, or ``None`` to start afresh.

        Args:
            identity: what decides the result; a checkpoint with another one is refused.
        """
        self.identity = json.loads(json.dumps(identity))
        if not self.resume:
            for path in checkpoint_paths(self.folder):
                _remove(path)
            return None
        for path, snapshot, about in whole_checkpoints(self.folder, self.notice):
            _check_same(about["identity"], self.identity, path)
            self._kept = [path]
            self.notice(f"going on from {path}{_others(about.get('versions'), self.versions)}")
            return snapshot
        self.notice(f"no checkpoint in {self.folder}: starting afresh")
        return None

    def wanted(self, epoch: int, step: int) -> bool:
        """Whether to save now, after so many epochs and so many steps of the next.

        The first epoch is saved whatever the interval: a folder that cannot be written to shows
        at once, and a training run that diverges has something to go back to.
        """
        if self.stop():
            return True
        if self.seconds and time.monotonic() - self._saved >= self.seconds:
            return True
        whole = step == 0 and bool(self.epochs or self.seconds)
        return whole and (not self._kept or bool(self.epochs and epoch % self.epochs == 0))

    def save(self, snapshot: Snapshot) -> None:
        """Writes a checkpoint, and leaves the training where that was asked for."""
        epoch, step = snapshot.facts["epoch"], snapshot.facts["epoch_step"]
        inside = f"-step-{step:06d}" if step else ""
        path = self.folder / f"epoch-{epoch:06d}{inside}.safetensors"
        make_folder(self.folder)
        about = {"identity": self.identity, "facts": snapshot.facts, "versions": self.versions}
        write_tensors(path, snapshot.tensors, about)
        self._kept = [*(kept for kept in self._kept if kept != path), path][-2:]
        for other in checkpoint_paths(self.folder):
            if other not in self._kept:
                _remove(other)
        self._saved = time.monotonic()
        if self.stop():
            raise StoppedError(f"stopped in epoch {epoch} and saved to {path}")


def checkpoint_paths(folder: Path) -> list[Path]:
    """The files that are named as checkpoints, oldest first."""
    return sorted(folder.glob("epoch-*.safetensors"), key=_place)


def _place(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def whole_checkpoints(
    folder: Path, notice: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[Path, Snapshot, dict[str, Any]]]:
    """The checkpoints that can be read, with all that is said about them, newest first."""
    for path in reversed(checkpoint_paths(folder)):
        try:
            tensors, about = read_tensors(path)
        except InputError as error:
            notice(f"passed over a broken checkpoint: {error}")
            continue
        if all(isinstance(about.get(key), dict) for key in ("facts", "identity")):
            yield path, Snapshot(tensors, about["facts"]), about
        else:
            notice(f"passed over {path}: it has weights, but is no checkpoint")


def _check_same(found: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    defaults = json.loads(json.dumps(Settings().flat()))
    # A setting that is newer than the file was at its default.
    found = {key: value for key, value in defaults.items() if key in wanted} | dict(found)
    names = (key for key in {**wanted, **found} if wanted.get(key) != found.get(key))
    differing = [
        f"{key} was {found.get(key)} and is {wanted.get(key)}" if key in KEYS else f"{key} differ"
        for key in names
    ]
    if differing:
        raise InputError(
            f"{path} belongs to another run: {'; '.join(differing[:4])}; "
            "resume with the same input and settings, or start again with --force"
        )


def _others(found: Any, now: Mapping[str, str]) -> str:
    """A remark on the software or processor that wrote a checkpoint, where it was another."""
    if not isinstance(found, dict) or found == now:
        return ""
    other = [f"{key} {str(found[key])[:40]}" for key in now if found.get(key, now[key]) != now[key]]
    return f", which {', '.join(other)} wrote: the last digits may differ" if other else ""


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
