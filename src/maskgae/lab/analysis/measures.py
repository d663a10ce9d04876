r"""What a graph is like, in numbers: size, degrees, homophily, clustering, overlap.

Edge homophily :math:`h` is the share of edges that join equal labels; it is high for free where one
class is large. Adjusted homophily (Platonov et al., 2023) takes off what chance gives,

.. math::

    h_{adj} = \frac{h - \sum_c D_c^2 / (2 M)^2}{1 - \sum_c D_c^2 / (2 M)^2},

with :math:`D_c` the summed degrees of class :math:`c`: 0 is chance and 1 the most there can be.
Feature homophily compares the cosine of centred features on edges and on random pairs; the chance
that an edge's is the larger one (an AUC, 0.5 where features know nothing of edges) has no scale.

Whatever would take long on a large graph is estimated from a sample, always the same one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, stream
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.data.features import Features
from maskgae.data.graph import Graph
from maskgae.evaluation.metrics import auc
from maskgae.lab.analysis.overlap import EDGE_BITS, Overlap, subgraph_overlap
from maskgae.run.defaults import feature_density

#: Edges, random pairs and nodes that an estimate looks at.
SAMPLE = 4000


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

Array = NDArray[Any]


@dataclass(frozen=True)
class GraphFacts:
    """A graph in numbers; shares are fractions, ``None`` where the graph has nothing to measure."""

    nodes: int
    pairs: int
    density: float
    components: int
    largest_component: float
    isolated: float
    mean_degree: float
    degree_quantiles: dict[str, int]
    max_degree: int
    degree_gini: float
    clustering: float
    classes: int
    labelled_pairs: float
    edge_homophily: float | None
    adjusted_homophily: float | None
    features: int
    feature_density: float | None
    feature_cosine_edges: float | None
    feature_cosine_random: float | None
    feature_auc: float | None
    overlap: Overlap | None

    def document(self) -> dict[str, Any]:
        """The same as nested plain values, for JSON."""
        return asdict(self)


def measure_graph(graph: Graph, overlap: bool = True) -> GraphFacts:
    """Measures a graph in seconds, up to millions of edges.

    Args:
        graph: with features and labels, or without.
        overlap: whether to measure the subgraph overlap at two hops, the longest part.

    >>> facts = measure_graph(Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)]))
    >>> facts.components, facts.mean_degree, round(facts.clustering, 3)  # 1, 1, 1/3, 0
    (1, 2.0, 0.583)
    """
    if graph.num_pairs == 0:
        raise InputError(f"{graph.name} has no edges, so there is nothing to learn from")
    source = stream(0, "measure")
    adjacency = _adjacency(graph)
    count, component = connected_components(adjacency, directed=False)
    return GraphFacts(
        nodes=graph.num_nodes,
        pairs=graph.num_pairs,
        density=2 * graph.num_pairs / (graph.num_nodes * (graph.num_nodes - 1)),
        components=int(count),
        largest_component=float(np.bincount(component).max() / graph.num_nodes),
        clustering=_clustering(adjacency, source.at("nodes")),
        overlap=_overlap(graph, source.at("overlap")) if overlap else None,
        **_degree_facts(graph.degrees.numpy()),
        **_label_facts(graph),
        **_feature_facts(graph, source.at("features")),
    )


def _adjacency(graph: Graph) -> sp.csr_array:
    csr = graph.structure.csr
    ones = np.ones(csr.num_entries, dtype=np.float32)
    arrays = (ones, csr.indices.numpy(), csr.indptr.numpy())
    return sp.csr_array(arrays, shape=(graph.num_nodes, graph.num_nodes))


def _degree_facts(degrees: Array) -> dict[str, Any]:
    ordered = np.sort(degrees)
    ranks = np.arange(1, ordered.size + 1)
    gini = 2 * float(ranks @ ordered) / float(ordered.size * ordered.sum())
    quantiles = np.quantile(ordered, QUANTILES, method="inverted_cdf")
    return {
        "isolated": float((degrees == 0).mean()),
        "mean_degree": float(degrees.mean()),
        "degree_quantiles": {
            f"{100 * q:g}%": int(value) for q, value in zip(QUANTILES, quantiles, strict=True)
        },
        "max_degree": int(ordered[-1]),
        "degree_gini": gini - 1 - 1 / ordered.size,
    }


def _clustering(adjacency: sp.csr_array, source: Stream) -> float:
    """Mean over (sampled) nodes of the share of their neighbours' pairs that are edges."""
    size = adjacency.shape[0]
    nodes = np.arange(size)
    if size > SAMPLE:
        nodes = np.sort(source.numpy().choice(size, SAMPLE, replace=False, shuffle=False))
    degrees = np.diff(adjacency.indptr)[nodes]
    closed = np.empty(nodes.size)
    for start in range(0, nodes.size, 256):
        rows = adjacency[nodes[start : start + 256]]
        closed[start : start + 256] = (rows @ adjacency).multiply(rows).sum(axis=1)
    possible = degrees * (degrees - 1.0)
    local = np.divide(closed, possible, out=np.zeros_like(closed), where=possible > 0)
    return float(local.mean())


