"""Generated files and graphs: a clear refusal, or what plain Python makes of the same rows."""

import math
from pathlib import Path

import networkx
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from io_reference import (
    Expected,
    RefusedError,
    Row,
    Style,
    any_ids,
    blank_free,
    blank_styles,
    built,
    check_ids,
    csv_table,
    graphml_of,
    plain_styles,
    rows_of,
    same,
    text_of,
    tried,
    write_parquet,
)

from maskgae.base.errors import InputError
from maskgae.data import Graph
from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("properties")


def agree(path: Path, rows: list[Row], weighted: bool, **options: object) -> None:
    """The reader refuses what the rules forbid, and builds the reference's graph of the rest."""
    try:
        check_ids({row[i] for row in rows for i in (0, 1)})
        expected: Expected | None = built(rows)
    except RefusedError as reason:
        event(f"refused: {reason}")
        expected = None
    try:
        found = build_graph(read_edges(path, **options))  # type: ignore[arg-type]
    except InputError as error:
        assert expected is None, error
        assert "\n" not in str(error) and len(str(error)) < 500
        return
    assert expected is not None, "this was to be refused"
    assert found.ids.tolist() == expected.ids
    same(found.graph, expected, weighted=weighted)


@tried
@given(rows=rows_of(any_ids), style=plain_styles)
def test_tables_of_text(folder: Path, rows: list[Row], style: Style) -> None:
    path = folder / style.name
    path.write_bytes(text_of(rows, style))
    weight = 2 if style.weighted and style.header is None else None
    header = None if style.header else False
    agree(path, rows, style.weighted, sep=style.sep, header=header, weight=weight)


@tried
@given(rows=rows_of(blank_free), style=blank_styles)
def test_text_between_blanks(folder: Path, rows: list[Row], style: Style) -> None:
    path = folder / style.name
    path.write_bytes(text_of(rows, style))
    weight = 2 if style.weighted and style.header is None else None
    header = None if style.header else False
    sep = "blanks" if style.ending == ".csv" else None
    agree(path, rows, style.weighted, sep=sep, header=header, weight=weight)


@tried
@given(
    rows=rows_of(any_ids),
    weighted=st.booleans(),
    form=st.sampled_from(["parquet", "dictionary", "graphml"]),
)
def test_files_with_types(folder: Path, rows: list[Row], weighted: bool, form: str) -> None:
    if form == "graphml":
        path = folder / "edges.graphml"
        allowed = [
            row for row in rows if all(c.isprintable() or c in "\t\n\r" for c in row[0] + row[1])
        ]
        rows = allowed or [("a", "b", 1.0)]
        path.write_text(graphml_of(rows, set(), weighted), encoding="utf-8", newline="")
        ids = {row[i] for row in rows for i in (0, 1)}
        found = build_graph(read_edges(path))
        assert set(map(str, found.ids.tolist())) == ids
        same(found.graph, built(rows), weighted=weighted)
        return
    path = folder / "edges.parquet"
    kind = pa.string() if form == "parquet" else pa.dictionary(pa.int32(), pa.string())
    write_parquet(path, rows, weighted, kind)
    agree(path, rows, weighted)


matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from([0.5, 1, 2, 3.5])),
        min_size=1,
        max_size=12,
        unique_by=lambda entry: entry[:2],
    ).map(lambda entries: (n, entries))
)


