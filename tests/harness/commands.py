"""Odd command lines and environments: each is done or refused in one line, in bounds.

    python -m tests.harness.commands [--calls 2000] [--first 0] [--only NUMBER]

Verbs, options and settings are read from the program itself, so new ones are tried as they come;
values are those that programs trip over. The number of a call decides what it is. A finding is a
traceback, a warning, a death, a hang, or an error of several lines.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.harness.calls import Call, Ended, call, usage, warm_up
from tests.harness.figures import keep
from tests.harness.folders import furnish, outcome

SECONDS = 60

VALUES = (
    *(
        "",
        " ",
        "-",
        "--",
        "-1",
        "0",
        "1",
        "2",
        "007",
        "0x10",
        "1e3",
        "1e999",
        "nan",
        "inf",
        "9" * 40,
    ),
    *("é", "e\u0301", "\u202e", "\x1b[2J", "[red]x", "\n", "\t", "a\nb", "\udcff", "a" * 5000, "'"),
    *(
        "..",
        "/",
        "/dev/null",
        "/dev/zero",
        "/dev/stdin",
        "/nowhere/x",
        "~",
        "*",
        "$HOME",
        "a,b",
        ",",
    ),
    *("[", "[]", "[1,2", "{}", "=", "a=", "=1", "mask.p", "mask.p=", "mask.p=x", "true", "none"),
    *("Cora", "imports", "link", "node", "gcn", "edge", "cuda", "cuda:99", "mps", "cpu:1", "None"),
    *(
        "EDGES",
        "NODES",
        "RUN",
        "STORE",
        "NEW",
        "TABLE",
        "n1",
        "id",
        "group",
        "SELF",
        "x.npy",
        "x.xls",
    ),
)

ENVIRONMENT = {
    "WORLD_SIZE": ("", "-1", "x", "1.5", "2"),  # whose ranks nothing lets meet
    **dict.fromkeys(("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("", "-1", "x", "1.5")),
    **dict.fromkeys(("TORCHELASTIC_RESTART_COUNT", "OMP_NUM_THREADS"), ("", "-1", "x", "9" * 30)),
    "MASKGAE_MEMORY": ("", "0", "x", "1MB", "1e9", "-5GiB", "9" * 40, "nan"),
    "MASKGAE_DATA": ("", "/nowhere", "/dev/null", "\udcff"),
    "COLUMNS": ("0", "1", "x", "-3", "100000"),
    "TERM": ("", "dumb", "xterm-256color"),
    **dict.fromkeys(("NO_COLOR", "FORCE_COLOR"), ("", "1")),
    **dict.fromkeys(("LANG", "LC_ALL"), ("C", "tr_TR.UTF-8", "x")),
    **dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), ("", "/nowhere", "/dev/null")),
}

#: What keeps a call short, whatever it asks for; the last of several values counts.
SHORT = {
    "demo": ("--threads", "-1"),  # a minute of work that no setting shortens: refused
    "fit": ("--set", "training.max_steps=2", "--set", "encoder.layers=1"),
    "evaluate": ("--set", "training.max_steps=1", "--seeds", "1", "--method", "maskgae"),
    "reproduce": ("--no-run", "--results", "NEW", "--document", "PAGE"),
    "ablate": ("--no-run", "--results", "NEW", "--charts", "NEW"),
    "tune": ("--results", "NEW", "--seeds", "1", "--set", "training.max_steps=1", "--jobs", "1"),
    "contest": ("--no-run", "--results", "NEW"),
    "analyze": ("--seeds", "1", "--sample", "10"),
}
#: Verbs that compute on a graph of their own for long: most calls of them are not worth it.
LONG = ("evaluate", "tune")


def surface() -> dict[str, list[Any]]:
    """Every verb with its parameters, as the parser knows them."""
    from typer.main import get_command

    from maskgae.cli.app import VERBS, app

    group: Any = get_command(app)
    found: dict[str, list[Any]] = {}
    for verb in VERBS:
        command = group.get_command(None, verb)
        for name, inner in getattr(command, "commands", {"": command}).items():
            found[f"{verb} {name}".strip()] = inner.params
    return found


def words(number: int, known: dict[str, list[Any]], keys: list[str]) -> tuple[str, ...]:
    """The command line of a number, places still by their names."""
    random = Random(number)
    verb = random.choice([v for v in known if v not in LONG or random.random() < 0.05])
    given = verb.split()
    if random.random() < 0.03:
        return (random.choice(["", "-h", "--help", "fitt", "--", "é", "--set"]), *given)
    for parameter in known[verb]:
        if not getattr(parameter, "opts", [""])[0].startswith("-"):
            if random.random() < 0.95:
                given.append(_argument(random, parameter.name))
        elif random.random() < (0.9 if parameter.required else 0.15):
            given.append(random.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                given.append(_value(random, parameter.name, keys))
    if random.random() < 0.05:
        given.insert(random.randrange(len(given) + 1), random.choice(VALUES))
    return (*given, *SHORT.get(given[0], ()))


def _argument(random: Random, name: str) -> str:
    likely = {"edges": "EDGES", "run": "RUN", "task": "link", "pairs": "EDGES", "node": "n1"}
    return likely.get(name, "n2") if random.random() < 0.7 else random.choice(VALUES)


def _value(random: Random, name: str, keys: list[str]) -> str:
    if name in ("assignments", "grid") and random.random() < 0.8:
        return f"{random.choice(keys)}={random.choice(VALUES)}"
    likely = {"out": ("NEW", "TABLE"), "edges": ("EDGES",), "nodes": ("NODES",), "like": ("RUN",)}
    if name in likely and random.random() < 0.7:
        return random.choice(likely[name])
    return random.choice(VALUES)


def environment(number: int) -> dict[str, str]:
    """The odd variables of a number; for most there is none."""
    random = Random(f"environment {number}")
    names = [name for name in ENVIRONMENT if random.random() < 0.04]
    return {name: random.choice(ENVIRONMENT[name]) for name in names}


def tried(
    number: int, home: Path, known: dict[str, list[Any]], keys: list[str]
) -> tuple[Call, Ended]:
    """The call of a number, in a folder of its own."""
    places = {"EDGES": "edges.csv", "NODES": "nodes.csv", "RUN": "good/run", "STORE": "good/store"}
    places |= {"NEW": f"new{number}", "TABLE": f"out{number}.csv", "SELF": ".", "PAGE": "nodes.csv"}
    given = tuple(str(home / places[w]) if w in places else w for w in words(number, known, keys))
    asked = Call(given, str(home), environment(number), SECONDS)
    return asked, call(asked)


def main() -> int:
    """Prints every finding and a count at the end; 1 where there was any."""
    from maskgae.base.settings import KEYS

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--first", type=int, default=0, help="the first number (default 0)")
    parser.add_argument("--only", type=int, help="this number alone")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no longer than this")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    options = parser.parse_args()
    warm_up()
    known, keys, started = surface(), sorted(KEYS), time.monotonic()
    numbers = range(options.first, options.first + options.calls)
    verbs: dict[str, list[int]] = {verb: [0, 0, 0] for verb in known}
    wrongs: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        furnish(home)
        for number in numbers if options.only is None else [options.only]:
            if time.monotonic() - started > 60 * options.minutes:
                break
            asked, ended = tried(number, home, known, keys)
            verb = next(
                (v for v in known if asked.words[: v.count(" ") + 1] == tuple(v.split())), ""
            )
            counts = verbs.setdefault(verb or "none", [0, 0, 0])
            counts[0], counts[1] = counts[0] + 1, counts[1] + (ended.code == 0)
            counts[2] += ended.code in (1, 2) and not ended.wrong
            if ended.wrong:
                wrongs[ended.wrong] += 1
                print(f"{number} {asked}: {ended.wrong}\n{ended.errors[-1500:]}", flush=True)
            elif options.only is not None:
                print(asked, ended, usage(ended.output + ended.errors), sep="\n")
    figures = {"calls": sum(counts[0] for counts in verbs.values()), "verbs": verbs}
    figures |= {"seconds": round(time.monotonic() - started), **outcome(wrongs)}
    keep(options.json, figures)
    print({key: value for key, value in figures.items() if key != "verbs"})
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
