"""Reasons by hand: what each neighbour, path and column adds to a score."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from maskgae.data.features import as_features
from maskgae.data.graph import Graph
from maskgae.evaluation.reasons import Part, Reason, reasons
from maskgae.evaluation.scorer import Columns, PairScorer, Scorer

# 0 and 3 share the neighbours 1 and 2; 1 has the further neighbour 4.
#   0 - 1 - 3,  0 - 2 - 3,  1 - 4,  and the paths 0 - 1 - 2 - 3 and 0 - 2 - 1 - 3 by the edge 1 - 2
EDGES = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (1, 2)]
PAIR = torch.tensor([[0], [3]])


class Constant:
    def pairs(self, pairs: Tensor) -> Tensor:
        return torch.full((pairs.shape[1],), 2.0)

    def rows(self, nodes: Tensor) -> Tensor:
        raise NotImplementedError


def graph() -> Graph:
    words = torch.tensor([[1.0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
    return Graph.from_edges(EDGES, 5).with_features(as_features(words))


def asked(weights: dict[str, float], mean: float = 0.0) -> dict[str, Reason]:
    count, names = len(weights), tuple(weights)
    scorer = Scorer(names, (mean,) * count, (0.5,) * count, tuple(weights.values()))
    scores = PairScorer(scorer, Columns.of(graph(), Constant(), names))
    [found] = reasons(scores, PAIR)
    total = sum(reason.share for reason in found)
    assert total == pytest.approx(float(scores.pairs(PAIR)), rel=1e-6)
    for reason in found:
        parts = sum(part.share for part in reason.parts) + reason.average
        assert not reason.parts or parts == pytest.approx(reason.share, rel=1e-6)
    return {reason.kind: reason for reason in found}


def test_the_network_alone_has_one_share_and_no_parts() -> None:
    scores = PairScorer.of(Scorer.bare(), graph(), Constant())
    assert reasons(scores, PAIR) == [[Reason("the network", 2.0)]]


def test_shared_neighbours_count_by_their_degrees() -> None:
    # Degrees 4 and 3: resource allocation 1/4 + 1/3 = 7/12, its root over 0.5 is the share.
    found = asked({"network": 1.0, "resource_allocation": 1.0})["shared neighbours"]
    share = math.sqrt(7 / 12) / 0.5
    assert found.share == pytest.approx(share, rel=1e-6)
    assert [part.things for part in found.parts] == [(2,), (1,)], "the rarer one first"
    assert [part.share for part in found.parts] == pytest.approx([share * 4 / 7, share * 3 / 7])


def test_an_average_candidate_is_taken_off() -> None:
    found = asked({"network": 1.0, "common_neighbours": 2.0}, mean=0.25)["shared neighbours"]
    assert found.average == pytest.approx(-2 * 0.25 / 0.5)
    assert found.share == pytest.approx(2 * (math.log(3) - 0.25) / 0.5, rel=1e-6)


def test_two_columns_of_one_kind_are_one_reason() -> None:
    both = asked({"network": 1.0, "common_neighbours": 1.0, "resource_allocation": 1.0})
    share = (math.log(3) + math.sqrt(7 / 12)) / 0.5
    assert both["shared neighbours"].share == pytest.approx(share, rel=1e-6)


def test_paths_of_three_steps_are_named() -> None:
    # Both paths go by 1 and 2 and weigh 1 / (4 * 3); the rule divides by sqrt(2 * 2).
    found = asked({"network": 1.0, "three_steps": 1.0})["paths of three steps"]
    share = math.sqrt(2 / 12 / 2) / 0.5
    assert found.share == pytest.approx(share, rel=1e-6)
    assert found.parts == (
        Part((1, 2), pytest.approx(share / 2, rel=1e-6)),
        Part((2, 1), pytest.approx(share / 2, rel=1e-6)),
    )


def test_shared_features_are_named() -> None:
    found = asked({"network": 1.0, "feature_cosine": 1.0})["shared features"]
    share = 2 / math.sqrt(2 * 3) / 0.5
    assert [part.things for part in found.parts] == [(0,), (1,)]
    assert found.share == pytest.approx(share, rel=1e-6)


def test_columns_without_parts_stand_for_themselves() -> None:
    found = asked({"network": 3.0, "degree_product": 1.0, "smoothed_cosine": 1.0})
    assert next(iter(found)) == "the network", "the largest share first"
    assert set(found) == {"the network", "number of neighbours", "features of the surroundings"}
    assert not any(reason.parts for reason in found.values())


def test_what_weighs_nothing_is_not_told() -> None:
    found = asked({"network": 1.0, "degree_product": 0.0, "resource_allocation": 1.0})
    assert set(found) == {"the network", "shared neighbours"}
