"""Which pairs and which nodes are held out.

====================  ==============================================================
split_links           random shares of the pairs for validation and test
split_by_time         what came later, see :mod:`maskgae.data.time_split`
hold_out              some pairs for validation only, to stop a pre-training
split_nodes           random 10/10/80 of the labelled nodes
split_nodes_like      random nodes, as many of each class as a public split has
====================  ==============================================================

Held-out negative samples are non-edges of the whole graph; those of training, drawn elsewhere, are
non-edges of the training graph, since training knows nothing of what is held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.directions import BACKWARD, FORWARD
from maskgae.data.graph import Graph
from maskgae.data.labels import NodeSplit
from maskgae.data.negatives import NonEdges
from maskgae.data.pairs import pair_keys


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph of training pairs, and what is held out of it.

    Args:
        train: all nodes, only the training pairs.
        val: held-out pairs to select on.
        test: held-out pairs to score once.
        val_negatives: negative samples to tell ``val`` from.
        test_negatives: negative samples to tell ``test`` from.
        val_weights: weights of ``val``, where the graph has weights.
        val_messages: what passes messages at validation, where that is not ``train``.
        test_messages: what passes messages at the test, where that does not follow from the others.

    Shapes:
        - **val**, **val_negatives:** ``[2, V]``
        - **test**, **test_negatives:** ``[2, T]``
        - **val_weights:** ``[V]``
    """

    train: Graph
    val: Tensor
    test: Tensor
    val_negatives: Tensor
    test_negatives: Tensor
    val_weights: Tensor | None = None
    val_messages: Graph | None = None
    test_messages: Graph | None = None

    @property
    def num_nodes(self) -> int:
        """Nodes at the test; a split by time trains on those of the past."""
        return (self.test_messages or self.train).num_nodes

    @property
    def seen(self) -> Graph:
        """The graph whose edges the encoder may see at validation."""
        return self.val_messages or self.train

    def messages(self, which: str) -> Graph:
        """The graph whose edges the encoder may see at the test: ``train`` or ``train_val``."""
        if self.test_messages is not None:
            return self.test_messages
        if which == "train":
            return self.train
        if which != "train_val":
            raise InputError(f"message-passing edges are 'train' or 'train_val', not '{which}'")
        return joined(self.train, self.val, self.val_weights)

    def __repr__(self) -> str:
        sizes = f"train={self.train.num_pairs}, val={self.val.shape[1]}, test={self.test.shape[1]}"
        return f"LinkSplit({sizes})"


def split_links(graph: Graph, val: float, test: float, stream: Stream) -> LinkSplit:
    """Holds out random shares of the pairs, with as many non-edges of the whole graph.

    All held-out negatives are different from one another, across validation and test too.

    Args:
        graph: the whole graph.
        val: share of the pairs for validation.
        test: share of the pairs for the test.
        stream: where the draws come from.

    Raises:
        InputError: if a part that is asked for, or the training graph, would be empty.

    >>> from maskgae.base.rng import stream
    >>> ring = Graph.from_edges([(i, (i + 1) % 20) for i in range(20)])
    >>> split_links(ring, val=0.05, test=0.1, stream=stream(0, "split"))
    LinkSplit(train=17, val=1, test=2)
    """
    num_val, num_test = _held_out_sizes(graph, val, test)
    held = num_val + num_test
    order = torch.randperm(graph.num_pairs, generator=stream.at("pairs").torch())
    in_val = order[:num_val].sort().values
    in_test = order[num_val:held].sort().values
    val_edges, test_edges = graph.edges(in_val), graph.edges(in_test)
    num_val, held = val_edges.shape[1], val_edges.shape[1] + test_edges.shape[1]
    negatives = torch.empty(2, 0, dtype=torch.long)
    if held:
        negatives = NonEdges(graph).sample_distinct(held, stream.at("negatives"))
        negatives = oriented(graph, negatives, stream.at("ways"))
    order_of_negatives = torch.randperm(held, generator=stream.at("deal").torch())
    trained_on = torch.ones(graph.num_pairs, dtype=torch.bool)
    trained_on[in_val] = trained_on[in_test] = False
    return LinkSplit(
        train=graph.subgraph(trained_on),
        val=val_edges,
        test=test_edges,
        val_negatives=negatives[:, order_of_negatives[:num_val].sort().values],
        test_negatives=negatives[:, order_of_negatives[num_val:].sort().values],
        val_weights=edge_weights(graph, val_edges),
    )


def hold_out(graph: Graph, share: float, stream: Stream) -> LinkSplit:
    """Holds out a share of the pairs for validation only, of messages and of targets."""
    return split_links(graph, share, 0.0, stream)


def split_nodes(labels: Tensor, stream: Stream, train: float = 0.1, val: float = 0.1) -> NodeSplit:
    """Random shares of the labelled nodes to learn from and to select on; the rest is the test.

    Args:
        labels: a class for each node, -1 where it is unknown, ``[N]``.
        stream: where the draw comes from.
        train: share of the nodes to learn from.
        val: share of the nodes to select on.

    >>> from maskgae.base.rng import stream
    >>> split = split_nodes(torch.arange(20) % 2, stream(0, "nodes"))
    >>> split.train.numel(), split.val.numel(), split.test.numel()
    (2, 2, 16)
    """
    nodes = _shuffled_labelled(labels, stream)
    sizes = [_share(nodes.numel(), train), _share(nodes.numel(), val)]
    sizes.append(nodes.numel() - sum(sizes))
    if min(sizes) < 1:
        raise InputError(
            f"a node split needs a node for training, validation and test: shares {train} and "
            f"{val} of {nodes.numel():,} labelled nodes leave {sizes}"
        )
    return _node_split(nodes, sizes)


