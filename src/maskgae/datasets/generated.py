r"""Generated graphs of any size, with communities and heavy-tailed degrees.

The model is a degree-corrected block model drawn pair by pair. Every node has a community
:math:`c` and a weight :math:`w` from a power law, :math:`P(w > t) = t^{1 - \gamma}`. One end of
a pair is drawn by weight from all nodes; the other by weight from the first one's community with
chance :math:`h`, and else from all nodes again. So about :math:`h + (1 - h) / C` of the pairs
join equals, and at :math:`h = 0` the pairs know nothing of the communities. Loops and repeated
pairs are drawn again, until the number of pairs is exact.

Pairs come in chunks (:meth:`Blueprint.chunk`), each from its own address of the stream, so a
graph that does not fit in memory can be drawn in parts, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, stream
from maskgae.data.features import DenseFeatures, Features, as_features
from maskgae.data.graph import Graph
from maskgae.data.pairs import Cleaning

Array = np.ndarray[Any, Any]

#: Candidates of one chunk of pairs, and rows of one chunk of features.
CHUNK = 1 << 20

# Where a round brings less than this share of new pairs, the model has hardly any left to give.
_EXHAUSTED = 0.01


@dataclass(frozen=True, eq=False)
class Blueprint:
    """All that is drawn before the pairs: communities and weights.

    Nodes stand in an inner order, by community; ``ids`` maps it to the shuffled outer one.

    Args:
        ids: the outer number of each node.
        starts: where each community starts in the inner order, and the end of the last.
        mass: running sum of the weights, from 0 on.
        homophily: chance of a pair to be drawn inside a community.
        stream: where the pairs come from.

    Shapes:
        - **ids:** ``[N]``
        - **starts:** ``[C + 1]``
        - **mass:** ``[N + 1]``
    """

    ids: Array
    starts: Array
    mass: Array
    homophily: float
    stream: Stream

    @property
    def labels(self) -> Array:
        """The community of each node, by its outer number, ``[N]``."""
        labels = np.empty(self.ids.size, dtype=np.int64)
        labels[self.ids] = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        return labels

    def chunk(self, index: int, size: int = CHUNK) -> Array:
        """The keys :math:`u N + v` of the pairs of one chunk, loops left out, repeats not."""
        rng = self.stream.at("pairs", index).numpy()
        # [size], [size]
        first = self._pick(rng.random(size) * self.mass[-1])
        low, high = np.zeros(size), np.full(size, self.mass[-1])
        inside = rng.random(size) < self.homophily
        community = np.searchsorted(self.starts, first[inside], side="right") - 1
        low[inside] = self.mass[self.starts[community]]
        high[inside] = self.mass[self.starts[community + 1]]
        second = self._pick(low + rng.random(size) * (high - low))
        return _keys(self.ids[first], self.ids[second], self.ids.size)

    @cached_property
    def _guide(self) -> Array:
        """The node at each of N even steps of the mass, from which a search starts, ``[N + 1]``."""
        steps = np.linspace(0, self.mass[-1], self.ids.size + 1)
        return np.searchsorted(self.mass, steps, side="right") - 1

    def _pick(self, at: Array) -> Array:
        """The node, in the inner order, in whose share of the mass each point lies."""
        at = np.minimum(at, np.nextafter(self.mass[-1], 0))
        step = (at * (self.ids.size / self.mass[-1])).astype(np.int64)
        node = np.minimum(self._guide[step], self.ids.size - 1)
        # A step of the guide is a mean weight wide and the least weight is one: a few rounds.
        late = np.flatnonzero(self.mass[node + 1] <= at)
        while late.size:
            node[late] += 1
            late = late[self.mass[node[late] + 1] <= at[late]]
        return node


def blueprint(
    num_nodes: int,
    num_pairs: int,
    communities: int,
    homophily: float,
    exponent: float,
    seed: Stream,
) -> Blueprint:
    """Draws communities of about the same size, and weights from a power law.

    A weight is cut where its node would have more than a tenth of all nodes as neighbours.
    """
    rng = seed.at("nodes").numpy()
    sizes = np.bincount(rng.integers(communities, size=num_nodes), minlength=communities)
    weights = (1 - rng.random(num_nodes)) ** (-1 / (exponent - 1))
    mean_degree = 2 * num_pairs / num_nodes
    largest = max(2.0, 0.1 * num_nodes / max(mean_degree, 1e-9))
    mass = np.concatenate([[0.0], np.cumsum(np.minimum(weights, largest * weights.mean()))])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Blueprint(rng.permutation(num_nodes), starts, mass, homophily, seed)


def generate(
    num_nodes: int,
    num_pairs: int,
    *,
    num_features: int = 64,
    communities: int = 20,
    homophily: float = 0.8,
    exponent: float = 2.5,
    signal: float = 0.2,
    words: int = 0,
    seed: Stream | int = 0,
    name: str = "generated",
) -> Graph:
    r"""An attributed graph with communities as labels.

    Args:
        num_nodes: the number of nodes :math:`N`.
        num_pairs: the exact number of pairs.
        num_features: columns; 0 for no features.
        communities: the number of classes :math:`C`.
        homophily: :math:`h`, how much pairs stay inside communities; 0 for not at all.
        exponent: :math:`\gamma` of the degrees' power law; the smaller, the larger the hubs.
        signal: how much features tell of the community; 0 for nothing. Dense rows are the
            community's centre, times this, plus noise, both of unit variance; of a sparse
            row's words, this share is the community's own choice.
        words: where not 0, rows are bags of words, with so many draws a row.
        seed: where the randomness comes from.
        name: what to call the graph.

    >>> generate(100, 300, num_features=8, communities=4)
    Graph(nodes=100, pairs=300, features=8 (dense), classes=4)
    """
    check_request(num_nodes, num_pairs, num_features, communities, homophily, exponent, words)
    source = seed if isinstance(seed, Stream) else stream(seed, "generate")
    plan = blueprint(num_nodes, num_pairs, communities, homophily, exponent, source)
    keys = draw_pairs(plan, num_pairs)
    pairs = np.stack([keys // num_nodes, keys % num_nodes])
    labels = plan.labels
    features: Features | None = None
    if num_features:
        features = draw_features(labels, num_features, signal, words, source.at("features"))
    return Graph(
        num_nodes,
        torch.from_numpy(pairs),
        features=features,
        labels=torch.from_numpy(labels),
        name=name,
        cleaning=Cleaning(
            isolated=int((np.bincount(pairs.reshape(-1), minlength=num_nodes) == 0).sum())
        ),
    )


def draw_features(
    labels: Array, num_features: int, signal: float, words: int, source: Stream
) -> Features:
    """Bags of words, or clouds around the communities' centres, ``[N, F]``."""
    if words:
        return _bags(labels, num_features, signal, source, words)
    rows = np.empty((labels.size, num_features), dtype=np.float32)
    for index, part in enumerate(cloud_rows(labels, num_features, signal, source)):
        rows[index * CHUNK : (index + 1) * CHUNK] = part
    return DenseFeatures(torch.from_numpy(rows))


