"""Datasets in a folder of plain files."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.datasets.registry import is_available, load_dataset


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where dblp is looked for; empty at first."""
    monkeypatch.setenv("MASKGAE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "dblp").mkdir()
    return tmp_path / "dblp"


def fill(folder: Path, edges: str = "source,target\n0,1\n2,1\n") -> None:
    (folder / "edges.csv.gz").write_bytes(gzip.compress(edges.encode()))
    (folder / "labels.csv.gz").write_bytes(gzip.compress(b"id,label\n1,0\n0,2\n3,1\n"))
    sp.save_npz(folder / "features.npz", sp.csr_matrix(np.eye(4)))


def test_three_files_are_a_graph(folder: Path) -> None:
    fill(folder)
    assert is_available("dblp")
    graph = load_dataset("DBLP")
    assert graph.name == "dblp" and graph.pairs.T.tolist() == [[0, 1], [1, 2]]
    assert graph.labels is not None and graph.labels.tolist() == [2, 0, -1, 1]
    assert graph.num_nodes == 4 and graph.features is not None


def test_what_is_missing_or_broken_is_a_line(folder: Path) -> None:
    assert not is_available("dblp")
    with pytest.raises(InputError, match="MASKGAE_DATA to a folder that holds dblp with edges"):
        load_dataset("dblp")
    fill(folder, "source,target\n0,one\n")
    with pytest.raises(InputError, match="does not hold dblp"):
        load_dataset("dblp")
