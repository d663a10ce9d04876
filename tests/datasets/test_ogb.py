"""OGB's datasets, read from miniature files in its own on-disk form that the tests write."""

import gzip
import io
import sys
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.datasets.cache import trust, trusted_list
from maskgae.datasets.ogb import SOURCES, load_collab
from maskgae.datasets.registry import is_available, load_dataset, public_link_split

pytest.importorskip("ogb")


def table(path: Path, rows, header: str = "") -> None:
    """Writes a compressed table as OGB has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [header] if header else []
    lines += [",".join(map(str, row)) for row in rows]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def write_arxiv(folder: Path) -> None:
    table(folder / "raw/edge.csv.gz", [(0, 1), (1, 0), (1, 2), (3, 3), (3, 0)])
    table(folder / "raw/num-node-list.csv.gz", [(5,)])
    table(folder / "raw/num-edge-list.csv.gz", [(5,)])
    table(folder / "raw/node-feat.csv.gz", [(i + 0.5, -1.0) for i in range(5)])
    table(folder / "raw/node-label.csv.gz", [(2,), (0,), (1,), (2,), (0,)])
    table(folder / "raw/node_year.csv.gz", [(2015,)] * 5)
    for part, ids in (("train", [0, 4]), ("valid", [1]), ("test", [3, 2])):
        table(folder / f"split/time/{part}.csv.gz", [(i,) for i in ids])
    (folder / "RELEASE_v1.txt").write_text("")


def write_mag(folder: Path) -> None:
    raw = folder / "raw"
    table(raw / "num-node-dict.csv.gz", [(3, 2, 2, 4)], "author,field_of_study,institution,paper")
    triplets = [("author", "writes", "paper"), ("paper", "cites", "paper")]
    table(raw / "triplet-type-list.csv.gz", triplets)
    table(raw / "relations/author___writes___paper/edge.csv.gz", [(2, 3), (0, 0)])
    table(raw / "relations/paper___cites___paper/edge.csv.gz", [(3, 1), (1, 3), (0, 2)])
    table(raw / "node-feat/paper/node-feat.csv.gz", [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (7, 8)])
    for relation, count in (("author___writes___paper", 2), ("paper___cites___paper", 3)):
        table(raw / "relations" / relation / "num-edge-list.csv.gz", [(count,)])
    table(raw / "nodetype-has-label.csv.gz", [(False, True)], "author,paper")
    table(folder / "split/time/nodetype-has-split.csv.gz", [(False, True)], "author,paper")
    table(raw / "node-label/paper/node-label.csv.gz", [(348,), (0,), (5,), (5,)])
    for part, ids in (("train", [0, 1]), ("valid", [2]), ("test", [3])):
        table(folder / f"split/time/paper/{part}.csv.gz", [(i,) for i in ids])


def write_collab(folder: Path, *, old_names: bool = False) -> None:
    table(folder / "raw/num-node-list.csv.gz", [(5,)])
    table(folder / "raw/node-feat.csv.gz", [(i, 1.0) for i in range(5)])
    split = folder / "split" / "time"
    split.mkdir(parents=True)
    # The pair 0-1 met in 2015 and, written the other way, in 2016; 0-1 meets again in 2018.
    parts = {
        "train": {
            "edge": np.array([[0, 1], [1, 0], [2, 3]]),
            "weight": np.array([1, 2, 1]),
            "year": np.array([2015, 2016, 2017]),
        },
        "valid": {
            "edge": np.array([[1, 0], [3, 4]]),
            "weight": np.array([1, 1]),
            "year": np.array([2018, 2018]),
            "edge_neg": np.array([[0, 4], [1, 3], [2, 4]]),
        },
        "test": {
            "edge": np.array([[2, 4]]),
            "year": np.array([[2019]]),
            "edge_neg": np.array([[0, 2], [1, 4]]),
        },
    }
    for part, arrays in parts.items():
        torch.save(arrays, split / f"{part}.pt")
        if old_names:
            rename_numpy(split / f"{part}.pt")


def rename_numpy(path: Path) -> None:
    """Makes a file of torch.save look as if NumPy 1 had been there, as in OGB's real files."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data.replace(b"numpy._core.multi", b"numpy.core.multi"))


WRITERS = {"arXiv": write_arxiv, "MAG": write_mag, "Collab": write_collab}


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A data folder with all three, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MASKGAE_DATA", str(tmp_path / "data"))
    for name, write in WRITERS.items():
        write(tmp_path / "data" / SOURCES[name].folder)
    trust_all(tmp_path / "data")
    return tmp_path / "data"


def trust_all(folder: Path) -> None:
    """As if this installation had downloaded what is there."""
    trusted_list().parent.mkdir(parents=True, exist_ok=True)
    trust(folder.rglob("*.pt"))


def test_arxiv(home):
    assert is_available("arXiv")
    graph = load_dataset("arxiv")
    assert graph.pairs.T.tolist() == [[0, 1], [0, 3], [1, 2]]
    assert graph.num_nodes == 5
    assert graph.cleaning.self_loops == 1 and graph.cleaning.isolated == 1
    assert graph.features.dense().tolist() == [[i + 0.5, -1.0] for i in range(5)]
    assert graph.labels.tolist() == [2, 0, 1, 2, 0]
    split = graph.node_split
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 4], [1], [3, 2])


def test_mag_keeps_papers_and_their_citations(home):
    graph = load_dataset("MAG")
    assert graph.num_nodes == 4
    assert graph.pairs.T.tolist() == [[0, 2], [1, 3]]
    assert graph.labels.tolist() == [348, 0, 5, 5]
    assert graph.features.dense()[3].tolist() == [7.0, 8.0]
    assert graph.node_split.test.tolist() == [3]


