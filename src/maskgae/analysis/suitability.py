"""Does this method suit a graph, and which settings to start from.

A masked graph autoencoder learns that nodes which share neighbours belong together. Where edges
join unlike nodes, or join at random, there is nothing of that kind to learn: the paper names
homophily as its limit. :func:`assess` says so in words; :func:`suggest` chooses the settings that
``fit`` starts from. Both read the same :class:`~maskgae.analysis.measures.GraphFacts`, and every
choice comes with its reason.

The thresholds are judgements, made on the figures that this project has measured on citation,
co-purchase and import graphs; they are starting points and no optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from maskgae.analysis.measures import GraphFacts, GraphSize, measure_size
from maskgae.graph.graph import Graph

#: Adjusted homophily from which edges are said to join equals, and below which they do not.
HOMOPHILOUS, INDIFFERENT, HETEROPHILOUS = 0.3, 0.1, -0.05

#: Chance of an edge's features to be the more alike, above which they are said to be.
ALIKE, SOMEWHAT_ALIKE = 0.6, 0.53

#: Share of the edges whose ends must have labels before these are trusted.
ENOUGH_LABELS = 0.05

#: Neighbours on average below which a graph is hardly more than a tree.
TREE_LIKE = 2.2

#: Overlap from which a plain autoencoder is said to see the same thing twice.
REDUNDANT = 0.3

#: Neighbours on average from which a graph is called dense.
DENSE = 20

#: Share of non-zero features below which they are taken for words.
WORDS = 0.05

#: Nodes from which little dropout is enough.
MANY_NODES = 50_000

#: Nodes from which layers are kept narrow.
VERY_MANY_NODES = 2_000_000

#: Pairs from which as many as this are held out for each of validation and test.
MANY_PAIRS, HELD_OUT_PAIRS = 5_000_000, 100_000

NO_EVIDENCE = (
    "Neither labels nor features to judge homophily by: hold out edges and compare the link scores "
    "with those of counting common neighbours."
)


@dataclass
class Suggestion:
    """Settings to start from, by dotted key, and why."""

    settings: dict[str, Any] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def add(self, reason: str, **settings: Any) -> None:
        """Takes settings up, with ``__`` for the dot of a key."""
        self.settings |= {key.replace("__", "."): value for key, value in settings.items()}
        self.reasons.append(reason)


@dataclass(frozen=True)
class Assessment:
    """Whether the method suits a graph: ``yes``, ``unclear`` or ``no``, and why."""

    suits: str
    reasons: tuple[str, ...]


def assess(facts: GraphFacts) -> Assessment:
    """Reads the facts in plain words.

    Labels decide where there are enough of them, then features, then the structure alone.

    >>> from maskgae.analysis.measures import measure_graph
    >>> ring = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], labels=[0, 1] * 3)
    >>> assess(measure_graph(ring)).suits
    'no'
    """
    suits, reason = "unclear", NO_EVIDENCE
    if facts.adjusted_homophily is not None and facts.labelled_pairs >= ENOUGH_LABELS:
        suits, reason = _by_labels(facts, facts.adjusted_homophily)
    elif facts.feature_auc is not None:
        suits, reason = _by_features(facts.feature_auc)
    reasons = [reason, *_about_features(facts), *_about_structure(facts)]
    return Assessment(suits, tuple(reasons))


def _by_labels(facts: GraphFacts, adjusted: float) -> tuple[str, str]:
    share = f"{100 * (facts.edge_homophily or 0):.0f} % of the edges join equal labels"
    measured = f"{share} (adjusted homophily {adjusted:.2f}, where 0 is chance and 1 the most)"
    if adjusted >= HOMOPHILOUS:
        return "yes", f"Homophily: {measured}. Neighbours tell the label, which suits the method."
    if adjusted >= INDIFFERENT:
        text = "Neighbours say little about the label: compare with the raw features."
        return "unclear", f"Weak homophily: {measured}. {text}"
    if adjusted >= HETEROPHILOUS:
        text = (
            "Edges say nothing about the labels, so embeddings from them will not either; "
            "a classifier on the raw features is likely to do better."
        )
        return "no", f"No homophily: {measured}. {text}"
    text = (
        "Edges join unlike nodes, and averaging over neighbours blurs what tells them apart; "
        "a classifier on the raw features is likely to do better."
    )
    return "no", f"Heterophily, the opposite of homophily: {measured}. {text}"


def _by_features(chance: float) -> tuple[str, str]:
    measured = f"an edge's ends are more alike than a random pair's with chance {chance:.2f}"
    if chance >= ALIKE:
        return "yes", f"No labels to judge by, but {measured}: homophily, as far as features tell."
    if chance >= SOMEWHAT_ALIKE:
        return "unclear", f"No labels to judge by; {measured}: weak homophily, if any."
    return "no", f"No homophily in sight: {measured} (0.5 is chance), and there are no labels."


def _about_features(facts: GraphFacts) -> list[str]:
    chance, labels = facts.feature_auc, facts.adjusted_homophily is not None
    if chance is None or not labels or facts.labelled_pairs < ENOUGH_LABELS:
        return []
    if chance < SOMEWHAT_ALIKE:
        return [f"Features are no more alike along edges than elsewhere (chance {chance:.2f})."]
    return [f"Features are more alike along edges than elsewhere (chance {chance:.2f})."]


def _about_structure(facts: GraphFacts) -> list[str]:
    reasons = []
    by_chance = facts.mean_degree / facts.nodes
    if facts.mean_degree < TREE_LIKE:
        reasons.append(
            f"With {facts.mean_degree:.1f} neighbours on average the graph is hardly more than a "
            "tree: a hidden edge often cuts it in two, so masks must be light."
        )
    elif facts.clustering < 2 * by_chance + 0.01:
        reasons.append(
            f"Neighbours of a node are hardly ever joined (clustering {facts.clustering:.3f}): "
            "hidden edges leave few traces in what stays visible."
        )
    if facts.isolated > 0.1:
        reasons.append(
            f"{100 * facts.isolated:.0f} % of the nodes have no edge; their embeddings come from "
            "their features alone."
        )
    if facts.overlap is not None and facts.overlap.o_node >= REDUNDANT:
        reasons.append(
            f"Two neighbours share {100 * facts.overlap.o_node:.0f} % of what an encoder of two "
            "layers sees around them: without a mask, it could get by with copying that."
        )
    return reasons


def suggest(graph: Graph, facts: GraphFacts | None = None) -> Suggestion:
    """Settings to start from: always the same for the same graph, within seconds.

    Args:
        graph: what to embed.
        facts: its measures, where they are known already.

    >>> suggestion = suggest(Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)]))
    >>> suggestion.settings["mask.kind"], suggestion.settings["mask.p"]
    ('edge', 0.15)
    """
    known = measure_size(graph) if facts is None else facts
    suggestion = Suggestion()
    _choose_mask(known, suggestion)
    _choose_width(known, suggestion)
    _choose_dropout(known, suggestion)
    _choose_length(known, suggestion)
    _choose_split(known, suggestion)
    return suggestion


def _choose_mask(facts: GraphFacts | GraphSize, suggestion: Suggestion) -> None:
    kind = {"mask__kind": "edge", "mask__semantics": "strict"}
    if facts.mean_degree < TREE_LIKE:
        reason = "Light edge masks: with so few edges, more would leave most nodes on their own."
        suggestion.add(reason, **kind, mask__p=0.15)
        return
    reason = (
        "Edge masks that hide 30 % in both directions: strict masks want a lower ratio than the "
        "paper's 0.7, which hides about half of the edges in its own code."
    )
    suggestion.add(reason, **kind, mask__p=0.3)


def _choose_width(facts: GraphFacts | GraphSize, suggestion: Suggestion) -> None:
    if facts.nodes < 500:
        reason = f"Narrow layers: {facts.nodes:,} nodes cannot train many weights."
        suggestion.add(reason, encoder__hidden=64, encoder__dim=32)
    elif facts.nodes >= VERY_MANY_NODES:
        reason = "The paper's widths for small graphs: each column costs 4 bytes a node and layer."
        suggestion.add(reason, encoder__hidden=128, encoder__dim=64)
    elif facts.nodes >= 100_000:
        reason = "Wide layers, as the paper's on graphs of this size."
        suggestion.add(reason, encoder__hidden=256, encoder__dim=128)
    elif facts.mean_degree >= DENSE:
        reason = (
            f"A wider last layer and decoder: {facts.mean_degree:.0f} neighbours on average give "
            "more to remember, as on the co-purchase graphs."
        )
        suggestion.add(reason, encoder__hidden=128, encoder__dim=128, decoder__hidden=128)
    elif _words(facts) and facts.nodes < MANY_NODES:
        reason = (
            "One wide layer and three non-edges an edge: on bags of words, the strong dropout "
            "before a second layer costs two points of link AUC on the citation graphs."
        )
        suggestion.add(
            reason,
            encoder__layers=1,
            encoder__dim=256,
            decoder__hidden=64,
            objective__negatives=3,
            training__weight_decay=0.0,
        )
    else:
        reason = "The paper's widths for graphs of this size."
        suggestion.add(reason, encoder__hidden=128, encoder__dim=64)


def _words(facts: GraphFacts | GraphSize) -> bool:
    """Whether the features look like words of texts."""
    return facts.feature_density is not None and facts.feature_density < WORDS


def _choose_dropout(facts: GraphFacts | GraphSize, suggestion: Suggestion) -> None:
    if facts.feature_density is None:
        reason = "No features: they are made from degrees and eigenvectors of the edges."
        suggestion.add(reason, encoder__dropout=0.2)
    elif facts.nodes >= MANY_NODES:
        reason = "Little dropout: a graph of this size is hard to learn by heart."
        suggestion.add(reason, encoder__dropout=0.2)
    elif _words(facts):
        reason = (
            f"Strong dropout and rows of equal length: {100 * facts.feature_density:.1f} % of the "
            "features are not zero, as with words, where any single one must not decide."
        )
        suggestion.add(reason, encoder__dropout=0.8, embedding__normalize="l2")
    else:
        reason = "Medium dropout: dense features say the same thing less often."
        suggestion.add(reason, encoder__dropout=0.5)


def _choose_length(facts: GraphFacts | GraphSize, suggestion: Suggestion) -> None:
    epochs = 500 if facts.pairs < 100_000 else 300 if facts.pairs < 1_000_000 else 100
    every = 10 if epochs > 100 else 5
    reason = (
        f"Up to {epochs} epochs, fewer where validation stops rising: an epoch over "
        f"{facts.pairs:,} edges is one update, and smaller graphs need more of them."
    )
    patience = max(30, epochs // 5)
    suggestion.add(
        reason, training__epochs=epochs, training__eval_every=every, training__patience=patience
    )


def _choose_split(facts: GraphFacts | GraphSize, suggestion: Suggestion) -> None:
    if facts.pairs < MANY_PAIRS:
        return
    share = float(f"{HELD_OUT_PAIRS / facts.pairs:.3g}")
    reason = (
        f"About {HELD_OUT_PAIRS:,} edges held out for validation and as many for the test: that "
        "tells AUCs apart to a tenth of a point, and more would only cost time."
    )
    suggestion.add(reason, split__val=share, split__test=share, split__message_edges="train")
