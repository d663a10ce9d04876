"""The loop: it learns, stops, keeps the best weights, repeats itself bit by bit, and gives up."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from maskgae.base.errors import RunError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings, choices
from maskgae.data import DenseFeatures, Graph
from maskgae.data.splits import LinkSplit
from maskgae.evaluation import auc
from maskgae.evaluation.method import Validation
from maskgae.nn.convs import CONVS
from maskgae.nn.network import MaskGAENet
from maskgae.training import Trainer

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def settings(**values: Any) -> Settings:
    small = {"encoder.hidden": 16, "encoder.dim": 8, "training.epochs": 5, "training.eval_every": 1}
    return Settings().updated(small | {k.replace("__", "."): v for k, v in values.items()})


def trainer(graph: Graph, validation: Validation | None = None, **values: Any) -> Trainer:
    net = MaskGAENet.for_graph(graph, settings(**values))
    return Trainer(net, graph, validation, stream(0, "run"))


def scripted(trainer: Trainer, aucs: list[float], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Lets validation report given values; returns the weights at each of them, as they come."""
    weights: list[Any] = []
    values = iter(aucs)

    def fake(_: Any, __: Any) -> float:
        weights.append({k: v.clone() for k, v in trainer.net.state_dict().items()})
        return next(values)

    monkeypatch.setattr("maskgae.training.loop.auc", fake)
    return weights


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(one[name].equal(other[name]) for name in one)


VARIANTS: list[dict[str, Any]] = [
    *({"encoder__kind": kind} for kind in tuple(CONVS)),
    *({"objective__loss": loss, "objective__negatives": 2} for loss in choices("objective.loss")),
    {"objective__loss": "softmax", "objective__corrupt": "mixed", "objective__temperature": 0.5},
    {"mask__kind": "none"},
    {"mask__kind": "path", "mask__roots": "edge"},
    {"mask__semantics": "reference", "decoder__kind": "dot"},
    {"training__select": "val_rank", "training__batch_pairs": 200, "training__fanouts": [5]},
    {"training__batch_pairs": 200, "training__average": 0.9, "objective__alpha": 0.01},
    {"encoder__node_embedding": 4, "encoder__norm": "layer"},
]


@pytest.mark.parametrize("values", VARIANTS, ids=lambda values: "-".join(map(str, values.values())))
def test_it_learns_communities(
    graph: Graph, validation: Validation, split: LinkSplit, values: dict[str, Any]
) -> None:
    ours = trainer(graph, validation, training__epochs=40, encoder__dropout=0.2, **values)
    before = ours.net.score(graph, split.test).numpy()
    history = ours.run().history
    assert history[-1]["loss"] < 0.9 * history[0]["loss"]
    scores = [ours.net.score(graph, p).numpy() for p in (split.test, split.test_negatives)]
    assert auc(*scores) > 0.8
    assert not (before == scores[0]).all()


@pytest.mark.parametrize("values", VARIANTS, ids=lambda values: "-".join(map(str, values.values())))
def test_two_runs_are_equal_bit_by_bit(
    graph: Graph, validation: Validation, values: dict[str, Any]
) -> None:
    one, other = (trainer(graph, validation, training__epochs=3, **values) for _ in range(2))
    first, second = one.run(), other.run()
    assert same(one.net.state_dict(), other.net.state_dict())
    keys = ("loss", "val_auc", "hidden_share", "visible_targets")
    assert [[row[k] for k in keys] for row in first.history] == [
        [row[k] for k in keys] for row in second.history
    ]


def test_another_stream_is_another_run(graph: Graph) -> None:
    one = trainer(graph)
    other = Trainer(MaskGAENet.for_graph(graph, settings()), graph, None, stream(1, "run"))
    assert one.run().history[0]["loss"] != other.run().history[0]["loss"]


