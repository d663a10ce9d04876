"""Nearest vectors: by hand, and the index beside all comparisons."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import maskgae
from maskgae import InputError
from maskgae.cli import app
from maskgae.datasets.generated import generate
from maskgae.run import nearest
from maskgae.run.nearest import Nearest

VECTORS = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.1], [-1.0, 0.0], [1.0, 1.0]])


def test_the_nearest_by_hand() -> None:
    near = Nearest(VECTORS, asked=2).search(torch.tensor([3, 0]), 2)
    assert near.nodes.tolist() == [[1, 4], [2, 4]], "opposite vectors are the farthest"
    assert near.cosines[1].tolist() == pytest.approx([3 / np.hypot(3, 0.1), 0.5**0.5])


def test_there_are_no_more_than_all_others() -> None:
    assert Nearest(VECTORS, asked=1).search(torch.tensor([0]), 99).nodes.shape == (1, 4)


@pytest.fixture
def many() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(20, 16, generator=generator)
    spread = torch.randn(2000, 16, generator=generator)
    return centres.repeat(100, 1) + 0.5 * spread


@pytest.fixture
def always_indexed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("usearch")
    monkeypatch.setattr(nearest, "EXACT_COSINES", 0)
    yield


def test_the_index_finds_nearly_all(many: torch.Tensor, always_indexed: None) -> None:
    asked = torch.arange(200)
    table = Nearest(many, asked=200)
    assert table.indexed
    found = table.search(asked, 20)
    table.index = None
    right = table.search(asked, 20)
    shared = [
        len(set(a) & set(b))
        for a, b in zip(found.nodes.tolist(), right.nodes.tolist(), strict=True)
    ]
    assert sum(shared) / right.nodes.numel() > 0.95
    assert not (found.nodes == asked.unsqueeze(1)).any()
    assert found.cosines[:, 0].tolist() == pytest.approx(right.cosines[:, 0].tolist(), abs=0.02)


def test_without_the_library_all_are_compared(
    many: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "EXACT_COSINES", 0)
    monkeypatch.setattr(nearest, "find_spec", lambda name: None)
    assert not Nearest(many, asked=2000).indexed


@pytest.mark.parametrize("verb", [("similar", "3"), ("links", "--node", "3")])
def test_an_index_that_was_asked_for_and_is_missing_is_told(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maskgae.fit(generate(60, 200, seed=0), {"training.epochs": 1}, folder=tmp_path / "run")
    out = ("--out", str(tmp_path / "links.csv")) if verb[0] == "links" else ()
    words = [verb[0], str(tmp_path / "run"), *verb[1:], "--threads", "1", *out]
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    refused = CliRunner().invoke(app, [*words, "--index"]).exception
    assert isinstance(refused, InputError) and "pip install 'maskgae[index]'" in str(refused)
    assert not (tmp_path / "links.csv").exists()
    assert CliRunner().invoke(app, words).exit_code == 0, "nobody has asked for it"


def test_a_small_graph_is_searched_by_an_index_on_request() -> None:
    pytest.importorskip("usearch")
    run = maskgae.fit(generate(60, 200, seed=0), {"training.epochs": 1})
    assert run.similar(3, index=True)["target"].tolist() == run.similar(3)["target"].tolist()
    assert run.link_recall(nodes=3) is None
    recall = run.link_recall(nodes=3, index=True)
    assert recall is not None and recall.share > 0.9
    assert run.links(nodes=3, index=True)["target"].size == 10


def test_a_run_names_the_most_similar_nodes() -> None:
    run = maskgae.fit([("a", "b"), ("b", "c"), ("c", "d")], {"training.epochs": 1}, holdout=False)
    found = run.similar("a", top=2)
    assert found["source"].tolist() == ["a", "a"] and "a" not in found["target"]
    z = run.embedding / np.linalg.norm(run.embedding, axis=1, keepdims=True)
    best = sorted(z[1:] @ z[0], reverse=True)[:2]
    assert found["cosine"].tolist() == pytest.approx(best, rel=1e-5)
    both = run.similar(["d", "a"], top=1)
    assert both["source"].tolist() == ["d", "a"]
    with pytest.raises(InputError, match="1 at least"):
        run.similar("a", top=0)
    with pytest.raises(InputError, match="'zed'"):
        run.similar("zed")
