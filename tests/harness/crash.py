"""Kills at random moments: what was killed is resumed, and ends as if nothing had happened.

    python -m tests.harness.crash [--kills 300] [--seed 0]

Commands run in forks of this process, which has imported everything, and are killed (SIGKILL):
half of them at a moment drawn uniformly from the time that they take, half at a random flush of a
file or folder, where one is written and not yet renamed, or renamed and not yet safe. Other runs
end in the middle of a write, when a file grows beyond a random size (RLIMIT_FSIZE), are sent SIGINT
or SIGTERM, which they may answer, or stand still for a moment (SIGSTOP). After each of these every
file under a final name must be whole. Then the command is given again, may be killed again, and
once it ends all its files must equal, byte for byte, those of a run that nobody disturbed. So that
they can, clocks stand still in the forks.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness import scenes
from tests.harness.calls import stop_clocks
from tests.harness.figures import keep

from maskgae.base.files import TEMPORARY
from maskgae.base.lock import LOCK

#: Seconds after which a command counts as hung, on the busiest machine.
PATIENCE = 3000

#: How often one run is disturbed, at most, before it may end.
AT_MOST = 3

#: Seconds for which a command is stopped.
PAUSE = 0.3


def fork(
    action: Callable[[], None],
    log: Path,
    last_flush: int | None = None,
    largest_file: int | None = None,
) -> int:
    """Runs an action in a fork of this process, with its output in a file; its number.

    Args:
        last_flush: the flush at which it dies, the first being 0.
        largest_file: the size beyond which it dies of writing a file.
    """
    sys.stdout.flush()
    number = os.fork()
    if number:
        return number
    code = 70
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1), os.dup2(output, 2)
        signal.alarm(PATIENCE)
        stop_clocks()
        _count_flushes(log.with_name("flushes"), last_flush)
        if largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        action()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:  # as Python answers SIGINT where the command line does not
        code = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)


def _count_flushes(path: Path, last: int | None) -> None:
    """Writes the number of flushes to a file, and dies at the last one."""
    real, calls = os.fsync, itertools.count()

    def fsync(handle: int) -> None:
        call = next(calls)
        path.write_text(str(call + 1))
        if call == last:
            os.kill(os.getpid(), signal.SIGKILL)
        real(handle)

    os.fsync = fsync  # type: ignore[assignment]


def waited(number: int) -> int:
    """The exit code of a fork, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


@dataclass
class Site:
    """A scene with a folder to play it in and the files that it should end with."""

    scene: scenes.Scene
    folder: Path
    wanted: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    flushes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def play(self, resume: bool) -> Callable[[], None]:
        return lambda: self.scene.play(self.folder, self.out, resume)

    def furnish(self) -> None:
        """Puts in place what the scene begins with."""
        shutil.rmtree(self.out, ignore_errors=True)
        before, old = self.scene.before, self.folder / "old"
        if before is None:
            return
        if not old.exists() and waited(fork(lambda: before(self.folder, old, False), self.log)):
            raise SystemExit(
                f"{self.scene.name} has nothing to begin with:\n{self.log.read_text()}"
            )
        shutil.copytree(old, self.out)

    def rehearse(self) -> None:
        """Plays the scene undisturbed."""
        self.furnish()
        started = time.perf_counter()
        code = waited(fork(self.play(False), self.log))
        self.seconds = time.perf_counter() - started
        if code:
            raise SystemExit(f"{self.scene.name} fails undisturbed:\n{self.log.read_text()}")
        self.wanted = contents(self.out, self.scene)
        self.flushes = int((self.folder / "flushes").read_text())

    def disturb(self, rng: random.Random, sent: list[int]) -> None:
        """Plays the scene, sends it signals at random moments, and lets it end."""
        self.furnish()
        self.log.unlink(missing_ok=True)
        resume = False
        for each in sent:
            if each == signal.SIGXFSZ:
                size = int(rng.uniform(0.05, 1) * len(rng.choice(list(self.wanted.values()))))
                number = fork(self.play(resume), self.log, largest_file=size)
            elif each == signal.SIGKILL and rng.random() < 0.5:
                number = fork(self.play(resume), self.log, rng.randrange(self.flushes))
            else:
                number = fork(self.play(resume), self.log)
                time.sleep(rng.uniform(0, self.seconds))
                os.kill(number, each)
                if each == signal.SIGSTOP:
                    time.sleep(PAUSE)
                    os.kill(number, signal.SIGCONT)
            self._after(waited(number), each)
            resume = True
        code = waited(fork(self.play(resume), self.log))
        self.counts["runs"] += 1
        if code:
            self._complain(f"resumed, it ends with {code}:\n{self.log.read_text()[-2000:]}")
        elif differing := differences(self.wanted, contents(self.out, self.scene)):
            self.counts["differences"] += len(differing)
            self._complain(f"differs: {', '.join(differing)}")

    def _complain(self, problem: str) -> None:
        self.problems.append(problem)
        print(f"{self.scene.name}: {problem}", flush=True)

    def _after(self, code: int, sent: int) -> None:
        """Counts what a signal did, and looks at what it left."""
        if sent == signal.SIGXFSZ:
            self.counts["cut writes"] += code == -sent
        elif sent == signal.SIGKILL:
            self.counts["kills"] += code == -sent
            self.counts["amid a write"] += bool(list(self.out.rglob(".*.tmp")))
            self.counts["with checkpoints"] += bool(list(self.out.rglob("checkpoints/epoch-*")))
        elif sent == signal.SIGSTOP:
            self.counts["pauses"] += code == 0
        else:
            self.counts["signals"] += code in (128 + sent, -sent)
        if code not in (0, -sent, 128 + sent):
            self._complain(f"ended with {code}:\n{self.log.read_text()[-2000:]}")
        if waited(fork(self._read, self.log)):
            self.counts["unreadable"] += 1
            self._complain(f"left an unreadable file:\n{self.log.read_text()[-2000:]}")

    def _read(self) -> None:
        self.scene.readable(self.out)  # which finishes what was cut off, so it comes first
        scenes.check_readable(self.out)


