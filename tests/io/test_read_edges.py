"""Edge lists of every format, on files of a few lines with the answer written beside them."""

import gzip
import re
from pathlib import Path

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from maskgae.base.errors import InputError
from maskgae.io.edges import EdgeTable, read_edges, read_id_pairs


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def edges_of(table: EdgeTable) -> list[tuple[object, object]]:
    """The edges by id, in the order of the file."""
    ids = table.ids.tolist()
    return [(ids[u], ids[v]) for u, v in table.edges.T.tolist()]


@pytest.mark.parametrize(
    ("name", "content", "edges"),
    [
        ("a.csv", "source,target\n1,2\n2,3\n", [(1, 2), (2, 3)]),
        ("a.csv", "1,2\n2,3", [(1, 2), (2, 3)]),
        ("a.csv", "\ufeffSource,Target\nb,a\n", [("b", "a")]),
        ("a.csv", "x,to,from\n1,b,a\n", [("a", "b")]),
        ("a.csv", ",dst,src\n0,7,8\n", [(8, 7)]),
        ("a.csv", "ann,bob\nbob,cy\n", [("ann", "bob"), ("bob", "cy")]),
        ("a.csv", "person,friend,score\nann,bob,0.5\n", [("ann", "bob")]),
        ("a.csv", "NA,5\n1,2\n", [("NA", "5"), ("1", "2")]),
        ("a.csv", "a,a,1\nb,c,2\n", [("a", "a"), ("b", "c")]),
        ("a.csv", "1;2\n2;3\n", [(1, 2), (2, 3)]),
        ("a.csv", "u\tv\n1\t2\n", [(1, 2)]),
        ("a.csv", '"a, b","say ""hi"""\n', [("a, b", 'say "hi"')]),
        ("a.csv", 'a,"two\nlines"\nb,c', [("a", "two\nlines"), ("b", "c")]),
        ("a.csv", "source,target\r\n1,2\r\n\r\n3,4\r\n", [(1, 2), (3, 4)]),
        ("a.csv", "#a,#b\n#b,#c\n", [("#a", "#b"), ("#b", "#c")]),
        ("a.tsv", "New York\tBoston\n", [("New York", "Boston")]),
        ("a.txt", "# Nodes: 3\n# From\tTo\n1\t2\n 2   3 \n", [(1, 2), (2, 3)]),
        ("a.edges", "1 2\n# half way\n\n3 4", [(1, 2), (3, 4)]),
        ("a.el", 'a "b\n', [("a", '"b')]),
        ("a.txt", "1,2\n2,3\n", [(1, 2), (2, 3)]),
        ("a.txt", "# c\n\nsource target\n1 2\n", [(1, 2)]),
        ("a.csv", "\r\n\nsource,target\n1,2\n", [(1, 2)]),
        ("a.csv", "\n\n1,2\n", [(1, 2)]),
    ],
)  # fmt: skip
def test_text(tmp_path: Path, name: str, content: str, edges: list[tuple[object, object]]) -> None:
    assert edges_of(read_edges(written(tmp_path, name, content))) == edges


def test_nodes_are_numbered_by_id_whatever_the_order_of_rows(tmp_path: Path) -> None:
    table = read_edges(written(tmp_path, "a.csv", "10,9\n9,-2\n"))
    assert table.ids.tolist() == [-2, 9, 10]
    assert table.ids.dtype == np.int64
    assert table.edges.tolist() == [[2, 1], [1, 0]]
    assert table.weights is None
    assert table.name == "a"


@pytest.mark.parametrize(
    "odd", ["007", "+7", "-0", "7.0", "NA", "null", "", "٣", "9" * 19, "0xFFFFF"]
)
def test_one_odd_id_makes_all_of_them_strings(tmp_path: Path, odd: str) -> None:
    content = f"source,target\n7,{odd or 'nan'}\n8,7\n"
    table = read_edges(written(tmp_path, "a.csv", content))
    assert edges_of(table) == [("7", odd or "nan"), ("8", "7")]


