"""Charts of pages: what they share, and ablations with mean and interval against a setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskgae.base.extras import need

#: Okabe and Ito's colours, told apart by everyone.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


@dataclass(frozen=True)
class Curve:
    """One line of a chart: values in percent with the half-widths of their intervals."""

    label: str
    x: Sequence[Any]
    mean: Sequence[float]
    half_width: Sequence[float]


def curve_of(label: str, x: Sequence[Any], summaries: Sequence[Any]) -> Curve:
    """A curve from summaries of records; without an interval where there is one run."""
    half = [0.0 if s["ci95"] is None else 50 * (s["ci95"][1] - s["ci95"][0]) for s in summaries]
    return Curve(label, x, [100 * s["mean"] for s in summaries], half)


@contextmanager
def chart(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """Axes to draw on, then written as PNG and SVG beside each other."""
    need("matplotlib", "lab").use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "maskgae", "font.size": 10}):
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        yield axes
        axes.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path.with_suffix(".png"), dpi=150)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        plt.close(figure)


def draw_curves(
    path: Path, curves: Sequence[Curve], title: str, x_label: str, y_label: str
) -> list[Path]:
    """Draws a chart as PNG and SVG beside each other and returns both paths."""
    with chart(path, (5.6, 3.4)) as axes:
        for colour, curve in zip(COLOURS, curves, strict=False):
            axes.errorbar(
                curve.x,
                curve.mean,
                yerr=curve.half_width,
                capsize=3,
                color=colour,
                label=curve.label,
                marker="o",
                markersize=4,
            )
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        axes.grid(axis="y", alpha=0.3)
        if len(curves) > 1:
            axes.legend(frameon=False, fontsize=9)
    return [path.with_suffix(ending) for ending in (".png", ".svg")]
