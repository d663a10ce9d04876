"""Fitting a graph of one's own: choose, hold out, train, score, embed, keep.

:func:`fit` is behind both doors, Python's and the command line's. What it does, in order: the
source is read, settings are chosen (:mod:`~maskgae.run.defaults`), the memory decides between the
whole graph and batches (:mod:`~maskgae.run.plan`), some edges are held out, the network is trained
on the others, what was held out is scored once, and every node is embedded with every edge. With a
folder, the training leaves checkpoints there and the run is written to it with its page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from maskgae.base.device import check_device
from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import WITHOUT_EFFECT, Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import LinkSplit
from maskgae.evaluation.audit import audit_split
from maskgae.evaluation.ground import Ground
from maskgae.evaluation.link_task import LinkResult, link_task
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.evaluation.outcome import Outcome, forget_peak
from maskgae.evaluation.record import link_protocol, make_record
from maskgae.evaluation.scorer import Scorer
from maskgae.nn.network import MaskGAENet
from maskgae.run import files
from maskgae.run import folder as folders
from maskgae.run.agreement import digests
from maskgae.run.callbacks import Callback, Callbacks
from maskgae.run.defaults import resolve_settings
from maskgae.run.labels import add_label_metrics
from maskgae.run.map import write_nodes
from maskgae.run.page import write_shown
from maskgae.run.plan import Plan, plan_fit
from maskgae.run.run import Run
from maskgae.run.source import Source, read
from maskgae.run.task import Task, prepared
from maskgae.training import FittedMaskGAE, MaskGAEMethod
from maskgae.training.checkpoint import Checkpoints
from maskgae.training.parallel import RankedCheckpoints, Ranks, launched, restarted

#: What ``quick`` sets.
QUICK = {"scorer.kind": "combined", "embedding.parts": "both", "encoder.kind": "none"}


def fit(
    source: Any,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    dim: int | None = None,
    quick: bool = False,
    holdout: bool | float | LinkSplit = True,
    batch_pairs: int | None = None,
    start: str | Path | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    device: str = "cpu",
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Trains on a graph and measures how well it went.

    Args:
        source: what :func:`~maskgae.run.source.read` gave, or anything that it takes, or a
            function that reads it once the folder is known to be free; labels are used for
            evaluation only.
        settings: dotted keys that override what suits the graph, such as ``{"mask.p": 0.5}``; or
            complete settings, which are taken as they are.
        preset: named settings to start from, instead of those that suit the graph.
        dim: number of columns that come out.
        quick: whether to leave the network out: rules weighted on held-out edges score pairs, and
            the joined inputs are the embedding. It takes seconds.
        holdout: whether to hold out edges for stopping and for the test, or the share to test on;
            with 0 or ``False``, all edges are trained on for the given epochs. A split of the
            source's graph is taken as it is.
        batch_pairs: edges of one update on sampled neighbourhoods; 0 for the whole graph at once.
            Where it is ``None``, the memory decides.
        start: the folder of an earlier run to begin with, instead of random weights.
        folder: where to keep the run; nothing is written where it is ``None``.
        resume: go on with a run in the folder that was stopped.
        force: replace a run in the folder, when the new one is complete.
        device: where to compute.
        callbacks: told what happens, see :class:`~maskgae.run.callbacks.Callback`.

    Under ``torchrun`` every rank calls this; the others than rank 0 get a run without metrics.

    >>> run = fit([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], {"training.epochs": 3}, holdout=False)
    >>> run.embedding.shape[0], sorted(run.links(top=1))
    (5, ['score', 'source', 'target'])
    """
    check_device(device)
    _check_wishes(settings, preset or dim, None if folder else resume or force)
    settings, holdout = _with_share(settings, holdout)
    if quick:
        settings = _without_network(settings, holdout, start)
    place = None if folder is None else Path(folder)
    if restarted() and place is not None:  # torchrun has lost a rank and started all again
        force = force and folders.may_start_again(place)
        resume = not force
    callback = Callbacks(callbacks)
    with launched(device, callback.on_notice) as (here, own_device):
        request = _Request(
            settings=settings or {},
            preset=preset,
            dim=dim,
            holdout=holdout,
            batch_pairs=batch_pairs,
            start=None if start is None else files.load_weights(Path(start)),
            device=own_device,
            resume=resume,
            callback=callback,
        )
        if not here.leads:
            return request.follow(_source(source), here, place)
        if place is None:
            run = request.lead(_source(source), here, None)
        else:
            with folders.claimed(place, force=force, resume=resume) as aside:
                run = request.lead(_source(source), here, aside)
            run.folder = place
        request.callback.on_end(run)
        return run


def _check_wishes(settings: Any, named: Any, homeless: Any) -> None:
    """Refuses what would have no effect."""
    if isinstance(settings, Settings) and named:
        raise InputError("complete settings leave nothing to preset and dim: give dotted keys")
    if homeless:
        raise InputError("resume and force are about the run in a folder: give folder= too")


