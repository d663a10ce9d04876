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
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.harness.calls import Call, Ended, call, warm_up
from tests.harness.figures import keep
from tests.harness.harms import HARMS

SECONDS, MEGABYTES = 40, 900
QUICK = ("--set", "training.max_steps=2", "--threads", "1", "--quiet")

#: What is asked of a folder, ``AT`` being its place, by what it was made from.
RUN = (
    *("embed AT --out TABLE", "embed AT --edges EDGES --nodes NODES --out TABLE"),
    *(
        "links AT --out TABLE --top 3",
        "links AT --nodes-from IDS",
        "score AT EDGES --out TABLE",
        "report AT",
        "why AT n1 n2",
    ),
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
ON_STORE = (*RUN[:8], "fit STORE --out AT --resume", "fit STORE --out AT --force")
STOPPED = ("fit EDGES --nodes NODES --label group --out AT --resume", *RUN[9:12])
#: Runs without a network, and of edges that have a direction or a time.
QUICKLY = (*RUN[:8], "fit EDGES --quick --out AT --resume", "fit EDGES --out AT --force")
ONE_WAY = (*RUN[:8], "fit EDGES --directed --out AT --resume", "fit EDGES --out NEW --from AT")
IN_TIME = (*RUN[:8], "fit TIMES --time year --out AT --resume", "fit EDGES --out NEW --from AT")
VERBS = {"run": RUN, "store": STORE, "on_store": ON_STORE, "stopped": STOPPED}
VERBS |= {"quick": QUICKLY, "one_way": ONE_WAY, "in_time": IN_TIME}


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
    times = (f"n{u},n{v},{1990 + i % 30}\n" for i, (u, v) in enumerate(graph.pairs.T.tolist()))
    (home / "times.csv").write_text("source,target,year\n" + "".join(times))
    (home / "ids.txt").write_text("n1\nn2\n")
    for words in (
        "fit EDGES --nodes NODES --label group --out AT/run",
        "ingest EDGES --nodes NODES --label group --out AT/store --quiet",
        "fit AT/store --out AT/on_store",
        "fit EDGES --quick --out AT/quick",
        "fit EDGES --directed --out AT/one_way",
        "fit TIMES --time year --out AT/in_time",
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
    names |= {
        "IDS": home / "ids.txt",
        "TIMES": home / "times.csv",
        "NEW": home / "new",
        "RUN": home / "good/run",
        "STORE": home / "good/store",
    }
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
    harm = random.choice(HARMS)
    harm(random, path, home)
    return f"{path.relative_to(place)} {harm.__name__}"


def _fit_manifests(place: Path) -> None:
    """Makes sizes and checksums of stores fit what is there now."""
    for manifest in place.rglob("manifest.json"):
        try:
            document = json.loads(manifest.read_text()) if _moderate(manifest) else {}
            for name, entry in document["files"].items():
                path = manifest.with_name(name)
                if _moderate(path):
                    content = path.read_bytes()
                    entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            manifest.write_text(json.dumps(document))
        except (ValueError, LookupError, TypeError, AttributeError, OSError):
            continue  # what was harmed itself


def _moderate(path: Path) -> bool:
    """Whether a path is a file that was not made huge."""
    return path.is_file() and path.stat().st_size < 1 << 24


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
