"""A small graph that can be learnt in a second."""

import numpy as np
import pytest

from maskgae.base.rng import stream
from maskgae.data import Graph
from maskgae.data.splits import LinkSplit, split_links
from maskgae.evaluation.method import Validation


@pytest.fixture(scope="session")
def split() -> LinkSplit:
    """Six communities of 20 nodes, 40 times as dense inside as between, with noisy features.

    Who knows the communities and nothing else reaches an AUC of about 0.9.
    """
    rng = np.random.default_rng(0)
    side = np.arange(120) // 20
    chance = np.where(side[:, None] == side, 0.4, 0.01)
    edges = np.argwhere(np.triu(rng.random((120, 120)) < chance, 1))
    features = rng.normal(size=(120, 8)) + 2 * np.eye(8)[side]
    graph = Graph.from_edges(edges.T, 120, features=features, labels=side)
    return split_links(graph, 0.1, 0.1, stream(0, "split"))


@pytest.fixture(scope="session")
def graph(split: LinkSplit) -> Graph:
    """The training graph."""
    return split.train


@pytest.fixture(scope="session")
def validation(split: LinkSplit) -> Validation:
    return Validation(split.val, split.val_negatives)
