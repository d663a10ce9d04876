"""Presets: every file loads, says what its name says, and quotes the paper to the digit."""

from __future__ import annotations

import tomllib

import pytest

from maskgae.base.errors import InputError
from maskgae.presets import Preset, parse, preset, presets, recommended

# Table 3 of the paper, in percent: mean and standard deviation as printed.
LINK = """
Cora      edge  auc      96.42 0.17
Cora      edge  ap       95.91 0.25
CiteSeer  edge  auc      98.02 0.22
CiteSeer  edge  ap       98.18 0.21
PubMed    edge  auc      98.75 0.04
PubMed    edge  ap       98.66 0.06
Collab    edge  hits@50  65.84 0.47
Cora      path  auc      96.45 0.18
Cora      path  ap       95.95 0.21
CiteSeer  path  auc      97.87 0.22
CiteSeer  path  ap       98.09 0.17
PubMed    path  auc      98.84 0.04
PubMed    path  ap       98.78 0.05
Collab    path  hits@50  65.98 0.39
"""

# Table 4.
NODE = """
Cora       edge  accuracy  83.77 0.33
CiteSeer   edge  accuracy  72.94 0.20
PubMed     edge  accuracy  82.69 0.31
Photo      edge  accuracy  93.30 0.04
Computers  edge  accuracy  89.44 0.11
arXiv      edge  accuracy  70.97 0.29
MAG        edge  accuracy  32.75 0.43
Cora       path  accuracy  84.30 0.39
CiteSeer   path  accuracy  73.80 0.81
PubMed     path  accuracy  83.58 0.45
Photo      path  accuracy  93.31 0.13
Computers  path  accuracy  89.54 0.06
arXiv      path  accuracy  71.16 0.33
MAG        path  accuracy  32.79 0.32
"""

# The published node commands: what each of them sets apart from 2 layers of 128 and 64, decoder
# 32, dropout 0.8 / 0.2, alpha 0, lr 0.01, decay 5e-5, 500 epochs validated every 30, probe 1e-3.
# hidden dim decoder dropouts alpha lr decay epochs every probe
COMMANDS = {
    "cora-path": (128, 64, 32, 0.8, 0.2, 0.004, 0.01, 5e-5, 500, 30, 1e-3),
    "cora-edge": (128, 64, 32, 0.8, 0.2, 0.003, 0.01, 5e-5, 500, 10, 1e-3),
    "citeseer-path": (128, 64, 32, 0.8, 0.2, 0.001, 0.02, 5e-5, 500, 30, 0.1),
    "citeseer-edge": (128, 64, 32, 0.8, 0.2, 0.001, 0.02, 5e-5, 500, 30, 0.1),
    "pubmed-path": (128, 64, 32, 0.5, 0.5, 0.001, 0.01, 5e-5, 500, 30, 1e-3),
    "pubmed-edge": (128, 64, 32, 0.5, 0.2, 0.001, 0.01, 5e-5, 500, 30, 1e-3),
    "photo-path": (128, 64, 128, 0.8, 0.2, 0.0, 0.005, 5e-5, 500, 30, 5e-3),
    "photo-edge": (128, 64, 64, 0.8, 0.2, 0.0, 0.01, 5e-5, 500, 30, 5e-3),
    "computers-path": (128, 256, 32, 0.5, 0.2, 0.002, 0.01, 5e-5, 500, 20, 1e-3),
    "computers-edge": (128, 256, 32, 0.5, 0.2, 0.003, 0.01, 5e-5, 500, 10, 1e-3),
    "arxiv-path": (256, 512, 128, 0.2, 0.0, 0.0, 5e-4, 1e-4, 100, 10, 0.0),
    "arxiv-edge": (256, 512, 128, 0.2, 0.0, 0.0, 5e-4, 1e-4, 100, 10, 0.0),
    "mag-path": (256, 128, 128, 0.7, 0.2, 0.003, 0.01, 5e-5, 100, 10, 1e-5),
    "mag-edge": (256, 128, 128, 0.7, 0.2, 0.003, 0.01, 5e-5, 100, 10, 1e-5),
}

PAPER = sorted(name for name in presets() if name.startswith("paper-"))
OWN = sorted(set(presets()) - set(PAPER))
MASKS = ("edge", "path")
SHARED = ("Cora", "CiteSeer", "PubMed", "Photo", "Computers")