def split_nodes_like(split: NodeSplit, labels: Tensor, stream: Stream) -> NodeSplit:
    """A random split with the sizes of a given one, and its training nodes of each class.

    The public splits of the citation graphs have 20 training nodes per class, 500 and 1,000 nodes
    for validation and test; nodes beyond those sizes stay unused, as there.

    Args:
        split: whose sizes to copy; unlabelled nodes in it are not counted.
        labels: a class for each node, -1 where it is unknown, ``[N]``.
        stream: where the draw comes from.
    """
    parts = (split.train, split.val, split.test)
    train, val, test = (part[labels[part] >= 0] for part in parts)
    nodes = _shuffled_labelled(labels, stream)
    num_classes = int(labels.max()) + 1
    wanted = torch.bincount(labels[train], minlength=num_classes)
    # The place of each shuffled node among those of its class: the first ones are for training.
    by_class = labels[nodes].argsort(stable=True)
    nodes, classes = nodes[by_class], labels[nodes][by_class]
    sizes = torch.bincount(classes, minlength=num_classes)
    place = torch.arange(nodes.numel()) - (sizes.cumsum(0) - sizes)[classes]
    chosen = place < wanted[classes]
    rest = _shuffled(nodes[~chosen], stream.at("rest"))
    nodes = torch.cat([nodes[chosen], rest])
    return _node_split(nodes, [train.numel(), val.numel(), test.numel()])


def oriented(graph: Graph, pairs: Tensor, stream: Stream) -> Tensor:
    """Non-edges with a random way each where the graph has directions, one that may be."""
    if not graph.directed:
        return pairs
    turned = torch.rand(pairs.shape[1], generator=stream.torch()) < 0.5
    if graph.types is not None:
        ahead, back = graph.types.allow(pairs), graph.types.allow(pairs.flip(0))
        turned = torch.where(ahead & back, turned, back)
    return torch.where(turned, pairs.flip(0), pairs)


def edge_weights(graph: Graph, edges: Tensor) -> Tensor | None:
    """The weights of edges; those of a pair that goes both ways share its weight."""
    if graph.weights is None:
        return None
    place = torch.searchsorted(graph.keys, pair_keys(edges, graph.num_nodes))
    if graph.directions is None:
        return graph.weights[place]
    return graph.weights[place] / torch.where(graph.directions[place] == 3, 2, 1)


def joined(graph: Graph, pairs: Tensor, weights: Tensor | None) -> Graph:
    """The graph with more pairs; where a pair is there already, the weights add up."""
    keys = torch.cat([graph.keys, pair_keys(pairs, graph.num_nodes)])
    unique, place = torch.unique(keys, return_inverse=True)
    ends = torch.stack([unique // graph.num_nodes, unique % graph.num_nodes])
    summed = None
    if graph.weights is not None:
        more = torch.ones(pairs.shape[1]) if weights is None else weights
        values = torch.cat([graph.weights, more.to(graph.weights.dtype)])
        summed = values.new_zeros(unique.numel()).index_add_(0, place, values)
    ways = None
    if graph.directions is not None:
        new = torch.where(pairs[0] < pairs[1], FORWARD, BACKWARD).to(graph.directions.dtype)
        ways = torch.zeros(unique.numel(), dtype=new.dtype)
        ways[place[: graph.num_pairs]] = graph.directions
        for bit in (FORWARD, BACKWARD):
            ways[place[graph.num_pairs :][new == bit]] |= bit
    return replace(graph, pairs=ends, weights=summed, directions=ways)


def _share(total: int, share: float) -> int:
    # Rounded down; the small term keeps 0.29 of 100 from being 28.
    return int(share * total + 1e-9)


def _held_out_sizes(graph: Graph, val: float, test: float) -> tuple[int, int]:
    if graph.num_pairs == 0:
        raise InputError(f"{graph.name} has no edges, so there is nothing to split or to learn")
    num_val, num_test = _share(graph.num_pairs, val), _share(graph.num_pairs, test)
    sizes = {"validation": (val, num_val), "test": (test, num_test)}
    for part, (share, size) in sizes.items():
        if share != 0 and size < 1:
            raise InputError(
                f"{graph.name} has too few edges to split: {share:g} of its "
                f"{graph.num_pairs:,} leaves none for {part}; hold out a larger share "
                "(split.val, split.test), or train on all edges ('maskgae fit --holdout 0')"
            )
    if num_val + num_test >= graph.num_pairs:
        raise InputError(
            f"{graph.name} has too few edges to split: holding out {num_val:,} and {num_test:,} "
            f"of {graph.num_pairs:,} leaves none for training; hold out smaller shares"
        )
    return num_val, num_test


def _shuffled(nodes: Tensor, stream: Stream) -> Tensor:
    return nodes[torch.randperm(nodes.numel(), generator=stream.torch())]


def _shuffled_labelled(labels: Tensor, stream: Stream) -> Tensor:
    nodes = (labels >= 0).nonzero().squeeze(1)
    if nodes.numel() == 0:
        raise InputError("a node split needs labels, but no node has one")
    return _shuffled(nodes, stream.at("nodes"))


def _node_split(nodes: Tensor, sizes: list[int]) -> NodeSplit:
    """The first nodes for training, the next for validation and for the test, each ascending."""
    parts = nodes[: sum(sizes)].split(sizes)
    return NodeSplit(*(part.sort().values for part in parts))