def contents(folder: Path, scene: scenes.Scene) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, but for what a killed process may leave.

    Among records that is its lock, and beside a single file the temporary one it was writing.

    """
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    if scene.appends:
        paths = (path for path in paths if path.name != LOCK)
    if scene.leaves:
        paths = (path for path in paths if not TEMPORARY.fullmatch(path.name))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def differences(wanted: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    return [name for name in sorted(wanted | found) if wanted.get(name) != found.get(name)]


def run(
    kills: int, seed: int, names: list[str], kept: Path | None = None, minutes: float = math.inf
) -> bool:
    """Kills as often as asked, over all scenes in turn; whether nothing was lost."""
    rng, started = random.Random(seed), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        sites = []
        for scene in scenes.SCENES:
            if not names or scene.name in names:
                (Path(folder) / scene.name).mkdir()
                sites.append(Site(scene, Path(folder) / scene.name))
        for site in sites:
            waited(fork(lambda: scenes.prepare(site.folder), site.log))  # noqa: B023
            site.rehearse()
        while (done := sum(site.counts["kills"] for site in sites)) < kills:
            if time.perf_counter() - started > 60 * minutes:
                break
            site = min(sites, key=lambda each: each.counts["kills"])
            site.disturb(rng, [signal.SIGKILL] * min(rng.randint(1, AT_MOST), kills - done))
            site.disturb(rng, [signal.SIGXFSZ])
            if rng.random() < 0.5:
                site.disturb(rng, [rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGSTOP))])
    seconds = time.perf_counter() - started
    keep(kept, figures(sites, seconds))
    return report(sites, seconds)


def figures(sites: list[Site], seconds: float) -> dict[str, Any]:
    """What is kept of a run of this harness."""
    names = (*COLUMNS, "differences", "unreadable")
    counts = {site.scene.name: {name: site.counts[name] for name in names} for site in sites}
    total = {name: sum(scene[name] for scene in counts.values()) for name in names}
    problems = sum(len(site.problems) for site in sites)
    return {"scenes": counts, "total": total, "problems": problems, "seconds": round(seconds)}


COLUMNS = ("kills", "amid a write", "with checkpoints", "cut writes", "signals", "pauses", "runs")


def report(sites: list[Site], seconds: float) -> bool:
    """Prints the counts of each scene and the sum of all."""
    total: Counter[str] = Counter()
    print(f"{'':16}" + "".join(f"{name:>18}" for name in COLUMNS))
    for site in sites:
        total += site.counts
        row = "".join(f"{site.counts[name]:18}" for name in COLUMNS)
        print(f"{site.scene.name:16}{row}")
    print(f"{'all':16}" + "".join(f"{total[name]:18}" for name in COLUMNS))
    print(
        f"{total['kills']} kills, {total['cut writes']} cut writes, {total['signals']} other "
        f"signals and {total['pauses']} pauses in {seconds:.0f} s: "
        f"{total['differences']} files differ, {total['unreadable']} unreadable files, "
        f"{sum(len(site.problems) for site in sites)} problems"
    )
    return not any(site.problems for site in sites)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no longer than this")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    given = parser.parse_args()
    fine = run(given.kills, given.seed, given.scene, given.json, given.minutes)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
