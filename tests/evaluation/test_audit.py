"""The audit passes clean splits and fails every kind of leak, in either direction."""

from dataclasses import replace

import pytest
import torch

from maskgae.base.errors import RunError
from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit, hold_out, split_links
from maskgae.evaluation.audit import audit_negatives, audit_split, count_held_out

# The path 0-1-2-3-4-5: three training pairs, one for validation, one for the test.
GRAPH = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
CLEAN = LinkSplit(
    train=GRAPH.subgraph(torch.tensor([0, 1, 2])),
    val=torch.tensor([[3], [4]]),
    test=torch.tensor([[4], [5]]),
    val_negatives=torch.tensor([[0], [2]]),
    test_negatives=torch.tensor([[1], [5]]),
)


def pair(u: int, v: int) -> torch.Tensor:
    return torch.tensor([[u], [v]])


def test_a_clean_split_counts_zeros() -> None:
    assert audit_split(GRAPH, CLEAN) == {
        "held_out_leaks": 0,
        "val_test_overlap": 0,
        "held_out_duplicates": 0,
        "negative_edges": 0,
        "negative_loops": 0,
        "negative_duplicates": 0,
    }


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"val": pair(1, 0)}, "held_out_leaks"),
        ({"test": pair(2, 3)}, "held_out_leaks"),
        ({"test": pair(4, 3)}, "val_test_overlap"),
        ({"test": torch.tensor([[4, 5], [5, 4]])}, "held_out_duplicates"),
        ({"val_negatives": pair(2, 1)}, "negative_edges"),
        ({"test_negatives": pair(4, 3)}, "negative_edges"),  # held out, but still an edge
        ({"val_negatives": pair(2, 2)}, "negative_loops"),
        ({"test_negatives": pair(2, 0)}, "negative_duplicates"),
    ],
)
def test_each_leak_is_found(change: dict[str, torch.Tensor], name: str) -> None:
    leaky = replace(CLEAN, **change)
    with pytest.raises(RunError, match=rf"leak audit failed.*: {name} 1;"):
        audit_split(GRAPH, leaky)
    counts = audit_split(GRAPH, leaky, refuse=False)
    assert {key for key, count in counts.items() if count} == {name}


def test_random_splits_are_clean() -> None:
    graph = Graph.from_edges(torch.randint(60, (2, 300), generator=stream(0).torch()))
    audit_split(graph, split_links(graph, 0.05, 0.1, stream(0)))
    audit_split(graph, hold_out(graph, 0.05, stream(0)))


def test_held_out_pairs_among_given_ones() -> None:
    assert count_held_out(CLEAN, torch.tensor([[5, 0, 1], [4, 1, 3]])) == 1
    assert count_held_out(CLEAN, torch.empty(2, 0, dtype=torch.long)) == 0


def test_training_negatives() -> None:
    clean = {"training_negative_edges": 0, "training_negative_loops": 0}
    # A held-out edge may be a training negative: training knows nothing of it.
    assert audit_negatives(CLEAN.train, torch.tensor([[0, 3], [2, 4]])) == clean
    with pytest.raises(RunError, match="training_negative_edges 1"):
        audit_negatives(CLEAN.train, pair(1, 0))
    with pytest.raises(RunError, match="training_negative_loops 1"):
        audit_negatives(CLEAN.train, pair(4, 4))
