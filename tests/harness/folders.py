"""Hostile run folders and stores: every verb opens or refuses each of them, in bounds.

    python -m tests.harness.folders [--minutes 10] [--first 0] [--only NUMBER]

In a copy of a good run folder or store one file is missing, of another type, special, huge or
edited; where checksums protect it, they are often made to fit. Then a command is given. A finding
is a traceback, a death, a hang, an error of several lines, more than :data:`MEGABYTES`, or a file
beside the folder that was touched. The number of a case decides what it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.harness.calls import Call, Ended, call, warm_up
from tests.harness.figures import keep
from tests.harness.fuzz import TOKENS, changed

SECONDS, MEGABYTES = 40, 900
QUICK = ("--set", "training.max_steps=2", "--threads", "1", "--quiet")

#: What is asked of a folder, ``AT`` being its place, by what it was made from.
RUN = (
    *("embed AT --out TABLE", "embed AT --edges EDGES --nodes NODES --out TABLE"),
    *("links AT --out TABLE --top 3", "score AT EDGES --out TABLE", "report AT", "why AT n1 n2"),
    *("similar AT n1", "fit EDGES --nodes NODES --label group --out AT --resume"),
    *("fit EDGES --out AT --force", "fit EDGES --nodes NODES --label group --out NEW --from AT"),
    *("ingest EDGES --nodes NODES --like AT --out NEW", "fit EDGES --out AT"),
)
STORE = (
    *("fit AT --out NEW", "ingest --verify --out AT", "ingest EDGES --out AT --force"),
    *("ingest EDGES --out AT", "ingest EDGES --nodes NODES --like AT --out NEW"),
    *("embed RUN --edges AT --out TABLE", "analyze graph --edges AT"),
)
#: A run of a store, and a run that was stopped: the same verbs, and going on.
ON_STORE = (*RUN[:7], "fit STORE --out AT --resume", "fit STORE --out AT --force")
STOPPED = ("fit EDGES --nodes NODES --label group --out AT --resume", *RUN[8:11])
VERBS = {"run": RUN, "store": STORE, "on_store": ON_STORE, "stopped": STOPPED}


def furnish(home: Path) -> None:
    """Makes what is good: edges, a table, a store, runs of both, and one that was stopped."""
    from maskgae.datasets.generated import generate

    graph = generate(40, 120, num_features=3, communities=2, seed=1)
    assert graph.features is not None
    edges = "".join(f"n{u},n{v}\n" for u, v in graph.pairs.T.tolist())
    (home / "edges.csv").write_text("source,target\n" + edges)
    rows = enumerate(graph.features.dense().tolist())
    lines = (f"n{i},{x[0]:.3f},{x[1]:.3f},w{i % 5} w{i % 3},c{i % 2}\n" for i, x in rows)
    (home / "nodes.csv").write_text("id,a,b,words,group\n" + "".join(lines))
    for words in (
        "fit EDGES --nodes NODES --label group --out AT/run",
        "ingest EDGES --nodes NODES --label group --out AT/store --quiet",
        "fit AT/store --out AT/on_store",
    ):
        ended = call(Call(_words(words, home, home / "good"), seconds=300))
        assert ended.code == 0, ended
    _stop_one(home)


def _stop_one(home: Path) -> None:
    """A run that stops after its first checkpoint."""
    from maskgae.training.checkpoint import Checkpoints

    words = _words("fit EDGES --nodes NODES --label group --out AT/stopped", home, home / "good")
    genuine = Checkpoints.save

    def save(self: Any, snapshot: Any) -> None:
        genuine(self, snapshot)
        os._exit(0)

    Checkpoints.save = save  # type: ignore[method-assign]
    ended = call(Call((*words, "--checkpoint-every", "1"), seconds=300))
    Checkpoints.save = genuine  # type: ignore[method-assign]
    assert ended.code == 0 and list((home / "good/stopped/checkpoints").iterdir()), ended


def _words(text: str, home: Path, place: Path) -> tuple[str, ...]:
    """A command with its places filled in."""
    names = {"EDGES": home / "edges.csv", "NODES": home / "nodes.csv", "TABLE": home / "out.csv"}
    names |= {"NEW": home / "new", "RUN": home / "good/run", "STORE": home / "good/store"}
    words = [str(names.get(word, word)) for word in text.split()]
    words = [word.replace("AT", str(place)) if word.startswith("AT") else word for word in words]
    return (*words, *(QUICK if words[0] == "fit" else ()))


def case(number: int, home: Path) -> tuple[str, str]:
    """Puts the folder of a number in its place; what was done to it, and what is asked of it."""
    random = Random(number)
    base = random.choice(list(VERBS))
    place = home / "at"
    for path in (place, home / "new"):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(home / "good" / base, place)
    done = [_harm(random, place, home) for _ in range(random.choice([1, 1, 1, 2, 4]))]
    if random.random() < 0.6:
        _fit_manifests(place)
    return f"{base}: {', '.join(done)}", random.choice(VERBS[base])


def _harm(random: Random, place: Path, home: Path) -> str:
    files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        return "nothing left"
    path = random.choice(files)
    harm = random.choice([*HARMS.values(), *[_edit] * 4, *[_rewrite] * 4])
    harm(random, path, home)
    return f"{path.relative_to(place)} {harm.__name__.strip('_')}"


def _missing(random: Random, path: Path, home: Path) -> None:
    path.unlink()


def _empty(random: Random, path: Path, home: Path) -> None:
    path.write_bytes(b"")


def _folder(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    path.mkdir()


def _fifo(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(random: Random, path: Path, home: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _link(random: Random, path: Path, home: Path) -> None:
    """To a device, to nothing, to itself, or to a file of somebody else."""
    path.unlink()
    targets = ("/dev/zero", "/dev/null", "/dev/full", "/nowhere", path.name, home / "bystander")
    path.symlink_to(random.choice(targets))


def _huge(random: Random, path: Path, home: Path) -> None:
    """Grows to a size that no memory holds, of which the disk has nothing."""
    os.truncate(path, random.choice([1 << 31, 1 << 40]))


def _other(random: Random, path: Path, home: Path) -> None:
    """Has the content of another file."""
    others = sorted(other for other in (home / "good").rglob("*") if other.is_file())
    path.write_bytes(random.choice(others).read_bytes())


def _edit(random: Random, path: Path, home: Path) -> None:
    """Some bytes are others."""
    path.write_bytes(changed(random, path.read_bytes()[: 1 << 20], [(".bin", bytes(99))]))


def _rewrite(random: Random, path: Path, home: Path) -> None:
    """The content changes and the form stays."""
    if path.stat().st_size > 1 << 20:
        return
    if path.suffix == ".json":
        _rewrite_json(random, path)
    elif path.suffix == ".npy":
        _rewrite_array(random, path)
    elif path.suffix in (".toml", ".csv"):
        lines = path.read_bytes().split(b"\n")
        row = random.randrange(len(lines))
        key, equals, _ = lines[row].partition(b"=" if path.suffix == ".toml" else b",")
        lines[row] = key + equals + random.choice(TOKENS)
        path.write_bytes(b"\n".join(lines))
    else:
        _edit(random, path, home)


VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, 10**30, 1e308, "", "x" * 9999, [], {}, [[[]]], {"a": 1}),
    *("../../bystander", "/dev/zero", "\x1b[2J", "[red]", [None], [-1], {"": {}}, "nan"),
)


def _rewrite_json(random: Random, path: Path) -> None:
    """Another value at some place of a document."""
    document = json.loads(path.read_text())
    owner, key, value = None, None, document
    while isinstance(value, dict | list) and value and (owner is None or random.random() < 0.7):
        owner, key = (
            value,
            random.choice(list(value) if isinstance(value, dict) else range(len(value))),
        )
        value = owner[key]
    if owner is None:
        document = random.choice(VALUES)
    elif isinstance(owner, dict) and random.random() < 0.3:
        owner.pop(key)
    else:
        owner[key] = random.choice(VALUES)
    path.write_text(json.dumps(document))


def _rewrite_array(random: Random, path: Path) -> None:
    """Other numbers, shapes or types in an array."""
    array = np.load(path, allow_pickle=False)
    kind = random.randrange(6)
    if kind == 0 and array.size:
        values = [-1, 0, 1, 2**31 - 1] + [np.nan, np.inf, 1e38] * (array.dtype.kind == "f")
        array.reshape(-1)[random.randrange(array.size)] = random.choice(values)
    elif kind == 1:
        array = array.astype(random.choice(["<i8", "<f8", ">i4", "<u1", "<U9", "<c16", "?"]))
    elif kind == 2:
        array = array[..., : random.randrange(array.shape[-1] + 1)] if array.ndim else array
    elif kind == 3:
        array = array.reshape(-1)
    elif kind == 4:
        array = np.ascontiguousarray(array[..., ::-1])
    else:
        array = np.concatenate([array, array], axis=-1) if array.ndim else array
    with path.open("wb") as file:
        np.save(file, array)


HARMS: dict[str, Callable[[Random, Path, Path], None]] = {
    harm.__name__.strip("_"): harm
    for harm in (_missing, _empty, _folder, _fifo, _socket, _link, _huge, _other)
}


def _fit_manifests(place: Path) -> None:
    """Makes sizes and checksums of stores fit what is there now."""
    for manifest in place.rglob("manifest.json"):
        try:
            document = json.loads(manifest.read_text()) if manifest.is_file() else {}
            for name, entry in document["files"].items():
                path = manifest.with_name(name)
                if path.is_file() and path.stat().st_size < 1 << 24:
                    content = path.read_bytes()
                    entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            manifest.write_text(json.dumps(document))
        except (ValueError, LookupError, TypeError, AttributeError, OSError):
            continue  # what was harmed itself


def tried(number: int, home: Path) -> tuple[str, str, Ended, str]:
    """What was done to the folder of a number, what was asked, how it ended, what was wrong."""
    bystander = home / "bystander"
    bystander.write_text("not yours\n" * 9)
    done, text = case(number, home)
    ended = call(Call(_words(text, home, home / "at"), seconds=SECONDS, folder=str(home)))
    wrong = ended.wrong
    if bystander.read_text() != "not yours\n" * 9 or bystander.is_symlink():
        wrong = "a bystander was touched"
    elif ended.megabytes > MEGABYTES:
        wrong = wrong or f"{ended.megabytes:.0f} MB"
    return done, text, ended, wrong


def main() -> int:
    """Prints every finding and a count at the end; 1 where there was any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--first", type=int, default=0, help="the first number (default 0)")
    parser.add_argument("--only", type=int, help="this number alone")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    warm_up()
    first = options.first if options.only is None else options.only
    number, started = first, time.monotonic()
    verbs: dict[str, list[int]] = {}
    wrongs: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        furnish(home)
        while time.monotonic() - started < 60 * options.minutes:
            done, text, ended, wrong = tried(number, home)
            counts = verbs.setdefault(text.split()[0], [0, 0, 0])
            counts[0], counts[1] = counts[0] + 1, counts[1] + (ended.code == 0)
            counts[2] += ended.code in (1, 2) and not wrong
            if wrong:
                wrongs[wrong] += 1
                print(f"{number} {done}: {text}: {wrong}\n{ended.errors[-1200:]}", flush=True)
            number += 1
            if options.only is not None:
                print(done, text, ended, sep="\n")
                break
    figures = {"folders": number - first, "calls": number - first, "verbs": verbs}
    figures |= {"seconds": round(time.monotonic() - started), **outcome(wrongs)}
    keep(options.json, figures)
    print({key: value for key, value in figures.items() if key != "verbs"})
    return 1 if wrongs else 0


def outcome(wrongs: Counter[str]) -> dict[str, int]:
    """The figures of what was wrong."""
    return {
        "tracebacks": wrongs["a traceback"],
        "hangs": wrongs["hung"],
        "lost": wrongs["a bystander was touched"],
        "findings": wrongs.total(),
    }


if __name__ == "__main__":
    sys.exit(main())