def test_ogb_reads_the_same_from_these_files(home):
    from ogb.io import read_graph_raw as ogb

    theirs = ogb.read_csv_graph_raw(
        str(home / "ogbn_arxiv/raw"), additional_node_files=["node_year"]
    )
    ours = load_dataset("arXiv")
    assert torch.equal(Graph.from_edges(theirs[0]["edge_index"], 5).pairs, ours.pairs)
    assert np.array_equal(theirs[0]["node_feat"], ours.features.dense())
    raw = str(home / "ogbn_mag/raw")
    theirs, ours = ogb.read_csv_heterograph_raw(raw)[0], load_dataset("MAG")
    edges = theirs["edge_index_dict"]["paper", "cites", "paper"]
    assert theirs["num_nodes_dict"]["paper"] == ours.num_nodes
    assert torch.equal(Graph.from_edges(edges, 4).pairs, ours.pairs)
    assert np.array_equal(theirs["node_feat_dict"]["paper"], ours.features.dense())
    assert np.array_equal(ogb.read_node_label_hetero(raw)["paper"].reshape(-1), ours.labels)
    parts = ogb.read_nodesplitidx_split_hetero(str(home / "ogbn_mag/split/time"))
    split = ours.node_split
    for part, ids in zip(parts, (split.train, split.val, split.test), strict=True):
        assert np.array_equal(part["paper"], ids)


def test_collab_counts_repeated_pairs(home):
    split = public_link_split("collab")
    assert split.graph.pairs.T.tolist() == [[0, 1], [2, 3]]
    assert split.graph.weights is None
    assert split.repeated == 1
    assert split.known == {"val": 1, "test": 0}
    assert split.val_pairs.T.tolist() == [[1, 0], [3, 4]]
    assert split.val_negatives.T.tolist() == [[0, 4], [1, 3], [2, 4]]
    assert split.test_pairs.T.tolist() == [[2, 4]]
    assert split.test_negatives.T.tolist() == [[0, 2], [1, 4]]
    assert load_dataset("Collab").pairs.tolist() == split.graph.pairs.tolist()


def test_collab_written_by_an_older_numpy(home):
    folder = home / "ogbl_collab"
    new = load_collab()
    for path in (folder / "split" / "time").iterdir():
        path.unlink()
    (folder / "split" / "time").rmdir()
    write_collab(folder, old_names=True)
    trust_all(folder)
    assert b"numpy.core" in zipfile.ZipFile(folder / "split/time/train.pt").read("train/data.pkl")
    old = load_collab()
    assert torch.equal(old.graph.pairs, new.graph.pairs) and old.repeated == new.repeated


def test_collab_refuses_what_is_not_an_array(home):
    class Evil:
        def __reduce__(self):
            return (print, ("ran",))

    path = home / "ogbl_collab/split/time/valid.pt"
    torch.save({"edge": Evil()}, path)
    with pytest.raises(InputError, match=r"valid\.pt is a pickle, and its content is not known"):
        load_collab()
    trust_all(home)
    with pytest.raises(InputError, match=r"valid\.pt must hold arrays and nothing else"):
        load_collab()
    torch.save({"edge": np.zeros((1, 2))}, path)
    trust_all(home)
    with pytest.raises(InputError, match=r"\['edge_neg'\] are missing"):
        load_collab()


@pytest.mark.parametrize("name", WRITERS)
def test_missing_extra_says_what_to_install(name, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MASKGAE_DATA", raising=False)
    monkeypatch.setattr("maskgae.datasets.ogb.find_spec", lambda module: None)
    with pytest.raises(InputError, match=r"pip install 'maskgae\[datasets\]'"):
        load_dataset(name)


def test_missing_pandas_says_what_to_install(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'maskgae\[datasets\]'"):
        load_dataset("arXiv")


class Body(io.BytesIO):
    """Bytes that can carry a server's headers."""

    def info(self):
        return {"Content-Length": str(len(self.getvalue()))}


@pytest.mark.parametrize(
    ("name", "top"), [("arXiv", "arxiv"), ("MAG", "mag"), ("Collab", "collab")]
)
def test_download_without_questions(name, top, monkeypatch, tmp_path):
    source = tmp_path / "server"
    WRITERS[name](source)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in source.rglob("*"):
            archive.write(path, f"{top}/{path.relative_to(source)}")
    asked = []

    def answer(url, *args, **kwargs):
        asked.append(url)
        return Body(buffer.getvalue())

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MASKGAE_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setattr("builtins.input", None)
    graph = load_dataset(name)
    assert graph.num_pairs > 0 and len(asked) == 1 and asked[0].endswith(f"{top}.zip")
    assert is_available(name)
    assert load_dataset(name).num_pairs == graph.num_pairs and len(asked) == 1
    kept = {path.name for path in (tmp_path / "cache" / "maskgae").iterdir()}
    trusted = {"trusted.sha256"} if name == "Collab" else set()
    assert kept == {SOURCES[name].folder} | trusted


def test_a_split_of_unknown_content_is_not_opened(home):
    trusted_list().unlink()
    with pytest.raises(InputError, match=r"train\.pt is a pickle, and its content is not known"):
        load_collab()


def test_incomplete_archive_is_refused(monkeypatch, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("arxiv/raw/edge.csv.gz", b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MASKGAE_DATA", raising=False)
    monkeypatch.setattr(urllib.request, "urlopen", lambda url: Body(buffer.getvalue()))
    with pytest.raises(InputError, match="the archive of ogbn-arxiv has no raw/num-node-list"):
        load_dataset("arXiv")
    assert not list((tmp_path / "maskgae").iterdir())
