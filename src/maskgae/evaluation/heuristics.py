"""What raw features, smoothed over the graph, reach in a linear probe without any learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph


def propagated_features(graph: Graph, hops: int = 2) -> NDArray[np.float32]:
    r"""Features averaged over ``hops`` steps: the simplified graph convolution (SGC).

    Weights play no part.

    .. math::

        \left(\hat D^{-1/2} (A + I) \hat D^{-1/2}\right)^k X, \qquad \hat D = D + I

    Args:
        graph: the whole graph with features.
        hops: the power :math:`k`.

    Shapes:
        - **output:** ``[N, F]``

    >>> pair = Graph.from_edges([(0, 1)], features=np.array([[1.0], [3.0]]))
    >>> propagated_features(pair, hops=1).round(6).tolist()
    [[2.0], [2.0]]
    """
    if graph.features is None:
        raise InputError(f"{graph.name} has no features to propagate")
    x = graph.features.dense()
    # [N, 1]
    scale = (graph.degrees + 1).to(x.dtype).rsqrt().unsqueeze(1)
    for _ in range(hops):
        scaled = x * scale
        x = graph.structure.csr.matmul(scaled).add_(scaled).mul_(scale)
    return np.asarray(x.numpy())
