"""The sections of the page, as HTML around the places where charts are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, percent, shown
from maskgae.base.settings import KEYS, help_text
from maskgae.report.data import ReportData
from maskgae.report.markup import table, text

#: Links that the page holds.
MAX_LINKS = 1000

TASKS = {"link": "Link prediction", "node": "Node classification"}

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


def header(data: ReportData) -> str:
    """The numbers that matter, beside the best that needs no learning."""
    record, cards = data.record, []
    metrics, sanity = record.get("metrics", {}), record.get("sanity", {})
    for name in [name for name in METRIC_NAMES if name in metrics][:2]:
        rivals = {row: v[name]["mean"] for row, v in sanity.items() if name in v}
        best = max(rivals, key=lambda row: rivals[row], default=None)
        note = "" if best is None else f"best sanity row {100 * rivals[best]:.1f}"
        title = "" if best is None else ROW_NAMES.get(best, best)
        cards.append((METRIC_NAMES[name], percent(metrics[name]), note, title))
    facts = graph_facts(data)
    cards.append(("nodes", shown(facts["nodes"]), f"{shown(facts['edges'])} edges", ""))
    if data.history:
        train = record.get("time_s", {}).get("train")
        note = "" if train is None else f"{train:.0f} s of training"
        cards.append(("epochs", shown(len(data.history)), note, ""))
    return "".join(
        f'<div class="card" title="{text(title)}"><span>{text(name)}</span>'
        f"<strong>{text(value)}</strong><small>{text(note)}</small></div>"
        for name, value, note, title in cards
    )


def graph_section(data: ReportData) -> str:
    facts = graph_facts(data)
    body = _definitions(facts)
    if data.cleaning:
        body += f"<p>Cleaning: {text(data.cleaning)}.</p>"
    if data.feature_rows:
        rows = [[text(name), text(kind), shown(width)] for name, kind, width in data.feature_rows]
        body += "<h3>Features: what became what</h3>"
        body += table(["column", "became", "columns"], rows, "last-number")
    return _section("graph", "The graph", body)


def settings_section(data: ReportData) -> str:
    run = {name: data.record[key] for key, name in RUN_KEYS.items() if data.record.get(key)}
    body = _details("Run", _definitions(run), " open") if run else ""
    for key, heading in RECORD_PARTS.items():
        if data.record.get(key):
            opened = " open" if key == "protocol" else ""
            body += _details(heading, _definitions(data.record[key]), opened)
    if data.settings:
        rows = [
            [f"<code>{text(key)}</code>", text(shown(value)), text(_help(key))]
            for key, value in data.settings.items()
        ]
        body += _details("All settings", table(["setting", "value", "meaning"], rows))
    return _section("settings", "Settings and protocol", body) if body else ""


def training_section(data: ReportData, charts: Iterable[str]) -> str:
    note = ""
    if data.best_epoch is not None and data.best_epoch > 0:
        note = (
            f"The weights kept are those of epoch {data.best_epoch:,} (star), where the AUC on "
            "the validation pairs was highest."
        )
    return _charts("training", "Training", charts, note)


def metrics_section(record: Mapping[str, Any], charts: Iterable[str]) -> str:
    metrics = record.get("metrics", {})
    names = [name for name in METRIC_NAMES if name in metrics]
    if not names:
        return ""
    method = record.get("method", "maskgae")
    rows = [[f"<strong>{text(ROW_NAMES.get(method, method))}</strong>", *_row(metrics, names)]]
    for row, values in record.get("sanity", {}).items():
        rows.append([text(ROW_NAMES.get(row, row)), *_row(values, names)])
    head = ["percent", *(text(METRIC_NAMES[name]) for name in names)]
    note = (
        "Sanity rows are scored on the same held-out data without training an encoder: what lies "
        "above them has been learnt."
    )
    note += " The dotted line is a coin toss." if "auc" in names else ""
    heading = TASKS.get(record.get("task", ""), "Metrics")
    return _charts("metrics", heading, charts, note, table(head, rows, "numbers"))


def scores_section(scores: tuple[NDArray[Any], NDArray[Any]], charts: Iterable[str]) -> str:
    positive, negative = scores
    note = (
        f"{len(positive):,} held-out edges and {len(negative):,} non-edges. The probability is "
        "calibrated for as many edges as non-edges; among all pairs of a sparse graph edges are "
        "far rarer, so read it as a rank there. On the dashed line predictions mean what they "
        "say; bars are 95 % intervals."
    )
    return _charts("scores", "Scores of edges and non-edges", charts, note)


def degrees_section(data: ReportData, charts: Iterable[str]) -> str:
    assert data.degrees is not None
    note = data.degree_note or "Each point is a node."
    note += " What is below 0.5 is drawn at 0.5."
    return _charts("degrees", "True and predicted degree", charts, note)


def map_section(data: ReportData, drawn: int) -> str:
    sampled = ""
    if drawn < data.num_nodes:
        sampled = f" Drawn is a sample of {drawn:,} of the {data.num_nodes:,} nodes."
    return _section(
        "map",
        "Map of the embedding",
        '<div class="tools"><form id="search" role="search"><input type="search" id="query" '
        'placeholder="Find an id" aria-label="Find a node by its id" '
        'autocomplete="off" spellcheck="false"><button>Find</button>'
        '<button type="button" id="clear">Reset</button></form>'
        '<label>Colour by <select id="colour"></select></label></div>'
        '<p id="status" role="status" aria-live="polite"></p>'
        '<div class="chart map" id="chart-map" role="img" '
        'aria-label="Map of the embedding"></div>'
        "<p class='note'>Nodes that lie close have similar vectors (t-SNE); distances between "
        f"far groups mean little. Drag to move, scroll to zoom.{sampled}</p>",
    )


def links_section(data: ReportData, links: Sequence[tuple[str, str, float]]) -> str:
    if not links:
        return ""
    rows = "".join(
        f'<tr><td>{rank}</td><td><button type="button" class="id">{text(source)}</button></td>'
        f'<td><button type="button" class="id">{text(target)}</button></td>'
        f'<td data-value="{score:.8g}">{_score(score)}</td></tr>'
        for rank, (source, target, score) in enumerate(links, 1)
    )
    head = "".join(
        f'<th scope="col" aria-sort="{order}"><button type="button">{name}</button></th>'
        for name, order in (
            ("rank", "ascending"),
            ("source", "none"),
            ("target", "none"),
            ("score", "none"),
        )
    )
    all_links = len(data.links)
    shown_of = f" The first {len(links):,} of {all_links:,}." if len(links) < all_links else ""
    return _section(
        "links",
        "Strongest predicted links",
        "<p class='note'>Pairs that are no edge and score highest. The score is the decoder's "
        "probability, calibrated for as many edges as non-edges. Click a heading to sort, an id "
        f"to find it on the map.{shown_of}</p>"
        '<div class="tools"><input type="search" id="filter" placeholder="Filter by id" '
        'aria-label="Filter links by id" autocomplete="off" spellcheck="false">'
        '<span id="filtered" role="status"></span></div>'
        f'<div class="scroll tall"><table id="link-table" class="links"><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>",
    )


def _score(score: float) -> str:
    """Six digits, which never claim a certainty that rounding alone gives."""
    return "&gt;0.999999" if score > 0.9999995 else f"{score:.6f}"


def _row(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [text(percent(values[name])) if name in values else "–" for name in names]


def _help(key: str) -> str:
    return help_text(key) if key in KEYS else ""


def _definitions(values: Mapping[str, Any]) -> str:
    items = "".join(
        f"<div><dt>{text(str(key).replace('_', ' '))}</dt><dd>{text(shown(value))}</dd></div>"
        for key, value in values.items()
    )
    return f'<dl class="facts">{items}</dl>'


def _details(heading: str, body: str, opened: str = "") -> str:
    return f"<details{opened}><summary>{heading}</summary>{body}</details>"


def _charts(key: str, heading: str, charts: Iterable[str], note: str, more: str = "") -> str:
    places = "".join(f'<div class="chart" id="chart-{name}" role="img"></div>' for name in charts)
    if not places and not more:
        return ""
    after = f'<p class="note">{text(note)}</p>' if note else ""
    return _section(key, heading, f'<div class="charts">{places}</div>{more}{after}')


def _section(key: str, heading: str, body: str) -> str:
    return f'<section id="{key}"><h2>{heading}</h2>{body}</section>'
