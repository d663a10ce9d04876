"""What an ingested or generated store holds, and that nothing changes it unseen."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.store.store_files import same_features, write_csv

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.datasets.generated import generate
from maskgae.datasets.generated_store import generate_store
from maskgae.store.ingest import ingest
from maskgae.store.store import open_store


def test_changed_stores_are_refused(tmp_path: Path) -> None:
    store = ingest(write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store")
    path = store.folder / "indices.npy"
    kept = path.read_bytes()
    path.write_bytes(kept[:-4] + b"\0\0\0\0")
    with pytest.raises(InputError, match=r"indices\.npy is not what was ingested"):
        open_store(store.folder).verify()
    path.write_bytes(kept[:-4])
    with pytest.raises(InputError, match="missing or cut"):
        open_store(store.folder)
    shutil.copy(store.folder / "indptr.npy", path)
    (store.folder / "manifest.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(InputError, match="not of the format"):
        open_store(store.folder)


def test_nothing_writes_to_the_files(tmp_path: Path) -> None:
    store = ingest(write_csv(tmp_path / "edges.csv", [(1, 2), (2, 3)]), tmp_path / "store")
    store.graph.pairs[0, 0] = 9
    store.verify()


@pytest.mark.parametrize("mapped", [False, True])
def test_a_part_of_the_pairs_keeps_the_rows_sorted(mapped: bool, tmp_path: Path) -> None:
    edges = np.random.default_rng(0).integers(0, 30, (90, 2))
    graph = Graph.from_edges(edges)
    if mapped:
        graph = ingest(write_csv(tmp_path / "edges.csv", edges), tmp_path / "store").graph
    kept = torch.from_numpy(np.random.default_rng(1).random(graph.num_pairs) < 0.6)
    expected = Graph(graph.num_nodes, graph.pairs.long()[:, kept]).structure
    assert graph.structure is not None
    for part in (graph.subgraph(kept), graph.subgraph(kept.nonzero().squeeze(1).flip(0))):
        assert "structure" in part.__dict__
        assert part.structure.csr.indptr.equal(expected.csr.indptr)
        assert part.structure.csr.indices.long().equal(expected.csr.indices)
        assert part.structure.pair_of_entry.long().equal(expected.pair_of_entry)


@pytest.mark.parametrize(
    "request_",
    [
        {"num_nodes": 60, "num_pairs": 300, "communities": 3},
        {"num_nodes": 40, "num_pairs": 200, "num_features": 0, "exponent": 2.2, "seed": 3},
        {"num_nodes": 50, "num_pairs": 100, "num_features": 30, "words": 4, "communities": 2},
    ],
)
def test_a_generated_store_is_the_generated_graph(tmp_path: Path, request_: Any) -> None:
    store = generate_store(tmp_path / "store", **request_)
    expected = generate(**request_)
    assert store.graph.pairs.long().equal(expected.pairs)
    assert store.graph.structure.csr.indices.long().equal(expected.structure.csr.indices)
    assert same_features(store.graph.features, expected.features)
    assert store.graph.labels is not None and store.graph.labels.equal(expected.labels)
    assert store.graph.cleaning == expected.cleaning
    store.verify()


def test_more_pairs_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ask for fewer than"):
        generate_store(tmp_path / "store", 40, 775, homophily=1.0)