@tried
@given(matrix=matrices, form=st.sampled_from(["csr", "csc", "coo", "mtx"]))
def test_matrices(
    folder: Path, matrix: tuple[int, list[tuple[int, int, float]]], form: str
) -> None:
    size, entries = matrix
    rows, columns, values = (list(part) for part in zip(*entries, strict=True))
    first = int(form == "mtx")
    path = folder / f"edges.{'mtx' if form == 'mtx' else 'npz'}"
    if form == "mtx":
        lines = [f"{u + 1} {v + 1} {w!r}" for u, v, w in entries]
        head = ["%%MatrixMarket matrix coordinate real general", f"{size} {size} {len(entries)}"]
        path.write_text("\n".join([*head, *lines]) + "\n")
    else:
        sparse = sp.coo_matrix((np.array(values, float), (rows, columns)), shape=(size, size))
        sp.save_npz(path, sparse.asformat(form))
    # A symmetric matrix says every weight twice.
    stored = {(u, v): w for u, v, w in entries}
    symmetric = all(stored.get((v, u)) == w for (u, v), w in stored.items())
    weighted = any(w != 1 for w in values)
    half = 0.5 if symmetric and weighted else 1.0
    listed = [(str(u + first), str(v + first), w * half) for u, v, w in entries]
    nodes = {str(i + first) for i in range(size)}
    found = build_graph(read_edges(path))
    expected = built(listed, nodes)
    assert found.ids.tolist() == expected.ids
    same(found.graph, expected, weighted=weighted)


@tried
@given(
    names=st.lists(any_ids, min_size=1, max_size=8, unique=True),
    data=st.data(),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_tables_of_nodes(folder: Path, names: list[str], data: st.DataObject, newline: str) -> None:
    """Every row finds its node, whatever the order and whoever has no edge."""
    node = st.sampled_from(names)
    edges = data.draw(st.lists(st.tuples(node, node, st.just(1.0)), min_size=1, max_size=10))
    flags = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    content = [[name, str(int(flag)), "t"] for name, flag in zip(names, flags, strict=True)]
    edge_file, node_file = folder / "e.csv", folder / "n.csv"
    edge_file.write_bytes(csv_table(["source", "target"], [list(e[:2]) for e in edges], newline))
    node_file.write_bytes(csv_table(["id", "flag", "text"], content, newline))
    try:
        table = read_nodes(node_file)
        found = build_graph(read_edges(edge_file), table, fit_encoder(table))
    except InputError as error:
        assert "differ by blanks" in str(error), error
        with pytest.raises(RefusedError):
            check_ids(set(names))
        return
    expected = built(edges, set(names))
    assert found.ids.tolist() == expected.ids
    same(found.graph, expected, weighted=False)
    if len(set(flags)) == 2:
        known = dict(zip(names, flags, strict=True))
        assert found.graph.features is not None
        column = found.graph.features.dense()[:, 0].tolist()
        assert column == [float(known[str(name)]) for name in expected.ids]


graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=25),
    )
)


@tried
@given(given_graph=graphs)
def test_graphs(given_graph: tuple[int, list[tuple[int, int]]]) -> None:
    """Everything that a graph says of itself, beside sets of pairs."""
    size, edges = given_graph
    graph = Graph.from_edges(edges, size)
    pairs = sorted({(min(e), max(e)) for e in edges if e[0] != e[1]})
    assert list(map(tuple, graph.pairs.T.tolist())) == pairs
    degrees = [sum(node in pair for pair in pairs) for node in range(size)]
    assert graph.degrees.tolist() == degrees
    every = [(u, v) for u in range(size) for v in range(size) if u != v]
    asked = torch.tensor(every, dtype=torch.long).reshape(-1, 2).T
    assert graph.contains(asked).tolist() == [(min(e), max(e)) in pairs for e in every]
    kept = [pair for i, pair in enumerate(pairs) if i % 2]
    smaller = graph.subgraph(torch.arange(len(pairs)) % 2 == 1)
    assert list(map(tuple, smaller.pairs.T.tolist())) == kept
    matrix = graph.to_scipy().toarray()
    assert matrix.tolist() == [
        [float((min(u, v), max(u, v)) in pairs) for v in range(size)] for u in range(size)
    ]
    for copy in (Graph.from_scipy(sp.csr_array(matrix)), Graph.from_networkx(graph.to_networkx())):
        assert torch.equal(copy.pairs, graph.pairs) and copy.num_nodes == size
    assert sorted(map(tuple, networkx.Graph(graph.to_networkx()).edges())) == pairs
    structure = graph.structure
    both = zip(structure.csr.row_of_entry().tolist(), structure.csr.indices.tolist(), strict=True)
    assert list(both) == sorted([*pairs, *((v, u) for u, v in pairs)])
    assert math.isclose(sum(degrees), 2 * len(pairs))
