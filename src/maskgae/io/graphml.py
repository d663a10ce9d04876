"""GraphML: node ids, edges and their weights, by expat itself.

A document type declaration is refused where it begins, before any entity can be declared, so
nothing expands and nothing outside the file is read. Attributes of nodes are not read; nested
graphs are read flat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from maskgae.base.errors import InputError
from maskgae.base.sizes import READ_BYTES
from maskgae.io.messages import one_line
from maskgae.io.sources import File

#: Elements inside one another; graphs within nodes take two each.
MAX_DEPTH = 1000


@dataclass
class GraphML:
    """What a GraphML file says of nodes and edges.

    Args:
        nodes: declared ids, in the order of the file.
        sources: of each edge.
        targets: of each edge.
        weights: the text of each edge's weight, empty where it has none.
        lines: the line on which each edge begins.
        weighted: whether a weight is declared or given for any edge.
        graphs: how many there are in the file, those within nodes included.
    """

    nodes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    weighted: bool = False
    graphs: int = 0


def read_graphml(file: File, weight: str | None = "weight") -> GraphML:
    """Reads a GraphML file.

    Args:
        file: the file.
        weight: the name of the edges' attribute that is their weight; none for no weights.
    """
    handler = _Handler(file, weight)
    content = file.content()
    try:
        for start in range(0, len(content), READ_BYTES):
            handler.parser.Parse(content[start : start + READ_BYTES], False)
        handler.parser.Parse(b"", True)
    except (expat.ExpatError, LookupError) as error:
        raise file.not_what_it_says("GraphML", one_line(error)) from error
    return handler.found


class _Handler:
    """Gathers edges while expat walks the elements."""

    def __init__(self, file: File, weight: str | None) -> None:
        self.file, self.weight = file, weight
        self.found = GraphML()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.depth, self.in_edge = 0, False
        self.weight_key: str | None = None
        self.default_weight = ""
        self.reading: str | None = None  # "weight", "default" or nothing
        self.pieces: list[str] = []

    def refuse(self, *_: object) -> None:
        raise InputError(
            f"{self.file.path}: GraphML with a document type (<!DOCTYPE) is refused, since its "
            "entities may expand without end: delete that declaration"
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        if self.depth == 0 and name != "graphml":
            raise self.file.not_what_it_says("GraphML", f"its first element is <{name[:40]}>")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.file.not_what_it_says("GraphML", f"more than {MAX_DEPTH:,} nested elements")
        if name == "graph":
            self.found.graphs += 1
        elif name == "node":
            self.found.nodes.append(self.needed(attributes, "id", "node"))
        elif name == "edge":
            self.start_edge(attributes)
        elif name == "key":
            self.start_key(attributes)
        elif name == "data" and self.in_edge and attributes.get("key", "") == self.weight_key:
            self.reading, self.pieces = "weight", []
        elif name == "default" and self.reading == "key":
            self.reading, self.pieces = "default", []
        elif name == "hyperedge":
            raise InputError(
                f"{self.file.path}: line {self.line:,} has a <hyperedge>, but an edge must have "
                "two ends: write its pairs as edges"
            )

    def start_edge(self, attributes: dict[str, str]) -> None:
        self.in_edge = True
        self.found.sources.append(self.needed(attributes, "source", "edge"))
        self.found.targets.append(self.needed(attributes, "target", "edge"))
        self.found.weights.append(self.default_weight)
        self.found.lines.append(self.line)

    def start_key(self, attributes: dict[str, str]) -> None:
        applies = attributes.get("for", "all") in ("edge", "all")
        if self.weight is not None and applies and attributes.get("attr.name") == self.weight:
            self.weight_key = attributes.get("id")
            self.found.weighted = True
            self.reading = "key"

    def text(self, text: str) -> None:
        if self.reading in ("weight", "default"):
            self.pieces.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition(" ")[2]
        self.depth -= 1
        if name == "edge":
            self.in_edge = False
        elif name == "data" and self.reading == "weight":
            self.found.weights[-1] = "".join(self.pieces).strip()
            self.reading = None
        elif name == "default" and self.reading == "default":
            self.default_weight = "".join(self.pieces).strip()
            self.reading = None
        elif name == "key":
            self.reading = None

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def needed(self, attributes: dict[str, str], key: str, element: str) -> str:
        value = attributes.get(key, "")
        if not value:
            raise InputError(
                f"{self.file.path}: every <{element}> must have a {key}, but the one on line "
                f"{self.line:,} has none: add it"
            )
        return value
