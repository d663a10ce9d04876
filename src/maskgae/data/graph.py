"""The graph: simple, undirected, each pair once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.data.clock import Clock
from maskgae.data.csr import CSR
from maskgae.data.directions import BACKWARD, FORWARD, WAY_COLUMNS, Arcs, arcs_of, pair_directions
from maskgae.data.exchange import (
    networkx_parts,
    pyg_parts,
    scipy_parts,
    to_networkx,
    to_pyg,
    to_scipy,
)
from maskgae.data.features import Features, JoinedFeatures, SparseFeatures, as_features
from maskgae.data.labels import NodeSplit, as_labels
from maskgae.data.pairs import Cleaning, canonical_pairs, contains_keys, edge_array, pair_keys
from maskgae.data.structure import Structure
from maskgae.data.types import Types

if TYPE_CHECKING:
    import networkx
    import scipy.sparse as sp
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Graph:
    r"""A simple undirected graph :math:`G = (V, E)` with optional features and labels.

    Each edge is one pair :math:`u < v`; pairs are sorted and unique, there are no self-loops.
    Both directions exist only inside :attr:`structure`. Node numbers may have 32 bits, as those of
    a store have; keys, which are products of them, always have 64.

    Args:
        num_nodes: the number of nodes :math:`N`.
        pairs: the :math:`M` edges.
        features: a row for each node.
        labels: a class for each node, -1 where it is unknown.
        node_split: which nodes a classifier learns from and is tested on.
        weights: a positive weight for each pair.
        name: what to call it in messages.
        cleaning: what was done to the raw edges.
        types: of the nodes, and which of them edges join; any two where it is ``None``.
        directions: of a directed graph, which ways each pair goes: 1 from ``u`` to ``v``, 2 from
            ``v`` to ``u``, 3 both.
        clock: when nodes and edges came about; nodes are then numbered as they came.

    Shapes:
        - **pairs:** ``[2, M]``
        - **labels:** ``[N]``
        - **weights**, **directions:** ``[M]``

    >>> graph = Graph.from_edges([(0, 1), (1, 0), (1, 2), (2, 2)], num_nodes=4)
    >>> graph
    Graph(nodes=4, pairs=2)
    >>> str(graph.cleaning)
    '1 self-loops dropped, 0 duplicates merged, 1 directed edges symmetrised, 1 isolated nodes kept'
    >>> graph.degrees.tolist()
    [1, 2, 1, 0]
    """

    num_nodes: int
    pairs: Tensor
    features: Features | None = None
    labels: Tensor | None = None
    node_split: NodeSplit | None = None
    weights: Tensor | None = None
    name: str = "graph"
    cleaning: Cleaning = field(default_factory=Cleaning)
    types: Types | None = None
    directions: Tensor | None = None
    clock: Clock | None = None
    made: Features | None = None

    def __post_init__(self) -> None:
        if self.features is not None and self.features.num_rows != self.num_nodes:
            raise InputError(
                f"features need one row per node: the graph has {self.num_nodes:,} nodes, "
                f"the features {self.features.num_rows:,} rows"
            )
        if self.labels is not None and self.labels.numel() != self.num_nodes:
            raise InputError(
                f"labels need one value a node: the graph has {self.num_nodes:,} nodes, "
                f"the labels {self.labels.numel():,} values"
            )

        if self.types is not None and self.types.codes.numel() != self.num_nodes:
            raise InputError(
                f"types need one value a node: the graph has {self.num_nodes:,} nodes, "
                f"the types {self.types.codes.numel():,} values"
            )

    @property
    def num_pairs(self) -> int:
        """Undirected edges, each counted once."""
        return self.pairs.shape[1]

    @property
    def directed(self) -> bool:
        """Whether an edge from one node to another differs from the one back."""
        return self.directions is not None

    @cached_property
    def arcs(self) -> Arcs:
        """The edges of a directed graph by source and by target."""
        assert self.directions is not None
        return Arcs.of(self.pairs, self.directions, self.num_nodes)

    def rows(self, incoming: bool = False) -> CSR:
        """Where the edges of each node go to or, in a directed graph, come from, ``[N, N]``."""
        return self.arcs.way(incoming) if self.directed else self.structure.csr

    def edges(self, index: Tensor) -> Tensor:
        """The edges of some pairs, source first: one a pair, or two where it goes both ways."""
        if self.directions is None:
            return self.pairs[:, index].long()
        return arcs_of(self.pairs[:, index], self.directions[index])

    @property
    def num_classes(self) -> int:
        """Classes that the labels are numbers of, from 0 on; 0 without labels."""
        return 0 if self.labels is None else int(self.labels.max()) + 1

    @property
    def num_inputs(self) -> int:
        """Columns that an encoder reads: of features, structure, types and directions."""
        parts = (self.features, self.made)
        return sum(part.num_columns for part in parts if part is not None) + self.num_kinds

    @property
    def num_kinds(self) -> int:
        """Columns of types and directions."""
        types = 0 if self.types is None else self.types.count
        return types + (WAY_COLUMNS if self.directed else 0)

    @cached_property
    def inputs(self) -> Features | None:
        """What an encoder reads: features, columns made from edges, types and directions."""
        parts = [part for part in (self.features, self.made) if part is not None]
        if self.types is not None:
            parts.append(self.types.one_hot())
        if self.directed:
            parts.append(self.arcs.columns())
        return JoinedFeatures(parts) if len(parts) > 1 else next(iter(parts), None)

    @cached_property
    def keys(self) -> Tensor:
        """One ascending number per pair, :math:`u N + v`, ``[M]``."""
        return pair_keys(self.pairs, self.num_nodes)

    @cached_property
    def structure(self) -> Structure:
        """Both directions of every pair by row."""
        return Structure.of(self.pairs, self.num_nodes)

    @cached_property
    def degrees(self) -> Tensor:
        """Neighbours of each node, ``[N]``."""
        return self.structure.csr.counts()

    def subgraph(self, kept: Tensor) -> Graph:
        """The same nodes with only some of the pairs, given as ``[M]`` bool or as indices."""
        flags = np.zeros(self.num_pairs, dtype=np.bool_)
        flags[kept.numpy()] = True
        index = torch.from_numpy(np.flatnonzero(flags))
        picked = [None if x is None else x[index] for x in (self.weights, self.directions)]
        part = replace(self, pairs=self.pairs[:, index], weights=picked[0], directions=picked[1])
        if "structure" in self.__dict__:  # what is sorted already need not be sorted again
            return part.with_structure(self.structure.select(flags))
        return part

    def first(self, count: int) -> Graph:
        """The first so many nodes and the pairs between them, with the same numbers."""
        part = self.subgraph((self.pairs < count).all(0))
        features, labels, types = self.features, self.labels, self.types
        return replace(
            part,
            num_nodes=count,
            features=None if features is None else features.rows(torch.arange(count)),
            labels=None if labels is None else labels[:count],
            types=None if types is None else replace(types, codes=types.codes[:count]),
            node_split=None,
        )

    def with_structure(self, structure: Structure) -> Graph:
        """This graph, its rows given instead of sorted when they are asked for."""
        self.__dict__["structure"] = structure
        return self

    def with_types(self, codes: Any, names: Sequence[str], column: str | None = None) -> Graph:
        """The same graph with a type for each node; types that its edges join may be joined."""
        joined = self.edges(torch.arange(self.num_pairs))
        types = Types.of(codes, names, joined, self.directed, column)
        return self._replaced(types=types)

    def between(self, source: str, target: str) -> Graph:
        """The same graph, in which edges may go from one type of nodes to another only."""
        if self.types is None:
            raise InputError(
                f"--between names two types of nodes, and {self.name} has none: fit with --type"
            )
        return self._replaced(types=self.types.only(source, target))

    def with_times(self, times: Any, since: Any) -> Graph:
        """The same graph with a time for each pair and each node, the latter ascending."""
        return self._replaced(clock=Clock.of(self.pairs, times, since))

    def with_features(self, features: Features | None) -> Graph:
        """The same graph with other features."""
        return self._replaced(features=features)

    def with_made(self, made: Features | None) -> Graph:
        """The same graph with other columns made from its edges."""
        return self._replaced(made=made)

    def _replaced(self, **parts: Any) -> Graph:
        """The same pairs with something else replaced, and their rows, if those are known."""
        other = replace(self, **parts)
        return other.with_structure(self.structure) if "structure" in self.__dict__ else other

    def contains(self, pairs: Tensor) -> Tensor:
        """Which of the given pairs, in either direction, are edges: ``[2, P] -> [P]`` bool."""
        return contains_keys(self.keys, pair_keys(pairs, self.num_nodes))

    def has(self, pairs: Tensor) -> Tensor:
        """Which pairs are edges, from first to second where there are directions, ``[P]`` bool."""
        found = self.contains(pairs)
        if self.directions is None:
            return found
        place = torch.searchsorted(self.keys, pair_keys(pairs, self.num_nodes))
        ways = self.directions[place.clamp(max=self.num_pairs - 1)]
        wanted = torch.where(pairs[0] < pairs[1], FORWARD, BACKWARD)
        return found & ((ways & wanted) > 0)

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        num_nodes: int | None = None,
        *,
        features: Any = None,
        labels: Any = None,
        weights: Any = None,
        node_split: NodeSplit | None = None,
        name: str = "graph",
        directed: bool = False,
    ) -> Graph:
        """A graph from an edge array ``[2, E]`` or ``[E, 2]`` or a list of pairs, in any direction.

        Self-loops are dropped, repeated edges merged (their weights add up). Two by two numbers
        are ``[2, E]`` in an array or a tuple of arrays, and two pairs in a list.
        """
        array = edge_array(edges)
        features = None if features is None else as_features(features)
        if num_nodes is None:
            num_nodes = (
                features.num_rows if features is not None else int(array.max(initial=-1)) + 1
            )
        pairs, summed, cleaning = canonical_pairs(array, num_nodes, weights)
        directions = None
        if directed:
            keys = pair_keys(pairs, num_nodes).numpy()
            directions = pair_directions(array, keys, num_nodes)
            cleaning = replace(cleaning, symmetrised=0)
        return cls(
            num_nodes=num_nodes,
            pairs=pairs,
            features=features,
            labels=None if labels is None else as_labels(labels),
            node_split=node_split,
            weights=summed,
            name=name,
            cleaning=cleaning,
            directions=directions,
        )

    @classmethod
    def from_scipy(cls, adjacency: Any, **kwargs: Any) -> Graph:
        """A graph from a square SciPy sparse matrix; other values than 0 and 1 become weights."""
        return cls.from_edges(**scipy_parts(adjacency), **kwargs)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, **kwargs: Any) -> Graph:
        """A graph from a NetworkX one, with the edges' ``weight`` where any edge has one.

        Its nodes are numbered in their own order.

        >>> import networkx
        >>> Graph.from_networkx(networkx.Graph([("a", "b", {"weight": 2})])).weights
        tensor([2.])
        """
        return cls.from_edges(**{**kwargs, **networkx_parts(graph)})

    @classmethod
    def from_pyg(cls, data: Data, name: str = "graph", directed: bool = False) -> Graph:
        """A graph from PyG's ``Data``, with ``x``, ``y``, ``edge_weight`` and split masks."""
        return cls.from_edges(**pyg_parts(data), name=name, directed=directed)

    def to_pyg(self) -> Data:
        """PyG's ``Data`` with both directions in ``edge_index``."""
        return to_pyg(self)

    def to_scipy(self) -> sp.csr_array:
        """The symmetric adjacency matrix, ``[N, N]``."""
        return to_scipy(self)

    def to_networkx(self) -> networkx.Graph:
        """A NetworkX graph on the nodes 0 to N - 1, with the weights where there are any."""
        return to_networkx(self)

    def __repr__(self) -> str:
        parts = [f"nodes={self.num_nodes}", f"pairs={self.num_pairs}"]
        if self.features is not None:
            kind = "sparse" if isinstance(self.features, SparseFeatures) else "dense"
            parts.append(f"features={self.features.num_columns} ({kind})")
        if self.labels is not None:
            parts.append(f"classes={self.num_classes}")
        if self.types is not None:
            parts.append(f"types={self.types.count}")
        if self.directed:
            parts.append("directed")
        return f"Graph({', '.join(parts)})"
