r"""Fitting the scorer on validation pairs.

The weights minimise, over validation pairs asked from both ends,

.. math::

    -\log \frac{e^{s(u, v)}}{\sum_{w \in C(u)} e^{s(u, w)}} + \frac{\lambda}{2} |w|^2,

where :math:`\lambda` is :data:`WEIGHT_DECAY` over their number and :math:`C(u)` are all nodes but
:math:`u` and its known neighbours, of which :math:`v` stays.
Candidates that the scores themselves picked would teach it to distrust the network. In a directed
graph sources ask for targets and targets for sources, and each pair that goes one way adds
:math:`\log(1 + e^{s(v, u) - s(u, v)})`: among all nodes the pair turned round hardly counts, though
it is the likeliest mistake.

Fitted on one half of the validation pairs it has to rank the other half better than the bare
network does, in the mean of both ways round; else the bare network is what comes out. With fewer
than :data:`LEAST_PAIRS` pairs nothing is fitted: the weights are :data:`FIXED`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import RunError
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.method import Validation
from maskgae.evaluation.ranking import EXACT_NODES, left_out_flags, mean_ranks
from maskgae.evaluation.scorer import BLOCK_NUMBERS, NETWORK, NETWORKS, Columns, Scorer
from maskgae.evaluation.softmax_fit import LEAST_GAIN, MOST_STEPS, softmax_weights

#: Weights of standardised columns where there are too few pairs to fit any: the mean of those
#: fitted on Cora and on the citations of cora_ml, three and one splits.
FIXED = {
    NETWORK: 1.7,
    "common_neighbours": 0.1,
    "three_steps": 0.07,
    "degree_product": -0.47,
    "degree_gap": 0.38,
    "feature_cosine": 0.16,
    "smoothed_cosine": 0.24,
    "twice_smoothed_cosine": 0.35,
}
#: That of a directed graph's levels: on cora_ml and polblogs with directions, one split each.
FIXED_LEVEL = {"level_gap": 0.39}
#: Those between two sides, where cosines of features from structure mislead and paths are what
#: there is: a judgement, not fitted.
FIXED_SIDES = {NETWORK: 1.0, "filtered_paths": 2.0}
LEAST_PAIRS = 100
#: Ends that the weights are fitted on, at most, and pairs that are told from their reverse.
QUERIES, TURNED_PAIRS = 600, 2**13
#: Weight decay times queries: the fewer there are, the less a weight may stand out.
WEIGHT_DECAY = 10.0
#: Numbers that hold the columns of all candidates of all queries, 256 MB in float32.
MOST_NUMBERS = 2**26

Floats = NDArray[np.float64]


def fit_scorer(columns: Columns, validation: Validation, known: Graph, stream: Stream) -> Scorer:
    """The combined scorer of :func:`fit_scorers`."""
    return fit_scorers(columns, validation, known, stream)[0]


def fit_scorers(
    columns: Columns, validation: Validation, known: Graph, stream: Stream
) -> tuple[Scorer, Scorer]:
    """Fits the weights on validation pairs, and decides whether they are used at all.

    Args:
        columns: on the training graph, of which the validation pairs are no edges.
        validation: the pairs to fit on, with non-edges to calibrate on.
        known: the graph of training and all validation pairs, which are no candidates.
        stream: where samples of queries and candidates, and the halves, come from.

    Returns:
        The scorer, and beside it the rules alone, weighted in the same way.
    """
    queries = Queries.of(columns, validation.pairs, known, stream)
    names, few = columns.names, validation.pairs.shape[1] < LEAST_PAIRS
    facts: dict[str, Any] = {"pairs": validation.pairs.shape[1], "queries": queries.count}
    if few:
        facts["fixed"] = True
    else:
        facts |= queries.cross_fitted(stream.at("halves"), NETWORK in names)
    own = [place for place, name in enumerate(names) if name not in NETWORKS]
    if NETWORK not in names:
        alone = calibrated(queries.scorer(names, own, few, facts), columns, validation)
        return alone, alone
    rules = queries.scorer(names, own, few, {})
    if not few and facts["combined"] <= facts.get(NETWORK, -1.0):
        return calibrated(Scorer.bare(**facts), columns, validation), rules
    combined = queries.scorer(names, list(range(len(names))), few, facts)
    return calibrated(combined, columns, validation), rules


@dataclass(frozen=True, eq=False)
class Queries:
    """Ends of validation pairs with the standardised columns of all their candidates.

    Shapes:
        - **pair:** ``[Q]``, which pair each belongs to
        - **found:** ``[Q, c]``, columns of the partner
        - **others:** ``[Q, C, c]``, columns of the candidates
        - **left_out:** ``[Q, C]`` bool, those that are none
        - **mean**, **spread:** ``[c]``
        - **turned:** ``[T, c]``, of a directed graph, columns of pairs turned round less their own
        - **turned_pair:** ``[T]``, which pairs these are
    """

    pair: Tensor
    found: Tensor
    others: Tensor
    left_out: Tensor
    mean: Tensor
    spread: Tensor
    turned: Tensor | None = None
    turned_pair: Tensor | None = None

    @classmethod
    def of(cls, columns: Columns, pairs: Tensor, known: Graph, stream: Stream) -> Queries:
        """Asks pairs from both ends; of large graphs against a sample of the nodes."""
        width, nodes = len(columns.names), known.num_nodes
        candidates = torch.arange(nodes)
        if nodes > EXACT_NODES:
            drawn = torch.randperm(nodes, generator=stream.at("candidates").torch())
            candidates = drawn[: MOST_NUMBERS // (QUERIES * width)].sort().values
        most = max(1, min(QUERIES, MOST_NUMBERS // (candidates.numel() * width)) // 2)
        every = torch.randperm(pairs.shape[1], generator=stream.at("queries").torch())
        order = every[:most]
        asked = torch.cat([pairs[:, order], pairs[:, order].flip(0)], dim=1)
        incoming = (torch.arange(2 * order.numel()) >= order.numel()) & known.directed
        others = _candidate_columns(columns, asked[0], candidates, incoming)
        flags = left_out_flags(known, asked, candidates, incoming)
        mean, spread = _mean_and_spread(others, flags)
        others.sub_(mean.float()).div_(spread.float())
        ends = torch.where(incoming, asked.flip(0), asked)
        found = (columns.pairs(ends) - mean.float()) / spread.float()
        parts = (order.repeat(2), found, others, flags, mean, spread)
        if not known.directed:
            return cls(*parts)
        one_way = every[:TURNED_PAIRS]
        one_way = one_way[~known.has(pairs[:, one_way].flip(0))]
        ahead = pairs[:, one_way]
        turned = (columns.pairs(ahead.flip(0)) - columns.pairs(ahead)) / spread.float()
        return cls(*parts, turned, one_way)

    @property
    def count(self) -> int:
        return self.pair.numel()

    @cached_property
    def weights(self) -> Floats:
        """The weights that rank the partners of all queries best, ``[c]``."""
        return self.fitted(slice(None))

    def fitted(self, chosen: Any, start: Floats | None = None) -> Floats:
        """The weights that rank the partners of some queries best, ``[c]``.

        From a start that is near them they are found sooner; there is one best place.
        """
        found, others, flags = (part[chosen] for part in (self.found, self.others, self.left_out))
        turned = self.turned
        if turned is not None and self.turned_pair is not None:  # none of the queries left out
            left = torch.ones(self.count, dtype=torch.bool)
            left[chosen] = False
            turned = turned[~torch.isin(self.turned_pair, self.pair[left])]
        return softmax_weights(found, others, flags, WEIGHT_DECAY / len(found), turned, start)

    def scorer(
        self, names: Sequence[str], places: list[int], few: bool, facts: Mapping[str, Any]
    ) -> Scorer:
        """A scorer of some columns: weights that are fitted, or fixed where pairs are few."""
        chosen = tuple(names[place] for place in places)
        if few:
            fixed = FIXED_SIDES if "filtered_paths" in names else FIXED | FIXED_LEVEL
            weights = np.array([fixed.get(name, 0.0) for name in chosen])
        elif len(places) == len(names):
            weights = self.weights
        else:
            turned = None if self.turned is None else self.turned[:, places]
            columns = {"found": self.found[:, places], "others": self.others[..., places]}
            part = replace(self, **columns, turned=turned)
            weights = part.fitted(slice(None), self.weights[places])
        mean, spread = (values[places].tolist() for values in (self.mean, self.spread))
        return Scorer(chosen, tuple(mean), tuple(spread), tuple(weights.tolist()), facts=facts)

    def rank_mrr(self, weights: Floats, chosen: NDArray[np.int64]) -> float:
        """The mean of 1 / rank of the partners of some queries."""
        w = torch.from_numpy(weights).float()
        logits = (self.others[chosen] @ w).masked_fill_(self.left_out[chosen], torch.nan)
        return float((1 / mean_ranks(self.found[chosen] @ w, logits)).mean())

    def cross_fitted(self, stream: Stream, network: bool) -> dict[str, float]:
        """Rank MRR of pairs that the weights have not seen, beside that of the network alone."""
        distinct = self.pair.unique()
        half = distinct[stream.numpy().permutation(distinct.numel())[::2]]
        first = torch.isin(self.pair, half).numpy()
        sides = [np.flatnonzero(first), np.flatnonzero(~first)]
        bare = np.zeros(self.found.shape[1])
        bare[0] = 1.0
        ways = list(zip(sides, reversed(sides), strict=True))
        combined = [
            self.rank_mrr(self.fitted(one, self.weights), other) * other.size for one, other in ways
        ]
        figures = {"combined": sum(combined) / self.count}
        return figures | ({NETWORK: self.rank_mrr(bare, np.arange(self.count))} if network else {})


def calibrated(scorer: Scorer, columns: Columns, validation: Validation) -> Scorer:
    """The scorer with Platt's slope and intercept, from validation pairs and even non-edges."""
    scores = [
        scorer.of(columns.names, columns.pairs(pairs)).double().numpy()
        for pairs in (validation.pairs, validation.negatives)
    ]
    return replace(scorer, calibration=platt(*scores))


