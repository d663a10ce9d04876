"""Batch normalisation after a training on blocks.

In a training on blocks each update is normalised by its own statistics, and the running ones
follow the ends of its pairs, which have more neighbours than most nodes. Before the whole graph
is embedded they are estimated again, from every node.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maskgae.graph.features import DenseFeatures
from maskgae.graph.graph import Graph
from maskgae.model import MaskGAENet
from maskgae.nn.blocks import ALL, Sampler
from maskgae.nn.layerwise import scratch

#: Rows of a layer that are computed together.
ROWS = 2**15


@torch.no_grad()
def reestimate(net: MaskGAENet, graph: Graph) -> None:
    """Sets running means and variances to those of all nodes, in one pass layer by layer.

    Each layer is computed for all nodes, some rows at a time and without dropout, from the whole
    output of the layer before it.
    """
    norms = list(net.encoder.norms)
    if not any(isinstance(norm, nn.BatchNorm1d) for norm in norms):
        return
    training, device = net.training, next(net.parameters()).device
    sampler, below = Sampler(graph), None
    net.eval()
    for level, norm in enumerate(norms):
        out = _convolved(net, graph, sampler, level, below)
        if isinstance(norm, nn.BatchNorm1d):
            assert norm.running_mean is not None and norm.running_var is not None
            variance, mean = torch.var_mean(out, dim=0)
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(variance)
        for part in out.split(ROWS):
            part.copy_(net.encoder.finish(level, part.to(device)))
        below = out
    net.train(training)


def _convolved(
    net: MaskGAENet, graph: Graph, sampler: Sampler, level: int, below: Tensor | None
) -> Tensor:
    """One layer's convolution of all nodes, before it is normalised, ``[N, width]``."""
    device = next(net.parameters()).device
    out = scratch(graph.num_nodes, net.encoder.widths[level])
    for nodes in torch.arange(graph.num_nodes).split(ROWS):
        cut = sampler.blocks(nodes, [ALL])
        if below is None:
            x = net.input(graph, cut.nodes)
        else:
            x = DenseFeatures(below[cut.nodes].to(device))
        out[nodes] = net.encoder.convs[level](x, cut.adjacencies[0].to(device)).cpu()
    return out