def _with_share(settings: Any, holdout: Any) -> tuple[Any, bool | LinkSplit]:
    """Settings with the share to test on, where one is given, and whether to hold out at all."""
    if isinstance(holdout, bool | LinkSplit):
        return settings, holdout
    if not isinstance(holdout, int | float) or not 0 <= holdout < 1:
        raise InputError(
            f"holdout is the share of the edges to test on, from 0 (train on all) to below 1, not "
            f"{holdout!r}: give one such as 0.1, the default, or a LinkSplit of the graph"
        )
    if not holdout:
        return settings, False
    share = {"split.test": float(holdout)}
    if isinstance(settings, Settings):
        return settings.updated(share), True
    return {**dict(settings or {}), **share}, True


def _without_network(settings: Any, holdout: bool | LinkSplit, start: Any) -> Any:
    """Settings without a network; refuses what only a network could do."""
    if not holdout:
        raise InputError(
            "quick weighs rules on held-out edges, and holdout = 0 leaves none: give a share such "
            "as 0.1; answers are given with all edges in any case"
        )
    if start is not None or "WORLD_SIZE" in os.environ:
        what = "torchrun shares" if start is None else "--from starts"
        raise InputError(f"{what} the training of a network, and quick has none: leave one out")
    if isinstance(settings, Settings):
        return settings.updated(QUICK)
    return {**dict(settings or {}), **QUICK}


def _source(given: Any) -> Source:
    if callable(given):
        given = given()
    return given if isinstance(given, Source) else read(given)


@dataclass(frozen=True)
class _Request:
    """What was asked of a fit, on one rank."""

    settings: Settings | Mapping[str, Any]
    preset: str | None
    dim: int | None
    holdout: bool | LinkSplit
    batch_pairs: int | None
    start: dict[str, Tensor] | None
    device: str
    resume: bool
    callback: Callback

    def lead(self, source: Source, here: Ranks, place: Path | None) -> Run:
        """Rank 0, or the only one: all of it."""
        self.check_same(source, here)
        if source.graph.num_pairs == 0:
            raise InputError(f"{source.graph.name} has no edges: there is nothing to learn from")
        plan = self.plan(source.graph)
        if place is not None and self.resume and folders.is_complete(place):
            here.agreed(None)
            run = _unchanged(place, source, plan.settings, self.holdout)
            folders.drop_checkpoints(place)
            return run
        self.callback.on_plan(source, plan)
        settings = here.agreed(plan.settings)
        run = self._fitted(source, settings, here, self._checkpoints(here, place, settings))
        if place is not None:
            folders.clear_results(place)  # of a run that was stopped here
            files.write_run(run, place)
            self.callback.on_part("page")
            write_shown(run, place)
            folders.drop_checkpoints(place)
        return run

    def follow(self, source: Source, here: Ranks, place: Path | None) -> Run:
        """What the other ranks do: their part of training and embedding."""
        self.check_same(source, here)
        settings: Settings | None = here.agreed(None)
        if settings is None:  # rank 0 has found the run complete
            return Run(MaskGAENet.for_graph(source.graph, Settings()), source)
        forget_peak()
        task = prepared(source.graph, settings, self.holdout)
        method = self._method(settings, self._checkpoints(here, place, settings))
        fitted = method.fit(task.train, task.validation(settings), Stream(settings.seed))
        _embedded(fitted, task.graph, here)
        return Run(fitted.net, source.with_graph(task.graph))

    def check_same(self, source: Source, here: Ranks) -> None:
        """Compares what the ranks were given, before one of them waits for what never comes."""
        if here.alone:
            return
        if source.graph.clock is not None:
            raise InputError("a split by time trains in one process: leave out torchrun or --time")
        wishes: dict[str, Any] = {"set": self.settings, "preset": self.preset, "dim": self.dim}
        wishes |= {"holdout": self.holdout, "batch-pairs": self.batch_pairs, "resume": self.resume}
        here.check_same(digests(source, **wishes, start=self.start))

    def plan(self, graph: Graph) -> Plan:
        """Settings for the graph, and whether they fit the memory."""
        if isinstance(self.settings, Settings):
            return plan_fit(graph, self.settings, self.batch_pairs, given=())
        chosen = resolve_settings(graph, self.preset, self.dim, self.settings)
        return plan_fit(graph, chosen, self.batch_pairs, given=self.settings)

    def _fitted(
        self, source: Source, settings: Settings, here: Ranks, checkpoints: Checkpoints | None
    ) -> Run:
        forget_peak()
        task = prepared(source.graph, settings, self.holdout)
        self.callback.on_part("training")
        method = self._method(settings, checkpoints)
        result = _trained(method, settings, task, self.callback.on_epoch)
        fitted = result.fitted
        self.callback.on_part("embedding")
        run = Run(
            fitted.net,
            source.with_graph(task.graph),
            held_out=task.held_out,
            structural=task.structural,
            history=fitted.state.history,
            scorer=result.scorer,
            readout=task.readout(fitted),
            embedding=_embedded(fitted, task.graph, here),
            test_scores=result.test_scores,
        )
        run.record = _record(run, result.outcome, self.holdout)
        return run

    def _method(self, settings: Settings, checkpoints: Checkpoints | None) -> _OwnMethod:
        return _OwnMethod(settings, self.device, checkpoints, self.start, self.callback)

    def _checkpoints(
        self, here: Ranks, place: Path | None, settings: Settings
    ) -> Checkpoints | None:
        if place is None:
            return None
        at = (place / folders.CHECKPOINTS, settings.training.checkpoint_every)
        more: dict[str, Any] = {"resume": self.resume, "stop": self.callback.wants_stop}
        if here.alone:
            return Checkpoints(*at, **more, notice=self.callback.on_notice)
        notice = self.callback.on_notice if here.leads else (lambda text: None)
        return RankedCheckpoints(here, *at, **more, notice=notice)