def platt(positive: Floats, negative: Floats) -> tuple[float, float]:
    r"""Slope and intercept of :math:`\sigma(a s + b)` by maximum likelihood (Platt, 1999).

    The labels are :math:`(n_+ + 1) / (n_+ + 2)` and :math:`1 / (n_- + 2)`, which keeps the slope
    finite where scores tell both kinds apart. Where edges score lower than non-edges, every pair is
    as likely as any other.

    >>> slope, intercept = platt(np.array([1.0, 2.0]), np.array([-1.0, -2.0]))
    >>> round(slope, 3) > 0, round(intercept, 6) == 0
    (True, True)
    >>> platt(np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    (0.0, 0.0)
    """
    scores = np.concatenate([positive, negative])
    labels = np.concatenate(
        [
            np.full(positive.size, (positive.size + 1) / (positive.size + 2)),
            np.full(negative.size, 1 / (negative.size + 2)),
        ]
    )
    if not np.isfinite(scores).all():
        raise RunError(
            "scores are not finite: check the scale of the features, or lower training.lr"
        )
    centre, scale = scores.mean(), scores.std() or 1.0
    units = (scores - centre) / scale

    # [2, n]: the loss is convex in two numbers, and Newton's steps go straight to its bottom
    columns, line = np.stack([units, np.ones_like(units)]), np.zeros(2)
    loss = np.log(2.0)
    for _ in range(MOST_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(line @ columns, -500, 500)))
        gradient = columns @ (chance - labels) / scores.size
        curvature = (columns * (chance * (1 - chance))) @ columns.T / scores.size
        step = np.linalg.solve(curvature + 1e-12 * np.eye(2), -gradient)
        size, gain = 1.0, -float(gradient @ step)
        while (new := _log_loss((line + size * step) @ columns, labels)) > loss and size > 1e-6:
            size /= 2
        line, loss = line + size * step, new
        if gain < LEAST_GAIN:
            break
    slope, intercept = line
    if slope <= 0:  # few pairs, by chance the wrong way round: a higher score is no less likely
        return 0.0, 0.0
    return float(slope / scale), float(intercept - slope * centre / scale)


