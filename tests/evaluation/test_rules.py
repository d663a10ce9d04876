"""Rules agree with NetworkX, with plain matrices, and with the graph without the scored pair."""

import hashlib

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.data.features import as_features
from maskgae.evaluation import count_rules, vector_rules
from maskgae.evaluation.hard import TELEPORT, WALK_STEPS
from maskgae.evaluation.rules import RULES, Rules, default_rules, link_heuristics

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

#: What an edge leaves exactly.
EXACT = (
    "common_neighbours",
    "adamic_adar",
    "resource_allocation",
    "degree_product",
    "degree_gap",
    "three_steps",
    "feature_cosine",
    "smoothed_cosine",
)


def all_pairs(num_nodes: int) -> torch.Tensor:
    return torch.from_numpy(np.stack(np.triu_indices(num_nodes, 1)))


def sample(nodes: int = 30, pairs: int = 80, columns: int = 5, seed: int = 1) -> Graph:
    """A random graph with one more node that nobody knows."""
    reference = networkx.gnm_random_graph(nodes, pairs, seed=seed)
    reference.add_node(nodes)
    x = np.random.default_rng(seed).normal(size=(nodes + 1, columns))
    return Graph.from_networkx(reference).with_features(as_features(x))


def normalized(graph: Graph) -> NDArray[np.float64]:
    a = graph.to_scipy().toarray().astype(np.float64)
    scale = 1 / np.sqrt(np.maximum(a.sum(1), 1))
    return a * scale * scale[:, None]


def test_scores_worked_out_by_hand() -> None:
    # 0 and 3 share the neighbours 1 (degree 2) and 2 (degree 3).
    graph = Graph.from_edges([(0, 1), (1, 3), (0, 2), (2, 3), (2, 4)])
    scores = Rules(graph).pairs(torch.tensor([[0, 0], [3, 4]]))
    assert scores["common_neighbours"].tolist() == [2, 1]
    assert scores["adamic_adar"] == pytest.approx([1 / np.log(2) + 1 / np.log(3), 1 / np.log(3)])
    assert scores["resource_allocation"] == pytest.approx([1 / 2 + 1 / 3, 1 / 3])
    assert scores["degree_product"].tolist() == [4, 2]
    assert scores["degree_gap"] == pytest.approx([0, np.log(3) - np.log(2)])
    assert "feature_cosine" not in scores


def test_paths_of_three_steps_by_hand() -> None:
    # The square 0-1-2-3 with a tail 3-4: between 0 and 4 runs 0-1-2-3-4, four steps; between 1
    # and 4 runs 1-2-3-4 and 1-0-3-4; 3 has degree 3, the others on the way 2.
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)])
    rules = Rules(graph, ["three_steps"])
    far, tail, edge = rules.pairs(torch.tensor([[0, 1, 0], [4, 4, 1]]))["three_steps"]
    assert far == 0
    assert tail == pytest.approx(2 / (2 * 3) / np.sqrt(2 * 1))
    # 0-1 is an edge: without it 0-3-2-1 is left, from 0 of degree 1 to 1 of degree 1.
    assert edge == pytest.approx(1 / (3 * 2))


def hub() -> Graph:
    """The sample, whose first node knows all others: its row is many times as long as theirs."""
    pairs = [*sample().pairs.T.tolist(), *((0, node) for node in range(1, 100))]
    return Graph.from_edges(pairs)


@pytest.mark.parametrize("graph", [sample(), hub()], ids=["sample", "hub"])
def test_counts_agree_with_networkx(graph: Graph) -> None:
    pairs = all_pairs(graph.num_nodes)
    reference = graph.to_networkx()
    pairs = pairs[:, ~graph.contains(pairs)]
    scores = link_heuristics(graph, pairs)
    for name, function in (
        ("adamic_adar", networkx.adamic_adar_index),
        ("resource_allocation", networkx.resource_allocation_index),
        ("degree_product", networkx.preferential_attachment),
    ):
        expected = [score for _, _, score in function(reference, pairs.T.tolist())]
        assert scores[name] == pytest.approx(expected)
    expected = [len(list(networkx.common_neighbors(reference, u, v))) for u, v in pairs.T.tolist()]
    assert scores["common_neighbours"].tolist() == expected


