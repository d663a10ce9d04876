"""The charts, as the plain dictionaries that Plotly draws; colours of text and grid come later.

Every function returns a figure, or ``None`` where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, method_name
from maskgae.evaluation.calibration import calibration_bins
from maskgae.report.markup import label
from maskgae.report.palette import EDGE, NEUTRAL, NON_EDGE

Figure = dict[str, Any]

MAX_EPOCHS = 2000
#: As many points as a browser moves smoothly.
MAX_POINTS = 20_000
BINS = 40
#: Where the logarithm of a degree begins; what is smaller is drawn there.
LEAST_DEGREE = 0.5


def loss_curve(history: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Training loss by epoch."""
    rows = [row for row in history if row.get("loss") is not None]
    if not rows:
        return None
    rows = rows[:: -(-len(rows) // MAX_EPOCHS)]
    trace = _line(_epochs(rows), [float(row["loss"]) for row in rows], EDGE)
    trace["hovertemplate"] = "epoch %{x}: loss %{y:.4f}<extra></extra>"
    return _figure([trace], "epoch", "training loss", "Training loss by epoch")


def auc_curve(history: Sequence[Mapping[str, Any]], best_epoch: int | None) -> Figure | None:
    """Validation AUC by epoch, the chosen epoch marked."""
    rows = [row for row in history if row.get("val_auc") is not None]
    if not rows:
        return None
    epochs, values = _epochs(rows), [float(row["val_auc"]) for row in rows]
    trace = _line(epochs, values, EDGE) | {"mode": "lines+markers"}
    trace["hovertemplate"] = "epoch %{x}: AUC %{y:.4f}<extra></extra>"
    figure = _figure([trace], "epoch", "validation AUC", "Validation AUC by epoch")
    if best_epoch in epochs:
        value = values[epochs.index(best_epoch)]
        star = {"symbol": "star", "size": 15, "color": NON_EDGE}
        figure["data"].append(
            {
                **_line([best_epoch], [value], NON_EDGE),
                "mode": "markers",
                "marker": star,
                "hovertemplate": f"chosen: epoch {best_epoch}, AUC {value:.4f}<extra></extra>",
            }
        )
        figure["layout"]["shapes"] = [_vertical(best_epoch)]
    return figure


def metric_bars(record: Mapping[str, Any]) -> Figure | None:
    """The leading metric of the method above the heuristic baselines."""
    metrics = record.get("metrics", {})
    name = next((name for name in METRIC_NAMES if name in metrics), None)
    if name is None:
        return None
    rows = {method_name(record): metrics, **record.get("sanity", {})}
    rows = {row: 100 * values[name]["mean"] for row, values in rows.items() if name in values}
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": [label(ROW_NAMES.get(row, row)) for row in rows],
        "x": list(rows.values()),
        "text": [f"{value:.1f}" for value in rows.values()],
        "textposition": "auto",
        "cliponaxis": False,
        "marker": {"color": [EDGE] + [NEUTRAL] * (len(rows) - 1)},
        "hovertemplate": "%{y}: %{x:.2f}<extra></extra>",
    }
    title = f"{METRIC_NAMES[name]}, percent"
    figure = _figure([trace], title, "", f"{title}, of the method and of the heuristic baselines")
    figure["layout"]["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticksuffix": "  "}
    figure["layout"]["xaxis"] |= {"range": [0, 100]}
    figure["layout"]["shapes"] = [_vertical(50)] if name == "auc" else []
    figure["layout"]["height"] = 90 + 34 * len(rows)
    return figure


def score_histogram(positive: NDArray[Any], negative: NDArray[Any]) -> Figure:
    """The share of held-out edges and of negative samples by predicted probability."""
    edges = np.linspace(0, 1, BINS + 1)
    traces = []
    for name, scores, color in (
        ("edges", positive, EDGE),
        ("negative samples", negative, NON_EDGE),
    ):
        counts = np.histogram(scores, edges)[0]
        traces.append(
            {
                "type": "bar",
                "name": name,
                "x": (edges[:-1] + edges[1:]) / 2,
                "y": 100 * counts / max(len(scores), 1),
                "width": 1 / BINS,
                "marker": {"color": color, "opacity": 0.7},
                "customdata": counts,
                "hovertemplate": name + " near %{x:.2f}: %{y:.1f} % (%{customdata:,})"
                "<extra></extra>",
            }
        )
    alt = "Histogram of predicted probabilities of held-out edges and of negative samples"
    figure = _figure(traces, "predicted probability", "percent of the class", alt)
    figure["layout"] |= {"barmode": "overlay", "bargap": 0, "showlegend": True}
    figure["layout"]["xaxis"] |= {"range": [0, 1]}
    return figure


def calibration_curve(positive: NDArray[Any], negative: NDArray[Any]) -> Figure:
    """Share of edges against predicted probability, for as many edges as negative samples."""
    rows = calibration_bins(positive, negative)
    columns = {key: [row[key] for row in rows] for key in ("predicted", "observed", "count")}
    bars = {
        "array": [row["high"] - row["observed"] for row in rows],
        "arrayminus": [row["observed"] - row["low"] for row in rows],
        "thickness": 1.2,
        "width": 3,
    }
    curve = _line(columns["predicted"], columns["observed"], EDGE) | {
        "mode": "lines+markers",
        "error_y": {"type": "data", "symmetric": False, **bars},
        "customdata": columns["count"],
        "hovertemplate": "predicted %{x:.2f}, observed %{y:.2f} (%{customdata:,} pairs)"
        "<extra></extra>",
    }
    alt = "Calibration: share of edges against predicted probability"
    figure = _figure([_diagonal(0, 1), curve], "predicted probability", "share of edges", alt)
    figure["layout"]["xaxis"] |= {"range": [-0.02, 1.02]}
    figure["layout"]["yaxis"] |= {"range": [-0.02, 1.02]}
    return figure


def degree_scatter(true: NDArray[Any], predicted: NDArray[Any], chosen: NDArray[Any]) -> Figure:
    """Predicted against true degree on logarithmic axes, with the median of each true degree."""
    true = np.maximum(np.asarray(true, dtype=np.float64), LEAST_DEGREE)
    predicted = np.maximum(np.asarray(predicted, dtype=np.float64), LEAST_DEGREE)
    points = {
        "type": "scattergl",
        "mode": "markers",
        "name": "node",
        "x": np.round(true[chosen], 3),
        "y": np.round(predicted[chosen], 3),
        "marker": {"color": EDGE, "size": 5, "opacity": 0.5},
        "hovertemplate": "true %{x:.3g}, predicted %{y:.3g}<extra></extra>",
    }
    middles, medians = _medians(true, predicted)
    median = _line(middles, medians, NON_EDGE) | {
        "mode": "lines+markers",
        "name": "median",
        "hovertemplate": "true about %{x:.3g}: median prediction %{y:.3g}<extra></extra>",
    }
    high = 1.2 * float(max(true.max(initial=1), predicted.max(initial=1)))
    diagonal = _diagonal(LEAST_DEGREE, high)
    alt = "Predicted against true degree"
    figure = _figure([points, diagonal, median], "true degree", "predicted degree", alt)
    span = [np.log10(LEAST_DEGREE) - 0.05, np.log10(high)]
    steps = (1, 2, 5) if high < 500 else (1,)
    ticks = [step * 10**decade for decade in range(8) for step in steps if step * 10**decade < high]
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"type": "log", "range": span, "tickvals": ticks}
    figure["layout"] |= {"showlegend": True, "height": 420}
    return figure


