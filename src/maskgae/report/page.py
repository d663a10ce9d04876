"""The page: one HTML file that needs no network, no server and nothing beside it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from maskgae.base.display import shown
from maskgae.base.files import write_text
from maskgae.base.rng import Stream
from maskgae.report import figures
from maskgae.report.data import ReportData
from maskgae.report.map import map_data
from maskgae.report.markup import data as json_data
from maskgae.report.markup import text
from maskgae.report.sections import MAX_LINKS, cards, probability, sections

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

    drawn = map_data(data, data.links[:MAX_LINKS], stream) if data.num_nodes else None
    charts = _charts(data, stream)
    # Ours, so these need no escape; whatever else goes into the page gets it.
    plotly, script = Markup(get_plotlyjs()), Markup("\n".join(map(_static, SCRIPTS)))
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=data.title,
            policy=_policy(plotly, script),
            css=Markup(_static("page.css")),
            cards=cards(data),
            sections=sections(data, charts, len(drawn["ids"]) if drawn else 0),
            data=json_data({"charts": charts, "map": drawn, "whys": data.whys[:MAX_LINKS]}),
            plotly=plotly,
            script=script,
        )
    )


def render_head(data: ReportData) -> str:
    """Title and cards of the page as a part of another, without script or style sheet."""
    template = _templates().get_template("head.html")
    return template.render(title=data.title, cards=cards(data))


@cache
def _templates() -> Environment:
    """The page's templates, in which every value is escaped that is not marked as markup."""
    made = Environment(
        loader=PackageLoader("maskgae.report"),
        autoescape=True,
        finalize=text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shown": shown, "probability": probability}
    return made


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


def _policy(*scripts: str) -> Markup:
    """A content policy under which nothing is fetched and no script runs but the given ones.

    They may compile code, as Plotly does to draw with WebGL.
    """
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return Markup(
        f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _static(name: str) -> str:
    return (files("maskgae.report") / "static" / name).read_text(encoding="utf-8")
