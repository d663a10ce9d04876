"""Measures by hand and against NetworkX; what the reading says of graphs whose nature is known."""

import networkx
import numpy as np
import pytest

from maskgae.base.errors import InputError
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.datasets.generated import generate
from maskgae.datasets.registry import is_available, load_dataset
from maskgae.lab.analysis import GraphFacts, assess, measure_graph, measures
from maskgae.run.defaults import suggest


def test_measures_by_hand() -> None:
    # A triangle of ones and twos with a tail, and a node on its own.
    edges = [(0, 1), (0, 2), (1, 2), (2, 3)]
    facts = measure_graph(Graph.from_edges(edges, 5, labels=[0, 0, 0, 1, -1]))
    assert (facts.nodes, facts.pairs, facts.components) == (5, 4, 2)
    assert (facts.largest_component, facts.isolated) == (4 / 5, 1 / 5)
    assert (facts.density, facts.mean_degree, facts.max_degree) == (0.4, 1.6, 3)
    assert facts.clustering == pytest.approx((1 + 1 + 1 / 3) / 5)
    assert facts.degree_quantiles["50%"] == 2
    # Degrees 0 1 2 2 3: half the mean difference over the mean, sum |a - b| = 28.
    assert facts.degree_gini == pytest.approx(28 / (2 * 25 * 1.6))
    # 3 of 4 edges join equals; by chance (7 / 8)² + (1 / 8)².
    chance = (49 + 1) / 64
    assert facts.edge_homophily == 3 / 4
    assert facts.adjusted_homophily == pytest.approx((3 / 4 - chance) / (1 - chance))


def test_unknown_labels_are_left_out_and_one_class_says_nothing() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (0, 3)]
    half = measure_graph(Graph.from_edges(ring, labels=[0, 0, 1, -1]))
    assert (half.labelled_pairs, half.edge_homophily) == (1 / 2, 1 / 2)
    single = measure_graph(Graph.from_edges(ring, labels=[0, 0, 0, 0]))
    assert (single.edge_homophily, single.adjusted_homophily) == (1, None)
    none = measure_graph(Graph.from_edges(ring))
    assert none.edge_homophily is none.feature_auc is None


@pytest.mark.parametrize("sample", [50, 4000])
def test_clustering_agrees_with_networkx(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "SAMPLE", sample)
    reference = networkx.watts_strogatz_graph(300, 6, 0.1, seed=0)
    facts = measure_graph(Graph.from_networkx(reference))
    within = 1e-6 if sample > 300 else 0.08
    assert facts.clustering == pytest.approx(networkx.average_clustering(reference), abs=within)


@pytest.mark.parametrize("words", [0, 20])
def test_features_that_know_the_edges_are_alike(words: int) -> None:
    alike = generate(600, 2400, communities=4, homophily=0.9, signal=0.8, words=words)
    apart = generate(600, 2400, communities=4, homophily=0.0, signal=0.8, words=words)
    one, two = measure_graph(alike), measure_graph(apart)
    assert one.feature_auc is not None and two.feature_auc is not None
    assert one.feature_auc > 0.65
    assert two.feature_auc == pytest.approx(0.5, abs=0.03)
    assert one.feature_cosine_random == pytest.approx(0, abs=0.02)


def test_chunks_of_features_do_not_change_them(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate(200, 600, signal=0.5)
    whole = measure_graph(graph, overlap=False)
    monkeypatch.setattr(measures, "CHUNK_NUMBERS", 100)
    parts = measure_graph(graph, overlap=False)
    assert parts.feature_cosine_edges == pytest.approx(whole.feature_cosine_edges, abs=1e-6)


def test_a_generated_graph_without_homophily_is_called_so() -> None:
    for labelled in (True, False):
        graph = generate(1000, 4000, homophily=0.0, signal=0.5)
        if not labelled:
            graph = Graph(graph.num_nodes, graph.pairs, features=graph.features)
        reading = assess(measure_graph(graph))
        assert reading.suits == "no"
        assert reading.reasons[0].startswith("No homophily")


def test_a_homophilous_graph_suits_and_a_bipartite_one_does_not() -> None:
    assert assess(measure_graph(generate(1000, 4000, homophily=0.8))).suits == "yes"
    labels = np.arange(60) % 2
    edges = [(u, v) for u in range(60) for v in range(u) if (u - v) % 2 and (u * v) % 7 == 0]
    reading = assess(measure_graph(Graph.from_edges(edges, labels=labels)))
    assert reading.suits == "no"
    assert "Heterophily" in reading.reasons[0]


def test_a_graph_without_anything_to_judge_by_is_unclear() -> None:
    reading = assess(measure_graph(Graph.from_networkx(networkx.karate_club_graph())))
    assert reading.suits == "unclear"


@pytest.mark.skipif(not is_available("Cora"), reason="Cora is not on this machine")
def test_cora_suits() -> None:
    reading = assess(measure_graph(load_dataset("Cora")))
    assert reading.suits == "yes"
    assert "81 % of the edges join equal labels" in reading.reasons[0]


def facts_of(graph: Graph) -> GraphFacts:
    return measure_graph(graph, overlap=False)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (generate(1000, 4000, words=10, num_features=900), {"encoder.dropout": 0.8, "mask.p": 0.3}),
        (
            generate(1000, 4000),
            {"scorer.rules": "all", "encoder.dropout": 0.5, "training.epochs": 500},
        ),
        (generate(1000, 12000), {"encoder.dim": 128, "decoder.hidden": 128}),
        (generate(1000, 12000, num_features=0), {"scorer.rules": "all"}),
        (generate(100, 300), {"encoder.hidden": 64}),
        (generate(1000, 4000, num_features=0), {"encoder.dropout": 0.2}),
        (Graph.from_networkx(networkx.balanced_tree(2, 5)), {"mask.p": 0.15}),
    ],
    ids=["words", "dense features", "dense", "dense alone", "small", "no features", "tree"],
)
def test_suggested_settings_follow_the_graph(graph: Graph, expected: dict[str, object]) -> None:
    suggestion = suggest(graph)
    assert expected.items() <= suggestion.settings.items()
    assert Settings().updated(suggestion.settings).mask.semantics == "strict"
    more = "scorer.rules" in suggestion.settings
    assert suggestion.settings["scorer.kind"] == "combined" and len(suggestion.reasons) == 6 + more
    assert more or graph.features is None
    assert suggest(graph) == suggestion


def test_a_graph_without_edges_is_refused() -> None:
    with pytest.raises(InputError, match="has no edges"):
        suggest(Graph.from_edges([], num_nodes=3))
