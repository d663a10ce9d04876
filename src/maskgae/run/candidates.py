r"""Candidates: of a large graph, the nodes that are worth scoring for a missing link.

They come from two sides. Near a node are those two and three steps away, of which the best are
taken by what the scorer's weights say of walks and degrees alone. Elsewhere are those whose
vectors point the same way: the embedding, and beside it the smoothed features that the scorer
compares. Each is scaled so that the cosine of two joined vectors is, up to a constant, what these
columns add to the score; where they are wide, their leading directions are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.data.words import leading_axes
from maskgae.evaluation.count_rules import Counts, compressed
from maskgae.evaluation.method import PairScores
from maskgae.evaluation.rules import has_triangles
from maskgae.evaluation.scorer import NETWORK, STEEP, PairScorer, path_scale
from maskgae.evaluation.vector_rules import SmoothedCosine
from maskgae.run.nearest import Nearest

#: Candidates from near by and from elsewhere, at the least; more where more links are asked for.
NEAR, ELSEWHERE = 100, 100
#: Nodes of the highest degree, or whatever of one end alone counts: candidates of all.
LEADERS = 30
#: Neighbours that are walked over in one step from a node, at most.
WALKED = 2**15
#: Columns of the vectors that are searched, and nodes whose vectors say which directions lead.
WIDTH, SAMPLED = 128, 2**12

#: Columns of walks in the order of the compiled loop, and what they count without a scorer.
WALKS = ("common_neighbours", "adamic_adar", "resource_allocation", "three_steps", "degree_gap")
ALONE = (0.0, 0.0, 1.0, 1.0, 0.0)


class Walks(NamedTuple):
    """What :func:`~maskgae.kernels.near.best_near` reads of a graph and of a scorer."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    worth: NDArray[np.float64]
    weights: NDArray[np.float64]
    scale: float
    ends: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    codes: NDArray[np.int64]
    known_indptr: NDArray[Any]
    known_indices: NDArray[Any]


class Pool(NamedTuple):
    """Nodes that may be candidates of the same nodes, and a table of their vectors."""

    members: Tensor
    table: Nearest


