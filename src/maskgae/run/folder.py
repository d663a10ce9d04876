"""The run folder: what belongs to it, who may write to it, and when it is complete.

=====================  ======================================================================
model.safetensors      the weights
config.toml            the settings
graph/                 a store: edges, ids, features, labels and what was held out; of a run on
                       a store, what was held out, and where that store is
features.json          what was fitted on the table of nodes
scorer.json            what the network and the rules count in the score of a pair
embeddings.parquet     one row per node: its id and its embedding
nodes.parquet          one row per node: its community and its place on the map
metrics.json           the record
history.csv            one row per epoch
report.html            the page
README.md              the model card, where it was saved for the hub
checkpoints/           the last two states of the training run, until the run is complete
.maskgae-new/          the same of a run that will take the place of this one
.lock                  held by the process that writes here
=====================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maskgae.base.errors import InputError
from maskgae.base.files import TEMPORARY
from maskgae.base.lock import LOCK, locked
from maskgae.base.replace import ASIDE, begun, present, replacing, settle
from maskgae.store.store import WHOLE as STORE_FILES
from maskgae.training.checkpoint import checkpoint_paths

MODEL, CONFIG, METRICS, HISTORY = "model.safetensors", "config.toml", "metrics.json", "history.csv"
FEATURES, SCORER, READOUT = "features.json", "scorer.json", "readout.safetensors"
EMBEDDINGS, NODES, REPORT = "embeddings.parquet", "nodes.parquet", "report.html"
CARD = "README.md"
CHECKPOINTS, GRAPH = "checkpoints", "graph"
#: What a run of 0.1 kept its graph in: known, so that it can be replaced.
OLD_GRAPH_FILES = (
    "about.json",
    *(f"{name}.npz" for name in ("graph", "held_out", "features", "structural")),
)
GRAPH_FILES = (*OLD_GRAPH_FILES, *STORE_FILES)
PAGES = (REPORT, CARD)
FILES = (CONFIG, METRICS, HISTORY, FEATURES, SCORER, READOUT, EMBEDDINGS, NODES, *PAGES, MODEL)
#: All files of a run, by their places in its folder; the last one makes it complete.
WHOLE = (*(f"{GRAPH}/{name}" for name in GRAPH_FILES), *FILES)


def is_complete(folder: Path) -> bool:
    """Whether the folder holds a run to its last file but the page."""
    return (folder / MODEL).is_file()


def may_start_again(folder: Path) -> bool:
    """Whether what replaces a complete run was lost before its first step."""
    return is_complete(folder) and not begun(folder)


@contextmanager
def claimed(folder: Path, *, force: bool = False, resume: bool = False) -> Iterator[Path]:
    """Holds a run folder against other processes, and gives the place to write a run to.

    Args:
        folder: where the run belongs.
        force: whether a complete run is replaced.
        resume: whether a run that was stopped goes on.
    """
    if force and resume:
        raise InputError("--force starts again and --resume goes on: choose one of them")
    with run_folder(folder, lambda _: _check_folder(folder, force, resume), anew=force) as place:
        yield place


def _check_folder(out: Path, force: bool, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} must be a folder, but it is a file")
    if not force and (names := contents(out, foreign=resume)):
        raise InputError(
            f"--out {out} is not empty, there is {names[0]}: choose another folder, or in 'maskgae "
            "fit' --resume to go on with a run that was stopped, or --force to replace one"
        )
    if force or resume:
        check_replaceable(out)


def contents(folder: Path, *, foreign: bool = False) -> list[str]:
    """What lies in a folder but for locks and leftovers; or only what no run writes."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    paths = [path for path in paths if path.name != LOCK and not TEMPORARY.fullmatch(path.name)]
    if not foreign:
        return [path.name for path in paths]
    found = (path for each in paths for path in _strangers(each))
    return sorted((path.relative_to(folder).as_posix() for path in found), key=lambda n: "/" in n)


def _strangers(path: Path) -> list[Path]:
    """What of an entry of a run folder no run writes."""
    if path.name in FILES and path.is_file():
        return []
    linked = path.is_symlink() and path.name != CHECKPOINTS  # which may lie on another disk
    if linked or not path.is_dir() or path.name not in (GRAPH, CHECKPOINTS, *ASIDE):
        return [path]
    if path.name in ASIDE:
        return [path / name for name in contents(path, foreign=True)]
    known = {path / name for name in GRAPH_FILES} if path.name == GRAPH else set()
    known |= set(checkpoint_paths(path)) if path.name == CHECKPOINTS else set()
    others = sorted({*path.iterdir()} - known)
    return [other for other in others if not TEMPORARY.fullmatch(other.name)]


def check_replaceable(folder: Path) -> None:
    """Refuses to write to a folder that holds anything but a run, or a part of one."""
    names = contents(folder, foreign=True)
    saved = (folder / CONFIG).is_file() and (folder / GRAPH).is_dir()
    if not saved and not checkpoint_paths(folder / CHECKPOINTS):  # no run wrote what has its names
        names += [path.name for path in present(folder, FILES)]
    if names:
        raise InputError(
            f"{folder} is no run folder, there is {names[0]} in it: nothing was replaced; choose "
            "another folder"
        )


@contextmanager
def run_folder(folder: Path, check: Callable[[Path], None], *, anew: bool) -> Iterator[Path]:
    """Where to write a run, held against other processes; an old one stays until it is complete.

    Args:
        folder: where the run belongs.
        check: refuses a folder that may not be written to.
        anew: whether a complete run is replaced; else one that is being replaced goes on.
    """
    check_name(folder)
    check(folder)
    with locked(folder):
        settle(folder, WHOLE)
        check(folder)  # another run may have ended since
        with replacing(folder, WHOLE, anew=anew) as place:
            yield place
        if is_complete(folder):
            drop_checkpoints(folder)


def check_name(folder: Path) -> None:
    """Refuses a path that safetensors could not open."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{folder} is no name for a run folder, since it is not UTF-8: choose another folder"
        ) from None


def clear_results(folder: Path) -> None:
    """Removes a run from its folder, the model first, so what is left never looks complete."""
    for path in present(folder, WHOLE[::-1]):
        path.unlink()
    with suppress(OSError):
        (folder / GRAPH).rmdir()


def drop_checkpoints(folder: Path) -> None:
    """Removes what a complete run has no use for any more."""
    with suppress(OSError):
        for path in checkpoint_paths(folder / CHECKPOINTS):
            path.unlink()
        (folder / CHECKPOINTS).rmdir()
