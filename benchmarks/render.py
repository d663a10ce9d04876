"""Writes measured numbers into ``docs/performance.md``: ``python -m benchmarks.render``.

The page marks where a table goes by ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; all between
is replaced by what the JSON files of ``benchmarks/results`` say. No number is typed by hand.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.roofline import CACHE, Work
from benchmarks.sides import FEW
from benchmarks.speed import RESULTS, ROOT, ratio
from maskgae.lab.tables.blocks import fill_file

PAGE = ROOT / "docs" / "performance.md"
Report = dict[str, Any]

MISSING = "Not measured yet."

#: Load of the machine above which wall time says little.
BUSY = 1.5
KINDS = ("arithmetic", "gathers", "streams", "noise")


def tables(report: Report) -> dict[str, str]:
    """All tables of a speed report by name."""
    report = settled(report)
    return {name: make(report) for name, make in TABLES.items()}


def settled(report: Report) -> Report:
    """The report with processor time for wall time, on all sides, where other jobs were running."""
    cases = {}
    for name, case in report.get("cases", {}).items():
        sides = case["sides"]
        if case["load"] > BUSY:
            sides = {key: side | {"ms": side["cpu_ms"]} for key, side in sides.items()}
        cases[name] = case | {"sides": sides}
    sizes = [
        row | {"ms": row["cpu_ms"]} if row.get("load", 0) > BUSY else row
        for row in report.get("scaling", [])
    ]
    return report | {"cases": cases, "scaling": sizes}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    rows = list(rows)
    if not rows:
        return MISSING
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _time(ms: float | None) -> str:
    """Milliseconds with three digits, or seconds from a thousand on."""
    if ms is None:
        return "–"
    return f"{ms / 1e3:.3g} s" if ms >= 1e3 else f"{ms:.3g} ms"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def machine(report: Report) -> str:
    if "machine" not in report:
        return MISSING
    about, rate = report["machine"], report["rates"]
    cases = report.get("cases", {})
    few = [name for name, case in cases.items() if case.get("quick")]
    quick = f" Few passes, so indicative only: {', '.join(few)}." if few else ""
    loads = {name: case["load"] for name, case in cases.items()}
    if report.get("scaling"):
        loads["time against size"] = report["scaling"][0].get("load", 0)
    busy = ", ".join(name for name, load in loads.items() if load > BUSY)
    load = f" Other jobs ran beside {busy}: steps there are in processor time." if busy else ""
    lost = "".join(f"\n- not measured: {what}" for what in report.get("failures", []))
    return (
        f"{about['cpu']}, {about['threads']} thread(s) of {about['cores']} cores, "
        f"Python {about['python']}, torch {about['torch']}, "
        f"PyG {about['torch_geometric']}, {report['date']}.{quick}{load}\n\n"
        f"The machine gives {rate['gflops']:.0f} GFLOP/s in a float32 product, copies "
        f"{rate['copy_gbs']:.1f} GB/s from memory and {rate['cached_gbs']:.1f} GB/s in cache (read "
        f"and written), fills fresh pages at {rate['touch_gbs']:.1f} GB/s, gathers rows of 256 "
        f"bytes at {rate['gather_gbs']:.1f} GB/s from a 64 MiB table and {rate['near_gbs']:.1f} "
        f"GB/s from a 1 MiB one, and draws {rate['noise_gbs']:.1f} GB/s of random bytes."
        + (f"\n{lost}" if lost else "")
    )


def steps(report: Report) -> str:
    head = ["a pass over all targets", "targets", "plain, edges", "plain, CSR", "ours"]
    head += ["faster by", "ours, updates as published", "published code", "faster by"]
    return table(head, (_step_row(name, case) for name, case in _cases(report)))


def _step_row(name: str, case: Report) -> list[str]:
    sides = case["sides"]
    ours = sides["ours"]["ms"]
    task, published = next(iter(case["published"].items()), ("", None))
    row = [name, f"{case['targets']:,}"]
    row += [_side(sides.get(side)) for side in ("plain", "plain-csr", "ours")]
    row += [f"**{_times(ratio(case))}**", _side(sides.get("ours-batched"))]
    row.append("–" if published is None else f"{_time(1e3 * published)} ({task})")
    row.append("–" if published is None else f"**{_times(1e3 * published / ours)}**")
    return row


def _side(side: Report | None) -> str:
    if side is None:
        return "–"
    scaled = side["updates_timed"] < side["updates"]
    note = f" ({side['updates_timed']} of {side['updates']} updates run)" if scaled else ""
    return _time(side["ms"]) + note


def to_auc(report: Report) -> str:
    head = ["", "training runs", "plain's best AUC", "plain", "ours", "faster by"]
    head += ["ours, updates as published", "faster by"]
    head += [f"ours, updates on {FEW:,} targets", "faster by"]
    rows = []
    for name, case in _cases(report):
        if not (found := case.get("to_auc")):
            continue
        at = {side: None if s is None else 1e3 * s for side, s in found["seconds"].items()}
        row = [name, str(len(found["trainings"])), f"{found['target']:.4f}", _time(at["plain"])]
        for side in ("ours", "ours-batched", "ours-often"):
            gain = f"**{_times(at['plain'] / ms)}**" if (ms := at.get(side)) else "–"
            row += [_reached(ms, found, side), gain]
        rows.append(row)
    return table(head, rows)


def _reached(ms: float | None, found: Report, side: str) -> str:
    runs = [each["curves"].get(side) for each in found["trainings"]]
    if ms is not None or not all(runs):
        return _time(ms)
    best = statistics.fmean(max(run["auc"]) for run in runs)
    return f"not always reached (best {best:.4f} on average)"


def memory(report: Report) -> str:
    sides = ("plain", "plain-csr", "ours")
    head = ["peak memory of the process", "graph loaded", "plain, edges", "plain, CSR", "ours"]
    rows = []
    for name, case in _cases(report):
        found = {side: run for side, run in case["memory"].items() if run}
        peaks = {side: found[side]["peak_mb"] if side in found else None for side in sides}
        loaded = found["ours"]["loaded_mb"] if "ours" in found else None
        ours = peaks["ours"]
        shares = [
            f"{ours / peaks[side]:.0%}" if ours and peaks[side] else "–" for side in sides[:2]
        ]
        cells = map(_megabytes, (loaded, *peaks.values()))
        rows.append([name, *cells, *shares])
    return table([*head, "of edges", "of CSR"], rows)


def _megabytes(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} MB"


def parts(report: Report) -> str:
    cases = [(name, case["parts"]) for name, case in _cases(report) if case.get("parts")]
    names = list(cases[0][1]["stages"]) if cases else []
    inside = _named(cases[0][1]["inside"]) if cases else []
    head = ["share of our step", *(name for name, _ in cases)]
    rows = [[name, *(_share(found["stages"], name) for _, found in cases)] for name in names]
    rows += [
        [f"*of all: {name}*", *(_share(found["inside"], name) for _, found in cases)]
        for name in inside
    ]
    return table(head, rows)


def _share(found: dict[str, float], name: str) -> str:
    return f"{found.get(name, 0) / sum(found.values()):.0%}"


def scaling(report: Report) -> str:
    rows, before = [], None
    for row in report.get("scaling", []):
        growth = "–" if before is None else f"{row['ms'] / before:.2f}"
        rows.append([f"{row['nodes']:,}", f"{row['pairs']:,}", _time(row["ms"]), growth])
        before = row["ms"]
    return table(["nodes", "training pairs", "ours", "times the line above"], rows)


def roofline(report: Report) -> str:
    """For each case that has one: the least time of every stage against the measured one."""
    blocks = []
    for name, case in _cases(report):
        if case.get("work") and case.get("parts"):
            blocks.append(f"**{name}**\n\n" + _roofline_table(case, report["rates"]))
    return "\n\n".join(blocks) or MISSING


def _roofline_table(case: Report, rates: dict[str, float]) -> str:
    rows, total = [], 0.0
    for stage, work in case["work"].items():
        least = Work(**work).milliseconds(rates)
        total += sum(least.values())
        measured = case["parts"]["stages"][stage]
        cells = [f"{least[kind]:.2f}" for kind in KINDS]
        bound = sum(least.values())
        rows.append([stage, *cells, f"{bound:.2f}", f"{measured:.2f}", f"{bound / measured:.0%}"])
    step = case["sides"]["ours"]["ms"]
    blank = [""] * len(KINDS)
    rows.append(["whole step", *blank, f"{total:.2f}", f"{step:.2f}", f"{total / step:.0%}"])
    return table(["ms", *KINDS, "least", "measured", "reached"], rows)


def bounds(report: Report) -> str:
    """What takes the most time in each case, in a sentence."""
    return "\n".join(f"- {_bound(name, case)}" for name, case in _cases(report)) or MISSING


def _bound(name: str, case: Report) -> str:
    found = case.get("parts")
    if not found:
        return f"**{name}**: not measured."
    total = sum(found["stages"].values())
    first, second = sorted(found["stages"], key=found["stages"].__getitem__, reverse=True)[:2]
    shares = [f"{part} ({found['stages'][part] / total:.0%})" for part in (first, second)]
    inside = [f"{_share(found['inside'], key)} in {key}" for key in _named(found["inside"])]
    size = 4 * case["nodes"] * 128
    reach = "fit the core's cache" if size <= CACHE else "lie beyond the core's cache"
    return (
        f"**{name}**: {shares[0]}, then {shares[1]}; of the whole, {' and '.join(inside)}. "
        f"One layer's hidden vectors take {size / 2**20:,.1f} MiB and {reach}."
    )


def _named(found: dict[str, float]) -> list[str]:
    return [name for name in found if name != "rest"]


def kernels(_: Report) -> str:
    path = RESULTS / "kernels.json"
    if not path.exists():
        return MISSING
    found = json.loads(path.read_text())
    return "\n\n".join(f"**{part['title']}**\n\n{kernel_table(part)}" for part in found["parts"])


def kernel_table(part: Report) -> str:
    """One table of micro-benchmarks; numbers are milliseconds."""
    columns = list(part["rows"][0]["ms"])
    text = table(
        [part["what"], *columns],
        ([row["name"], *(_time(row["ms"].get(c)) for c in columns)] for row in part["rows"]),
    )
    return f"{text}\n\n{part['finding']}" if part.get("finding") else text


TABLES: dict[str, Callable[[Report], str]] = {
    make.__name__: make
    for make in (machine, steps, to_auc, memory, parts, bounds, roofline, scaling, kernels)
}


def _cases(report: Report) -> Iterable[tuple[str, Report]]:
    return report.get("cases", {}).items()


def main() -> None:
    path = RESULTS / "speed.json"
    report = json.loads(path.read_text()) if path.exists() else {}
    fill_file(PAGE, tables(report))


if __name__ == "__main__":
    main()
