"""What the page of a run folder shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.io import TableEncoder
from maskgae.nn.losses import pair_logits
from maskgae.report.data import Array, ReportData
from maskgae.run.folder import SavedRun
from maskgae.run.links import missing_links

#: Pairs of vectors that may be compared in the search for missing links.
COMPARED_PAIRS = 2 * 10**9

#: Nodes of a large graph that its page shows.
SHOWN_NODES = 5_000

#: Rows of the table of predicted links.
SHOWN_LINKS = 200


def report_data(run: SavedRun) -> ReportData:
    """Gathers a page's content from a run folder: everything is computed again from its files."""
    graph, net = run.graph, run.net
    if not net.fits(graph):
        return _sampled_data(run)
    z = net.encode(graph)[-1]
    names = run.about["label_names"]
    labels = None
    if graph.labels is not None:
        codes = graph.labels.tolist()
        labels = [_label(code, names) for code in codes]
    encoder = None if run.encoding is None else TableEncoder.from_json(run.encoding)
    degrees = None
    if net.degree_decoder is not None:
        with torch.no_grad():
            degrees = (graph.degrees.numpy(), net.degree_decoder(z).numpy())
    return ReportData(
        title=graph.name,
        ids=[str(name) for name in run.ids],
        pairs=graph.pairs.numpy(),
        embedding=net.embed(graph).numpy(),
        cleaning="; ".join(run.about["notes"]),
        feature_rows=[] if encoder is None else list(encoder.rows()),
        settings=net.settings.flat(),
        record=run.record,
        history=run.history(),
        best_epoch=_best_epoch(run),
        test_scores=_test_scores(run),
        degrees=degrees,
        degree_note="predicted: the degree among hidden edges, as trained; true: all edges",
        labels=labels,
        links=strongest_links(run, z),
    )


def _sampled_data(run: SavedRun) -> ReportData:
    """The page of a large graph: its counts, its curves, and some nodes with their edges."""
    graph, degrees = run.graph, run.graph.degrees
    order = Stream(0, ("report",)).at("nodes").numpy().permutation(graph.num_nodes)
    nodes = torch.from_numpy(order[:SHOWN_NODES]).sort().values
    rows = graph.structure.csr.rows(nodes)
    place = torch.searchsorted(nodes, rows.indices.long()).clamp(max=nodes.numel() - 1)
    source = rows.row_of_entry()
    inside = (nodes[place] == rows.indices) & (source < place)
    names = run.about["label_names"]
    labels = None
    if graph.labels is not None:
        labels = [_label(code, names) for code in graph.labels[nodes].tolist()]
    return ReportData(
        title=graph.name,
        ids=[str(name) for name in run.ids[nodes.numpy()]],
        pairs=torch.stack([source, place])[:, inside].numpy(),
        embedding=run.net.embed(graph, nodes).numpy(),
        facts={
            "nodes": graph.num_nodes,
            "edges": graph.num_pairs,
            "mean degree": float(degrees.double().mean()),
            "largest degree": int(degrees.max()),
            "isolated nodes": int((degrees == 0).sum()),
            "drawn": f"a sample of {nodes.numel():,} nodes",
        },
        cleaning="; ".join(run.about["notes"]),
        settings=run.net.settings.flat(),
        record=run.record,
        history=run.history(),
        labels=labels,
    )


def strongest_links(run: SavedRun, z: torch.Tensor) -> list[tuple[str, str, float]]:
    """The highest-scored missing links of the whole graph, each pair once.

    Of a larger graph, a sample of nodes is asked for theirs.
    """
    asked, count = None, COMPARED_PAIRS // max(1, run.graph.num_nodes)
    if run.graph.num_nodes > count:
        order = Stream(0, ("report",)).at("links").numpy().permutation(run.graph.num_nodes)
        asked = torch.from_numpy(order[:count]).sort().values
    found = missing_links(z, run.net.decoder, run.graph, top=3, nodes=asked)
    low, high = torch.minimum(found.source, found.target), torch.maximum(found.source, found.target)
    _, first = np.unique((low * run.graph.num_nodes + high).numpy(), return_index=True)
    order = first[np.argsort(-found.logit.numpy()[first], kind="stable")][:SHOWN_LINKS]
    scores = found.score.numpy()
    return [(str(run.ids[low[i]]), str(run.ids[high[i]]), float(scores[i])) for i in order]


def _best_epoch(run: SavedRun) -> int | None:
    """The epoch whose weights were kept, where validation chose it."""
    best = run.record["facts"].get("best_epoch", -1)
    return int(best) if run.net.settings.training.select == "val_auc" and best > 0 else None


def _test_scores(run: SavedRun) -> tuple[Array, Array] | None:
    """Probabilities of what was held out, as the record's test has them."""
    if not run.held_out:
        return None
    z = run.net.encode(_messages(run))[-1]
    parts = (run.held_out["test"], run.held_out["test_negatives"])
    scores = [pair_logits(z, run.net.decoder, pairs).sigmoid().numpy() for pairs in parts]
    return scores[0], scores[1]


def _messages(run: SavedRun) -> Graph:
    """The edges that the test may see; features from structure know those of training alone."""
    graph, test = run.graph, run.held_out["test"]
    train = graph.subgraph(~_among(graph, torch.cat([run.held_out["val"], test], dim=1)))
    features = graph.features
    if run.structural is not None:
        features = run.structural.transform(train)
    if run.net.settings.split.message_edges == "train_val":
        train = graph.subgraph(~_among(graph, test))
    return replace(train, features=features)


def _among(graph: Graph, pairs: torch.Tensor) -> torch.Tensor:
    return torch.isin(graph.keys, pair_keys(pairs, graph.num_nodes))


def _label(code: int, names: list[str]) -> str | None:
    if code < 0:
        return None
    return names[code] if code < len(names) else str(code)
