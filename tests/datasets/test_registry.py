"""Named datasets: the paper's statistics, checksums before reading, clean refusals."""

import io
import pickle
import shutil
import urllib.request
from pathlib import Path
from urllib.error import URLError

import pytest
import torch

from maskgae.base.errors import InputError
from maskgae.data import DenseFeatures, SparseFeatures
from maskgae.datasets.planetoid import CHECKSUMS
from maskgae.datasets.registry import (
    DATASETS,
    find_dataset,
    is_available,
    load_dataset,
    public_link_split,
)


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """A machine without data and without a network; returns its cache folder."""

    def refuse(*args, **kwargs):
        raise URLError("no network")

    monkeypatch.delenv("MASKGAE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return tmp_path / "maskgae"


@pytest.mark.parametrize("name", CHECKSUMS)
def test_sizes_are_those_of_the_paper(name, data_folder):
    entry, graph = DATASETS[name], load_dataset(name)
    assert graph.name == name
    assert graph.num_nodes == entry.nodes
    assert 2 * graph.num_pairs == entry.edges
    assert graph.features.num_columns == entry.features
    assert graph.num_classes == entry.classes
    assert int(graph.labels.min()) == 0


@pytest.mark.parametrize(("name", "train"), [("Cora", 140), ("CiteSeer", 120), ("PubMed", 60)])
def test_public_split(name, train, data_folder):
    split = load_dataset(name).node_split
    assert split.train.tolist() == list(range(train))
    assert split.val.tolist() == list(range(train, train + 500))
    assert split.test.numel() == 1000
    ids = torch.cat([split.train, split.val, split.test])
    assert ids.unique().numel() == ids.numel()


def test_features_stay_as_the_files_have_them(data_folder):
    words = load_dataset("Cora").features
    assert isinstance(words, SparseFeatures)
    assert words.by_row.values.unique().tolist() == [1.0]
    assert words.by_row.num_entries == 49216
    assert words.by_row.counts()[:3].tolist() == [9, 23, 19]
    # A third of Photo's entries are words, so a dense product is the faster one.
    assert isinstance(load_dataset("Photo").features, DenseFeatures)
    assert load_dataset("Photo").node_split is None


def test_case_does_not_matter():
    assert find_dataset("citeseer") is DATASETS["CiteSeer"]
    assert find_dataset("ARXIV").name == "arXiv"


def test_unknown_name_names_the_nearest():
    with pytest.raises(InputError, match=r"no dataset is called 'Coro': did you mean 'Cora'\?"):
        load_dataset("Coro")
    with pytest.raises(InputError, match="did you mean 'PubMed'"):
        is_available("pubmet")


def test_only_collab_has_a_public_link_split():
    assert public_link_split("Cora") is None
    assert public_link_split("imports") is None


@pytest.mark.parametrize("name", [*CHECKSUMS, "arXiv", "MAG", "Collab"])
def test_neither_here_nor_downloadable(name, no_data):
    assert not is_available(name)
    with pytest.raises(InputError, match=f"dataset {name} is neither") as caught:
        load_dataset(name.lower())
    assert "no network" in str(caught.value)
    assert "set MASKGAE_DATA to a folder that holds" in str(caught.value)
    assert "\n" not in str(caught.value)
    # A download that failed leaves no file behind.
    assert not [path for path in no_data.rglob("*") if path.is_file()]


def test_another_file_is_refused_before_it_is_opened(no_data, monkeypatch, tmp_path):
    raw = tmp_path / "own" / "Cora" / "raw"
    raw.mkdir(parents=True)
    marker = tmp_path / "ran"
    # A pickle that would create a file if it were opened.
    evil = f"cbuiltins\nopen\n(V{marker}\nVw\ntR.".encode()
    for file in CHECKSUMS["Cora"]:
        (raw / file).write_bytes(evil)
    monkeypatch.setenv("MASKGAE_DATA", str(tmp_path / "own"))
    assert is_available("Cora")
    with pytest.raises(InputError, match=r"ind\.cora\.allx must be the published file"):
        load_dataset("Cora")
    assert not marker.exists()
    pickle.loads(evil).close()
    assert marker.exists()


def test_one_changed_byte_is_found(data_folder, no_data, monkeypatch):
    raw = no_data / "Photo" / "raw"
    shutil.copytree(data_folder / "Photo" / "raw", raw)
    assert load_dataset("Photo").num_pairs == 119081
    (file,) = raw.iterdir()
    content = bytearray(file.read_bytes())
    content[1000] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"amazon_electronics_photo\.npz"):
        load_dataset("Photo")


def test_download_is_checked_and_kept(data_folder, no_data, monkeypatch):
    asked = []

    def serve(url, **kwargs):
        asked.append(url)
        return io.BytesIO((data_folder / "Photo" / "raw" / Path(url).name).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", serve)
    assert load_dataset("Photo").num_nodes == 7650
    assert load_dataset("Photo").num_nodes == 7650
    assert [Path(url).name for url in asked] == ["amazon_electronics_photo.npz"]
    # Raw files only: no pickled copy of what was read from them.
    files = [path.relative_to(no_data) for path in no_data.rglob("*") if path.is_file()]
    assert files == [Path("Photo/raw/amazon_electronics_photo.npz")]


def test_own_folder_comes_before_the_cache(data_folder, no_data, monkeypatch):
    broken = no_data / "Photo" / "raw" / "amazon_electronics_photo.npz"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"broken")
    monkeypatch.setenv("MASKGAE_DATA", str(data_folder))
    assert load_dataset("Photo").num_nodes == 7650


@pytest.mark.parametrize("entry", DATASETS.values(), ids=DATASETS)
def test_table_is_complete(entry):
    assert set(entry.tasks) <= {"node", "link"} and entry.tasks
    assert entry.split in ("public", "random")
    assert ("node" in entry.tasks) == (entry.classes > 0)
