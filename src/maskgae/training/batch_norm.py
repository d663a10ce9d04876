"""Batch normalisation after a training run on blocks.

In a training run on blocks each update is normalised by its own statistics, and the running ones
follow the ends of its pairs, which have more neighbours than most nodes. Before the whole graph
is embedded they are estimated again, from every node.
"""

from __future__ import annotations

import torch
from torch import nn

from maskgae.data.graph import Graph
from maskgae.nn.layerwise import convolved_layers
from maskgae.nn.network import MaskGAENet


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
    net.eval().cpu()
    layers = convolved_layers(net.encoder, net.encoder.input(graph.inputs), graph)
    for norm, out in zip(norms, layers, strict=True):
        if isinstance(norm, nn.BatchNorm1d):
            assert norm.running_mean is not None and norm.running_var is not None
            variance, mean = torch.var_mean(out, dim=0)
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(variance)
    net.train(training).to(device)
