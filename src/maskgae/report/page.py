"""The page: one HTML file that needs no network, no server and nothing beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from maskgae.base.files import write_text
from maskgae.base.rng import Stream
from maskgae.report import figures, sections
from maskgae.report.data import ReportData
from maskgae.report.map import map_data
from maskgae.report.markup import data as json_data
from maskgae.report.markup import text

SCRIPTS = ("charts.js", "map.js", "links.js", "page.js")


def write_page(path: Path | str, data: ReportData, stream: Stream | None = None) -> None:
    """Writes the report of a run, whole or not at all.

    Args:
        path: the HTML file.
        data: what to show; sections without data are left out.
        stream: randomness of the map and the communities; the same stream, the same page.
    """
    path = Path(path)
    document = render(data, stream or Stream(0, ("report",)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, document)


def render(data: ReportData, stream: Stream) -> str:
    """The page as text."""
    from plotly.offline import get_plotlyjs

    links = list(data.links[: sections.MAX_LINKS])
    drawn = map_data(data, links, stream) if data.num_nodes else None
    charts = _charts(data, stream)
    body = _body(data, links, charts, len(drawn["ids"]) if drawn else 0)
    plotly, script = get_plotlyjs(), "\n".join(_static(name) for name in SCRIPTS)
    return Template(_static("template.html")).substitute(
        title=text(data.title),
        policy=_policy(plotly, script),
        css=_static("page.css"),
        cards=sections.header(data),
        nav=_navigation(body),
        body=body,
        data=json_data({"charts": charts, "map": drawn}),
        plotly=plotly,
        script=script,
    )


def _charts(data: ReportData, stream: Stream) -> dict[str, Any]:
    """Every chart that there is data for, by the name of its place."""
    charts = {
        "loss": figures.loss_curve(data.history),
        "auc": figures.auc_curve(data.history, data.best_epoch),
        "bars": figures.metric_bars(data.record),
    }
    if data.test_scores is not None:
        charts["histogram"] = figures.score_histogram(*data.test_scores)
        charts["calibration"] = figures.calibration_curve(*data.test_scores)
    if data.degrees is not None:
        nodes = np.arange(len(data.degrees[0]))
        if len(nodes) > figures.MAX_POINTS:
            generator = stream.at("degrees").numpy()
            nodes = generator.choice(nodes, figures.MAX_POINTS, replace=False)
        charts["degree"] = figures.degree_scatter(*data.degrees, nodes)
    return {name: figure for name, figure in charts.items() if figure is not None}


def _body(data: ReportData, links: list[Any], charts: dict[str, Any], drawn: int) -> str:
    def present(*names: str) -> list[str]:
        return [name for name in names if name in charts]

    parts = [
        sections.graph_section(data),
        sections.settings_section(data),
        sections.training_section(data, present("loss", "auc")),
        sections.metrics_section(data.record, present("bars")),
    ]
    if data.test_scores is not None:
        charted = present("histogram", "calibration")
        parts.append(sections.scores_section(data.test_scores, charted))
    if data.degrees is not None:
        parts.append(sections.degrees_section(data, present("degree")))
    if drawn:
        parts.append(sections.map_section(data, drawn))
    return "\n".join([*parts, sections.links_section(data, links)])


def _navigation(body: str) -> str:
    """A link to each section."""
    found = re.findall(r'<section id="(\w+)"><h2>', body)
    return "".join(f'<a href="#{key}">{key.capitalize()}</a>' for key in found)


def _policy(*scripts: str) -> str:
    """A content policy under which nothing is fetched and no script runs but the given ones.

    They may compile code, as Plotly does to draw with WebGL.
    """
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _static(name: str) -> str:
    return (files("maskgae.report") / "static" / name).read_text(encoding="utf-8")
