"""Splits are disjoint, of the right size, and reproducible."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data import Graph, NodeSplit
from maskgae.data.splits import (
    LinkSplit,
    hold_out,
    split_links,
    split_nodes,
    split_nodes_like,
)


def ring(num_nodes: int, **kwargs: object) -> Graph:
    return Graph.from_edges([(i, (i + 1) % num_nodes) for i in range(num_nodes)], **kwargs)


def as_set(pairs: torch.Tensor) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.T.tolist()}


def check(graph: Graph, split: LinkSplit) -> None:
    parts = [as_set(split.train.pairs), as_set(split.val), as_set(split.test)]
    assert sum(map(len, parts)) == graph.num_pairs
    assert set.union(*parts) == as_set(graph.pairs)
    negatives = torch.cat([split.val_negatives, split.test_negatives], 1)
    assert split.val_negatives.shape == split.val.shape
    assert split.test_negatives.shape == split.test.shape
    assert len(as_set(negatives)) == negatives.shape[1]
    assert not as_set(negatives) & as_set(graph.pairs)
    assert (negatives[0] < negatives[1]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 60), st.integers(0, 1000))
def test_parts_are_disjoint_and_cover_the_graph(num_nodes: int, seed: int) -> None:
    graph = ring(num_nodes)
    split = split_links(graph, 0.1, 0.2, stream(seed))
    assert split.val.shape[1] == num_nodes // 10
    assert split.test.shape[1] == int(0.2 * num_nodes + 1e-9)
    check(graph, split)


def test_sizes_of_85_5_10() -> None:
    graph = ring(100)
    split = split_links(graph, 0.05, 0.10, stream(0))
    assert repr(split) == "LinkSplit(train=85, val=5, test=10)"
    assert split.train.num_nodes == 100


def test_a_share_that_floats_cannot_hold() -> None:
    assert split_links(ring(100), 0.29, 0.0, stream(0)).val.shape[1] == 29


def test_every_pair_is_held_out_equally_often() -> None:
    graph, counts = ring(10), torch.zeros(10)
    for seed in range(2000):
        split = split_links(graph, 0.1, 0.1, stream(seed))
        counts += torch.isin(graph.keys, split.test[0] * 10 + split.test[1])
    assert counts.min() > 140 and counts.max() < 260  # 200 +- 13


def test_hold_out_has_no_test() -> None:
    graph = ring(40)
    split = hold_out(graph, 0.05, stream(0))
    assert split.val.shape == (2, 2) and split.test.shape == (2, 0)
    check(graph, split)


def test_messages() -> None:
    split = split_links(ring(40), 0.1, 0.2, stream(0))
    assert split.messages("train") is split.train
    messages = split.messages("train_val")
    assert as_set(messages.pairs) == as_set(split.train.pairs) | as_set(split.val)
    assert not as_set(messages.pairs) & as_set(split.test)
    assert (messages.keys.diff() > 0).all()
    with pytest.raises(InputError, match="'train' or 'train_val', not 'all'"):
        split.messages("all")


def test_weights_follow_their_pairs() -> None:
    graph = ring(20, weights=np.arange(1, 21))
    messages = split_links(graph, 0.2, 0.2, stream(0)).messages("train_val")
    assert messages.weights is not None and graph.weights is not None
    expected = graph.weights[torch.isin(graph.keys, messages.keys)]
    assert torch.equal(messages.weights, expected)


def test_messages_of_a_public_split_that_repeats_a_pair() -> None:
    train = Graph.from_edges([(0, 1), (1, 2)], num_nodes=4, weights=[1.0, 2.0])
    val, none = torch.tensor([[1, 2], [0, 3]]), torch.empty(2, 0, dtype=torch.long)
    messages = LinkSplit(train, val, none, none, none).messages("train_val")
    assert messages.pairs.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert messages.weights is not None and messages.weights.tolist() == [2.0, 2.0, 1.0]


def test_too_few_edges_and_no_edges() -> None:
    with pytest.raises(InputError, match=r"ring has too few edges .* none for validation"):
        split_links(ring(10, name="ring"), 0.05, 0.1, stream(0))
    with pytest.raises(InputError, match="none for test"):
        split_links(ring(10), 0.1, 0.05, stream(0))
    with pytest.raises(InputError, match="leaves none for training"):
        split_links(ring(10), 0.5, 0.5, stream(0))
    with pytest.raises(InputError, match="has no edges"):
        split_links(Graph.from_edges([], num_nodes=5), 0.1, 0.1, stream(0))


def test_a_complete_graph_has_no_negatives() -> None:
    graph = Graph.from_edges(np.stack(np.triu_indices(8, 1)))
    with pytest.raises(InputError, match="no non-edges"):
        split_links(graph, 0.1, 0.1, stream(0))
    assert split_links(graph, 0.0, 0.0, stream(0)).train.num_pairs == 28


def test_nodes_10_10_80_without_the_unlabelled() -> None:
    labels = torch.arange(110) % 3
    labels[:10] = -1
    split = split_nodes(labels, stream(0))
    parts = [set(part.tolist()) for part in (split.train, split.val, split.test)]
    assert [len(part) for part in parts] == [10, 10, 80]
    assert set.union(*parts) == set(range(10, 110))


def test_nodes_too_few_or_unlabelled() -> None:
    with pytest.raises(InputError, match=r"of 5 labelled nodes leave \[0, 0, 5\]"):
        split_nodes(torch.zeros(5, dtype=torch.long), stream(0))
    with pytest.raises(InputError, match="no node has one"):
        split_nodes(torch.full((5,), -1), stream(0))


def test_nodes_like_a_public_split() -> None:
    labels = torch.tensor([0, 1, 2, 2] * 25)
    public = NodeSplit(torch.tensor([0, 4, 1, 5, 2, 6]), torch.arange(40, 60), torch.arange(70, 99))
    split = split_nodes_like(public, labels, stream(0))
    assert torch.bincount(labels[split.train]).tolist() == [2, 2, 2]
    assert (split.val.numel(), split.test.numel()) == (20, 29)
    everything = torch.cat([split.train, split.val, split.test])
    assert everything.unique().numel() == everything.numel() == 55
    assert not torch.equal(split.train, split_nodes_like(public, labels, stream(1)).train)


def test_nodes_like_a_split_with_unlabelled_nodes_and_a_missing_class() -> None:
    labels = torch.tensor([0, 0, 0, 1, 1, 1, -1, -1])
    public = NodeSplit(torch.tensor([0, 6]), torch.tensor([3, 7]), torch.tensor([1, 4]))
    split = split_nodes_like(public, labels, stream(0))
    assert labels[split.train].tolist() == [0]
    assert (split.val.numel(), split.test.numel()) == (1, 2)
    assert (labels[torch.cat([split.val, split.test])] >= 0).all()


def test_val_and_test_of_a_like_split_mix_the_classes() -> None:
    labels = torch.arange(1000) % 2
    public = NodeSplit(torch.arange(20), torch.arange(20, 420), torch.arange(420, 800))
    split = split_nodes_like(public, labels, stream(0))
    assert 0.4 < labels[split.val].float().mean() < 0.6


def test_same_stream_same_split_and_global_state_untouched() -> None:
    graph, labels = ring(50), torch.arange(50) % 3
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    one, two, other = (split_links(graph, 0.1, 0.1, stream(seed)) for seed in (3, 3, 4))
    for part in ("val", "test", "val_negatives", "test_negatives"):
        assert torch.equal(getattr(one, part), getattr(two, part))
    assert torch.equal(one.train.pairs, two.train.pairs)
    assert not torch.equal(one.test, other.test)
    nodes = [split_nodes(labels, stream(3)) for _ in range(2)]
    assert torch.equal(nodes[0].train, nodes[1].train)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002
    assert before[2] == random.getstate()