def _log_loss(odds: Floats, labels: Floats) -> float:
    return float((np.logaddexp(0, odds) - labels * odds).mean())


def _candidate_columns(
    columns: Columns, ends: Tensor, candidates: Tensor, incoming: Tensor
) -> Tensor:
    """Columns of ends against candidates, ``[Q], [C] -> [Q, C, c]``, block by block."""
    out = torch.empty(ends.numel(), candidates.numel(), len(columns.names))
    size = max(1, BLOCK_NUMBERS // columns.rules.graph.num_nodes)
    for way in incoming.unique().tolist():
        for places in (incoming == way).nonzero().squeeze(1).split(size):
            # Each column lies in one piece: picked there, then laid side by side.
            rows = columns.rows(ends[places], way).movedim(-1, 0)
            out[places] = rows.index_select(2, candidates).movedim(0, -1)
    return out


def _mean_and_spread(others: Tensor, left_out: Tensor) -> tuple[Tensor, Tensor]:
    """Of each column over all candidates, ``[Q, C, c], [Q, C] -> [c], [c]``; a spread of 0 is 1.

    Query by query, so that nothing is copied whole, about the first query's mean, so that large
    columns that hardly vary keep their digits.
    """
    about = others[0].double().mean(0)
    total, square, count = torch.zeros_like(about), torch.zeros_like(about), 0
    for row, out in zip(others, left_out, strict=True):
        kept = row[~out].double().sub_(about)
        total += kept.sum(0)
        square += kept.square_().sum(0)
        count += kept.shape[0]
    variance = (square - total.square() / max(1, count)) / max(1, count - 1)
    spread = variance.clamp(min=0).sqrt()
    return about + total / max(1, count), torch.where(spread > 0, spread, 1.0)
