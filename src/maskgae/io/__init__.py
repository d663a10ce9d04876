"""Files of users: edge lists and node tables in, results out.

>>> from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes
>>> def load(edges, table):
...     edges, nodes = read_edges(edges), read_nodes(table)
...     return build_graph(edges, nodes, fit_encoder(nodes))

From the bottom up: ``messages``, ``sources`` (is it there, what is it, how large), ``layout`` and
``text``, ``parquet``, ``archives`` and ``matrices``, ``graphml`` (a format each), ``ids``,
``numbers``, ``times``, ``columns`` (what cells mean), ``edges``, ``tables`` (the two readers),
``codes`` and ``encode`` (features from a table), ``build`` (the graph), ``writers``.
"""

from maskgae.io.build import BuiltGraph, build_graph
from maskgae.io.edges import read_edges, read_id_pairs
from maskgae.io.encode import TableEncoder, encode_labels, fit_encoder
from maskgae.io.ids import as_ids, find_ids
from maskgae.io.tables import NodeTable, read_ids, read_nodes
from maskgae.io.writers import check_table, write_table

__all__ = [
    "BuiltGraph",
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
    "write_table",
]
