"""A run in its folder: claimed, trained, stopped, resumed, completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from maskgae.base.errors import InputError, StoppedError
from maskgae.cli import screen
from maskgae.cli.signals import Signals, resume_command


@contextmanager
def claimed(out: Path, *, force: bool = False, resume: bool = False) -> Iterator[None]:
    """Holds the run folder against other processes, once it is fit to be written to."""
    from maskgae.base.lock import locked

    if force and resume:
        raise InputError("--force starts again and --resume goes on: choose one of them")
    _check_folder(out, force, resume)
    with locked(out):
        _check_folder(out, force, resume)  # another run may have ended since
        yield


def _check_folder(out: Path, force: bool, resume: bool) -> None:
    from maskgae.run.folder import check_replaceable, contents

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} must be a folder, but it is a file")
    if force:
        check_replaceable(out)
    elif names := contents(out, foreign=resume):
        raise InputError(
            f"--out {out} is not empty, there is {names[0]}: choose another folder, or in 'maskgae "
            "fit' --resume to go on with a run that was stopped, or --force to replace one"
        )


def check_unchanged(out: Path, asked: Mapping[str, Any]) -> None:
    """Refuses settings that a complete run does not have; ``None`` asks for nothing."""
    from maskgae.base.settings import WITHOUT_EFFECT, Settings
    from maskgae.base.settings_text import read_toml
    from maskgae.run.folder import CONFIG

    kept = Settings().updated(read_toml(out / CONFIG))
    given = {key: value for key, value in asked.items() if value is not None}
    wanted, found = kept.updated(given).flat(), kept.flat()
    for key in wanted:
        if wanted[key] != found[key] and key not in WITHOUT_EFFECT:
            raise InputError(
                f"the run in {out} is complete with {key} = {found[key]}, not {wanted[key]}: "
                "choose another folder, or --force to replace it"
            )


def fit_and_save(
    graph: Any,
    settings: Any,
    out: Path,
    ids: Any,
    *,
    quiet: bool,
    resume: bool | None = None,
    options: dict[str, Any] | None = None,
    **about: Any,
) -> dict[str, Any]:
    """Trains behind a progress bar, writes the run folder with its page, returns the record.

    Args:
        resume: whether to go on from the folder's checkpoints; ``None`` for a run that keeps none.
    """
    from maskgae.run.fitting import fit_graph
    from maskgae.run.folder import CHECKPOINTS, clear_run, save_run
    from maskgae.training.checkpoint import checkpoint_paths

    signals, checkpoints = Signals(), None
    if not resume or not checkpoint_paths(out / CHECKPOINTS):
        clear_run(out)
    if resume is not None:
        checkpoints = _checkpoints(
            out, settings, resume=resume, stop=signals.asked_to_stop, notice=screen.notice
        )
    try:
        with screen.training_progress(quiet) as progress, signals.watched(checkpoints is not None):
            bar = None
            if progress is not None:
                bar = screen.TrainingProgress(progress, "training", settings.training.epochs)
            result = fit_graph(
                graph, settings, listener=bar, checkpoints=checkpoints, **(options or {})
            )
    except StoppedError as stopped:
        screen.notice(f"{stopped}; to go on:")
        screen.err.print(resume_command(), soft_wrap=True, markup=False)
        raise typer.Exit(128 + signals.received) from None
    save_run(out, result, ids, **about)
    complete(out)
    return result.record


def follow(graph: Any, settings: Any, out: Path, resume: bool, options: dict[str, Any]) -> None:
    """Trains along with rank 0, which alone prints and writes."""
    from maskgae.run.fitting import follow_fit

    signals = Signals()
    checkpoints = _checkpoints(out, settings, resume=resume, stop=signals.asked_to_stop)
    try:
        with signals.watched():
            follow_fit(graph, settings, checkpoints=checkpoints, **options)
    except StoppedError:
        raise typer.Exit(128 + signals.received) from None


def _checkpoints(out: Path, settings: Any, **more: Any) -> Any:
    from maskgae.run.folder import CHECKPOINTS
    from maskgae.training.checkpoint import Checkpoints
    from maskgae.training.parallel import RankedCheckpoints, ranks

    place = (out / CHECKPOINTS, settings.training.checkpoint_every)
    here = ranks()
    return Checkpoints(*place, **more) if here.alone else RankedCheckpoints(here, *place, **more)


def complete(out: Path) -> None:
    """Writes the page of a run that has everything else, and drops its checkpoints."""
    from maskgae.run.folder import REPORT, drop_checkpoints, load_run

    if not (out / REPORT).exists():
        write_report(load_run(out))
    drop_checkpoints(out)


def write_report(saved: Any) -> None:
    """Writes the page of a run."""
    from maskgae.report.of_run import report_data
    from maskgae.report.page import write_page
    from maskgae.run.folder import REPORT

    write_page(saved.folder / REPORT, report_data(saved))
