"""One seed of a cell: its split, its method, its task.

The test is scored once, after everything that is chosen has been chosen on validation data.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import ProbeConfig, SplitConfig
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit, split_links
from maskgae.datasets.registry import public_link_split
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.ground import Ground
from maskgae.evaluation.link_task import link_task
from maskgae.evaluation.method import OnEpoch, Starts
from maskgae.evaluation.node_task import Judge, node_task
from maskgae.evaluation.outcome import Outcome, forget_peak
from maskgae.lab.cell import Cell
from maskgae.lab.methods import WithScores
from maskgae.training import MaskGAEMethod


def run_seed(
    cell: Cell,
    graph: Graph,
    seed: int,
    *,
    device: str = "cpu",
    on_epoch: OnEpoch | None = None,
) -> Outcome:
    """Runs a cell with one seed; equal to the same seed's run among many."""
    forget_peak()
    settings = replace(cell.settings, seed=seed)
    method = cell.method_on(device, seed)
    untrained = (method if isinstance(method, Starts) else MaskGAEMethod(settings)).untrained
    if cell.task == "node":
        if graph.labels is None:
            raise InputError(f"{cell.dataset} has no labels: evaluate links on it instead")
        judge = _judge(settings.probe, graph, seed, settings.embedding.power)
        return node_task(method, untrained, graph, settings, on_epoch, judge)
    ground, audit = _ground(cell.dataset, settings.split, graph, seed)
    scoring = WithScores(method)
    return link_task(scoring, untrained, ground, settings, audit=audit, on_epoch=on_epoch).outcome


#: Splits that are kept with what simple baselines reach on them, for the next method.
KEPT = 10


@lru_cache(maxsize=KEPT)
def _judge(config: ProbeConfig, graph: Graph, seed: int, power: float) -> Judge:
    return Judge(config, graph, Stream(seed), power)


@lru_cache(maxsize=KEPT)
def _ground(
    dataset: str, config: SplitConfig, graph: Graph, seed: int
) -> tuple[Ground, dict[str, Any]]:
    """A split with what is asked on it, and what an audit of it found."""
    split, audit = _link_split(dataset, config, graph, Stream(seed))
    return Ground(graph, split, config, Stream(seed)), audit


def _link_split(
    dataset: str, config: SplitConfig, graph: Graph, stream: Stream
) -> tuple[LinkSplit, dict[str, Any]]:
    """The public split where the dataset has one, else a random one; both audited."""
    public = public_link_split(dataset)
    if public is None:
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