def test_gzip(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv.gz", gzip.compress(b"1,2\n2,3\n"))
    assert edges_of(read_edges(path)) == [(1, 2), (2, 3)]
    path = written(tmp_path, "b.txt.gz", gzip.compress(b"# x\n1 2\n"))
    assert edges_of(read_edges(path)) == [(1, 2)]
    assert read_edges(path).name == "b"


def test_columns_by_name_and_by_place(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "when,who,whom,times\n1,a,b,2\n2,b,c,3\n")
    table = read_edges(path, source="who", target="whom", weight="times")
    assert edges_of(table) == [("a", "b"), ("b", "c")]
    assert table.weights is not None and table.weights.tolist() == [2, 3]
    by_place = read_edges(path, source=1, target="2", weight=3, header=True)
    assert edges_of(by_place) == edges_of(table)
    words = written(tmp_path, "b.csv", "who,whom\na,b\n")
    assert edges_of(read_edges(words, source="who", target="whom")) == [("a", "b")]
    assert edges_of(read_edges(words)) == [("who", "whom"), ("a", "b")]
    assert edges_of(read_edges(words, header=True)) == [("a", "b")]


TAGS = [("numpy", "math"), ("scipy", "math"), ("numpy", "array"), ("flask", "web")]


def listed(*rows: tuple[str, str], repeated: int = 10) -> str:
    """Rows, the first once and the others several times over."""
    return "".join(f"{a},{b}\n" for a, b in [rows[0], *rows[1:] * repeated])


def test_names_that_occur_nowhere_else_are_a_header(tmp_path: Path) -> None:
    table = read_edges(written(tmp_path, "a.csv", listed(("package", "tag"), *TAGS)))
    assert set(edges_of(table)) == set(TAGS)
    assert table.sides == ("package", "tag")
    assert "'package' to column 'tag'" in table.notes[0] and "header=no" in table.notes[0]


@pytest.mark.parametrize(
    ("first", "in_doubt"),
    [
        (("flask", "web"), False),  # occurs again
        (("numpy", "web"), False),  # both do, elsewhere
        (("math", "tag"), False),  # one does, at the other end
        (("7", "8"), False),  # numbers are no names
    ],
)
def test_what_occurs_again_is_an_edge(
    tmp_path: Path, first: tuple[str, str], in_doubt: bool
) -> None:
    table = read_edges(written(tmp_path, "a.csv", listed(first, *TAGS)))
    assert edges_of(table)[0] == first
    assert ("header=yes" in table.notes[0]) == in_doubt


def test_where_hardly_anything_repeats_it_is_an_edge_and_in_doubt(tmp_path: Path) -> None:
    pairs = [(f"a{i}", f"b{i}") for i in range(9)]
    table = read_edges(written(tmp_path, "a.csv", listed(*pairs, repeated=1)))
    assert edges_of(table) == pairs
    assert table.notes[0].endswith("if it has the columns' names, --read header=yes")


def test_pairs_that_are_asked_about_lose_no_first_row(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", listed(("ann", "bob"), *TAGS))
    assert [side[0] for side in read_id_pairs(path)] == ["ann", "bob"]
    assert [side[0] for side in read_id_pairs(path, header=True)] == ["numpy", "math"]


def test_notes_say_what_was_taken_for_what(tmp_path: Path) -> None:
    table = read_edges(written(tmp_path, "a.csv", "source,target,Weight\na,b,2\n"))
    assert table.notes == ("edges from column 'source' to column 'target', weights from 'Weight'",)
    table = read_edges(written(tmp_path, "c.csv", "source,target,when\na,b,2\n"))
    assert table.notes == (
        "edges from column 'source' to column 'target', no weights; 1 further columns are not read",
    )
    table = read_edges(written(tmp_path, "b.txt", "who whom 1\na b 2\n"))
    assert table.notes == (
        "no header: the first row is the edge 'who', 'whom'; 1 further columns are not read",
    )


def test_weights_by_name_or_not_at_all(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "source,target,weight\na,b,0.5\nb,a,2e1\n")
    weights = read_edges(path).weights
    assert weights is not None and weights.tolist() == [0.5, 20]
    assert read_edges(path, weight=False).weights is None


@pytest.mark.parametrize("bad", ["-1", "0", "nan", "inf", "", "x", "1,5", "1e-60", "1e60"])
def test_a_bad_weight_names_its_line(tmp_path: Path, bad: str) -> None:
    content = f'source,target,weight\na,b,1\n\n"a\nb",c,"{bad}"\n'
    with pytest.raises(InputError, match="positive number, but line 5 has"):
        read_edges(written(tmp_path, "a.csv", content))


def test_blanks_around_ids(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "1, 2\n2, 3\n")
    with pytest.raises(InputError, match="ids ' 2' and '2' differ by blanks only"):
        read_edges(path)
    assert edges_of(read_edges(path, strip=True)) == [(1, 2), (2, 3)]
    assert edges_of(read_edges(path, strip=False)) == [("1", " 2"), ("2", " 3")]
    alone = read_edges(written(tmp_path, "b.csv", "a, b\n"))
    assert edges_of(alone) == [("a", " b")]
    assert alone.notes[1] == "1 ids have blanks around them, such as ' b'"


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [0.5, 1], "dst": [2, 3], "src": [1, 2], "weight": [1, 2]}), path)
    table = read_edges(path)
    assert edges_of(table) == [(1, 2), (2, 3)]
    assert table.weights is not None and table.weights.tolist() == [1, 2]
    words = pa.array(["007", "NA"]).dictionary_encode()
    pq.write_table(pa.table({"a": words, "b": pa.array([1, 2], pa.uint8())}), path)
    assert edges_of(read_edges(path)) == [("007", "1"), ("NA", "2")]
    pq.write_table(pa.table({"a": pa.array([2**64 - 1], pa.uint64()), "b": [1]}), path)
    assert edges_of(read_edges(path)) == [(str(2**64 - 1), "1")]


