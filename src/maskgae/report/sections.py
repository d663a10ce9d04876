"""What each section of the page shows, as plain data for its template."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, method_name, percent, shown
from maskgae.base.settings import KEYS, help_text
from maskgae.report.data import ReportData

#: Links that the page holds.
MAX_LINKS = 1000

TASKS = {"link": "Link prediction", "node": "Node classification"}

#: What the cards at the top tell, and rows that are parts of the answer and no rivals.
ON_CARDS = ("rank_hits@10", "auc", "accuracy", "ap", "macro_f1")
OWN_PARTS = ("network", "rules")
#: What would only make the table wider.
LEFT_OUT = ("mrr", "hits@10", "hits@20", "hits@50", "hits@100")

#: What of a record is shown with the settings, by key and heading.
RECORD_PARTS = {
    "protocol": "Protocol",
    "audit": "Audit",
    "time_s": "Time, seconds",
    "versions": "Versions",
}
RUN_KEYS = {
    "dataset": "dataset",
    "method": "method",
    "preset": "preset",
    "mask": "mask",
    "semantics": "semantics",
    "seeds": "seeds",
    "threads": "threads",
    "peak_rss_mb": "peak memory, MB",
}
#: The charts of each section, where there is data for them.
CHARTS = {
    "training": ("loss", "auc"),
    "metrics": ("bars",),
    "scores": ("histogram", "calibration"),
    "degrees": ("degree",),
}

Content = dict[str, Any]


def sections(data: ReportData, charts: Collection[str], drawn: int) -> dict[str, Content]:
    """The content of every section that there is data for, in the order of the page.

    Args:
        data: what the page is about.
        charts: those that can be drawn.
        drawn: nodes on the map.
    """
    found = {
        "graph": _graph(data),
        "settings": _settings(data),
        "training": {"best_epoch": data.best_epoch},
        "metrics": _metrics(data.record),
        "scores": _scores(data),
        "degrees": {"note": data.degree_note},
        "map": {"drawn": drawn, "nodes": data.num_nodes} if drawn else None,
        "links": _links(data),
    }
    for key, names in CHARTS.items():
        present = [name for name in names if name in charts]
        content = found[key]
        if content is not None:
            # A table stands without its chart; a note does not.
            found[key] = content | {"charts": present} if present or "rows" in content else None
    return {key: content for key, content in found.items() if content is not None}


def cards(data: ReportData) -> list[dict[str, str]]:
    """The numbers that matter, beside the best that needs no learning."""
    metrics, sanity = data.record.get("metrics", {}), data.record.get("sanity", {})
    made = []
    for name in [name for name in ON_CARDS if name in metrics][:3]:
        rivals = {
            row: values[name]["mean"]
            for row, values in sanity.items()
            if name in values and row not in OWN_PARTS
        }
        best = max(rivals, key=lambda row: rivals[row], default=None)
        note = "" if best is None else f"best baseline {100 * rivals[best]:.1f}"
        title = "" if best is None else ROW_NAMES.get(best, best)
        made.append(_card(METRIC_NAMES[name], percent(metrics[name]), note, title))
    facts = graph_facts(data)
    made.append(_card("nodes", shown(facts["nodes"]), f"{shown(facts['edges'])} edges"))
    if data.history:
        train = data.record.get("time_s", {}).get("train")
        note = "" if train is None else f"{train:.0f} s of training"
        made.append(_card("epochs", shown(len(data.history)), note))
    return made


def graph_facts(data: ReportData) -> dict[str, Any]:
    """Counts of the graph, and whatever else the caller knows about it."""
    degrees = data.node_degrees
    return {
        "nodes": data.num_nodes,
        "edges": int(np.shape(data.pairs)[1]),
        "mean degree": float(degrees.mean()) if len(degrees) else 0.0,
        "largest degree": int(degrees.max(initial=0)),
        "isolated nodes": int((degrees == 0).sum()),
        **data.facts,
    }


def probability(score: float) -> str:
    """Six digits, which never claim a certainty that rounding alone gives.

    >>> probability(0.25), probability(0.99999999)
    ('0.250000', '>0.999999')
    """
    return ">0.999999" if score > 0.9999995 else f"{score:.6f}"


def _graph(data: ReportData) -> Content:
    return {
        "facts": graph_facts(data),
        "cleaning": data.cleaning,
        "features": data.feature_rows,
    }


def _settings(data: ReportData) -> Content | None:
    run = {name: data.record[key] for key, name in RUN_KEYS.items() if data.record.get(key)}
    found = [("Run", run), *((name, data.record.get(key)) for key, name in RECORD_PARTS.items())]
    parts = [{"heading": heading, "facts": facts} for heading, facts in found if facts]
    settings = [
        (key, value, help_text(key) if key in KEYS else "") for key, value in data.settings.items()
    ]
    return {"parts": parts, "settings": settings} if parts or settings else None


def _metrics(record: Mapping[str, Any]) -> Content | None:
    metrics = record.get("metrics", {})
    names = _metric_names(metrics)
    if not names:
        return None
    rows = [(method_name(record), metrics), *record.get("sanity", {}).items()]
    return {
        "heading": TASKS.get(record.get("task", ""), "Metrics"),
        "head": ["percent", *(METRIC_NAMES[name] for name in names)],
        "rows": [(ROW_NAMES.get(row, row), _percents(values, names)) for row, values in rows],
        "has_auc": names[0] == "auc",
    }


def _scores(data: ReportData) -> Content | None:
    if data.test_scores is None:
        return None
    return {
        "edges": len(data.test_scores[0]),
        "non_edges": len(data.test_scores[1]),
        "brier": data.record.get("facts", {}).get("brier"),
    }


def _links(data: ReportData) -> Content | None:
    if not data.links:
        return None
    return {
        "links": data.links[:MAX_LINKS],
        "found": len(data.links),
        "explained": bool(data.whys),
        "precision": _precision(data.record.get("facts", {})),
    }


def _precision(facts: Mapping[str, Any]) -> Content | None:
    """What share of the first link per node, and of the first few, were held-out edges."""
    known = facts.get("precision")
    if not known:
        return None
    count = min(10, len(known))
    shares = [f"{100 * known[k - 1]:.1f}" for k in (1, count)]
    return {"first": shares[0], "all": shares[1], "count": count, "pairs": facts["test_pairs"]}


def _metric_names(metrics: Mapping[str, Any]) -> list[str]:
    return [name for name in METRIC_NAMES if name in metrics and name not in LEFT_OUT]


def _percents(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [percent(values[name]) if name in values else "–" for name in names]


def _card(name: str, value: str, note: str, title: str = "") -> dict[str, str]:
    return {"name": name, "value": value, "note": note, "title": title}
