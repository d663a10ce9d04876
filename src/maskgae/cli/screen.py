"""What the user sees: progress, tables, messages. The only place that prints."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from maskgae.base.display import (
    METRIC_NAMES,
    ROW_NAMES,
    has_network,
    method_name,
    percent,
    printable,
)

if TYPE_CHECKING:
    from maskgae.base.settings import Settings
    from maskgae.io import TableEncoder
    from maskgae.run import Plan, Source


class _Patient(io.TextIOBase):
    """Standard output that goes on when nobody reads it any more, as behind ``| head -1``.

    What a command is for is in files; that its lines are no longer wanted must not end it.
    """

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            try:
                return sys.stdout.write(text)
            except UnicodeEncodeError:  # as on a terminal that knows ASCII alone
                return sys.stdout.write(text.encode("ascii", "replace").decode("ascii"))
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        return len(text)

    def flush(self) -> None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def isatty(self) -> bool:
        return sys.stdout.isatty()

    def fileno(self) -> int:
        return sys.stdout.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return sys.stdout.encoding


out = Console(file=cast(IO[str], _Patient()), highlight=False)
err = Console(stderr=True, highlight=False)


def forget_no_width() -> None:
    """Forgets a width of no columns, as some terminals state it: nothing would be printed."""
    if not os.environ.get("COLUMNS", "80").strip("0"):
        del os.environ["COLUMNS"]
        out.width = err.width = shutil.get_terminal_size().columns


class TrainingProgress:
    """A bar for one training run, fed by the loop after every epoch."""

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


def written(what: str, path: Any) -> None:
    """Says what was written, and where."""
    out.print(f"{what} written to {plain(path)}", soft_wrap=True)


def row(text: str) -> None:
    """A line of a list that is cut where the terminal ends, the user's words as they are."""
    out.print(Text(printable(text)), no_wrap=True, overflow="ellipsis")


def listing(words: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[str]]) -> None:
    """Prints columns of a user's words, then columns of numbers.

    On a terminal long words are cut to its width, elsewhere they stay whole.
    """
    texts = [[head, *map(printable, cells)] for head, cells in words.items()]
    values = [[head, *cells] for head, cells in numbers.items()]
    sizes = [max(map(len, column)) for column in values]
    room = out.width - sum(sizes) - 2 * (len(texts) + len(values) - 1)
    widths: list[int] = []
    for left, column in zip(range(len(texts), 0, -1), texts, strict=True):
        longest = max(map(cell_len, column))
        share = (room - sum(widths)) // left
        widths.append(min(longest, share) if out.is_terminal else longest)
    for row in zip(*texts, *values, strict=True):
        cells = [_fitted(word, width) for word, width in zip(row, widths, strict=False)]
        right = zip(row[len(texts) :], sizes, strict=True)
        out.print(Text("  ".join([*cells, *(v.rjust(size) for v, size in right)])), soft_wrap=True)


def _fitted(word: str, width: int) -> str:
    """A word in as many columns of a terminal, cut with a mark where it is longer.

    >>> _fitted("ann", 5), _fitted("annabel", 5)
    ('ann  ', 'anna…')
    """
    return (
        set_cell_size(word, width)
        if cell_len(word) <= width
        else set_cell_size(word, width - 1) + "…"
    )


def bare_error(text: str) -> None:
    """An error without colours, which need memory, too."""
    sys.stderr.write(f"error: {text}\n")


def sentence(text: str, console: Console | None = None, indent: int = 0) -> None:
    """A line that a terminal breaks between words, below its indent, and a pipe gets whole."""
    console = console or out
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def notice(text: str) -> None:
    """A line that the user should know, beside the results."""
    sentence(f"note: {plain(text)}", err)


def record_table(record: Mapping[str, Any], metrics: Sequence[str]) -> Table:
    """The method's row above the heuristic baselines, the same metrics in the same columns."""
    shown = [name for name in metrics if name in record["metrics"]]
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for name in shown:
        table.add_column(METRIC_NAMES.get(name, name), justify="right", no_wrap=True)
    table.add_row(
        Text(method_name(record), style="bold"),
        *(Text(percent(record["metrics"][name]), style="bold") for name in shown),
    )
    for row, values in record["sanity"].items():
        if shown[0] in values:
            cells = (percent(values[name]) if name in values else "" for name in shown)
            table.add_row(ROW_NAMES.get(row, row), *cells)
    return table


#: Test edges below which chance moves figures by several points.
FEW_EDGES = 100

SHOWN_METRICS = {
    "link": ("rank_mrr", "rank_hits@10", "auc", "ap"),
    "node": ("accuracy", "macro_f1", "accuracy_random_splits"),
}


