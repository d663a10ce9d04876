"""The slow and obvious way from rows to a graph, and files written in many styles."""

import csv
import gzip
import io
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import settings
from hypothesis import strategies as st

from maskgae.data import Graph

#: Files and graphs that each property is tried on; ``make test-all`` asks for more.
EXAMPLES = int(os.environ.get("MASKGAE_EXAMPLES", "60"))
LONG = EXAMPLES > 500

tried = settings(max_examples=EXAMPLES, deadline=None, derandomize=not LONG, database=None)

Row = tuple[str, str, float]


class RefusedError(Exception):
    """What the rules of the readers forbid."""


@dataclass(frozen=True)
class Expected:
    """A graph as plain Python has it: pairs with their weights, and what was cleaned."""

    ids: list[int] | list[str]
    pairs: dict[tuple[int, int], float]
    self_loops: int
    duplicates: int
    symmetrised: int
    isolated: int


def typed(ids: set[str]) -> list[int] | list[str]:
    """Integers where all are written in the one canonical way, else strings; ascending."""
    canonical = all(re.fullmatch(r"0|-?[1-9][0-9]*", name, re.ASCII) for name in ids)
    if canonical and all(-(2**63) <= int(name) < 2**63 for name in ids):
        return sorted(map(int, ids))
    return sorted(ids)


def built(rows: list[Row], more: set[str] = frozenset()) -> Expected:  # type: ignore[assignment]
    """The graph of some rows and of further nodes, edge by edge."""
    ids = typed({row[0] for row in rows} | {row[1] for row in rows} | more)
    number = {str(name): i for i, name in enumerate(ids)}
    pairs: dict[tuple[int, int], float] = {}
    directed: Counter[tuple[int, int]] = Counter()
    for source, target, weight in rows:
        u, v = number[source], number[target]
        directed[u, v] += 1
        if u != v:
            pair = min(u, v), max(u, v)
            pairs[pair] = pairs.get(pair, 0.0) + weight
    proper = {edge: n for edge, n in directed.items() if edge[0] != edge[1]}
    touched = {node for pair in pairs for node in pair}
    return Expected(
        ids,
        dict(sorted(pairs.items())),
        self_loops=sum(n for edge, n in directed.items() if edge[0] == edge[1]),
        duplicates=sum(n - 1 for n in proper.values()),
        symmetrised=sum((v, u) not in proper for u, v in proper),
        isolated=len(ids) - len(touched),
    )


def same(graph: Graph, expected: Expected, *, weighted: bool) -> None:
    """Asserts that a graph is what the reference says."""
    assert list(map(tuple, graph.pairs.T.tolist())) == list(expected.pairs)
    assert graph.num_nodes == len(expected.ids)
    cleaning = graph.cleaning
    assert cleaning.self_loops == expected.self_loops
    assert cleaning.duplicates == expected.duplicates
    assert cleaning.symmetrised == expected.symmetrised
    assert cleaning.isolated == expected.isolated
    if weighted:
        assert graph.weights is not None
        np.testing.assert_allclose(graph.weights.numpy(), list(expected.pairs.values()), rtol=1e-5)
    else:
        assert graph.weights is None


def check_ids(ids: set[str]) -> None:
    """Refuses ids that are empty, or that differ by blanks alone."""
    if "" in ids:
        raise RefusedError("empty")
    if any(name != name.strip() and name.strip() in ids for name in ids):
        raise RefusedError("blanks")


#: Anything but lone surrogates and zero bytes; blanks and what Python and pyarrow count as such
#: differ in a few controls, which are left out.
letters = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r,;\"' #|.-")
words = st.text(letters, min_size=1, max_size=6)
numbers = st.integers(-3, 12).map(str)
odd = st.sampled_from(
    ["007", "NA", "null", "1.0", "1e3", "+1", "-0", "true", "é", "名", "=1", "%x"]
)
huge = st.sampled_from([str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1)])
any_ids = st.one_of(numbers, words, odd, huge)
blank_free = any_ids.map(lambda x: re.sub(r"[ \t\r\n]", "", x).lstrip("#\ufeff")).filter(bool)
weights = st.floats(2**-10, 2**20, width=32)


