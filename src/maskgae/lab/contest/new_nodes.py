"""Nodes that come later: what a fit that never saw them knows of them, beside one that did.

Of :data:`SHARE` of the nodes, half of the edges are given and half are asked for. ``new`` fits the
graph without these nodes and reads them, with the given half of their edges, afterwards; ``seen``
fits the graph with them and that half. Both rank the asked edges from both ends among all nodes,
and a linear probe that learnt from nodes that both saw names the classes of the new ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import ProbeConfig
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.outcome import Metrics, Outcome, forget_peak, peak_rss_mb
from maskgae.evaluation.probe import probe
from maskgae.evaluation.ranking import full_ranking
from maskgae.evaluation.scorer import PairScorer
from maskgae.lab.contest.contestants import contestant
from maskgae.lab.contest.entry import Entry
from maskgae.lab.contest.graphs import Arena, graph_name, load_arena
from maskgae.run.fit import fit
from maskgae.run.grown import read_like
from maskgae.run.run import Run
from maskgae.run.source import Source
from maskgae.training.logits import logits_on

TASK = "contest/new-nodes"
#: The share of the nodes that come later, and of their edges that are asked for.
SHARE, ASKED = 0.05, 0.5
#: Contestants that can read nodes that come later, and the two ways to meet them.
FITS, WAYS = ("maskgae", "maskgae-quick"), ("new", "seen")
#: Ends of asked edges that are ranked, at most.
ENDS = 2_000


@dataclass(frozen=True, eq=False)
class Arrival:
    """A graph, some of whose nodes come later.

    Args:
        graph: all nodes and edges.
        later: the nodes that come later.
        given: the graph without the edges that are asked for.
        asked: the other edges of later nodes.

    Shapes:
        - **later:** ``[N]`` bool
        - **asked:** ``[2, P]``
    """

    graph: Graph
    later: Tensor
    given: Graph
    asked: Tensor

    @classmethod
    def draw(cls, graph: Graph, stream: Stream) -> Arrival:
        """Draws them among nodes of two edges or more.

        >>> ring = Graph.from_edges([(i, (i + 1) % 40) for i in range(40)])
        >>> drawn = Arrival.draw(ring, Stream(0))
        >>> int(drawn.later.sum()), drawn.given.num_pairs + drawn.asked.shape[1]
        (2, 40)
        """
        able = (graph.degrees >= 2).nonzero().squeeze(1)
        order = torch.randperm(able.numel(), generator=stream.at("nodes").torch())
        later = torch.zeros(graph.num_nodes, dtype=torch.bool)
        later[able[order[: max(1, round(SHARE * graph.num_nodes))]]] = True
        touching = later[graph.pairs.long()].any(0).nonzero().squeeze(1)
        order = torch.randperm(touching.numel(), generator=stream.at("edges").torch())
        asked = touching[order[: max(1, round(ASKED * touching.numel()))]]
        kept = torch.ones(graph.num_pairs, dtype=torch.bool)
        kept[asked] = False
        return cls(graph, later, graph.subgraph(kept), graph.pairs[:, asked].long())

    @property
    def before(self) -> Source:
        """The graph before they came, its nodes called by their numbers in the whole."""
        old = (~self.later).nonzero().squeeze(1)
        number = torch.cumsum(~self.later, 0) - 1
        there = ~self.later[self.graph.pairs.long()].any(0)
        pairs = number[self.graph.pairs[:, there].long()]
        features = self.graph.features
        rows = None if features is None else features.rows(old)
        return Source(Graph(old.numel(), pairs, rows, name=self.graph.name), old.numpy())

    @property
    def after(self) -> Source:
        """The graph after they came, without labels and without what is asked for."""
        graph = replace(self.given, labels=None, node_split=None)
        return Source(graph, np.arange(graph.num_nodes))


def entries(place: str, methods: Sequence[str]) -> list[Entry]:
    """Each fit, met both ways."""
    graph, name = load_arena(place).graph, graph_name(place)
    return [
        Entry(name, f"{way} {m}", contestant(m).resolved(graph), place, TASK)
        for m in methods
        for way in WAYS
    ]


def run_entry(entry: Entry, arena: Arena, seed: int) -> Outcome:
    """Fits without the later nodes, or with them, and asks for their edges and classes."""
    arrival, stream = arrival_of(arena, seed), Stream(seed).at("new nodes")
    way, method = entry.method.split()
    forget_peak()
    started = time.perf_counter()
    given = {**contestant(method).settings, "seed": seed}
    run = fit(arrival.before if way == "new" else arrival.after, given)
    assert run.split is not None
    audit = audit_split(replace(run.graph, labels=None), run.split)
    learnt, peak = time.perf_counter(), peak_rss_mb()
    scores, embedding = run.pair_scores, run.embedding
    if way == "new":
        scores, embedding = _read(run, arrival.after)
    ranked = full_ranking(scores.rows, arrival.asked, arrival.graph, stream.at("ends"), ENDS)
    metrics = {**ranked.metrics(), **_probed(embedding, arrival, stream.at("probe"))}
    times = {"train": learnt - started, "evaluate": time.perf_counter() - learnt}
    facts = {"new_nodes": int(arrival.later.sum()), "asked_edges": arrival.asked.shape[1]}
    return Outcome(seed, metrics, {}, audit, facts, times, peak)


def _read(run: Run, after: Source) -> tuple[PairScorer, Any]:
    """Scores and embeddings of a grown graph by a run that knows nothing of its new nodes."""
    grown = read_like(run, after)
    logits = logits_on(run.net, run.net.encode(grown.graph))
    return PairScorer.of(run.scorer, grown.graph, logits), run.embed(after).values


def _probed(embedding: Any, arrival: Arrival, stream: Stream) -> Metrics:
    """Accuracy on later nodes of a probe on a tenth of the others, where there are labels."""
    labels = arrival.graph.labels
    if labels is None:
        return {}
    known = (~arrival.later & (labels >= 0)).nonzero().squeeze(1)
    known = known[torch.randperm(known.numel(), generator=stream.at("nodes").torch())]
    part = max(1, known.numel() // 10)
    test = (arrival.later & (labels >= 0)).nonzero().squeeze(1)
    split = NodeSplit(known[:part], known[part : 2 * part], test)
    found = probe(embedding, labels, split, ProbeConfig(), stream)
    return {"accuracy": found["accuracy"]}


@lru_cache(maxsize=1)
def arrival_of(arena: Arena, seed: int) -> Arrival:
    """The nodes that come later with a seed, kept while one fit after the other meets them."""
    return Arrival.draw(arena.graph, Stream(seed).at("later"))
