"""Does this method suit a graph.

A masked graph autoencoder learns that nodes which share neighbours belong together. Where edges
join unlike nodes, or join at random, there is nothing of that kind to learn: the paper names
homophily as its limit. :func:`assess` says so in words, from the same
:class:`~maskgae.lab.analysis.measures.GraphFacts` for everybody. The thresholds are judgements.
"""

from __future__ import annotations

from dataclasses import dataclass

from maskgae.lab.analysis.measures import GraphFacts
from maskgae.run.defaults import TREE_LIKE

#: Adjusted homophily from which edges are said to join equals, and below which they do not.
HOMOPHILOUS, INDIFFERENT, HETEROPHILOUS = 0.3, 0.1, -0.05

#: Chance of an edge's features to be the more alike, above which they are said to be.
ALIKE, SOMEWHAT_ALIKE = 0.6, 0.53

#: Share of the edges whose ends must have labels before these are trusted.
ENOUGH_LABELS = 0.05

#: Overlap from which a plain autoencoder is said to see the same thing twice.
REDUNDANT = 0.3

NO_EVIDENCE = (
    "Neither labels nor features to judge homophily by: hold out edges and compare the link scores "
    "with those of counting common neighbours."
)


@dataclass(frozen=True)
class Assessment:
    """Whether the method suits a graph: ``yes``, ``unclear`` or ``no``, and why."""

    suits: str
    reasons: tuple[str, ...]


def assess(facts: GraphFacts) -> Assessment:
    """Reads the facts in plain words.

    Labels decide where there are enough of them, then features, then the structure alone.

    >>> from maskgae.data.graph import Graph
    >>> from maskgae.lab.analysis.measures import measure_graph
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