def test_scipy_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    dense = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    for kind in ("csr", "csc", "coo"):
        sp.save_npz(path, sp.csr_matrix(dense).asformat(kind))
        table = read_edges(path)
        assert table.ids.tolist() == [0, 1, 2, 3]  # the last two rows are nodes as well
        assert sorted(edges_of(table)) == [(0, 1), (1, 0), (1, 2)]
        assert table.weights is None


def test_a_symmetric_matrix_says_each_weight_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    sp.save_npz(path, sp.csr_matrix([[0.0, 3.0], [3.0, 0.0]]))
    table = read_edges(path)
    assert edges_of(table) == [(0, 1), (1, 0)]
    assert table.weights is not None and table.weights.tolist() == [1.5, 1.5]
    assert read_edges(path, weight=False).weights is None
    sp.save_npz(path, sp.csr_matrix([[0.0, 2.0], [2.0, 0.0]]))
    halves = read_edges(path).weights  # of twos, which are weights all the same
    assert halves is not None and halves.tolist() == [1.0, 1.0]


def test_matrix_market_counts_from_one(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate "
    path = written(tmp_path, "a.mtx", head + "pattern symmetric\n% note\n3 3 2\n2 1\n3 2\n")
    table = read_edges(path)
    assert table.ids.tolist() == [1, 2, 3]
    assert sorted(edges_of(table)) == [(1, 2), (2, 1), (2, 3), (3, 2)]
    path = tmp_path / "b.mtx"
    scipy.io.mmwrite(path, sp.coo_matrix([[0, 2.5], [0, 0]]))
    table = read_edges(written(tmp_path, "b.mtx.gz", gzip.compress(path.read_bytes())))
    assert edges_of(table) == [(1, 2)]
    assert table.weights is not None and table.weights.tolist() == [2.5]


def test_graphml_as_networkx_writes_it(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b&<", weight=2.0)
    graph.add_edge("b&<", "007", weight=0.5)
    graph.add_node("lonely", text="x")
    networkx.write_graphml(graph, tmp_path / "a.graphml")
    table = read_edges(tmp_path / "a.graphml")
    assert table.ids.tolist() == ["007", "a", "b&<", "lonely"]
    assert sorted(edges_of(table)) == [("a", "b&<"), ("b&<", "007")]
    assert table.weights is not None and sorted(table.weights.tolist()) == [0.5, 2]
    assert read_edges(tmp_path / "a.graphml", weight=False).weights is None


def test_graphml_default_weight_and_no_namespace(tmp_path: Path) -> None:
    content = """<graphml><key id="w" for="edge" attr.name="weight"><default>3</default></key>
    <graph><edge source="1" target="2"/><edge source="2" target="3"><data key="w">4</data></edge>
    </graph></graphml>"""
    table = read_edges(written(tmp_path, "a.graphml", content))
    assert table.ids.tolist() == [1, 2, 3]
    assert table.weights is not None and table.weights.tolist() == [3, 4]


def test_graphs_within_a_graph_are_read_as_one_and_said(tmp_path: Path) -> None:
    inner = '<graph><edge source="b" target="c"/></graph>'
    content = f'<graphml><graph><node id="a">{inner}</node><edge source="a" target="b"/></graph>'
    table = read_edges(written(tmp_path, "a.graphml", f"{content}</graphml>"))
    assert sorted(edges_of(table)) == [("a", "b"), ("b", "c")]
    assert table.notes == ("2 graphs are read as one: equal ids in them are one node",)


@pytest.mark.parametrize("ending", [".csv", ".graphml"])
def test_accents_that_are_encoded_in_two_ways_are_two_nodes_and_said(
    tmp_path: Path, ending: str
) -> None:
    one, two = "caf\u00e9", "cafe\u0301"
    content = f"{one},x\n{two},ø\n"
    if ending == ".graphml":
        edges = f'<edge source="{one}" target="x"/><edge source="{two}" target="ø"/>'
        content = f"<graphml><graph>{edges}</graph></graphml>"
    table = read_edges(written(tmp_path, f"a{ending}", content))
    assert len(table.ids) == 4
    said = r"1 ids look like another .* such as 'cafe\\u0301' and 'caf\\xe9': they are different"
    assert re.search(said, table.notes[-1])
    assert "Unicode" not in str(read_edges(written(tmp_path, "b.csv", f"{one},ø\n")).notes)


def test_pairs_keep_the_order_of_the_file(tmp_path: Path) -> None:
    left, right = read_id_pairs(written(tmp_path, "a.csv", "b,a\na,b\nb,c\n"))
    assert left.tolist() == ["b", "a", "b"]
    assert right.tolist() == ["a", "b", "c"]


def test_files_beyond_the_first_look(tmp_path: Path) -> None:
    """Longer than the 256 KiB that the layout is learned from, with the error at the far end."""
    rows = [f"node-{i},node-{i + 1},{i % 7 + 1}" for i in range(40_000)]
    path = written(tmp_path, "a.csv", "source,target,weight\n" + "\n".join(rows) + "\n")
    table = read_edges(path)
    assert edges_of(table)[-1] == ("node-39999", "node-40000")
    assert table.weights is not None and table.weights.sum() == sum(
        i % 7 + 1 for i in range(40_000)
    )
    packed = written(tmp_path, "a.csv.gz", gzip.compress(path.read_bytes()))
    assert (read_edges(packed).edges == table.edges).all()
    blanks = written(tmp_path, "a.txt", path.read_text().replace(",", "  "))
    assert (read_edges(blanks).edges == table.edges).all()
    for bad, match in (("x,y,-1", "line 40,002 has -1"), ("x,y", "line 40,002 has 2")):
        path.write_text("source,target,weight\n" + "\n".join([*rows, bad]))
        with pytest.raises(InputError, match=match):
            read_edges(path)