def show_record(
    record: Mapping[str, Any],
    tasks: Sequence[str] = ("link", "node"),
    seconds: Mapping[str, float] | None = None,
) -> None:
    """Prints a record: the question, the numbers, what makes them credible, what they cost.

    Args:
        record: of one cell or one run.
        tasks: whose metrics are shown.
        seconds: how long each part took as the user saw it, by the name of the part.
    """
    seeds = record["seeds"]
    plural = "s" if len(seeds) > 1 else ""
    out.print(
        f"[bold]{record['task']} · {plain(record['dataset'])}[/] · {_masked(record)}"
        f"{len(seeds)} seed{plural} · percent"
    )
    there = [task for task in tasks if SHOWN_METRICS[task][0] in record["metrics"]]
    for place, task in enumerate(there):
        if place:
            out.print()
        out.print(record_table(record, SHOWN_METRICS[task]))
    for line in (*rests_on(record), *credentials(record, seconds)):
        out.print(line)


def _masked(record: Mapping[str, Any]) -> str:
    if not record["mask"] or not has_network(record):
        return ""
    return f"{record['mask']} mask, {record['semantics']} · "


def rests_on(record: Mapping[str, Any]) -> Iterator[str]:
    """On how many edges the figures rest, and how far off so few of them may be.

    >>> list(rests_on({"facts": {"test_pairs": 7}, "metrics": {"auc": {}}}))
    ['tested on 7 edges: so few that chance alone moves figures by up to 19 points']
    """
    count = record.get("facts", {}).get("test_pairs")
    if count is None or "auc" not in record["metrics"]:
        return
    # The standard error of a share is half over the root at the most.
    few = f": so few that chance alone moves figures by up to {50 / count**0.5:.0f} points"
    yield f"tested on {count:,} edges{few if count < FEW_EDGES else ''}"


def credentials(
    record: Mapping[str, Any], seconds: Mapping[str, float] | None = None
) -> Iterator[str]:
    """What was audited and what it cost, in lines of 80 columns."""
    audit, time_s = record["audit"], record["time_s"]
    if "held_out_leaks" in audit:
        leaked = f"audit: {audit['held_out_leaks']:.0f} held-out edges leaked"
        if "hidden_share" in audit:
            leaked += (
                f"; masks hid {100 * audit['hidden_share']:.0f} % of the edges,\n"
                f"       {100 * audit['visible_targets']:.0f} % of the masked edges stayed visible"
            )
        yield leaked
    parts = seconds or {
        "reading": time_s["load"],
        "training": time_s["train"],
        "scoring": time_s["evaluate"],
    }
    listed = ", ".join(f"{name} {spent:.1f} s" for name, spent in parts.items())
    yield f"time: {listed}, total {sum(parts.values()):.1f} s"
    speed = f"{1000 * time_s['per_epoch']:.0f} ms per epoch; " if "per_epoch" in time_s else ""
    yield f"      {speed}peak memory {record['peak_rss_mb']:.0f} MB"


def next_command(command: str) -> None:
    """What to ask now."""
    out.print(f"next: [bold]{command}[/]", soft_wrap=True)


def show_source(source: Source, plan: Plan) -> None:
    """What was read, what became what, and what was chosen."""
    from maskgae.nn.convs import CONVS

    graph, settings = source.graph, plan.settings
    columns = () if source.encoder is None else _columns(source.encoder)
    lines = [*source.notes, *columns, f"settings: {_in_words(settings)}; all are in config.toml"]
    lines.append(str(plan))
    if graph.weights is not None and not CONVS[settings.encoder.kind].uses_weights:
        kind = settings.encoder.kind
        lines.append(f"encoder.kind={kind} takes no edge weights: they are left out")
    out.print(f"[bold]{plain(graph.name)}[/]: {graph}", soft_wrap=True)
    for line in lines:
        sentence(plain(line), indent=2)


def _columns(encoder: TableEncoder) -> Iterator[str]:
    """What became of the table's columns, a line for each kind."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for name, kind, width in encoder.rows():
        kinds.setdefault(kind, []).append((name, width))
    for kind, found in kinds.items():
        listed = ", ".join(name for name, _ in found[:3])
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        count = sum(width for _, width in found)
        yield f"{kind}: {listed}{more}, {count:,} feature{'s' if count > 1 else ''}"


def _in_words(settings: Settings) -> str:
    """The settings that matter most, in one line."""
    mask, encoder, training = settings.mask, settings.encoder, settings.training
    if encoder.kind == "none":
        return "no network"
    ratio = {"edge": f" p={mask.p:g}", "path": f" q={mask.q:g}", "none": ""}[mask.kind]
    widths = [encoder.hidden] * (encoder.layers - 1) + [encoder.dim]
    return (
        f"mask {mask.kind}{ratio} {mask.semantics}, {encoder.kind} of "
        f"{'-'.join(map(str, widths))}, dropout {encoder.dropout:g}, "
        f"at most {training.epochs:,} epochs"
    )