@pytest.mark.parametrize("graph", [sample(), hub()], ids=["sample", "hub"])
def test_three_steps_are_the_third_power(graph: Graph) -> None:
    pairs = all_pairs(graph.num_nodes)
    pairs = pairs[:, ~graph.contains(pairs)]
    cube = np.linalg.matrix_power(normalized(graph), 3)
    rules = Rules(graph, ["three_steps"])
    for asked in (pairs, pairs.flip(0), pairs[:, torch.randperm(pairs.shape[1], generator=G())]):
        assert rules.pairs(asked)["three_steps"] == pytest.approx(cube[tuple(asked.numpy())])


def G() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_an_edge_is_scored_on_the_graph_without_it() -> None:
    graph = sample()
    rules = Rules(graph, EXACT)
    found = rules.pairs(graph.pairs)
    for place, pair in enumerate(graph.pairs.T):
        kept = torch.ones(graph.num_pairs, dtype=torch.bool)
        kept[place] = False
        without = Rules(graph.subgraph(kept), EXACT).pairs(pair.unsqueeze(1))
        for name in EXACT:
            assert found[name][place] == pytest.approx(without[name][0], abs=1e-5), name


def test_a_bridge_leaves_nothing_behind() -> None:
    tree = Graph.from_edges([(0, 1), (0, 2), (1, 3), (1, 4), (4, 5)])
    assert (Rules(tree, ["three_steps"]).pairs(tree.pairs)["three_steps"] == 0).all()


def test_twice_smoothed_features_lose_the_walks_along_an_edge() -> None:
    graph = sample()
    assert graph.features is not None
    x = graph.features.dense().double().numpy()
    hat = graph.to_scipy().toarray() + np.eye(31)
    scale = 1 / np.sqrt(hat.sum(1))
    found = Rules(graph, ["twice_smoothed_cosine"]).pairs(graph.pairs)["twice_smoothed_cosine"]
    for (u, v), value in zip(graph.pairs.T.tolist(), found, strict=True):
        cut = hat.copy()
        cut[u, v] = cut[v, u] = 0  # the weights are those of the whole graph
        smooth = cut * scale * scale[:, None]
        a, b = (smooth @ smooth @ x)[[u, v]]
        assert value == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-5)


def test_cosines_of_smoothed_features_are_those_of_sgc() -> None:
    graph, pairs = sample(), all_pairs(31)
    pairs = pairs[:, ~graph.contains(pairs)]
    assert graph.features is not None
    hat = graph.to_scipy().toarray() + np.eye(31)
    scale = 1 / np.sqrt(hat.sum(1))
    x = graph.features.dense().double().numpy()
    scores = Rules(graph).pairs(pairs)
    for name in ("smoothed_cosine", "twice_smoothed_cosine"):
        x = (hat * scale * scale[:, None]) @ x
        y = x / np.linalg.norm(x, axis=1, keepdims=True)
        assert scores[name] == pytest.approx((y @ y.T)[tuple(pairs.numpy())], abs=1e-5)


def test_wide_features_are_projected_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sp.random_array((40, 2000), density=0.02, rng=np.random.default_rng(0))
    graph = Graph.from_edges([(i, i + 1) for i in range(39)], features=x)
    scores = [Rules(graph, ["smoothed_cosine"]).pairs(all_pairs(40))["smoothed_cosine"]]
    monkeypatch.setattr(vector_rules, "EXACT_NUMBERS", 40 * 500)
    for _ in range(2):
        rules = Rules(graph, ["smoothed_cosine"])
        scores.append(rules.pairs(all_pairs(40))["smoothed_cosine"])
    exact, one, other = scores
    assert (one == other).all() and (one != exact).any()
    # Each cosine is off by some 1 / sqrt(500).
    assert np.abs(one - exact).max() < 5 / 500**0.5


