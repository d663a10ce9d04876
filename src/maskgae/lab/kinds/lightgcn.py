r"""LightGCN (He et al., 2020) by PyG: embeddings of both sides, smoothed over the edges, by BPR.

The published figures took a thousand epochs of updates of 2,048 edges. Here it has the epochs of
:data:`SETTINGS`, larger updates and a higher learning rate: a quarter of an hour on one core.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.count_rules import normalized

#: Width, layers and penalty are the paper's.
SETTINGS: dict[str, Any] = {
    "width": 64,
    "layers": 3,
    "penalty": 1e-4,
    "lr": 0.01,
    "batch": 8192,
    "epochs": 8,
}


def lightgcn_embedding(graph: Graph, settings: dict[str, Any], stream: Stream) -> Tensor:
    """Trains on all edges of a two-sided graph and returns the smoothed embeddings, ``[N, d]``."""
    from torch_geometric.nn import LightGCN

    with torch.random.fork_rng():  # its own draws, which are replaced
        model = LightGCN(graph.num_nodes, settings["width"], settings["layers"], normalize=False)
    bound = (6 / sum(model.embedding.weight.shape)) ** 0.5
    with torch.no_grad():
        model.embedding.weight.uniform_(-bound, bound, generator=stream.at("weights").torch())
    adjacency = _matrix(graph)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings["lr"])
    assert graph.types is not None
    second = (graph.types.codes == 1).nonzero().squeeze(1)
    # Users first, whichever end has the smaller number.
    turned = graph.types.codes[graph.pairs[0].long()] == 1
    pairs = torch.where(turned, graph.pairs.flip(0), graph.pairs).long()
    for epoch in range(settings["epochs"]):
        generator = stream.at("epoch", epoch).torch()
        order = torch.randperm(pairs.shape[1], generator=generator)
        for batch in order.split(settings["batch"]):
            users, items = pairs[:, batch]
            drawn = torch.randint(second.numel(), (batch.numel(),), generator=generator)
            z = model.get_embedding(adjacency)
            other = second[drawn]
            ahead, behind = (z[users] * z[items]).sum(1), (z[users] * z[other]).sum(1)
            nodes = torch.cat([users, items, other])
            loss = model.recommendation_loss(
                ahead, behind, node_id=nodes, lambda_reg=settings["penalty"]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        found: Tensor = model.get_embedding(adjacency)
    return found


def _matrix(graph: Graph) -> Tensor:
    csr, size = normalized(graph), (graph.num_nodes, graph.num_nodes)
    assert csr.values is not None
    with warnings.catch_warnings():  # of its being in beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            csr.indptr, csr.indices.long(), csr.values, size, check_invariants=False
        )
