"""The chart of a speed report: ``speed.png`` and ``speed.svg``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# Colours that stay apart for colour-blind readers (Okabe and Ito, 2008).
PLAIN, OURS = "#E69F00", "#0072B2"
STAGES = (
    *("#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00"),
    *("#CC79A7", "#E69F00", "#000000", "#666666", "#BBBBBB"),
)


def draw(report: dict[str, Any], folder: Path) -> None:
    """Times of both sides, shares of our step, and time against size."""
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    cases = report.get("cases", {})
    _times(axes[0], cases)
    _shares(axes[1], {name: case for name, case in cases.items() if case.get("parts")})
    _sizes(axes[2], report.get("scaling", []))
    # Fixed names of elements and no date, so that the same report gives the same file.
    with mpl.rc_context({"svg.hashsalt": "maskgae"}):
        figure.savefig(folder / "speed.svg", metadata={"Date": None})
    figure.savefig(folder / "speed.png", dpi=120)
    plt.close(figure)


def draw_rates(rates: dict[str, dict[int, float]], folder: Path) -> None:
    """Pairs a second against the size of the graph, a line for each way of learning."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (way, found), colour in zip(rates.items(), STAGES[3:], strict=False):
        if found:
            sizes = sorted(found)
            axes.plot(sizes, [found[n] / 1e3 for n in sizes], "o-", color=colour, label=way)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("pairs of the graph")
    axes.set_ylabel("thousand pairs a second")
    axes.set_title("Learning in batches of 65,536 pairs")
    axes.legend()
    with mpl.rc_context({"svg.hashsalt": "maskgae"}):
        figure.savefig(folder / "rate.svg", metadata={"Date": None})
    plt.close(figure)


def _times(axes: Axes, cases: dict[str, Any]) -> None:
    for place, case in enumerate(cases.values()):
        plain = [side["ms"] for name, side in case["sides"].items() if name.startswith("plain")]
        ours = case["sides"]["ours"]["ms"]
        if plain:
            axes.bar(place - 0.2, min(plain), 0.4, color=PLAIN)
            text = f"{min(plain) / ours:.1f}x"
            axes.text(place - 0.2, min(plain), text, ha="center", va="bottom")
        axes.bar(place + 0.2, ours, 0.4, color=OURS)
    axes.bar(0, 0, color=PLAIN, label="plain PyG")
    axes.bar(0, 0, color=OURS, label="ours")
    axes.set_yscale("log")
    axes.margins(y=0.1)  # room for the highest bar's label
    axes.set_ylabel("milliseconds")
    axes.set_title("One pass over all targets")
    axes.set_xticks(range(len(cases)), list(cases), rotation=30, ha="right")
    axes.legend()


def _shares(axes: Axes, cases: dict[str, Any]) -> None:
    names = list(next(iter(cases.values()))["parts"]["stages"]) if cases else []
    floor = [0.0] * len(cases)
    for name, colour in zip(names, STAGES, strict=False):
        shares = []
        for case in cases.values():
            found = case["parts"]["stages"]
            shares.append(100 * found[name] / sum(found.values()))
        axes.bar(list(cases), shares, bottom=floor, label=name, color=colour)
        floor = [a + b for a, b in zip(floor, shares, strict=True)]
    axes.set_ylabel("per cent")
    axes.set_title("Where our step spends its time")
    axes.set_xticks(range(len(cases)), list(cases), rotation=30, ha="right")
    if names:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))


def _sizes(axes: Axes, rows: list[dict[str, Any]]) -> None:
    if not rows:
        axes.set_axis_off()
        return
    nodes, seconds = [row["nodes"] for row in rows], [row["ms"] / 1e3 for row in rows]
    axes.loglog(nodes, seconds, "o-", color=OURS, label="ours")
    even = [seconds[0] * n / nodes[0] for n in nodes]
    axes.loglog(nodes, even, ":", color="#666666", label="in proportion")
    axes.legend()
    axes.set_xticks(nodes, [f"{n / 1e3:g}k" for n in nodes])
    axes.set_yticks(seconds, [f"{s:.2g}" for s in seconds])
    axes.minorticks_off()
    axes.set_xlabel("nodes, with 7 pairs each")
    axes.set_ylabel("seconds")
    axes.set_title("Time against size")