def printed() -> dict[str, dict[str, tuple[float, float]]]:
    """The two tables by the name of the preset that should quote them."""
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for task, table in (("link", LINK), ("node", NODE)):
        for line in table.split("\n"):
            if line:
                dataset, mask, metric, mean, std = line.split()
                name = f"paper-{task}-{dataset.lower()}-{mask}"
                rows.setdefault(name, {})[metric] = (float(mean), float(std))
    return rows


def test_there_is_one_preset_for_each_row_of_the_paper() -> None:
    assert sorted(printed()) == PAPER


def test_there_is_one_preset_for_each_shared_dataset_task_and_mask() -> None:
    expected = {f"{t}-{d.lower()}-{m}" for t in ("link", "node") for d in SHARED for m in MASKS}
    assert set(OWN) == expected | {"link-imports-edge", "node-imports-edge"}


@pytest.mark.parametrize("name", presets())
def test_a_preset_says_what_its_name_says(name: str) -> None:
    found = preset(name)
    task, dataset, mask = name.removeprefix("paper-").split("-")
    assert (found.name, found.task, found.dataset.lower(), found.mask) == (
        name,
        task,
        dataset,
        mask,
    )
    assert found.settings.mask.kind == mask
    assert found.settings.seed == 0
    assert found.description in found.text


@pytest.mark.parametrize("name", PAPER)
def test_a_row_of_the_paper_quotes_it_to_the_digit(name: str) -> None:
    found = preset(name)
    percent = {
        metric: (round(100 * number["mean"], 6), round(100 * number["std"], 6))
        for metric, number in found.published.items()
    }
    assert percent == printed()[name]
    citation = tomllib.loads(found.text)["citation"]
    assert (citation["venue"], citation["year"]) == ("KDD", 2023)
    assert citation["table"] == {"link": 3, "node": 4}[found.task]


@pytest.mark.parametrize("name", PAPER)
def test_a_row_of_the_paper_masks_as_the_published_code(name: str) -> None:
    settings = preset(name).settings
    mask = settings.mask
    assert mask.semantics == "reference"
    if mask.kind == "edge":
        assert mask.p == 0.7
    else:
        roots = {"link": "edge", "node": "node"}[preset(name).task]
        assert (mask.q, mask.roots, mask.length) == (0.7, roots, settings.encoder.layers + 1)
        assert (mask.bias_p, mask.bias_q) == (1.0, 1.0)
    assert (settings.training.patience, settings.training.select) == (0, "val_auc")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_node_row_has_the_settings_of_its_command(name: str) -> None:
    s = preset(f"paper-node-{name}").settings
    assert COMMANDS[name] == (
        s.encoder.hidden,
        s.encoder.dim,
        s.decoder.hidden,
        s.encoder.dropout,
        s.decoder.dropout,
        s.objective.alpha,
        s.training.lr,
        s.training.weight_decay,
        s.training.epochs,
        s.training.eval_every,
        *s.probe.grid,
    )
    layers = 4 if name.startswith("arxiv") else 2
    citation_graph = name.startswith(("cora", "citeseer", "pubmed"))
    assert (s.encoder.layers, s.decoder.layers) == (layers, layers)
    assert s.embedding.normalize == ("l2" if citation_graph else "none")
    assert (s.probe.kind, s.embedding.layers, s.encoder.norm) == ("adam", "all", "batch")


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
def test_a_link_row_has_the_settings_of_its_command(dataset: str, mask: str) -> None:
    s = preset(f"paper-link-{dataset}-{mask}").settings
    dropout = 0.2 if dataset == "pubmed" else 0.8
    assert (s.encoder.kind, s.encoder.layers, s.encoder.dim) == ("gcn", 1, 128)
    assert (s.decoder.kind, s.decoder.hidden, s.decoder.layers) == ("mlp", 64, 2)
    assert (s.encoder.dropout, s.decoder.dropout, s.objective.alpha) == (dropout, 0.2, 0.003)
    assert (s.training.lr, s.training.weight_decay, s.training.epochs) == (0.01, 5e-5, 500)
    assert s.embedding.normalize == "none"