def test_the_best_weights_come_back(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = trainer(graph, validation)
    weights = scripted(ours, [0.5, 0.7, 0.6, 0.7, 0.6], monkeypatch)
    state = ours.run()
    assert (state.best_value, state.best_epoch, state.stopped) == (0.7, 2, "epochs")
    assert same(ours.net.state_dict(), weights[1])


def test_the_best_weights_by_rank_come_back(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = trainer(graph, validation, training__select="val_rank", training__patience=2)
    weights = scripted(ours, [0.5, 0.6, 0.7, 0.8, 0.9], monkeypatch)
    ranks = iter([0.2, 0.4, 0.3, 0.4, 0.3])
    monkeypatch.setattr("maskgae.training.held_out.HeldOut.rank_mrr", lambda *_: next(ranks))
    state = ours.run()
    assert (state.best_value, state.best_epoch, state.stopped) == (0.4, 2, "patience")
    assert [row["val_rank"] for row in state.history] == [0.2, 0.4, 0.3, 0.4]
    assert same(ours.net.state_dict(), weights[1])


def test_the_last_weights_stay_where_they_are_asked_for(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = trainer(graph, validation, training__select="last")
    weights = scripted(ours, [0.9, 0.8, 0.7, 0.6, 0.5], monkeypatch)
    state = ours.run()
    assert (state.best_epoch, state.best_weights) == (1, {})
    assert same(ours.net.state_dict(), weights[-1])


def test_patience_counts_epochs_since_the_best(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"training__epochs": 50, "training__patience": 4, "training__eval_every": 2}
    ours = trainer(graph, validation, **values)
    scripted(ours, [0.5, 0.6, 0.6, 0.6, 0.6], monkeypatch)
    state = ours.run()
    assert (state.epoch, state.best_epoch, state.stopped) == (8, 4, "patience")
    assert [row["val_auc"] for row in state.history] == [None, 0.5, None, 0.6] + [None, 0.6] * 2


def test_no_patience_means_never(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = trainer(graph, validation, training__patience=0)
    scripted(ours, [0.9, 0.1, 0.1, 0.1, 0.1], monkeypatch)
    assert ours.run().stopped == "epochs"


def test_the_last_epoch_is_validated_whatever_the_interval(
    graph: Graph, validation: Validation
) -> None:
    state = trainer(graph, validation, training__eval_every=3).run()
    assert [row["val_auc"] is not None for row in state.history] == [
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(("size", "epochs"), [(0, 4), (100, 2)])
def test_max_steps_stops_inside_an_epoch(graph: Graph, size: int, epochs: int) -> None:
    values = {"training__batch_pairs": size, "training__epochs": 50, "mask__p": 0.4}
    state = trainer(graph, training__max_steps=4, **values).run()
    assert (state.step, state.stopped) == (4, "max_steps")
    assert state.epoch == epochs == len(state.history)


def test_validation_does_not_change_the_training(graph: Graph, validation: Validation) -> None:
    with_one = trainer(graph, validation, training__select="last")
    without = trainer(graph, None)
    with_one.run(), without.run()
    assert same(with_one.net.state_dict(), without.net.state_dict())


def test_averaged_weights_are_validated_and_kept(
    graph: Graph, validation: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, averaged = (
        trainer(graph, validation, training__average=decay, training__select="last")
        for decay in (0.0, 0.9)
    )
    plain.run()
    weights = scripted(averaged, [0.5, 0.6, 0.7, 0.8, 0.9], monkeypatch)
    averaged.run()
    assert averaged.average is not None
    assert same(averaged.average.state, plain.net.state_dict())  # swapped out in the end
    assert same(averaged.net.state_dict(), weights[-1])
    assert not same(averaged.net.state_dict(), plain.net.state_dict())


def test_on_epoch_hears_every_epoch(graph: Graph) -> None:
    heard: list[Any] = []
    net = MaskGAENet.for_graph(graph, settings())
    state = Trainer(net, graph, None, stream(0), heard.append).run()
    assert heard == state.history
    assert [row["epoch"] for row in heard] == [0, 1, 2, 3, 4]


def nan_features(graph: Graph) -> Graph:
    features = torch.zeros(graph.num_nodes, 8)
    features[3, 3] = float("nan")
    return Graph(graph.num_nodes, graph.pairs, DenseFeatures(features))


@pytest.mark.parametrize(
    ("spoil", "lr"), [(nan_features, 0.01), (lambda graph: graph, 1e30)], ids=["features", "lr"]
)
def test_a_training_that_diverges_says_so(
    graph: Graph, spoil: Callable[[Graph], Graph], lr: float
) -> None:
    spoilt = trainer(spoil(graph), training__lr=lr, training__epochs=20, encoder__norm="none")
    with pytest.raises(
        RunError, match=rf"diverged in epoch \d+: .*rate {re.escape(f'{lr:g}')}; lower"
    ):
        spoilt.run()


def test_edge_weights_reach_the_training(graph: Graph) -> None:
    heavy = Graph(graph.num_nodes, graph.pairs, graph.features, weights=graph.keys.float() + 1)
    one, other = (trainer(of).run().history[0]["loss"] for of in (graph, heavy))
    assert one != other