def _label_facts(graph: Graph) -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "classes": 0,
        "labelled_pairs": 0.0,
        "edge_homophily": None,
        "adjusted_homophily": None,
    }
    if graph.labels is None:
        return nothing
    # [2, M]
    ends = graph.labels.numpy()[graph.pairs.numpy()]
    ends = ends[:, (ends >= 0).all(axis=0)]
    if ends.size == 0:
        return nothing
    same = float((ends[0] == ends[1]).mean())
    by_chance = float(((np.bincount(ends.reshape(-1)) / ends.size) ** 2).sum())
    return {
        "classes": graph.num_classes,
        "labelled_pairs": ends.shape[1] / graph.num_pairs,
        "edge_homophily": same,
        # A single class says nothing.
        "adjusted_homophily": (same - by_chance) / (1 - by_chance) if by_chance < 1 else None,
    }


def _feature_facts(graph: Graph, source: Stream) -> dict[str, Any]:
    features = graph.features
    if features is None:
        names = ("feature_density", "feature_cosine_edges", "feature_cosine_random", "feature_auc")
        return {"features": 0, **dict.fromkeys(names)}
    edges, rng = graph.pairs.numpy(), source.numpy()
    if graph.num_pairs > SAMPLE:
        edges = edges[:, rng.choice(graph.num_pairs, SAMPLE, replace=False, shuffle=False)]
    first = rng.integers(graph.num_nodes, size=SAMPLE)
    other = (first + rng.integers(1, graph.num_nodes, size=SAMPLE)) % graph.num_nodes
    chance = np.stack([first, other])
    mean = _column_means(features, first)
    on_edges, at_random = (_cosines(features, pairs, mean) for pairs in (edges, chance))
    return {
        "features": features.num_columns,
        "feature_density": feature_density(features, first[:256]),
        "feature_cosine_edges": float(on_edges.mean()),
        "feature_cosine_random": float(at_random.mean()),
        "feature_auc": auc(on_edges, at_random),
    }


def _rows(features: Features, index: Array) -> Array:
    import torch

    return np.asarray(features.rows(torch.from_numpy(index)).dense().numpy(), dtype=np.float32)


def _column_means(features: Features, index: Array) -> Array:
    step = max(1, CHUNK_NUMBERS // features.num_columns)
    starts = range(0, index.size, step)
    return sum(_rows(features, index[i : i + step]).sum(axis=0) for i in starts) / index.size


def _cosines(features: Features, pairs: Array, mean: Array) -> Array:
    """Cosine of centred features, 0 where a row is the mean itself, ``[2, P] -> [P]``."""
    out = np.empty(pairs.shape[1])
    step = max(1, CHUNK_NUMBERS // features.num_columns)
    for start in range(0, out.size, step):
        u, v = (_rows(features, ends[start : start + step]) - mean for ends in pairs)
        lengths = np.sqrt(np.einsum("pf,pf->p", u, u) * np.einsum("pf,pf->p", v, v))
        products = np.einsum("pf,pf->p", u, v)
        out[start : start + step] = products / np.maximum(lengths, 1e-12)
    return out


def _overlap(graph: Graph, source: Stream) -> Overlap:
    """A quarter of what an exact pass may cost, and no more than the sample."""
    affordable = EDGE_BITS // (8 * graph.num_pairs)
    return subgraph_overlap(graph, sample=max(16, min(SAMPLE // 4, affordable)), seed=source)