def test_the_spectral_rule_is_a_low_rank_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, pairs = sample(), all_pairs(31)
    pairs = pairs[:, ~graph.contains(pairs)]
    whole = normalized(graph)
    values, vectors = np.linalg.eigh(whole)
    # All eigenvectors give the adjacency itself, and an edge without itself nothing.
    rules = Rules(graph, ["spectral", "spectral_cosine"])
    for name in rules.names:
        assert np.abs(rules.pairs(pairs)[name]).max() < 1e-6
        assert np.abs(rules.pairs(graph.pairs)[name]).max() < 1e-6
    # By the solver for large graphs, at rank 4.
    monkeypatch.setattr(vector_rules, "RANK", 4)
    best = np.argsort(-np.abs(values))[:4]
    low = (vectors[:, best] * values[best]) @ vectors[:, best].T
    found = Rules(graph, ["spectral"]).pairs(pairs)["spectral"]
    assert found == pytest.approx(low[tuple(pairs.numpy())], abs=1e-4)
    # With the lengths of both ends.
    monkeypatch.setattr(vector_rules, "COSINE_RANK", 4)
    found = Rules(graph, ["spectral_cosine"]).pairs(pairs)["spectral_cosine"]
    lengths = np.sqrt((vectors[:, best] ** 2) @ np.abs(values[best]))
    lengths[-1] = 1  # nobody knows it, and its entries are zero
    cosine = low / np.outer(lengths, lengths)
    assert found == pytest.approx(cosine[tuple(pairs.numpy())], abs=1e-3)


def test_a_node_without_edges_has_a_spectral_cosine_of_zero() -> None:
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2)], 4)
    rules = Rules(graph, ["spectral_cosine"])
    assert rules.pairs(torch.tensor([[0], [3]]))["spectral_cosine"].tolist() == [0]
    assert (rules.rows(torch.tensor([3]))["spectral_cosine"] == 0).all()


@pytest.mark.parametrize("together", [1, 7, 64])
def test_pagerank_sums_walks_of_any_length(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_rules, "TOGETHER", together)
    graph, pairs = sample(), all_pairs(31)
    s = normalized(graph)
    powers = [(1 - TELEPORT) ** k * np.linalg.matrix_power(s, k) for k in range(WALK_STEPS + 1)]
    expected = TELEPORT * (sum(powers) - (1 - TELEPORT) * s)
    found = Rules(graph, ["pagerank"]).pairs(pairs)["pagerank"]
    assert found == pytest.approx(np.asarray(expected)[tuple(pairs.numpy())], abs=1e-6)


@pytest.mark.parametrize("together", [2, 64])
@pytest.mark.parametrize("columns", [5, 400])
def test_rows_and_pairs_agree_in_both_directions(
    columns: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_rules, "TOGETHER", together)
    graph = sample(columns=columns)
    rules, nodes = Rules(graph), torch.tensor([4, 30, 0])
    assert rules.names == RULES
    rows = rules.rows(nodes)
    u = nodes.repeat_interleave(31)
    v = torch.arange(31).repeat(3)
    edges = graph.contains(torch.stack([u, v]))
    other = ((u != v) & ~edges).view(3, 31).numpy()
    for asked in (torch.stack([u, v]), torch.stack([v, u])):
        pairs = rules.pairs(asked)
        for name in RULES:
            expected = pairs[name].reshape(3, 31)
            assert rows[name][other] == pytest.approx(expected[other], abs=1e-5), name


def test_rows_are_those_of_plain_matrices_with_all_edges_in_place() -> None:
    graph, nodes = hub(), torch.tensor([3, 0, 50])
    a, s = graph.to_scipy().toarray().astype(np.float64), normalized(graph)
    degrees = a.sum(1)
    powers = [(1 - TELEPORT) ** k * np.linalg.matrix_power(s, k) for k in range(WALK_STEPS + 1)]
    expected = {
        "common_neighbours": a @ a,
        "adamic_adar": a / np.log(np.maximum(degrees, 2)) @ a,
        "resource_allocation": a / np.maximum(degrees, 2) @ a,
        "degree_product": np.outer(degrees, degrees),
        "degree_gap": np.abs(np.subtract.outer(np.log1p(degrees), np.log1p(degrees))),
        "three_steps": np.linalg.matrix_power(s, 3),
        "pagerank": TELEPORT * sum(powers),
    }
    for name, found in Rules(graph, list(expected)).rows(nodes).items():
        assert found.dtype == np.float32
        assert found == pytest.approx(expected[name][nodes], rel=1e-5, abs=1e-6), name


