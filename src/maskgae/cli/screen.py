"""What the user sees: progress, tables, messages. The only place that prints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, percent, printable

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class TrainingProgress:
    """A bar for one training, fed by the loop's listener."""

    def __init__(self, progress: Progress, label: str, epochs: int) -> None:
        self.progress = progress
        self.task = progress.add_task(label, total=epochs, loss="", figure="", speed="")
        self.figure = ""

    def __call__(self, row: Mapping[str, Any]) -> None:
        for key, name in (("val_auc", "val AUC"), ("val_accuracy", "val accuracy")):
            if row.get(key) is not None:
                self.figure = f"{name} {100 * row[key]:.2f}"
        self.progress.update(
            self.task,
            advance=1,
            loss=f"loss {row['loss']:.3f}",
            figure=self.figure,
            speed=f"{1000 * row['seconds']:.0f} ms/epoch",
        )

    def close(self) -> None:
        self.progress.remove_task(self.task)


@contextmanager
def training_progress(quiet: bool) -> Iterator[Progress | None]:
    """A live display on a terminal; nothing elsewhere."""
    if quiet or not err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[figure]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        yield progress


@contextmanager
def overall_progress(quiet: bool, total: int) -> Iterator[Callable[[str], None]]:
    """One bar over many runs; on a terminal live, elsewhere a line for each run."""
    if quiet:
        yield lambda label: None
        return
    if not err.is_terminal:
        count = itertools.count(1)
        yield lambda label: err.print(f"{next(count)}/{total} {label}")
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda label: progress.update(task, advance=1, description=label)


def plain(value: Any) -> str:
    """A user's words, a path or an id as it is: no markup, no control characters.

    >>> plain("[red]\\x1b[0m")
    '\\\\[red]\\\\x1b[0m'
    """
    return escape(printable(value))


def notice(text: str) -> None:
    """A line that the user should know, beside the results."""
    err.print(f"note: {plain(text)}", soft_wrap=True)


def record_table(record: Mapping[str, Any], metrics: Sequence[str]) -> Table:
    """The method's row above the sanity rows, the same metrics in the same columns."""
    shown = [name for name in metrics if name in record["metrics"]]
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for name in shown:
        table.add_column(METRIC_NAMES.get(name, name), justify="right", no_wrap=True)
    label = ROW_NAMES.get(record["method"], record["method"])
    table.add_row(
        Text(label, style="bold"),
        *(Text(percent(record["metrics"][name]), style="bold") for name in shown),
    )
    for row, values in record["sanity"].items():
        if shown[0] in values:
            cells = (percent(values[name]) if name in values else "" for name in shown)
            table.add_row(ROW_NAMES.get(row, row), *cells)
    return table


SHOWN_METRICS = {
    "link": ("auc", "ap", "hits@50", "mrr"),
    "node": ("accuracy", "macro_f1", "accuracy_random_splits"),
}


def show_record(record: Mapping[str, Any], tasks: Sequence[str] = ("link", "node")) -> None:
    """Prints a record: the question, the numbers, what makes them credible, what they cost."""
    seeds = record["seeds"]
    plural = "s" if len(seeds) > 1 else ""
    out.print(
        f"[bold]{record['task']} · {plain(record['dataset'])}[/] · {_masked(record)}"
        f"{len(seeds)} seed{plural} · percent"
    )
    for task in tasks:
        if SHOWN_METRICS[task][0] in record["metrics"]:
            out.print(record_table(record, SHOWN_METRICS[task]))
    for line in credentials(record):
        out.print(line)


def _masked(record: Mapping[str, Any]) -> str:
    return f"{record['mask']} mask, {record['semantics']} · " if record["mask"] else ""


def credentials(record: Mapping[str, Any]) -> Iterator[str]:
    """What was audited and what it cost, in lines of 80 columns."""
    audit, time_s = record["audit"], record["time_s"]
    if "held_out_leaks" in audit:
        leaked = f"audit: {audit['held_out_leaks']:.0f} held-out pairs leaked"
        if "hidden_share" in audit:
            leaked += (
                f"; masks hid {100 * audit['hidden_share']:.0f} % of the pairs,\n"
                f"       {100 * audit['visible_targets']:.0f} % of the targets stayed visible"
            )
        yield leaked
    speed = f", {1000 * time_s['per_epoch']:.0f} ms an epoch" if "per_epoch" in time_s else ""
    yield f"time: {time_s['total']:.0f} s{speed}; peak memory {record['peak_rss_mb']:.0f} MB"
