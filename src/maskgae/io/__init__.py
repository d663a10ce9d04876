"""Files of users: edge lists and node tables in, results out.

>>> from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes
>>> def load(edges, table):
...     edges, nodes = read_edges(edges), read_nodes(table)
...     return build_graph(edges, nodes, fit_encoder(nodes))

From the bottom up: ``messages``, ``sources`` (is it there, what is it, how large), ``layout`` and
``text``, ``parquet``, ``archives`` and ``matrices``, ``graphml`` (a format each), ``ids``,
``numbers``, ``columns`` (what cells mean), ``edges``, ``tables`` (the two readers), ``codes`` and
``encode`` (features from a table), ``build`` (the graph), ``writers``.
"""

from maskgae.io.build import BuiltGraph, build_graph
from maskgae.io.edges import EDGE_ENDINGS, EdgeTable, read_edges, read_id_pairs
from maskgae.io.encode import (
    MISSING_RULES,
    TEXT_WIDTH,
    Labels,
    TableEncoder,
    encode_labels,
    fit_encoder,
)
from maskgae.io.ids import IdArray, as_ids, find_ids
from maskgae.io.tables import NODE_ENDINGS, NodeTable, read_ids, read_nodes
from maskgae.io.writers import WRITE_ENDINGS, check_table, whole_file, write_table

__all__ = [
    "EDGE_ENDINGS",
    "MISSING_RULES",
    "NODE_ENDINGS",
    "TEXT_WIDTH",
    "WRITE_ENDINGS",
    "BuiltGraph",
    "EdgeTable",
    "IdArray",
    "Labels",
    "NodeTable",
    "TableEncoder",
    "as_ids",
    "build_graph",
    "check_table",
    "encode_labels",
    "find_ids",
    "fit_encoder",
    "read_edges",
    "read_id_pairs",
    "read_ids",
    "read_nodes",
    "whole_file",
    "write_table",
]
