"""The exam of directed and timed graphs: ``fit``'s own test, and the same of an undirected run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit, split_links
from maskgae.evaluation.outcome import Outcome
from maskgae.evaluation.ranking import full_rankings
from maskgae.lab.contest.entry import Entry
from maskgae.run.fit import fit
from maskgae.run.source import Source

#: What a record's facts keep of a run's.
FACTS = ("scorer", "scorer_weights", "scorer_fit", "test_pairs", "ranked_ends", "selected_epoch")


def ways_outcome(entry: Entry, source: Source, seed: int) -> Outcome:
    """What ``fit`` measures on its own test, rules beside it; or what an undirected run would."""
    if entry.method.startswith("undirected"):
        return _undirected(entry, source.graph, seed)
    run = fit(source, {**entry.settings, "seed": seed})
    record = run.record
    rows = {name: _means(row) for name, row in record["sanity"].items()}
    facts = {key: record["facts"][key] for key in FACTS if key in record["facts"]}
    return Outcome(seed, _means(record["metrics"]), rows, record["audit"], facts, record["time_s"])


def _means(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: value["mean"] for name, value in row.items()}


def _undirected(entry: Entry, graph: Graph, seed: int) -> Outcome:
    """Learns the same training edges without their ways; asked for the targets of each source."""
    started, settings = time.perf_counter(), Settings().updated({**entry.settings, "seed": seed})
    stream = Stream(seed)
    split = split_links(graph, settings.split.val, settings.split.test, stream.at("split"))
    plain = replace(graph, directions=None)
    run = fit(plain, {**entry.settings, "seed": seed}, holdout=without_ways(split))
    learnt = time.perf_counter()
    assert run.split is not None
    scores = run.scores_on(run.split.messages(settings.split.message_edges))
    rows = lambda nodes: {"": scores.rows(nodes)}  # noqa: E731
    # The address from which a fit's test draws, so that the same ends are asked.
    ends = settings.split.ranked_ends or None
    ranked = full_rankings(rows, split.test, graph, stream.at("ranking"), ends)[""]
    facts = {"test_pairs": split.test.shape[1]}
    times = {"train": learnt - started, "evaluate": time.perf_counter() - learnt}
    return Outcome(seed, ranked.metrics(), {}, run.record["audit"], facts, times)


def without_ways(split: LinkSplit) -> LinkSplit:
    """The same split of the undirected graph: each pair once, smaller end first."""
    nodes = split.train.num_nodes

    def pairs(edges: Tensor) -> Tensor:
        keys = torch.unique(pair_keys(edges, nodes))
        return torch.stack([keys // nodes, keys % nodes])

    val, test = pairs(split.val), pairs(split.test)
    # As many negatives as pairs: of one that goes both ways there were two.
    negatives = [
        pairs(drawn)[:, : part.shape[1]]
        for drawn, part in ((split.val_negatives, val), (split.test_negatives, test))
    ]
    return LinkSplit(replace(split.train, directions=None), val, test, negatives[0], negatives[1])
