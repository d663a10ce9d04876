"""Plausible mistakes in Python: each is refused in one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import maskgae
from maskgae import InputError, MaskGAE, Run
from maskgae.base.settings import Settings
from maskgae.datasets.generated import generate

GRAPH = generate(60, 200, num_features=4, communities=3, seed=1)
ONE: dict[str, Any] = {"training.epochs": 1}


@pytest.fixture(scope="module")
def run() -> Run:
    return maskgae.fit(GRAPH, ONE)


def hetero() -> Any:
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data["user", "likes", "film"].edge_index = torch.tensor([[0, 1], [1, 0]])
    data["user", "knows", "user"].edge_index = torch.tensor([[0], [1]])
    return data


FITS: list[tuple[Callable[[], Any], str]] = [
    (lambda: maskgae.fit([]), "no edges"),
    (lambda: maskgae.fit(None), r"shape \[2, E\]"),
    (lambda: maskgae.fit(hetero()), r"2 kinds of edges.*to_homogeneous\(\)"),
    (lambda: maskgae.fit([("ann", "bob"), ("ann", None)]), "two ends"),
    (lambda: maskgae.fit(GRAPH, ["mask.p"]), "by dotted key"),
    (lambda: maskgae.fit(GRAPH, {"mask.kind": "edges"}), "did you mean 'edge'"),
    (lambda: maskgae.fit(GRAPH, Settings(), dim=7), "leave nothing to preset and dim"),
    (lambda: maskgae.fit(GRAPH, ONE, holdout=1), r"share of the edges to test on.* not 1: .*0\.1"),
    (lambda: maskgae.fit(GRAPH, ONE, holdout=-0.1), r"from 0 .* to below 1, not -0\.1"),
    (lambda: maskgae.fit(GRAPH, ONE, holdout="all"), "share of the edges .* not 'all'"),
    (lambda: maskgae.fit(GRAPH, ONE, holdout=0.99), "leaves none for training"),
    (lambda: maskgae.fit(GRAPH, ONE, batch_pairs="all"), "whole number from 0 on, not 'all'"),
    (lambda: maskgae.fit(GRAPH, ONE, resume=True), "give folder="),
    (lambda: maskgae.fit(GRAPH, ONE, callbacks=[print]), "objects of Callback, not <built-in"),
    (lambda: maskgae.fit("no.csv"), r"no\.csv does not exist"),
    (lambda: maskgae.read("no.csv", sepp=";"), "did you mean 'sep'"),
    (lambda: MaskGAE().fit(GRAPH, [0, 1]), "the graph has 60 nodes, the labels 2"),
    (lambda: MaskGAE(settings="mask.p=0.5").fit(GRAPH), "by dotted key"),
    (lambda: MaskGAE(random_state="x").fit(GRAPH), "a generator, not 'x'"),
    (lambda: MaskGAE(callbacks=3).fit(GRAPH), "objects of Callback, not 3"),
    (lambda: MaskGAE(mask_ratio=2).fit(GRAPH), r"mask\.p must lie in \(0, 1\), not 2"),
    (lambda: MaskGAE().set_output(transform="frame"), "pandas or polars, not 'frame'"),
]


@pytest.mark.parametrize(("mistake", "words"), FITS, ids=[words for _, words in FITS])
def test_of_a_fit(mistake: Callable[[], Any], words: str) -> None:
    refused(mistake, words)


ASKED: list[tuple[Callable[[Run], Any], str]] = [
    (lambda run: run.links(top=0), "1 at least, not 0"),
    (lambda run: run.links(top=1.5), r"1 at least, not 1\.5"),
    (lambda run: run.links(top=None), "1 at least, not None"),
    (lambda run: run.links(nodes=["ann"]), "1 name is no node of generated: 'ann'"),
    (lambda run: run.score([("ann", "bob")]), "are not nodes of generated: 'ann', 'bob'"),
    (lambda run: run.score((0, 1)), "a pair is two names, .* not 0"),
    (lambda run: run.score(np.arange(6).reshape(2, 3)), r"two names, .* not \[0, 1, 2\]"),
    (lambda run: run.score(3), "pairs are a list .* not 3"),
    (lambda run: run.embed(GRAPH.pairs), "reads 4 columns .* brings 0"),
    (lambda run: run.embed(hetero()), "2 kinds of edges"),
]


@pytest.mark.parametrize(("mistake", "words"), ASKED, ids=[words for _, words in ASKED])
def test_of_what_is_asked_of_a_run(run: Run, mistake: Callable[[Run], Any], words: str) -> None:
    refused(lambda: mistake(run), words)


def refused(mistake: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        mistake()
    assert "\n" not in str(caught.value)


def test_features_go_with_a_graph() -> None:
    model = MaskGAE(epochs=1, holdout=False).fit(GRAPH)
    refused(lambda: model.transform(features=np.ones((60, 4))), "give it as X")


def test_one_name_is_a_list_of_one_and_no_name_asks_for_nothing(run: Run) -> None:
    assert run.links(1, 3)["source"].tolist() == [3]
    assert run.links(1, [])["score"].size == 0
    assert run.score([]).size == 0


def test_no_run_is_there(tmp_path: Path) -> None:
    refused(lambda: Run.load(tmp_path), "not a finished run")
    refused(lambda: maskgae.fit(GRAPH, ONE, start=tmp_path), "'fit' wrote")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Anna", r"no node of graph: 'Anna'; did you mean 'ann'\?$"),
        ("zoe", "graph: 'zoe'$"),
        (3, "3$"),
    ],
)
def test_the_nearest_name_is_told(name: object, words: str) -> None:
    source = maskgae.read([("ann", "bob"), ("bob", "cyd")])
    with pytest.raises(InputError, match=words):
        source.numbers([name])
