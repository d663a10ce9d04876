"""The command line of the analysis: forms of its options, its JSON, its words."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskgae.base.errors import InputError
from maskgae.cli import app
from maskgae.lab.cli import analyze

RUNNER = CliRunner()
FIELDS = {"mask", "semantics", "hops", "o_node", "o_edge", "se", "hidden_share"}


def run(*arguments: str) -> str:
    result = RUNNER.invoke(app, ["analyze", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_overlap_prints_a_table_and_writes_it(tmp_path: Path) -> None:
    out = tmp_path / "o.json"
    text = run(
        *("overlap", "--dataset", "imports", "--hops", "1", "2", "--mask", "none", "edge"),
        *("--sample", "300", "--seeds", "2", "--set", "mask.p=0.5", "--json", str(out)),
    )
    assert "information bound" in text and "variance gamma" in text
    assert "paper's" not in text.split("information bound")[0]
    document = json.loads(out.read_text())
    rows = document["rows"]
    assert [(row["mask"], row["semantics"], row["hops"]) for row in rows] == [
        *(("none", None, 1), ("none", None, 2), ("edge", "reference", 1)),
        *(("edge", "reference", 2), ("edge", "strict", 1), ("edge", "strict", 2)),
    ]
    assert all(row.keys() >= FIELDS and 0 <= row["o_edge"] <= 1 for row in rows)
    assert document["mask"]["p"] == 0.5
    assert document["seeds"] == [0, 1]


@pytest.mark.parametrize(
    ("hops", "mask", "more"),
    [
        (["2"], ["edge"], ["3", "path"]),
        (["2,3"], ["edge,path"], []),
        (["2", "3"], ["edge", "path"], []),
    ],
)
def test_lists_may_be_written_in_three_ways(
    hops: list[str], mask: list[str], more: list[str]
) -> None:
    assert analyze._hops_and_masks(hops, mask, more) == ([2, 3], ["edge", "path"])


def test_semantics_that_is_set_is_the_only_one() -> None:
    assert analyze._mask_settings({"mask.semantics": "strict"})[1] == ("strict",)
    chosen, both = analyze._mask_settings({})
    assert (chosen.p, chosen.q, both) == (0.7, 0.7, ("reference", "strict"))


def test_graph_says_what_it_found_in_words(tmp_path: Path) -> None:
    out = tmp_path / "g.json"
    text = run("graph", "--dataset", "imports", "--json", str(out))
    assert "Does the method suit it? yes" in text
    assert "--set mask.kind=edge" in text
    document = json.loads(out.read_text())
    assert document["assessment"]["suits"] == "yes"
    assert document["suggestion"]["settings"]["mask.p"] == 0.3


def test_own_files_are_read(tmp_path: Path) -> None:
    edges, nodes, out = tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.json"
    edges.write_text("source,target\na,b\nb,c\na,c\nc,d\n")
    nodes.write_text("id,size,group\na,1,x\nb,2,x\nc,4,x\nd,9,y\n")
    assert "subgraph overlap" in run("overlap", "--edges", str(edges), "--hops", "1")
    run(
        "graph",
        "--edges",
        str(edges),
        "--nodes",
        str(nodes),
        "--label",
        "group",
        "--json",
        str(out),
    )
    facts = json.loads(out.read_text())["facts"]
    assert (facts["nodes"], facts["pairs"], facts["edge_homophily"]) == (4, 4, 0.75)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["overlap"], "either --dataset NAME or --edges FILE"),
        (["overlap", "--dataset", "imports", "--hops", "0"], "1 or more"),
        (["overlap", "--dataset", "imports", "--mask", "egde"], "did you mean 'edge'"),
        (["overlap", "--dataset", "imports", "--set", "mask.p=1"], "mask.p must lie in"),
        (["graph", "--dataset", "imports", "--edges", "x.csv"], "either --dataset NAME"),
        (["graph", "--dataset", "imports", "--nodes", "x.csv"], "go with --edges"),
        (["graph", "--edges", "x.csv", "--label", "y"], "no --nodes was given"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)