def draw_pairs(plan: Blueprint, num_pairs: int) -> Array:
    """The ascending keys of exactly ``num_pairs`` distinct pairs, ``[M]``."""
    keys, used = np.empty(0, dtype=np.int64), 0
    while (missing := num_pairs - keys.size) > 0:
        count, size = candidates(missing)
        drawn = np.concatenate([plan.chunk(i, size) for i in range(used, used + count)])
        fresh = _new(keys, drawn)
        exhausted = is_exhausted(fresh.size, missing)
        keys = _merged(keys, fresh, num_pairs, plan.stream.at("kept", used))
        used += count
        if exhausted:
            return _filled(keys, num_pairs, plan)
    return keys


def candidates(missing: int) -> tuple[int, int]:
    """Number and size of the chunks that are drawn for so many missing pairs."""
    # A tenth more than is missing, since loops and repeats will fall out.
    wanted = max(64, missing + missing // 10)
    return -(-wanted // CHUNK), min(CHUNK, wanted)


def is_exhausted(fresh: int, missing: int) -> bool:
    """Whether a round brought so few pairs that the model has hardly any left to give."""
    count, size = candidates(missing)
    return fresh < min(missing, _EXHAUSTED * count * size)


def left_out(fresh: int, excess: int, source: Stream) -> Array:
    """Which of the fresh pairs are too many, ``[excess]``."""
    return source.numpy().choice(fresh, excess, replace=False, shuffle=False)


def _new(keys: Array, candidates: Array) -> Array:
    """The distinct candidates, ascending, that are not among the ascending keys yet."""
    ordered = np.sort(candidates)  # np.unique would hash, which is slower here
    distinct = ordered[np.diff(ordered, prepend=-1) > 0]
    if not keys.size:
        return distinct
    place = np.minimum(np.searchsorted(keys, distinct), keys.size - 1)
    return distinct[keys[place] != distinct]


def _merged(keys: Array, fresh: Array, num_pairs: int, source: Stream) -> Array:
    """Both together, ascending; of what is more than ``num_pairs`` some fresh ones are left out."""
    excess = keys.size + fresh.size - num_pairs
    if excess > 0:
        fresh = np.delete(fresh, left_out(fresh.size, excess, source))
    return np.sort(np.concatenate([keys, fresh])) if keys.size else fresh


def _filled(keys: Array, num_pairs: int, plan: Blueprint) -> Array:
    """Adds pairs drawn evenly from all that are missing, where the model has no more to give."""
    num_nodes, source = plan.ids.size, plan.stream.at("fill")
    if num_nodes * (num_nodes - 1) // 2 <= 8 * num_pairs:
        u, v = np.triu_indices(num_nodes, 1)
        return _merged(keys, _new(keys, _keys(u, v, num_nodes)), num_pairs, source)
    rng, size = source.numpy(), min(CHUNK, 2 * num_pairs)
    while keys.size < num_pairs:
        u, v = rng.integers(num_nodes, size=(2, size))
        fresh = _new(keys, _keys(u, v, num_nodes))
        keys = _merged(keys, fresh, num_pairs, source.at("kept", keys.size))
    return keys


def _keys(u: Array, v: Array, num_nodes: int) -> Array:
    """The keys of the pairs that are no loops."""
    proper = u != v
    u, v = u[proper], v[proper]
    return np.minimum(u, v) * np.int64(num_nodes) + np.maximum(u, v)


def cloud_rows(labels: Array, num_features: int, signal: float, source: Stream) -> Iterator[Array]:
    """The centre of the community plus noise, :data:`CHUNK` rows at a time, ``[rows, F]``."""
    shape = (int(labels.max()) + 1, num_features)
    centres = source.at("centres").numpy().standard_normal(shape, dtype=np.float32)
    for index, start in enumerate(range(0, labels.size, CHUNK)):
        own = centres[labels[start : start + CHUNK]]
        noise = source.at(index).numpy().standard_normal(own.shape, dtype=np.float32)
        yield np.add(noise, np.multiply(own, np.float32(signal), out=own), out=noise)


def _bags(labels: Array, num_features: int, signal: float, source: Stream, words: int) -> Features:
    """Ones at words drawn by Zipf's law, some in the community's own order of words, ``[N, F]``."""
    rng = source.numpy()
    order = np.tile(np.arange(num_features), (int(labels.max()) + 2, 1))
    order[1:] = rng.permuted(order[1:], axis=1)
    # [N, words]; the logarithm of a rank is uniform where frequency falls with its inverse
    rank = (num_features ** rng.random((labels.size, words))).astype(np.int64) - 1
    own = rng.random(rank.shape) < signal
    column = order[np.where(own, labels[:, None] + 1, 0), np.minimum(rank, num_features - 1)]
    row = np.repeat(np.arange(labels.size), words)
    ones = np.ones(row.size, dtype=np.float32)
    bags = sp.csr_matrix((ones, (row, column.reshape(-1))), shape=(labels.size, num_features))
    bags.data[:] = 1
    return as_features(bags)


def check_request(
    num_nodes: int,
    num_pairs: int,
    num_features: int,
    communities: int,
    homophily: float,
    exponent: float,
    words: int,
) -> None:
    """Refuses what cannot be generated."""
    _check_counts(num_features=(num_features, 0), communities=(communities, 1), words=(words, 0))
    most = num_nodes * (num_nodes - 1) // 2
    if num_nodes < 1:
        raise InputError(f"a generated graph needs at least one node, not {num_nodes}")
    if not 0 <= num_pairs <= most:
        raise InputError(
            f"{num_nodes:,} nodes have from 0 to {most:,} pairs, not {num_pairs:,}: "
            "ask for fewer pairs or more nodes"
        )
    if not 0 <= homophily <= 1:
        raise InputError(f"homophily must lie in 0 to 1, not {homophily}")
    if not exponent > 2:
        raise InputError(
            f"exponent must be larger than 2, not {exponent}: below, the mean degree diverges"
        )


def _check_counts(**counts: tuple[int, int]) -> None:
    for name, (value, low) in counts.items():
        if value < low:
            raise InputError(f"{name} must be {low} or more, not {value}")
