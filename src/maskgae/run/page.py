"""What the page of a run shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.report.data import ReportData
from maskgae.report.page import render_head, write_page
from maskgae.run.folder import REPORT
from maskgae.run.map import write_nodes
from maskgae.run.why import whys

if TYPE_CHECKING:
    from maskgae.run.run import Run

#: Pairs that may be scored in the search for missing links; of larger graphs some nodes are asked.
SCORED_PAIRS = 2 * 10**7
#: Nodes of a large graph that its page shows.
SHOWN_NODES = 5_000
#: Rows of the table of predicted links.
SHOWN_LINKS = 200


def write_report(run: Run, path: Path | None = None) -> Path:
    """Writes the page of a run: to a file, or into its folder."""
    if path is None:
        if run.folder is None:
            raise InputError("this run has no folder yet: give the page a path, or save the run")
        write_shown(run, run.folder)
        return run.folder / REPORT
    write_page(path, report_data(run))
    return path


def write_shown(run: Run, folder: Path) -> None:
    """Writes what is shown of a run into its folder: where its nodes lie, then the page."""
    data = report_data(run)
    write_nodes(run, folder)
    write_page(folder / REPORT, data)


def run_head(run: Run) -> str:
    """The head of the page, for notebooks."""
    facts = {"nodes": run.graph.num_nodes, "edges": run.graph.num_pairs}
    nothing: dict[str, Any] = {
        "ids": (),
        "pairs": np.empty((2, 0), int),
        "embedding": np.empty((0, 0)),
    }
    shown: dict[str, Any] = {"record": run.record, "history": run.history, "facts": facts}
    return render_head(ReportData(title=run.graph.name, **nothing, **shown))


def report_data(run: Run) -> ReportData:
    """What a page shows of a run; of a large graph its counts, its curves and some nodes."""
    common: dict[str, Any] = {
        "title": run.graph.name,
        "cleaning": "; ".join(run.source.notes),
        "settings": run.settings.flat(),
        "record": run.record,
        "history": run.history,
        "best_epoch": _best_epoch(run),
    }
    shown = _whole(run) if run.net.fits(run.graph) else _sample(run)
    return ReportData(**common, **shown)


def _whole(run: Run) -> dict[str, Any]:
    graph, encoder, degrees = run.graph, run.source.encoder, None
    if run.net.degree_decoder is not None:
        with torch.no_grad():
            degrees = (graph.degrees.numpy(), run.net.degree_decoder(run.z).cpu().numpy())
    embedding = run.embedding  # before the two that need it
    with ThreadPoolExecutor(1) as beside:
        drawn = beside.submit(lambda: run.map)
        links = strongest_links(run)
    return {
        "ids": [str(name) for name in run.ids],
        "pairs": graph.pairs.numpy(),
        "embedding": embedding,
        "feature_rows": [] if encoder is None else list(encoder.rows()),
        "test_scores": run.test_scores(),
        "degrees": degrees,
        "degree_note": "predicted: the degree among hidden edges, as trained; true: all edges",
        "labels": _labels(run, graph.labels),
        **drawn.result()._asdict(),
        **links,
    }


def _sample(run: Run) -> dict[str, Any]:
    """Some nodes of a large graph with the edges among them."""
    graph, degrees = run.graph, run.graph.degrees
    order = Stream(0, ("report",)).at("nodes").numpy().permutation(graph.num_nodes)
    nodes = torch.from_numpy(order[:SHOWN_NODES]).sort().values
    rows = graph.structure.csr.rows(nodes)
    place = torch.searchsorted(nodes, rows.indices.long()).clamp(max=nodes.numel() - 1)
    source = rows.row_of_entry()
    inside = (nodes[place] == rows.indices) & (source < place)
    return {
        "ids": [str(name) for name in run.ids[nodes.numpy()]],
        "pairs": torch.stack([source, place])[:, inside].numpy(),
        "embedding": run.embedding[nodes.numpy()],
        "facts": {
            "nodes": graph.num_nodes,
            "edges": graph.num_pairs,
            "mean degree": float(degrees.double().mean()),
            "largest degree": int(degrees.max()),
            "isolated nodes": int((degrees == 0).sum()),
            "drawn": f"a sample of {nodes.numel():,} nodes",
        },
        "labels": _labels(run, None if graph.labels is None else graph.labels[nodes]),
    }


def strongest_links(run: Run) -> dict[str, Any]:
    """The highest-scored missing links of the whole graph, each pair once, and why.

    Of a larger graph, a sample of nodes is asked for theirs.
    """
    asked, count = None, SCORED_PAIRS // max(1, run.graph.num_nodes)
    if run.graph.num_nodes > count:
        order = Stream(0, ("report",)).at("links").numpy().permutation(run.graph.num_nodes)
        asked = torch.from_numpy(order[:count]).sort().values
    found = run.search.links(3, asked)
    low, high = found.source, found.target
    if not run.graph.directed:
        low, high = torch.minimum(low, high), torch.maximum(low, high)
    _, first = np.unique((low * run.graph.num_nodes + high).numpy(), return_index=True)
    order = first[np.argsort(-found.score.numpy()[first], kind="stable")][:SHOWN_LINKS]
    scores = run.scorer.probability(found.score).numpy()
    links = [(str(run.ids[low[i]]), str(run.ids[high[i]]), float(scores[i])) for i in order]
    explained = whys(run, torch.stack([low[order], high[order]]))
    return {
        "links": links,
        "whys": [[(r.kind, r.share, r.parts) for r in found.reasons] for found in explained],
    }


def _best_epoch(run: Run) -> int | None:
    """The epoch whose weights were kept, where validation chose it."""
    best = run.record["facts"].get("best_epoch", -1)
    return int(best) if run.settings.training.select != "last" and best > 0 else None


def _labels(run: Run, codes: torch.Tensor | None) -> list[str | None] | None:
    names = run.source.label_names
    if codes is None:
        return None
    known = (names[code] if code < len(names) else str(code) for code in codes.tolist())
    return [None if code < 0 else name for code, name in zip(codes.tolist(), known, strict=True)]
