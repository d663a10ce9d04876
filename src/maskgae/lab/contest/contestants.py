"""All who take part in the contest: a table, in the order in which it is printed.

A contestant learns from an exam's training and validation edges and comes back as scores of pairs,
with an embedding where it has one. To add one, write what it learns as a function and its row in
:data:`CONTESTANTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from maskgae.base.display import ROW_NAMES
from maskgae.base.errors import InputError, nearest
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.method import PairScores, Validation
from maskgae.evaluation.rules import Rules, default_rules
from maskgae.evaluation.scorer import Columns, PairScorer, combined_rules
from maskgae.evaluation.scorer_fit import fit_scorers
from maskgae.lab.contest import embeddings
from maskgae.lab.contest.embeddings import COLUMNS, EPOCHS, STEPS, WALKS, WINDOW, Floats
from maskgae.lab.contest.exam import Exam
from maskgae.lab.contest.products import best_products
from maskgae.lab.contest.refit import refitted
from maskgae.run.defaults import resolve_settings
from maskgae.run.fit import QUICK, fit

#: Which rules ``fit`` combines, where a graph has them, and without those of a later choice.
ALL, FEW = "all", "few"


@dataclass(frozen=True, eq=False)
class Entered:
    """What a contestant has learnt: scores, an embedding ``[N, D]``, facts, rows beside its own."""

    scores: PairScores
    embedding: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, PairScores] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """A row of the table.

    Args:
        title: what the row is called.
        enter: learns from an exam's training and validation edges.
        settings: how, for the record: of ``fit`` those that it is given, of others their usual.
        kind: ``fit`` and ``part`` of it are ours; a ``rule`` or an ``embedding`` is what people
            would use instead.
        possible: whether it can take part on a graph.
    """

    title: str
    enter: Callable[[Exam, Stream], Entered]
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "embedding"
    possible: Callable[[Graph], bool] = lambda graph: True

    def resolved(self, graph: Graph) -> dict[str, Any]:
        """The settings on a graph: of ``fit`` all that then differ from the defaults."""
        if self.kind == "fit":
            return resolve_settings(graph, overrides=self.settings).changed()
        settings = dict(self.settings)
        if self.kind == "part" and combined_rules(graph, ALL) == combined_rules(graph, FEW):
            del settings["scorer.rules"]
        return settings


@dataclass(frozen=True, eq=False)
class RuleScores:
    """One rule as scores of pairs."""

    rules: Rules
    name: str

    def pairs(self, pairs: Tensor) -> Tensor:
        return torch.from_numpy(self.rules.pairs(pairs)[self.name])

    def rows(self, nodes: Tensor) -> Tensor:
        return torch.from_numpy(self.rules.rows(nodes)[self.name])


def rule(name: str) -> Contestant:
    """A rule of :mod:`~maskgae.evaluation.rules` on the training edges."""

    def enter(exam: Exam, stream: Stream) -> Entered:
        return Entered(RuleScores(Rules(exam.train, [name]), name))

    return Contestant(
        ROW_NAMES[name], enter, {"rule": name}, "rule", lambda graph: name in default_rules(graph)
    )


def embedding(title: str, learn: Callable[[Graph, Stream], Floats], **settings: Any) -> Contestant:
    """An embedding of the training graph, with the products that rank validation edges best."""

    def enter(exam: Exam, stream: Stream) -> Entered:
        found = learn(exam.train, stream.at("embedding"))
        scores, facts = best_products(found, exam, stream.at("scorer"))
        return Entered(scores, found, facts)

    return Contestant(title, enter, {"columns": COLUMNS, **settings})


def fitted(title: str, **settings: Any) -> Contestant:
    """``fit`` with what suits the graph and some settings, ``__`` for the dot of a key."""
    given = {key.replace("__", "."): value for key, value in settings.items()}

    def enter(exam: Exam, stream: Stream) -> Entered:
        unlabelled = replace(exam.graph, labels=None, node_split=None)
        run = fit(unlabelled, {**given, "seed": exam.stream.seed}, holdout=exam.split)
        assert run.split is not None
        messages = run.split.train
        scores = run.scores_on(messages)
        facts = {"training_s": run.record["time_s"]["train"], **run.record["facts"]}
        network = scores.columns.network
        parts = {} if network is None else {"network": network}
        return Entered(scores, run.vectors_on(messages), facts, parts)

    return Contestant(title, enter, given, "fit")


def rules_alone(title: str, which: str) -> Contestant:
    """Few or all rules of ``fit`` through its combiner, without a network."""

    def enter(exam: Exam, stream: Stream) -> Entered:
        validation = Validation(exam.split.val, exam.split.val_negatives)
        columns = Columns.of(exam.train, None, combined_rules(exam.train, which))
        scorer = fit_scorers(columns, validation, exam.known, stream)[1]
        return Entered(PairScorer.of(scorer, exam.train))

    return Contestant(title, enter, {"scorer.rules": which}, "part")


def _refit(exam: Exam, stream: Stream) -> Entered:
    """``fit`` as its users have it, on the training edges, then trained again on all of these.

    It holds out edges of its own, so that what the exam asks is hidden from both.
    """
    whole = replace(exam.train, labels=None, node_split=None)
    run = fit(whole, {"seed": exam.stream.seed})
    facts = run.record["facts"]
    again = refitted(run, facts["best_epoch"])
    return Entered(again, None, facts, {"selected": run.pair_scores})


#: Name -> contestant. ``maskgae`` is ``fit`` without settings, ``maskgae-quick`` without a network.
CONTESTANTS: dict[str, Contestant] = {
    **{
        name: rule(name)
        for name in (
            "adamic_adar",
            "resource_allocation",
            "three_steps",
            "pagerank",
            "smoothed_cosine",
            "twice_smoothed_cosine",
        )
    },
    "svd": embedding("SVD of the adjacency", embeddings.svd_embedding),
    "spectral": embedding("spectral embedding", embeddings.spectral_embedding),
    "prone": embedding("ProNE", embeddings.prone_embedding),
    "smoothed": replace(
        embedding("smoothed features", embeddings.smoothed_embedding, hops=2),
        possible=lambda graph: graph.features is not None,
    ),
    "node2vec": embedding(
        "node2vec",
        embeddings.node2vec_embedding,
        walks=WALKS,
        steps=STEPS,
        window=WINDOW,
        epochs=EPOCHS,
    ),
    "rules": rules_alone("rules alone, combined", ALL),
    "rules-few": rules_alone("few rules alone, combined", FEW),
    "maskgae-quick": fitted("maskgae fit --quick", **QUICK),
    "maskgae": fitted("maskgae fit"),
    "maskgae-network": fitted("maskgae fit, network alone", scorer__kind="network"),
    "maskgae-refit": Contestant("maskgae fit, refitted on all edges", _refit, kind="fit"),
}

#: What takes part where nobody is named: at the test, and where a choice is made.
APART = ("maskgae-network", "maskgae-refit", "rules-few")
USUAL = tuple(name for name in CONTESTANTS if name not in APART)
CHOICES = ("rules", "rules-few", "maskgae", "maskgae-network")


def contestant(name: str, given: Mapping[str, Any] | None = None) -> Contestant:
    """A row of the table or, with settings on top of its own, ``fit`` with these."""
    if name not in CONTESTANTS:
        raise InputError(f"no contestant is called '{name}': {nearest(name, CONTESTANTS)}")
    found = CONTESTANTS[name]
    if not given:
        return found
    if found.kind != "fit" or found.enter is _refit:
        raise InputError(f"{name} takes no settings: leave out --set, or --methods maskgae")
    return fitted(found.title, **{**found.settings, **given})
