"""The scikit-learn face: whatever is a graph goes in, clones and folders come out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maskgae import Graph, InputError, MaskGAE
from maskgae.data.graph import NodeSplit
from maskgae.datasets.generated import generate
from maskgae.io.convert import as_graph
from maskgae.run import Run
from maskgae.run.defaults import resolve_settings

QUICK: dict[str, Any] = {"training.epochs": 5}
GRAPH = generate(120, 500, num_features=8, communities=4, seed=1)


def quick(**kwargs: Any) -> MaskGAE:
    return MaskGAE(**{"dim": 8, "settings": QUICK, "random_state": 0, **kwargs})


def same_graph_in_many_forms() -> list[Any]:
    pairs = GRAPH.pairs.numpy()
    frame = pd.DataFrame({"source": pairs[0], "target": pairs[1]})
    ring = networkx.Graph()
    ring.add_nodes_from(range(GRAPH.num_nodes))
    ring.add_edges_from(pairs.T.tolist())
    return [GRAPH, GRAPH.to_pyg(), sp.csr_matrix(GRAPH.to_scipy()), ring, pairs, pairs.T, frame]


@pytest.mark.parametrize(
    "graph", same_graph_in_many_forms(), ids=["own", "pyg", "scipy", "nx", "2E", "E2", "frame"]
)
def test_every_form_of_a_graph_is_fitted(graph: Any) -> None:
    embedding = quick().fit_transform(graph)
    assert embedding.shape[1] == 8 and np.isfinite(embedding).all()


def test_equal_seeds_give_equal_vectors_and_others_do_not() -> None:
    first, again = quick().fit_transform(GRAPH), quick().fit_transform(GRAPH)
    other = quick(random_state=1).fit_transform(GRAPH)
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_clone_and_params() -> None:
    model = quick(mask="path").set_params(random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.mask == "path" and copy.random_state == 3


@pytest.mark.parametrize("features", [True, False], ids=["features", "structure"])
def test_saving_and_loading_changes_nothing(tmp_path: Path, features: bool) -> None:
    graph = GRAPH if features else Graph.from_edges(GRAPH.pairs, GRAPH.num_nodes)
    model = quick().fit(graph)
    model.save(tmp_path / "run")
    back = MaskGAE.load(tmp_path / "run")
    assert np.array_equal(back.embedding_, model.embedding_)
    assert back.metrics_ == model.metrics_
    pairs = [(0, 5), (7, 9)]
    assert np.array_equal(back.score_pairs(pairs), model.score_pairs(pairs))
    assert not [path for path in (tmp_path / "run").rglob("*") if path.suffix in (".pkl", ".pt")]


def test_links_carry_the_users_names() -> None:
    graph = networkx.relabel_nodes(networkx.karate_club_graph(), lambda i: f"member {i}")
    links = quick().fit(graph).predict_links(top=2, nodes=["member 4"])
    assert set(links["source"]) == {"member 4"}
    assert not any(graph.has_edge("member 4", target) for target in links["target"])
    assert ((links["score"] >= 0) & (links["score"] <= 1)).all()


def test_another_graph_is_embedded_by_the_same_network() -> None:
    model = quick().fit(GRAPH)
    assert np.allclose(model.transform(GRAPH), model.embedding_, atol=1e-6)
    grown = generate(150, 600, num_features=8, communities=4, seed=2)
    assert model.transform(grown).shape == (150, 8)


@pytest.mark.parametrize("new", ["a new one", "z new one"])
def test_a_grown_graph_is_matched_by_names(new: str) -> None:
    """Features from structure are those of the fitted nodes, wherever the new graph has them."""
    pairs = [(f"n{u}", f"n{v}") for u, v in GRAPH.pairs.T.tolist()]
    model = quick().fit(pd.DataFrame(pairs, columns=["source", "target"]))
    grown = pd.DataFrame([*pairs, (new, "n3")], columns=["source", "target"])
    rows = np.delete(model.transform(grown), 0 if new < "n" else -1, axis=0)
    moved = np.linalg.norm(rows - model.embedding_, axis=1)
    assert np.median(moved) < 0.02 * np.linalg.norm(model.embedding_, axis=1).mean()
    with pytest.raises(InputError, match="must have the fitted nodes: 'n"):
        model.transform(grown[:3])


def test_what_is_not_named_is_as_the_preset_and_the_settings_say() -> None:
    chosen = resolve_settings(GRAPH, "paper-node-cora-path")
    assert (chosen.mask.kind, chosen.encoder.hidden, chosen.encoder.dim) == ("path", 128, 64)
    settings = {"encoder.dim": 32, "mask.kind": "path", "seed": 5, "embedding.layers": "last"}
    chosen = resolve_settings(GRAPH, overrides=settings)
    assert (chosen.mask.kind, chosen.encoder.dim, chosen.seed) == ("path", 32, 5)
    chosen = resolve_settings(GRAPH, dim=16, overrides=settings)
    assert (chosen.mask.kind, chosen.encoder.dim, chosen.seed) == ("path", 16, 5)
    with pytest.raises(InputError, match=r"leave out dim, or set embedding\.propagated=0"):
        resolve_settings(GRAPH, "node-cora-edge", 16)


def test_a_loaded_model_is_fitted_again_with_its_own_settings(tmp_path: Path) -> None:
    settings = {**QUICK, "encoder.dropout": 0.5}
    model = MaskGAE(dim=8, holdout=False, settings=settings, random_state=3)
    model.fit(GRAPH).save(tmp_path / "run")
    again = clone(MaskGAE.load(tmp_path / "run")).fit(GRAPH)
    assert np.array_equal(again.embedding_, model.embedding_)


def test_saving_again_leaves_nothing_of_the_first_run(tmp_path: Path) -> None:
    quick().fit(Graph.from_edges(GRAPH.pairs, GRAPH.num_nodes)).save(tmp_path / "run")
    quick(holdout=False).fit(GRAPH).save(tmp_path / "run")
    back = Run.load(tmp_path / "run")
    assert back.structural is None and not back.held_out


def test_only_a_run_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "main.py").touch()
    with pytest.raises(InputError, match=r"no run folder, there is main\.py"):
        quick().fit(GRAPH).save(tmp_path)
    assert (tmp_path / "graph").is_dir()


def test_holdout_off_trains_on_everything() -> None:
    model = quick(holdout=False).fit(GRAPH)
    assert "auc" not in model.metrics_ and model.run_.split is None


def test_labels_change_nothing_else_of_a_graph() -> None:
    graph = replace(GRAPH, node_split=NodeSplit(*torch.arange(120).split(40)))
    made, _, _ = as_graph(graph, labels=np.zeros(120))
    assert made.node_split is graph.node_split and made.cleaning == graph.cleaning


def test_a_frame_is_read_by_its_names_else_by_its_places() -> None:
    assert as_graph(pd.DataFrame([("x", "y")], columns=["A", "a"]))[1].tolist() == ["x", "y"]
    turned = pd.DataFrame([(9, "x", "y")], columns=["weight", "Target", "Source"])
    assert as_graph(turned)[0].weights is not None
    for missing in (None, np.nan):
        with pytest.raises(InputError, match="row 1 of the frame lacks one"):
            as_graph(pd.DataFrame([("x", "y"), ("x", missing)]))


def test_a_frame_of_features_goes_by_its_index() -> None:
    edges = pd.DataFrame([("b", "a"), ("c", "b")], columns=["source", "target"])
    rows = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, index=["c", "a", "b"])
    graph, names, _ = as_graph(edges, rows)
    assert graph.features is not None
    assert names.tolist() == ["a", "b", "c"]
    assert graph.features.dense().tolist() == [[1.0], [2.0], [3.0]]
    numbered, _, _ = as_graph(edges, rows.reset_index(drop=True))
    assert numbered.features is not None
    assert numbered.features.dense().tolist() == [[3.0], [1.0], [2.0]]
    with pytest.raises(InputError, match="no row of its own for 'b'"):
        as_graph(edges, rows.rename(index={"b": "z"}))


def test_wrong_arguments_are_refused_in_words() -> None:
    model = quick().fit(networkx.relabel_nodes(networkx.karate_club_graph(), str))
    assert set(model.predict_links(top=1, nodes="10")["source"]) == {"10"}
    with pytest.raises(InputError, match="1 at least, not -1"):
        model.predict_links(top=-1)
    with pytest.raises(InputError, match="the device 'gpu' is not available"):
        quick(device="gpu").fit(GRAPH)
    with pytest.raises(InputError, match="whole number from 1 on, not 'x'"):
        MaskGAE(dim="x").fit(GRAPH)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="of one kind"):
        as_graph(pd.DataFrame([(1, "a")]))


def test_errors_say_what_to_do() -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        MaskGAE().transform()
    with pytest.raises(InputError, match="no edges"):
        MaskGAE().fit(np.empty((2, 0), dtype=np.int64), features=np.eye(3))
    with pytest.raises(InputError, match="999"):
        quick().fit(GRAPH).score_pairs([(0, 999)])
    with pytest.raises(InputError, match=r"0\.9"):
        quick().fit(GRAPH).score_pairs([(0.9, 1.9)])
    with pytest.raises(InputError, match=r"did you mean 'mask\.p'"):
        MaskGAE(settings={"mask.pp": 0.1}).fit(GRAPH)
