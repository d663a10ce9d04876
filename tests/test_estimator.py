"""The scikit-learn face: whatever is a graph goes in, clones and folders come out."""

from __future__ import annotations

import pickle
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
from sklearn.model_selection import GridSearchCV, KFold

from maskgae import Callback, Graph, HeldOutLinks, InputError, MaskGAE
from maskgae.data.labels import NodeSplit
from maskgae.datasets.generated import generate
from maskgae.io.convert import as_graph
from maskgae.run import Run
from maskgae.run.defaults import resolve_settings
from maskgae.store.write import write_store

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
    assert (chosen.mask.kind, chosen.embedding.columns, chosen.seed) == ("path", 16, 5)
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


NAMED = [(f"n{u}", f"n{v}") for u, v in GRAPH.pairs.T.tolist()]


@pytest.mark.parametrize(
    "grid",
    [{"mask_ratio": [0.2, 0.5]}, {"dim": np.arange(4, 6)}, {"lr": np.logspace(-3, -2, 2)}],
    ids=["ratio", "whole numbers of NumPy", "numbers of NumPy"],
)
@pytest.mark.parametrize("edges", [GRAPH.pairs.numpy().T, NAMED], ids=["array", "names"])
def test_a_grid_is_searched_by_validation(grid: dict[str, Any], edges: Any) -> None:
    search = GridSearchCV(quick(), grid, cv=HeldOutLinks()).fit(edges)
    scores = search.cv_results_["mean_test_score"]
    assert ((scores > 0) & (scores <= 1)).all()
    assert search.best_score_ == search.best_estimator_.score(edges)


def test_edges_cannot_be_cut_into_folds() -> None:
    edges, grid, way = GRAPH.pairs.numpy().T, {"mask_ratio": [0.2]}, r"cv=HeldOutLinks\(\)"
    with pytest.raises(InputError, match=way):
        GridSearchCV(quick(), grid, cv=KFold(2), error_score="raise").fit(edges)
    with pytest.warns(UserWarning, match=rf"Scoring failed[\s\S]*{way}|non-finite"):
        GridSearchCV(quick(), grid, cv=KFold(2), refit=False).fit(edges)


def test_every_keyword_is_a_setting() -> None:
    words = {"encoder": "sage", "hidden": 6, "layers": 3, "dropout": 0.25, "epochs": 2}
    words |= {"patience": 7, "lr": 0.02, "weight_decay": 0.5, "mask_ratio": 0.4}
    flat = MaskGAE("path", **words, random_state=np.int64(9)).fit(GRAPH).run_.settings.flat()
    keys = ("encoder.kind", "encoder.hidden", "encoder.layers", "encoder.dropout")
    keys += ("training.epochs", "training.patience", "training.lr", "training.weight_decay")
    assert [flat[key] for key in (*keys, "mask.q")] == list(words.values())
    assert (flat["mask.kind"], flat["seed"]) == ("path", 9)
    paths = MaskGAE(preset="paper-node-cora-path", mask_ratio=0.4, epochs=1).fit(GRAPH)
    assert paths.run_.settings.mask.q == 0.4, "of the preset's own kind of mask"


def test_random_states() -> None:
    seeds = [quick(random_state=None).fit(GRAPH).run_.settings.seed for _ in range(2)]
    assert seeds[0] != seeds[1]
    for make in (np.random.RandomState, np.random.default_rng):
        state = make(0)
        first, second = (quick(random_state=state).fit_transform(GRAPH) for _ in range(2))
        again = quick(random_state=make(0)).fit_transform(GRAPH)
        assert np.array_equal(first, again) and not np.array_equal(first, second)


def test_classes_may_be_words() -> None:
    words = np.array(["b", "a", "c"], dtype=object)[np.arange(120) % 3]
    words[5], words[6] = None, np.nan
    model = quick().fit(GRAPH, pd.Series(words))
    assert model.run_.source.label_names == ("a", "b", "c") and "accuracy" in model.metrics_
    assert model.run_.graph.labels is not None
    assert model.run_.graph.labels[:7].tolist() == [1, 0, 2, 1, 0, -1, -1]


def test_frames_have_names() -> None:
    model = quick().fit(NAMED)
    columns = [f"maskgae{i}" for i in range(8)]
    assert model.get_feature_names_out().tolist() == columns
    frame = model.set_output(transform="pandas").transform()
    assert frame.index.tolist() == model.node_names_.tolist() and list(frame) == columns
    assert np.array_equal(frame.to_numpy(), model.set_output(transform="default").transform())
    links = model.predict_links(top=1, nodes="n3")
    assert isinstance(links, pd.DataFrame) and links["source"].tolist() == ["n3"]


def test_callbacks_and_verbose_hear_of_epochs(caplog: pytest.LogCaptureFixture) -> None:
    losses: list[float] = []

    class Losses(Callback):
        def on_epoch(self, row: Any) -> None:
            losses.append(row["loss"])

    model = quick(callbacks=[Losses()], verbose=True, settings={"training.eval_every": 2}, epochs=4)
    model.fit(GRAPH)
    assert losses == [row["loss"] for row in model.history_] and len(losses) == 4
    assert "training" in caplog.messages
    assert sum("validation AUC" in line for line in caplog.messages) == 2


def test_lists_arrays_files_and_stores_of_the_same_edges_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("\n".join(f"{u},{v}" for u, v in NAMED))
    graph, names, _ = as_graph(NAMED)
    write_store(tmp_path / "store", graph, names)
    expected = quick().fit(NAMED)
    for edges in (np.array(NAMED), tmp_path / "edges.csv", str(tmp_path / "store")):
        model = quick().fit(edges)
        order = np.argsort(model.node_names_)
        assert np.array_equal(model.node_names_[order], expected.node_names_)
        assert model.embedding_.shape == expected.embedding_.shape


def test_a_model_is_pickled_before_and_after_it_is_kept(tmp_path: Path) -> None:
    model = quick().fit(NAMED)
    model.save(tmp_path / "run")
    for one in (model, MaskGAE.load(tmp_path / "run")):
        back = pickle.loads(pickle.dumps(one))
        assert np.array_equal(back.transform(), model.embedding_)
        assert np.array_equal(back.score_pairs(NAMED[:3]), model.score_pairs(NAMED[:3]))


def test_a_loaded_model_is_saved_to_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("\n".join(f"{u},{v}" for u, v in NAMED))
    rows = "\n".join(f"n{i},{i / 7},{'xyz'[i % 3]},c{i % 2}" for i in range(120))
    (tmp_path / "nodes.csv").write_text("id,size,kind,class\n" + rows)
    model = quick().fit(tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv", label="class")
    model.save(tmp_path / "a")
    MaskGAE.load(tmp_path / "a").save(tmp_path / "b")
    one, other = (contents(tmp_path / name) for name in "ab")
    assert one == other
    assert {"features.json", "history.csv", "graph/test.npy", "graph/val_negatives.npy"} <= set(one)
    back = MaskGAE.load(tmp_path / "b")
    assert back.run_.source.label_names == ("c0", "c1")
    assert back.run_.source.notes == model.run_.source.notes
    assert back.history_ == model.history_


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