def test_shares_of_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hub()
    pairs = all_pairs(graph.num_nodes)
    rules = Rules(graph, ["adamic_adar", "three_steps"])
    alone = rules.pairs(pairs)
    monkeypatch.setattr("maskgae.kernels.compiled.torch.get_num_threads", lambda: 3)
    for name, scores in rules.pairs(pairs).items():
        assert (scores == alone[name]).all()


def test_direction_of_a_pair_and_weights_of_edges_do_not_matter() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    one = Rules(Graph.from_edges(edges)).pairs(torch.tensor([[1], [3]]))
    weighted = Graph.from_edges(edges, weights=[1, 2, 3, 4, 5])
    two = Rules(weighted).pairs(torch.tensor([[3], [1]]))
    for name, score in one.items():
        assert score == pytest.approx(two[name], abs=1e-6)


@pytest.mark.parametrize("chunk", [3, 10**6])
@pytest.mark.parametrize("columns", [2, 40])
def test_cosine_dense_and_sparse(columns: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_rules, "CHUNK_ENTRIES", chunk)
    x = np.zeros((4, columns), dtype=np.float32)
    x[0, :2], x[1, :2], x[2, :2] = (3, 4), (4, 3), (-3, -4)
    graph = Graph.from_edges([(0, 1)], features=x)
    rules = Rules(graph, ["feature_cosine"])
    expected = [0.96, -1, 0, -0.96, 0, 0]
    assert rules.pairs(all_pairs(4))["feature_cosine"] == pytest.approx(expected)
    row = rules.rows(torch.tensor([0]))["feature_cosine"]
    assert row[0, 1:] == pytest.approx(expected[:3], abs=1e-6)


def test_no_pairs_no_edges() -> None:
    graph = Graph.from_edges([(0, 1)], features=sp.eye_array(20))
    scores = Rules(graph).pairs(torch.empty(2, 0, dtype=torch.long))
    assert {score.size for score in scores.values()} == {0} and len(scores) == len(RULES)
    empty = Graph.from_edges(np.empty((2, 0), dtype=np.int64), num_nodes=4)
    for score in Rules(empty).pairs(all_pairs(4)).values():
        assert (score == 0).all()


def test_which_rules_a_graph_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Graph.from_edges([(0, 1), (1, 2)])
    assert "feature_cosine" not in default_rules(bare) and "pagerank" in default_rules(bare)
    monkeypatch.setattr("maskgae.evaluation.rules.PAGERANK_ENTRIES", 3)
    assert "pagerank" not in default_rules(bare)
    with pytest.raises(InputError, match="no rule is called 'jaccard': there are common_neigh"):
        Rules(bare, ["jaccard"])
    with pytest.raises(InputError, match="has no features for the rule 'smoothed_cosine'"):
        Rules(bare, ["smoothed_cosine"])


@pytest.mark.parametrize(
    ("columns", "digest"), [(4, "c3a72d97b40d1710"), (100, "06139222224250ba")]
)
def test_the_rows_of_a_record_keep_their_bits(columns: int, digest: str) -> None:
    reference = networkx.gnm_random_graph(60, 240, seed=3)
    x = np.random.default_rng(0).random((60, columns))
    x[x < 1 - 3 / columns] = 0
    graph = Graph.from_networkx(reference).with_features(as_features(x))
    pairs = all_pairs(60)
    found = hashlib.blake2b(digest_size=8)
    for name, values in link_heuristics(graph, pairs[:, ~graph.contains(pairs)]).items():
        found.update(name.encode())
        found.update(values.tobytes())
    assert found.hexdigest() == digest
