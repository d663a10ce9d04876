"""Extreme graphs and numbers: every verb does its work on each, or says in a line why it cannot.

python -m tests.harness.extremes [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tests.harness.calls import Call, Ended, call, warm_up
from tests.harness.figures import keep
from tests.harness.folders import outcome

#: Seconds and megabytes that no command on any of them may take.
SECONDS, MEGABYTES = 600, 2500

Writer = Callable[[Path], None]


def edges_of(pairs: Sequence[tuple[int, int]]) -> str:
    return "".join(f"n{u},n{v}\n" for u, v in pairs)


def ring(size: int) -> list[tuple[int, int]]:
    """A ring with chords."""
    near = [(i, (i + 1) % size) for i in range(size)]
    return near + [(i, (i + 7) % size) for i in range(size)]


def clique(first: int, size: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(first, first + size), 2))


def shape(pairs: Sequence[tuple[int, int]]) -> Writer:
    return lambda folder: _write(folder, edges_of(pairs))


def repeated(rows: int) -> Writer:
    """A small graph, each edge of it over and over in both directions."""
    text = edges_of([*ring(30), *((v, u) for u, v in ring(30))])
    return lambda folder: _write(folder, text * (rows // 120))


def isolated(count: int) -> Writer:
    """A small graph in a table of many nodes that have no edge."""
    rows = "".join(f"n{i},{i % 5}\n" for i in range(count))
    return lambda folder: _write(folder, edges_of(ring(40)), "id,x\n" + rows)


def valued(values: Sequence[str]) -> Writer:
    """A small graph whose nodes have these numbers, in turn."""
    rows = "".join(f"n{i},{values[i % len(values)]},{i % 3}\n" for i in range(40))
    return lambda folder: _write(folder, edges_of(ring(40)), "id,x,y\n" + rows)


def one_hot(columns: int) -> Writer:
    """Words of which each node has one of its own, in a table of text."""
    words = [f"n{i}," + " ".join(f"w{w}" for w in range(i, columns, 100)) for i in range(100)]
    return lambda folder: _write(folder, edges_of(ring(100)), "id,text\n" + "\n".join(words) + "\n")


def matrix(value: float) -> Writer:
    """Features as an array that holds one number everywhere."""

    def write(folder: Path) -> None:
        _write(folder, "".join(f"{u},{v}\n" for u, v in ring(40)))
        np.save(folder / "nodes.npy", np.full((40, 3), value, dtype=np.float32))

    return write


def _write(folder: Path, edges: str, nodes: str = "") -> None:
    (folder / "edges.csv").write_text(edges)
    if nodes:
        (folder / "nodes.csv").write_text(nodes)


def dated(years: Sequence[str]) -> Writer:
    """A small graph whose edges have these times, in turn."""
    rows = (f"n{u},n{v},{years[i % len(years)]}\n" for i, (u, v) in enumerate(ring(40)))
    return lambda folder: _write(folder, "source,target,year\n" + "".join(rows))


#: Cheap ones first; those of :data:`LARGE` are for ``make test-all``.
GRAPHS: dict[str, Writer] = {
    "one edge": shape([(0, 1)]),
    "two edges": shape([(0, 1), (1, 2)]),
    "a star": shape([(0, i) for i in range(1, 60)]),
    "complete": shape(clique(0, 20)),
    "two cliques": shape([*clique(0, 12), *clique(12, 12)]),
    "a path": shape([(i, i + 1) for i in range(60)]),
    "matching": shape([(2 * i, 2 * i + 1) for i in range(30)]),
    "loops alone": shape([(i, i) for i in range(30)]),
    "1e38": valued(["1e38", "-1e38", "3.4e38"]),
    "beyond float32": valued(["1e39", "1e300"]),
    "subnormal": valued(["1e-45", "1e-310", "-4e-39"]),
    "constant": valued(["7"]),
    "all zero": valued(["0"]),
    "zero matrix": matrix(0.0),
    "constant matrix": matrix(5.0),
    "huge matrix": matrix(3e38),
    "tiny matrix": matrix(1e-44),
    "one moment": dated(["2001"]),
    "the ends of time": dated(["-9e15", "0", "9e15", "1970-01-01", "nan"]),
    "years": dated([str(year) for year in range(1990, 2020)]),
}
LARGE: dict[str, Writer] = {
    "100,000 one-hot columns": one_hot(100_000),
    "100,000 isolated nodes": isolated(100_000),
    "2,000,000 rows of 60 edges": repeated(2_000_000),
    "a star of 50,000": shape([(0, i) for i in range(1, 50_000)]),
    "a path of 60,000": shape([(i, i + 1) for i in range(60_000)]),
}

#: What is asked of each; without a run, the first says why.
VERBS = (
    "fit EDGES NODES --out RUN --set training.epochs=2 --threads 1 --quiet",
    "fit EDGES NODES --out ALL --holdout 0 --set training.epochs=1 --threads 1 --quiet",
    "embed RUN --out z.csv --threads 1",
    "links RUN --out links.csv --top 2 --node A --threads 1",
    "score RUN EDGES --out scores.csv --threads 1",
    "similar RUN A --threads 1",
    "why RUN A B --threads 1",
    "report RUN --threads 1",
    "ingest EDGES NODES --out STORE --verify --quiet",
    "fit STORE --out FROM --set training.epochs=1 --threads 1 --quiet",
    "fit EDGES NODES --out QUICK --quick --threads 1 --quiet",
    "links QUICK --out links.csv --top 2 --threads 1",
    "fit EDGES NODES --out ONE_WAY --directed --set training.epochs=1 --threads 1 --quiet",
    "links ONE_WAY --out links.csv --nodes-from ids.txt --threads 1",
    "fit EDGES --out TIMED --time year --set training.epochs=1 --threads 1 --quiet",
    "analyze graph --edges EDGES --threads 1",
    "analyze overlap --edges EDGES --seeds 1 --sample 100 --threads 1",
)

#: What the verbs make.
FOLDERS = ("RUN", "ALL", "STORE", "FROM", "QUICK", "ONE_WAY", "TIMED")


def tried(
    name: str, folder: Path, run: Callable[..., Ended], verbs: Sequence[str] = VERBS
) -> Iterator[tuple[str, Ended, str]]:
    """What each verb makes of a graph: the command, how it ended, and what was wrong.

    Args:
        name: one of the graphs.
        folder: an empty one.
        run: runs a command, given its words, the folder and the seconds it may take.
    """
    {**GRAPHS, **LARGE}[name](folder)
    nodes = next((path.name for path in folder.glob("nodes.*")), None)
    ids = ("0", "4") if (folder / "nodes.npy").exists() else ("n0", "n4")
    (folder / "ids.txt").write_text(f"{ids[0]}\n")
    places = {"EDGES": "edges.csv", **{name: name.lower() for name in FOLDERS}}
    places |= dict(zip("AB", ids, strict=True))
    for text in verbs:
        words = text.replace("NODES", f"--nodes {nodes}" if nodes else "").split()
        words = [places.get(word, word) for word in words]
        if words[1] == "run" and not (folder / "run").exists():
            words[1] = "all"  # where there are too few edges to hold some out
        if words[1] in map(str.lower, FOLDERS) and not (folder / words[1]).exists():
            continue  # which was refused, and why is said already
        ended = run(*words, folder=str(folder), seconds=SECONDS)
        yield text, ended, _wrong(ended, folder)


def _wrong(ended: Ended, folder: Path) -> str:
    if ended.wrong or ended.megabytes > MEGABYTES:
        return ended.wrong or f"{ended.megabytes:.0f} MB"
    for path in folder.glob("*.csv"):
        text = path.read_text() if path.name in ("z.csv", "links.csv", "scores.csv") else ""
        if "nan" in text or "inf" in text:
            return f"{path.name} has numbers that are none"
    return ""


def main() -> int:
    """Prints a line for each graph, and every finding; 1 where there was any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graph", action="append", help="only this one; repeatable")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    warm_up()
    graphs: dict[str, dict[str, float]] = {}
    wrongs: Counter[str] = Counter()
    for name in options.graph or [*GRAPHS, *LARGE]:
        with tempfile.TemporaryDirectory() as folder:
            found = list(tried(name, Path(folder), lambda *w, **more: call(Call(w, **more))))
        graphs[name] = counts([ended for _, ended, _ in found])
        refused = [ended.errors.strip()[-160:] for _, ended, _ in found if ended.code]
        print(f"{name}: {graphs[name]}; {refused[:1]}", flush=True)
        for text, ended, wrong in found:
            if wrong:
                wrongs[wrong] += 1
                print(f"  {text}: {wrong}\n{ended.errors[-1500:]}", flush=True)
    keep(options.json, {"graphs": graphs, **outcome(wrongs)})
    return 1 if wrongs else 0


def counts(ended: Sequence[Ended]) -> dict[str, float]:
    """Of the commands on one graph: how many there were, were done or refused, and their cost."""
    return {
        "commands": len(ended),
        "done": sum(each.code == 0 for each in ended),
        "refused": sum(each.code in (1, 2) for each in ended),
        "seconds": round(sum(each.seconds for each in ended)),
        "megabytes": round(max((each.megabytes for each in ended), default=0)),
    }


if __name__ == "__main__":
    sys.exit(main())
