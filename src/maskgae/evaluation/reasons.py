r"""Reasons: what of a pair's score comes from where, down to single neighbours, paths and columns.

The scorer is linear in standardised columns, so a column with the transformed value :math:`x_c`
gives :math:`w_c (x_c - \mu_c) / \sigma_c`, and these shares add up to the score. Where a column is
a sum over things that can be named, :math:`x_c = T(\sum_i a_i)`, thing :math:`i` has the part

.. math::

    \frac{w_c x_c}{\sigma_c} \cdot \frac{a_i}{\sum_j a_j},

and what remains, :math:`-w_c \mu_c / \sigma_c`, is what an average candidate is ahead of nothing:

====================  =======================  ================================
kind                  columns                  things
====================  =======================  ================================
shared neighbours     common neighbours,       :math:`a`, with 1,
                      Adamic-Adar, resource    :math:`1 / \log d_a`,
                      allocation               :math:`1 / d_a`
paths of three steps  paths of three steps     :math:`u a b v`, with
                                               :math:`1 / (d_a d_b)`
shared features       feature cosine           columns, with :math:`x_{uf} x_{vf}`
====================  =======================  ================================

The other kinds, the network among them, have no parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.display import ROW_NAMES
from maskgae.data.graph import Graph
from maskgae.evaluation.scorer import NETWORKS, PairScorer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEIGHBOURS, PATHS, FEATURES = "shared neighbours", "paths of three steps", "shared features"

#: What each column is evidence of; others stand for themselves.
KINDS = {
    **dict.fromkeys(NETWORKS, "the network"),
    **dict.fromkeys(("common_neighbours", "adamic_adar", "resource_allocation"), NEIGHBOURS),
    "three_steps": PATHS,
    "feature_cosine": FEATURES,
    **dict.fromkeys(
        ("smoothed_cosine", "twice_smoothed_cosine", "knn_cosine"), "features of the surroundings"
    ),
    **dict.fromkeys(("degree_product", "degree_gap"), "number of neighbours"),
    "pagerank": "walks of any length",
}


class Part(NamedTuple):
    """One thing and its part of the score: the nodes on the way, or the feature column."""

    things: tuple[int, ...]
    share: float


@dataclass(frozen=True)
class Reason:
    """One kind of evidence.

    Args:
        kind: what it is.
        share: what it adds to the score, 0 as for an average candidate.
        parts: what can be named of it, the largest first.
        average: what an average candidate has, with its sign turned; ``parts`` and this add up to
            ``share`` where there are parts.
    """

    kind: str
    share: float
    parts: tuple[Part, ...] = ()
    average: float = 0.0


def reasons(scores: PairScorer, pairs: Tensor) -> list[list[Reason]]:
    """The reasons of each of some missing links, the largest share first, ``[2, P] -> P lists``."""
    scorer = scores.scorer
    zeros = torch.zeros(1, len(scorer.columns), dtype=torch.double)
    # [c] and [P, c]: what an average candidate is ahead of nothing, and each pair of nothing
    average = scorer.terms(zeros).squeeze(0)
    gross = scorer.terms(scores.columns.pairs(pairs).double()) - average
    graph, names = scores.columns.rules.graph, scorer.columns
    less = dict(zip(names, average.tolist(), strict=True))
    return [
        _sorted(graph, (u, v), dict(zip(names, row, strict=True)), less)
        for (u, v), row in zip(pairs.T.tolist(), gross.tolist(), strict=True)
    ]


def _sorted(
    graph: Graph, pair: tuple[int, int], gross: dict[str, float], average: dict[str, float]
) -> list[Reason]:
    kinds: dict[str, list[str]] = {}
    counted = [name for name in gross if gross[name] or average[name]]  # others weigh nothing
    for name in counted or gross:
        kinds.setdefault(KINDS.get(name, ROW_NAMES.get(name, name)), []).append(name)
    found = []
    for kind, names in kinds.items():
        less = sum(average[name] for name in names)
        parts: tuple[Part, ...] = ()
        if kind in THINGS:
            parts = _parts(*THINGS[kind](graph, *pair), {name: gross[name] for name in names})
        share = sum(gross[name] for name in names) + less
        found.append(Reason(kind, share, parts, less if parts else 0.0))
    return sorted(found, key=lambda reason: -abs(reason.share))


def _parts(things: Integers, worth: dict[str, Floats], gross: dict[str, float]) -> tuple[Part, ...]:
    """Each column's share, divided by what each thing is worth in it."""
    shares = np.zeros(len(things))
    for name, share in gross.items():
        total = worth[name].sum()
        shares += share * worth[name] / total if total else 0.0
    order = np.argsort(-np.abs(shares), kind="stable")
    ordered = zip(things[order].tolist(), shares[order].tolist(), strict=True)
    return tuple(Part(tuple(thing), share) for thing, share in ordered)


def _neighbours(graph: Graph, u: int, v: int) -> tuple[Integers, dict[str, Floats]]:
    """The neighbours of both, ``[k, 1]``."""
    common = np.intersect1d(_near(graph, u), _near(graph, v))
    degrees = graph.degrees.numpy()[common].astype(np.float64)
    worth = {
        "common_neighbours": np.ones_like(degrees),
        "adamic_adar": 1 / np.log(np.maximum(degrees, 2)),
        "resource_allocation": 1 / np.maximum(degrees, 2),
    }
    return common[:, None], worth


def _paths(graph: Graph, u: int, v: int) -> tuple[Integers, dict[str, Floats]]:
    """The two nodes on the way of each path of three steps, ``[k, 2]``."""
    first = torch.from_numpy(_near(graph, u))
    second = graph.structure.csr.rows(first)
    reached = second.indices.long().numpy()
    ends = np.flatnonzero(np.isin(reached, _near(graph, v)))
    way = np.stack([first.numpy()[second.row_of_entry().numpy()[ends]], reached[ends]], axis=1)
    degrees = graph.degrees.numpy().astype(np.float64)
    return way, {"three_steps": 1 / degrees[way].prod(axis=1)}


def _features(graph: Graph, u: int, v: int) -> tuple[Integers, dict[str, Floats]]:
    """The feature columns in which neither is zero, ``[k, 1]``."""
    assert graph.features is not None
    one, other = graph.features.rows(torch.tensor([u, v])).dense().double().numpy()
    products = one * other
    shared = np.flatnonzero(products)
    return shared[:, None], {"feature_cosine": products[shared]}


THINGS = {NEIGHBOURS: _neighbours, PATHS: _paths, FEATURES: _features}


def _near(graph: Graph, node: int) -> Integers:
    near: Integers = graph.structure.csr.rows(torch.tensor([node])).indices.long().numpy()
    return near