def _unchanged(folder: Path, source: Source, settings: Settings, holdout: bool | LinkSplit) -> Run:
    """A complete run that is asked for again, if it is the same that is asked for."""
    run = Run.load(folder)
    wanted, found = settings.flat(), run.settings.flat()
    differing = [
        f"{key} = {found[key]}, not {wanted[key]}"
        for key in wanted
        if wanted[key] != found[key] and key not in WITHOUT_EFFECT
    ]
    if bool(holdout) != bool(run.held_out):
        differing.append(f"{'some' if run.held_out else 'no'} edges held out")
    if isinstance(holdout, LinkSplit) and not _holds_out(run, holdout):
        differing.append("another split")
    differing += files.other_parts(run, source)
    if differing:
        raise InputError(
            f"the run in {folder} is complete with {'; '.join(differing[:4])}: choose another "
            "folder, or --force to replace it"
        )
    if not (folder / folders.NODES).exists():
        write_nodes(run, folder)
    if not (folder / folders.REPORT).exists():
        run.report(folder / folders.REPORT)
    return run


def _holds_out(run: Run, split: LinkSplit) -> bool:
    return all(torch.equal(pairs, getattr(split, name)) for name, pairs in run.held_out.items())


def _trained(
    method: _OwnMethod, settings: Settings, task: Task, on_epoch: OnEpoch
) -> LinkResult[FittedMaskGAE]:
    if task.split is None:
        fitted = method.fit(task.graph, None, Stream(settings.seed), on_epoch)
        seconds = sum(row["seconds"] for row in fitted.state.history)
        times = {"train": seconds, "evaluate": 0.0}
        outcome = Outcome(settings.seed, {}, {}, {}, fitted.facts, times)
        return LinkResult(outcome, fitted, Scorer.bare())
    audit, untrained = audit_split(task.graph, task.split), MaskGAEMethod(settings).untrained
    ground = Ground.of(task.graph, task.split, settings)
    return link_task(method, untrained, ground, settings, audit=audit, on_epoch=on_epoch)


def _embedded(fitted: FittedMaskGAE, graph: Graph, here: Ranks) -> Any:
    """Every node's embedding, each rank computing its rows; left to the run where there is one."""
    if here.alone or fitted.readout is not None:
        return None
    own = fitted.net.embed(graph, here.rows(graph.num_nodes))
    return here.gathered(own, graph.num_nodes).cpu().numpy()


def _record(run: Run, outcome: Outcome, holdout: bool | LinkSplit) -> dict[str, Any]:
    settings, name = run.settings, run.graph.name
    about = {"task": "link", "dataset": name, "method": "maskgae", "preset": None}
    flat = {key: value for key, value in settings.flat().items() if key != "seed"}
    protocol = link_protocol(settings, bool(holdout))
    if run.graph.clock is not None and holdout:
        protocol |= {"split": _time_protocol(settings), "negatives": "of nodes of that time"}
    if isinstance(holdout, LinkSplit):
        protocol |= {"split": "given", "negatives": "given"}
    record = make_record(about, flat, protocol, [outcome], run.source.seconds)
    record["audit"]["features_from_structure"] = not run.has_table
    if run.graph.labels is not None:
        add_label_metrics(record, settings, run.graph, run.embedding)
    return record


def _time_protocol(settings: Settings) -> str:
    config = settings.split
    starts = [start or "a share" for start in (config.val_from, config.test_from)]
    return (
        f"by time: validation from {starts[0]}, test from {starts[1]}; "
        f"{config.known:.2g} of a new node's edges known"
    )


@dataclass(frozen=True)
class _OwnMethod(MaskGAEMethod):
    """MaskGAE that may begin with given weights, and says when it is done."""

    start: dict[str, Tensor] | None = None
    callback: Callback = Callback()  # noqa: RUF009 - it has no state

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedMaskGAE:
        fitted = super().fit(graph, validation, stream, on_epoch)
        self.callback.on_part("scoring")
        return fitted

    def untrained(self, graph: Graph, stream: Stream) -> MaskGAENet:
        net = super().untrained(graph, stream)
        if self.start is not None:
            net.check_state(
                self.start, "the weights to start from do not fit this graph and settings"
            )
            net.load_state_dict(self.start)
        return net