@pytest.mark.parametrize("name", OWN)
def test_the_packages_own_presets_mask_strictly_and_quote_nobody(name: str) -> None:
    found = preset(name)
    assert found.settings.mask.semantics == "strict"
    assert not found.published
    select = {"link": "val_auc", "node": "last"}[found.task]
    assert found.settings.training.select == select


def test_recommended_finds_by_any_case_and_is_silent_elsewhere() -> None:
    assert recommended("link", "citeseer", "path") == preset("link-citeseer-path")
    assert recommended("node", "CiteSeer", "edge") == preset("node-citeseer-edge")
    assert recommended("node", "my-graph", "edge") is None
    assert recommended("node", "imports", "path") is None
    with pytest.raises(InputError, match="task = 'paper-link' is not known"):
        recommended("paper-link", "Cora", "edge")


def test_recommended_without_a_mask_changes_the_mask_alone() -> None:
    masked, plain = recommended("node", "Cora", "edge"), recommended("node", "Cora", "none")
    assert isinstance(masked, Preset)
    assert isinstance(plain, Preset)
    assert (plain.name, plain.mask) == ("node-cora-edge", "none")
    assert plain.settings == masked.settings.updated({"mask.kind": "none"})


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'paper-link-cora-edges'.*'paper-link-cora-edge'"):
        preset("paper-link-cora-edges")
    with pytest.raises(InputError, match="no preset"):
        preset("../config")


OWN_TEXT = """
description = "A test"
task = "link"
dataset = "Cora"
mask = "edge"
[settings.mask]
p = 0.3
"""
PAPER_TEXT = OWN_TEXT + (
    '[citation]\ntitle = "T"\nvenue = "KDD"\nyear = 2023\ntable = 3\n'
    "[published]\nauc = { mean = 0.9, std = 0.01 }\n"
)


def test_the_two_good_texts_load() -> None:
    own, paper = parse("link-cora-edge", OWN_TEXT), parse("paper-link-cora-edge", PAPER_TEXT)
    assert own.overrides == {"mask.kind": "edge", "mask.p": 0.3}
    assert paper.published == {"auc": {"mean": 0.9, "std": 0.01}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p = 0.3", "pp = 0.3", r"'mask\.pp': did you mean 'mask\.p'\?"),
        ("p = 0.3", "p = 1.0", r"mask\.p must lie in \(0, 1\)"),
        ("p = 0.3", 'kind = "edge"', r"must not hold mask\.kind"),
        ("[settings.mask]\np = 0.3", "[settings]\nseed = 1", "must not hold seed"),
        ('task = "link"', "", "'task' is missing"),
        ("[settings.mask]\np = 0.3", "", "'settings' is missing"),
        ('task = "link"', 'task = "links"', "did you mean 'link'"),
        ('mask = "edge"', 'mask = "none"', "choose one of edge, path|did you mean"),
        ('mask = "edge"', 'mask = "path"', "must be that of its content, paper-link-cora-path"),
        ("description", "descripton", "did you mean 'description'"),
        ('dataset = "Cora"', "dataset = 1", "dataset must be text"),
        ("year = 2023", "", r"'citation\.year' is missing"),
        ("year = 2023", "year = true", r"citation\.year must be a whole number"),
        ("venue", "venu", "did you mean 'venue'"),
        ("mean = 0.9", "mean = 96.4", r"must be a fraction in \[0, 1\], not 96\.4"),
        (", std = 0.01", "", r"'published\.auc\.std' is missing"),
        ("auc = {", "accuracy = {", "'accuracy' is not known"),
        ("auc = { mean = 0.9, std = 0.01 }", "auc = 0.9", "must be a table of mean and std"),
        ("auc = { mean = 0.9, std = 0.01 }", "", r"\[published\] is empty"),
        ("[published]", "[published", "is not a TOML file"),
    ],
)
def test_a_bad_file_is_refused_by_name(old: str, new: str, message: str) -> None:
    assert old in PAPER_TEXT
    with pytest.raises(InputError, match=message) as caught:
        parse("paper-link-cora-edge", PAPER_TEXT.replace(old, new, 1))
    assert str(caught.value).startswith("preset paper-link-cora-edge.toml")
    assert "\n" not in str(caught.value)


def test_the_packages_own_presets_may_not_quote() -> None:
    with pytest.raises(InputError, match="no key is called 'citation'"):
        parse("link-cora-edge", PAPER_TEXT)