class Candidates:
    """Looks for the candidates of nodes.

    Args:
        scores: what will score them.
        z: the embedding.
        graph: its edges are no candidates.
        asked: how many nodes will be asked about; of few an index is not worth its making.
        incoming: of a directed graph, whether links to the nodes are asked for.
        index: whether similar vectors are looked for by an index in any case.
    """

    def __init__(
        self,
        scores: PairScores,
        z: Tensor,
        graph: Graph,
        asked: int,
        incoming: bool = False,
        index: bool = False,
    ) -> None:
        slopes = _slopes(scores)
        self.graph, self.incoming = graph, incoming
        self.walks = _walks(graph, slopes, incoming)
        by_itself = torch.from_numpy(self.walks.ends[:, 2])
        self.leaders = by_itself.topk(min(LEADERS, graph.num_nodes)).indices
        self.vectors = _leading(_joined(scores, slopes, z))
        self.pools = list(_pools(self.vectors, graph, asked, index))

    @property
    def indexed(self) -> bool:
        """Whether an index looks for similar vectors, approximately."""
        return any(pool.table.indexed for pool in self.pools)

    def of(self, nodes: Tensor, top: int) -> tuple[Tensor, Tensor]:
        """The place of each asked node, ascending, and its candidates, ``[n] -> [C], [2, C]``."""
        count = self.graph.num_nodes
        parts = [self._near(nodes, max(NEAR, 3 * top))]
        parts += [self._leaders(nodes), *self._elsewhere(nodes, max(ELSEWHERE, 2 * top))]
        keys = np.unique(np.concatenate([(place * count + end).numpy() for place, end in parts]))
        place, end = torch.from_numpy(keys // count), torch.from_numpy(keys % count)
        pairs = torch.stack([nodes[place], end])
        edges = pairs.flip(0) if self.incoming else pairs
        missing = (pairs[0] != pairs[1]) & ~self.graph.has(edges)
        if self.graph.types is not None:
            missing &= self.graph.types.allow(edges)
        return place[missing], pairs[:, missing]

    def _near(self, nodes: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Asked nodes by their place, and nodes up to three steps away."""
        from maskgae.kernels.compiled import in_threads
        from maskgae.kernels.near import best_near

        out = np.empty((nodes.numel(), min(count, self.graph.num_nodes)), dtype=np.int64)
        asked = nodes.numpy()
        in_threads(
            lambda part: best_near(*self.walks, asked[part], WALKED, out[part]),
            asked.size,
            least=64,
        )
        place, column = np.nonzero(out >= 0)
        return torch.from_numpy(place), torch.from_numpy(out[place, column])

    def _leaders(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Asked nodes by their place, and the nodes that score highest by themselves."""
        place = torch.arange(nodes.numel()).repeat_interleave(self.leaders.numel())
        return place, self.leaders.repeat(nodes.numel())

    def _elsewhere(self, nodes: Tensor, count: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Asked nodes by their place, and nodes of similar vectors, for each pool."""
        types = self.graph.types
        for kind, (members, table) in enumerate(self.pools):
            asked = torch.arange(nodes.numel())
            if types is not None:
                joined = types.joined.T if self.incoming else types.joined
                asked = joined[types.codes[nodes], kind].nonzero().squeeze(1)
            if asked.numel():
                found = table.find(self.vectors[nodes[asked]], count).nodes
                yield asked.repeat_interleave(found.shape[1]), members[found.flatten()]


def _slopes(scores: PairScores) -> dict[str, float]:
    """What each column of a scorer counts as it is, without its spread."""
    if not isinstance(scores, PairScorer):
        return {}
    of = scores.scorer
    rows = zip(of.columns, of.weights, of.spread, strict=True)
    return {name: weight / spread for name, weight, spread in rows}


def _walks(graph: Graph, slopes: dict[str, float], incoming: bool) -> Walks:
    # Mostly paths of three steps, with a logarithm too.
    three = slopes.get("three_steps", 0.0) + slopes.get("filtered_paths", 0.0)
    slopes = {**slopes, "three_steps": three}
    walked = any(slopes.get(name, 0) > 0 for name in WALKS)
    weights = np.array([slopes.get(name, 0.0) for name in WALKS] if walked else ALONE)
    degrees, types = graph.degrees.numpy().clip(1).astype(np.float64), graph.types
    codes, allowed = np.zeros(degrees.size, dtype=np.int64), np.ones((1, 1), dtype=np.bool_)
    if types is not None:
        codes, allowed = types.codes.numpy(), types.joined.numpy()
    # log(1 + d_u d_v), but for what is the same for all v and what only degrees of 1 feel
    bias = slopes.get("degree_product", 0.0) * np.log(degrees)
    if types is not None:
        sides = [slopes.get(name, 0.0) for name in ("first_side_degree", "second_side_degree")]
        bias = bias + np.where(codes == 1, sides[1], sides[0]) * np.log1p(degrees)
    if graph.directed:
        bias = bias + _of_ways(graph, slopes, incoming)
    ends = np.stack([degrees**-0.5, np.log1p(degrees), bias], axis=1)
    rows, known = compressed(graph.structure.csr), compressed(graph.rows(incoming))
    kinds = (allowed.T.copy() if incoming else allowed, codes)
    # What paths are multiplied by before their logarithm; 0 where their root counts.
    scale = path_scale(graph) if STEEP in slopes else 0.0
    scale = scale if has_triangles(graph) else 1e9
    return Walks(*rows, Counts(graph).worth, weights, scale, ends, *kinds, *known)


def _of_ways(graph: Graph, slopes: dict[str, float], incoming: bool) -> NDArray[np.float64]:
    """What a directed scorer says of one end alone: its degree and how far down it lies."""
    out, into = graph.arcs.degrees
    # Upstream it is steeper: in the mean of both sides, half of that.
    slope = slopes.get("level_gap", 0.0) - slopes.get("upstream", 0.0) / 2
    level = slope * graph.arcs.levels
    one, other = "in_degree", "target_out_degree"
    if incoming:
        one, other = "source_in_degree", "out_degree"
    own = slopes.get(one, 0.0) * np.log1p(into) + slopes.get(other, 0.0) * np.log1p(out)
    return own - level if incoming else own + level


def _joined(scores: PairScores, slopes: dict[str, float], z: Tensor) -> Tensor:
    """Vectors whose products are what the network, about, and the cosines add to a score."""
    unit = F.normalize(z.float(), dim=1)
    if not isinstance(scores, PairScorer):
        return unit
    parts = {NETWORK: unit}
    for rule in scores.columns.rules.parts:
        if isinstance(rule, SmoothedCosine):
            parts |= dict(zip(rule.names, rule.directions, strict=True))
    named = dict(zip(scores.scorer.columns, scores.scorer.weights, strict=True))
    slopes = {**slopes, NETWORK: named.get(NETWORK, 0.0) / _spread(unit)}
    counted = {name: table for name, table in parts.items() if slopes.get(name, 0.0) > 0}
    kept = [table * slopes[name] ** 0.5 for name, table in counted.items()]
    return torch.cat(kept, dim=1) if kept else unit


def _spread(unit: Tensor) -> float:
    """The standard deviation of cosines, from random pairs."""
    generator = stream(0, "candidates").torch()
    u, v = torch.randint(unit.shape[0], (2, 2**14), generator=generator)
    return max(1e-6, float((unit[u] * unit[v]).sum(1).std()))


def _leading(vectors: Tensor) -> Tensor:
    """The vectors in their leading directions, which keep products best, where they are wide."""
    if vectors.shape[1] <= WIDTH:
        return vectors
    draw = stream(0, "candidates")
    some = torch.randperm(vectors.shape[0], generator=draw.torch())[:SAMPLED]
    axes = leading_axes(vectors[some].numpy(), min(WIDTH, some.numel()), draw)
    return vectors @ torch.from_numpy(axes)


def _pools(vectors: Tensor, graph: Graph, asked: int, index: bool) -> Iterator[Pool]:
    """All nodes in one pool, or those of each type."""
    if graph.types is None:
        yield Pool(torch.arange(graph.num_nodes), Nearest(vectors, asked, index))
        return
    for kind in range(graph.types.count):
        members = (graph.types.codes == kind).nonzero().squeeze(1)
        yield Pool(members, Nearest(vectors[members], asked, index))
