r"""The information bound of the paper's Proposition 1.

Paired subgraphs :math:`U, V` share at least this much information that says nothing about the
task :math:`T`:

.. math::

    I(U; V \mid T) \ge \frac{\left(E[N^k_{uv}]\right)^2}{N_k} \gamma^2

:math:`N^k_{uv}` is the number of nodes that the subgraphs of a positive pair have in common,
:math:`N_k` the size of the largest subgraph, :math:`\gamma` the variance of a feature. A mask that
makes the common part smaller lowers what an autoencoder could learn without learning the task.

The paper's lemma reads :math:`\sigma \sqrt{2 I} \ge \gamma E[N^k_{uv}]` with
:math:`\sigma \le \sqrt{N_k}`, which gives half of the expression above; the proposition leaves the
2 out. We print the proposition's, since only its ratio with and without a mask says anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from maskgae.base.errors import InputError
from maskgae.lab.analysis.overlap import Overlap

#: What the proposition takes for granted, printed with every bound.
ASSUMPTIONS = (
    "the task depends on the structure alone, and features are independent of it",
    "features are independent of each other, with mean 0, values in [-1, 1] and variance gamma",
    "the bound is in nats, for one feature column, in units of gamma²",
    "the paper's own proof gives half of it; only its change by a mask says anything",
)


def information_bound(overlaps: Sequence[Overlap]) -> float:
    r"""The bound in units of :math:`\gamma^2`, from one or several masks of the same graph.

    Each mask leaves a graph with its own expectation over pairs and its own :math:`N_k`; the
    bounds are averaged.

    >>> from maskgae.lab.analysis.overlap import subgraph_overlap
    >>> from maskgae.data import Graph
    >>> triangle = Graph.from_edges([(0, 1), (1, 2), (0, 2)])
    >>> information_bound([subgraph_overlap(triangle, hops=1)])  # 3² / 3
    3.0
    """
    if not overlaps:
        raise InputError("an information bound needs one overlap at least, and none was given")
    return fmean(overlap.shared_nodes**2 / overlap.largest for overlap in overlaps)
