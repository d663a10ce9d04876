"""Choosing settings: the test takes no part in it."""

from dataclasses import replace

import torch

from maskgae.data import Graph
from maskgae.data.labels import NodeSplit
from maskgae.datasets.generated import generate
from maskgae.lab.cell import make_cell
from maskgae.lab.tuning import validate_seed

SHORT = {"training.epochs": 2, "encoder.hidden": 8, "encoder.dim": 8}


def with_public_split(test_labels: torch.Tensor | None = None) -> Graph:
    """A graph whose last 100 nodes are for testing, with their labels or others."""
    graph = generate(300, 900, num_features=16, communities=3)
    assert graph.labels is not None
    labels, nodes = graph.labels.clone(), torch.arange(300)
    if test_labels is not None:
        labels[200:] = test_labels
    return replace(
        graph, labels=labels, node_split=NodeSplit(nodes[:60], nodes[60:200], nodes[200:])
    )


def test_labels_of_the_public_test_nodes_do_not_matter() -> None:
    cell = make_cell("node", "imports", overrides=SHORT)
    true = validate_seed(cell, with_public_split(), 1000)
    false = validate_seed(cell, with_public_split(torch.zeros(100, dtype=torch.long)), 1000)
    assert true.metrics == false.metrics
    assert set(true.metrics) == {"val_accuracy"}
