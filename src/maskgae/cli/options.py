"""Options that several verbs share, and how they become settings.

Precedence: defaults < preset < ``--config`` < ``--set`` < a named flag.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from maskgae.base.errors import InputError, nearest
from maskgae.base.settings import help_text
from maskgae.base.settings_text import parse_assignment, read_toml

#: Headings of the help, for the verbs that have many options.
GRAPH, TRAINING = "The graph", "Training"

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Settings in a TOML file.",
        metavar="FILE.toml",
        rich_help_panel=TRAINING,
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="One of 'maskgae settings', such as mask.p=0.5; repeatable.",
        metavar="KEY=VALUE",
        rich_help_panel=TRAINING,
    ),
]
Device = Annotated[
    str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...", metavar="NAME")
]
#: More threads than this no machine has, and asking for them has brought torch down.
MOST_THREADS = 1024
Threads = Annotated[
    int,
    typer.Option(
        help="CPU threads; 0: all that are available.", min=0, max=MOST_THREADS, metavar="N"
    ),
]
Index = Annotated[
    bool,
    typer.Option(
        "--index",
        help="Look for near embeddings by an index, on small graphs too: needs 'maskgae[index]'.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results only.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write the record to this file.", metavar="FILE")
]
PresetName = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="A named preset; see 'maskgae presets'.",
        metavar="NAME",
        rich_help_panel=TRAINING,
    ),
]
MaskKind = Annotated[
    str | None,
    typer.Option("--mask", help=help_text("mask.kind"), metavar="KIND", rich_help_panel=TRAINING),
]
CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-every", help=help_text("training.checkpoint_every"), metavar="10|60s"
    ),
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        help="How to read the edges: source, target, weight, header, sep, comment or strip; "
        "repeatable.",
        metavar="KEY=VALUE",
        rich_help_panel=GRAPH,
    ),
]
Seeds = Annotated[
    int, typer.Option("--seeds", help="Number of independent runs.", min=1, metavar="N")
]
FirstSeed = Annotated[
    int, typer.Option("--first-seed", help="The first run's seed.", min=0, metavar="N")
]


def overrides(
    config: Path | None, assignments: Sequence[str] | None, flags: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Dotted keys from a settings file, from ``--set`` and from named flags, later ones winning."""
    values: dict[str, Any] = {} if config is None else read_toml(config)
    values |= dict(parse_assignment(text) for text in assignments or ())
    values |= {key: value for key, value in (flags or {}).items() if value is not None}
    return values


def reading(texts: Sequence[str] | None) -> dict[str, Any]:
    """Arguments of ``read_edges`` from the words of ``--read``.

    >>> reading(["source=buyer", "target=seller", "header=yes", "sep=tab", "weight=none"])
    {'source': 'buyer', 'target': 'seller', 'header': True, 'sep': '\\t', 'weight': False}
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or key not in READ:
            example = "give one as in --read sep=';'"
            raise InputError(f"--read knows no '{text}': {nearest(key, READ)}; {example}")
        if key in ("header", "strip") and value not in YES_OR_NO:
            raise InputError(f"--read {key} takes yes or no, not '{value}'")
        found[key] = YES_OR_NO[value] if key in ("header", "strip") else value
    if found.get("weight") == "none":
        found["weight"] = False
    if found.get("sep") in ("tab", r"\t"):
        found["sep"] = "\t"
    return found


#: What ``--read`` may set.
READ = ("source", "target", "weight", "header", "sep", "comment", "strip")
YES_OR_NO = {"yes": True, "no": False}


def prepare_torch(device: str, threads: int) -> str:
    """Sets the number of threads and checks device and memory, on the first line that can know."""
    import torch
    from threadpoolctl import threadpool_limits

    from maskgae.base.device import check_device
    from maskgae.base.limits import check_memory

    check_memory()
    count = threads or _available_cores()
    torch.set_num_threads(count)
    threadpool_limits(count)  # NumPy's and SciPy's threads, which would spin beside torch's
    check_device(device)
    return device


def _available_cores() -> int:
    """OMP_NUM_THREADS where it is set, else the cores this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isascii() and wanted.isdecimal() and 0 < int(wanted[:9]) <= MOST_THREADS:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_writable(path: Path | None) -> None:
    """Refuses an output file that could not be written, before hours of work."""
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: the folder {folder} does not exist")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: choose a file in a folder you may write to")
