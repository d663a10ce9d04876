"""Columns made from edges beside a table: kept in the run, and made for nodes that come later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae import Run, fit
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph
from maskgae.datasets.generated import generate
from maskgae.run.source import Source

SETTINGS = {"encoder.structure": 8, "training.epochs": 6, "training.eval_every": 3}


@pytest.fixture(scope="module")
def graph() -> Graph:
    graph = generate(80, 400, communities=3, homophily=0.9, seed=0, num_features=0)
    table = torch.randn(80, 5, generator=torch.Generator().manual_seed(0))
    return graph.with_features(DenseFeatures(table))


@pytest.fixture(scope="module")
def run(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return fit(graph, SETTINGS, folder=tmp_path_factory.mktemp("structure") / "run")


def test_the_network_reads_both(run: Run) -> None:
    assert run.net.encoder.in_channels == 5 + 8
    assert run.has_table
    assert run.graph.features.num_columns == 5
    assert not run.record["audit"]["features_from_structure"]


def test_it_comes_back_from_its_folder(run: Run, tmp_path: Path) -> None:
    again = Run.load(run.folder)
    assert torch.equal(again.graph.made.dense(), run.graph.made.dense())
    assert np.array_equal(again.vectors_on(again.graph), run.embedding)
    again.save(tmp_path / "copy")
    same = [
        (tmp_path / "copy" / name).read_bytes() for name in ("model.safetensors", "config.toml")
    ]
    assert same == [
        (run.folder / name).read_bytes() for name in ("model.safetensors", "config.toml")
    ]


def test_a_node_that_comes_later_has_columns_by_its_edges(run: Run, graph: Graph) -> None:
    edges = [*graph.pairs.T.tolist(), [80, 0], [80, 1]]
    table = torch.cat([graph.features.dense(), torch.zeros(1, 5)])
    grown = Graph.from_edges(edges, 81, features=table.numpy())
    found = run.embed(Source(grown, np.arange(81)))
    assert found.values.shape == (81, run.embedding.shape[1])
    assert np.isfinite(found.values).all()


def test_held_out_edges_do_not_shine_through(run: Run) -> None:
    train = run.split.train
    assert torch.equal(train.made.dense(), run.structural.transform(train).dense())
    assert not torch.equal(train.made.dense(), run.graph.made.dense())