@st.composite
def rows_of(draw: st.DrawFn, ids: st.SearchStrategy[str]) -> list[Row]:
    """Edges among a few nodes, so that loops and repetitions are common."""
    pool = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    node = st.sampled_from(pool)
    return draw(st.lists(st.tuples(node, node, weights), min_size=1, max_size=12))


@dataclass(frozen=True)
class Style:
    """How a text file is written."""

    ending: str
    sep: str
    header: tuple[str, str] | None
    weighted: bool
    extra: bool
    newline: str
    mark: bool
    last_newline: bool
    blank_lines: bool
    quote_all: bool
    comments: bool
    packed: bool

    @property
    def blanks(self) -> bool:
        return self.sep == " "

    @property
    def name(self) -> str:
        return f"edges{self.ending}" + (".gz" if self.packed else "")


headers = st.sampled_from([None, ("source", "target"), ("src", "dst"), ("From", "To")])
plain_styles = st.builds(
    Style,
    ending=st.sampled_from([".csv", ".tsv", ".txt", ".edges", ".el"]),
    sep=st.sampled_from([",", ";", "\t", "|"]),
    header=headers,
    weighted=st.booleans(),
    extra=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    last_newline=st.booleans(),
    blank_lines=st.booleans(),
    quote_all=st.booleans(),
    comments=st.just(False),
    packed=st.booleans(),
)
blank_styles = st.builds(
    Style,
    ending=st.sampled_from([".txt", ".edges", ".el", ".csv"]),
    sep=st.just(" "),
    header=headers,
    weighted=st.booleans(),
    extra=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.booleans(),
    last_newline=st.booleans(),
    blank_lines=st.booleans(),
    quote_all=st.just(False),
    comments=st.booleans(),
    packed=st.booleans(),
)


def text_of(rows: list[Row], style: Style) -> bytes:
    """An edge list as text."""
    table = [[u, v, *([repr(w)] if style.weighted else []), *(["x"] * style.extra)]
             for u, v, w in rows]  # fmt: skip
    if style.header is not None:
        table.insert(0, [*style.header, *(["weight"] * style.weighted), *(["more"] * style.extra)])
    lines = [_line(cells, style, i) for i, cells in enumerate(table)]
    if style.comments:
        lines.insert(0, "# a comment, with 1 2")
        lines.append("#")
    gap = style.newline * (1 + style.blank_lines)
    text = gap.join(lines) + (style.newline if style.last_newline else "")
    content = text.encode("utf-8-sig" if style.mark else "utf-8")
    return gzip.compress(content) if style.packed else content


def _line(cells: list[str], style: Style, number: int) -> str:
    if style.blanks:
        return " " * (number % 2) + ("\t" if number % 3 else "   ").join(cells) + " " * (number % 3)
    return style.sep.join(_cell(cell, style) for cell in cells)


def _cell(cell: str, style: Style) -> str:
    special = any(c in cell for c in f'{style.sep}"\r\n') or cell != cell.strip()
    # A byte order mark at the start of a file is not part of the first id.
    if style.quote_all or special or cell.startswith("\ufeff"):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def write_parquet(path: Path, rows: list[Row], weighted: bool, kind: pa.DataType) -> None:
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)]
    table = {"source": columns[0].cast(kind), "target": columns[1].cast(kind)}
    if weighted:
        table["weight"] = pa.array([row[2] for row in rows])
    pq.write_table(pa.table(table), path)


def graphml_of(rows: list[Row], alone: set[str], weighted: bool) -> str:
    nodes = "".join(f"<node id={quoteattr(name, _XML)}/>" for name in sorted(alone))
    edges = "".join(
        f"<edge source={quoteattr(u, _XML)} target={quoteattr(v, _XML)}>"
        + (f'<data key="w">{w!r}</data>' if weighted else "")
        + "</edge>"
        for u, v, w in rows
    )
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>' * weighted
    return f'<?xml version="1.0"?><graphml>{key}<graph>{nodes}{edges}</graph></graphml>'


_XML = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def csv_table(header: list[str], rows: list[list[str]], newline: str) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=newline)
    writer.writerows([header, *rows])
    return file.getvalue().encode()