def _medians(true: NDArray[Any], predicted: NDArray[Any]) -> tuple[list[float], list[float]]:
    """Median prediction in steps of a sixth of a decade of the true degree."""
    step = np.round(np.log10(true) * 6).astype(int)
    kept = [number for number in np.unique(step) if (step == number).sum() >= 3]
    middles = [float(np.median(true[step == number])) for number in kept]
    return middles, [float(np.median(predicted[step == number])) for number in kept]


def _epochs(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Epochs done, as ``best_epoch`` counts them; the history counts from 0."""
    return [int(row["epoch"]) + 1 for row in rows]


def _line(x: Sequence[float], y: Sequence[float], color: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": color, "width": 2},
        "marker": {"color": color, "size": 7},
    }


def _diagonal(low: float, high: float) -> dict[str, Any]:
    line = {"color": NEUTRAL, "width": 1.5, "dash": "dash"}
    return _line([low, high], [low, high], NEUTRAL) | {
        "line": line,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _vertical(x: float) -> dict[str, Any]:
    line = {"color": NEUTRAL, "width": 1.5, "dash": "dot"}
    return {
        "type": "line",
        "layer": "below",
        "yref": "paper",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": line,
    }


def _figure(traces: list[dict[str, Any]], x: str, y: str, alt: str) -> Figure:
    axes = {"automargin": True, "zeroline": False, "fixedrange": True}
    layout = {
        "xaxis": {"title": {"text": x}, **axes},
        "yaxis": {"title": {"text": y}, **axes},
        "showlegend": False,
        "height": 320,
    }
    return {"data": traces, "layout": layout, "alt": alt}
