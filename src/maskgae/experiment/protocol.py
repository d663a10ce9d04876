"""One run of one seed: split, audit, fit, score, and the sanity rows on the same split.

The test is scored once, after everything that is chosen has been chosen on validation data.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.baselines import as_scorer
from maskgae.config import Settings
from maskgae.errors import InputError
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.heuristics import link_heuristics
from maskgae.experiment.cell import Cell
from maskgae.experiment.contest import Contest
from maskgae.experiment.judge import Judge, Metrics
from maskgae.experiment.peak import forget_peak, peak_rss_mb
from maskgae.graph.datasets import public_link_split
from maskgae.graph.graph import Graph
from maskgae.graph.splits import (
    LinkSplit,
    hold_out,
    split_links,
)
from maskgae.rng import Stream
from maskgae.training import (
    Fitted,
    Listener,
    MaskGAEMethod,
    Method,
    Validation,
)

#: The software that decides a result to the last digit.
PACKAGES = ("maskgae", "torch", "torch-geometric", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Which software this is."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


@dataclass(frozen=True)
class Run:
    """What one seed gave, and where."""

    seed: int
    metrics: Metrics
    sanity: Mapping[str, Metrics]
    audit: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    time_s: Mapping[str, float] = field(default_factory=dict)
    peak_rss_mb: float = field(default_factory=peak_rss_mb)
    versions: Mapping[str, str] = field(default_factory=versions)
    threads: int = field(default_factory=torch.get_num_threads)


def run_seed(
    cell: Cell,
    graph: Graph,
    seed: int,
    *,
    device: str = "cpu",
    listener: Listener | None = None,
) -> Run:
    """Runs a cell with one seed; equal to the same seed's run among many."""
    forget_peak()
    protocol = {"link": _run_link, "node": _run_node}[cell.task]
    return protocol(cell, graph, seed, device, listener)


def _run_link(cell: Cell, graph: Graph, seed: int, device: str, listener: Listener | None) -> Run:
    split, audit = _link_split(cell, graph, Stream(seed))
    method = cell.method_on(device, seed)
    run, _ = link_run(method, cell.settings, graph, split, audit, seed, listener)
    return run


def link_run(
    method: Method,
    settings: Settings,
    graph: Graph,
    split: LinkSplit,
    audit: Mapping[str, Any],
    seed: int,
    listener: Listener | None = None,
) -> tuple[Run, Fitted]:
    """Fits a method on a split's training graph and scores its test pairs once.

    A method that only embeds gets the scorer of every frozen embedding.
    """
    if not split.test.shape[1]:
        raise InputError(
            "split.test = 0 leaves no pairs to test on: hold out a share such as 0.1, or train "
            "without a test by 'maskgae fit --holdout 0'"
        )
    stream, started = Stream(seed), time.perf_counter()
    validation = held_out_pairs(split, settings)
    fitted = method.fit(split.train, validation, stream, listener)
    fitted = as_scorer(fitted, split.train, validation, stream)
    trained = time.perf_counter()
    messages = split.messages(settings.split.message_edges)
    hard = settings.split.hard_negatives
    contest = Contest.of(split, graph, messages, hard, stream.at("hard"))
    pairs = contest.pairs
    scores = {"method": fitted.score(messages, pairs)}
    scores |= {name: torch.from_numpy(s) for name, s in link_heuristics(messages, pairs).items()}
    scores["untrained"] = _untrained_scores(settings, split.train, messages, pairs, stream)
    rows = {name: contest.row(values) for name, values in scores.items()}
    run = Run(
        seed=seed,
        metrics=rows.pop("method"),
        sanity=rows,
        audit={**audit, **_mask_facts(fitted)},
        facts=fitted.facts,
        time_s={"train": trained - started, "evaluate": time.perf_counter() - trained},
    )
    return run, fitted


def _run_node(cell: Cell, graph: Graph, seed: int, device: str, listener: Listener | None) -> Run:
    if graph.labels is None:
        raise InputError(f"{cell.dataset} has no labels: only the link task can be evaluated on it")
    stream = Stream(seed)
    judge = Judge(cell.settings.probe, graph, stream)
    # Supervised methods learn from the nodes that the probe learns from.
    graph = replace(graph, node_split=judge.split)
    split = hold_out(graph, cell.settings.split.val, stream.at("split"))
    audit = audit_split(graph, split)
    started = time.perf_counter()
    method = cell.method_on(device, seed)
    validation = held_out_pairs(split, cell.settings)
    fitted = method.fit(split.train, validation, stream, listener)
    trained = time.perf_counter()
    untrained = MaskGAEMethod(cell.settings).untrained(graph, stream)
    sanity = {
        **judge.feature_rows(),
        "untrained": judge.embedding(untrained.embed(graph).numpy()),
    }
    return Run(
        seed=seed,
        metrics=judge.fitted(fitted),
        sanity=sanity,
        audit={**audit, **_mask_facts(fitted)},
        facts=fitted.facts,
        time_s={"train": trained - started, "evaluate": time.perf_counter() - trained},
    )


def held_out_pairs(split: LinkSplit, settings: Settings) -> Validation | None:
    """What a run selects its epoch on; nothing, where it trains on all other pairs to the end."""
    if split.val.shape[1]:
        return Validation(split.val, split.val_negatives)
    training = settings.training
    if training.select != "last" or training.patience:
        raise InputError(
            f"split.val = {settings.split.val:g} leaves no pairs to select an epoch on: set "
            "training.select=last and training.patience=0, or hold out a share such as 0.05"
        )
    return None


def _link_split(cell: Cell, graph: Graph, stream: Stream) -> tuple[LinkSplit, dict[str, Any]]:
    """The public split where the dataset has one, else a random one; both audited."""
    public = public_link_split(cell.dataset)
    if public is None:
        config = cell.settings.split
        split = split_links(graph, config.val, config.test, stream.at("split"))
        return split, audit_split(graph, split)
    split = LinkSplit(
        train=public.graph,
        val=public.val_pairs,
        test=public.test_pairs,
        val_negatives=public.val_negatives,
        test_negatives=public.test_negatives,
    )
    # People who meet again are held-out pairs and training pairs at once: counted, not refused.
    audit = audit_split(graph, split, refuse=False)
    return split, {**audit, "repeated_edges": public.repeated, "known": public.known}


def _untrained_scores(
    settings: Settings, train: Graph, messages: Graph, pairs: Tensor, stream: Stream
) -> Tensor:
    """Cosine similarity in the embedding of the network before its first step."""
    net = MaskGAEMethod(settings).untrained(train, stream)
    nodes, place = torch.unique(pairs, return_inverse=True)
    z = F.normalize(net.embed(messages, nodes), dim=1)
    return torch.cat([(z[part[0]] * z[part[1]]).sum(1) for part in place.split(65536, dim=1)])


def _mask_facts(fitted: Fitted) -> dict[str, Any]:
    return {
        key: fitted.facts[key] for key in ("hidden_share", "visible_targets") if key in fitted.facts
    }
