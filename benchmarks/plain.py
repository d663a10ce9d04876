"""The other side of the benchmark: the same method, written plainly with PyTorch Geometric.

It does what one does first, and what the published code does: features are dense and go through
``F.dropout``, each direction of an edge is masked on its own, what is left is symmetrised and
coalesced by ``to_undirected``, negatives come from ``negative_sampling``, and every batch of
65,536 targets runs the whole encoder again. Model, mask, targets, loss and optimiser settings are
those of our side; the same :class:`~maskgae.base.settings.Settings` describe both.

Two layouts of the visible graph, since which of them is faster depends on the graph:

=========  ==============================================================================
``edges``  an ``edge_index``; messages are gathered and scattered, PyG's usual way
``csr``    a sparse tensor made before every forward pass, as the published code does with
           torch-sparse; here it is torch's own
=========  ==============================================================================
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import (
    add_self_loops,
    degree,
    negative_sampling,
    to_torch_csr_tensor,
    to_undirected,
)

from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.evaluation.method import Validation
from maskgae.evaluation.metrics import auc

#: Targets of one update, as published.
BATCH = 65_536


class PlainEncoder(nn.Module):
    """GCN layers, each after dropout and before batch normalisation and ELU."""

    def __init__(self, in_channels: int, settings: Settings, layout: str) -> None:
        super().__init__()
        config, self.layout = settings.encoder, layout
        widths = [in_channels] + [config.hidden] * (config.layers - 1) + [config.dim]
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:])
        self.dropout = config.dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.layout == "csr":
            edge_index = to_torch_csr_tensor(edge_index, size=(x.shape[0], x.shape[0]))
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.dropout(x, self.dropout, self.training)
            x = F.elu(norm(conv(x, edge_index)))
        return x


class PlainDecoder(nn.Module):
    """Linear layers with ReLU between them and one number at the end, ``[n, d] -> [n]``."""

    def __init__(self, in_channels: int, settings: Settings) -> None:
        super().__init__()
        config = settings.decoder
        widths = [in_channels] + [config.hidden] * (config.layers - 1) + [1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.dropout = config.dropout

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = F.relu(layer(F.dropout(x, self.dropout, self.training)))
        return self.layers[-1](x).squeeze(1)


class PlainTraining:
    """A network and all that its updates need.

    Args:
        graph: the training graph.
        settings: as for our side; edge masks under ``reference`` semantics.
        validation: held-out pairs, for :meth:`validate`.
        layout: ``edges`` or ``csr``.
        seed: of the global generators, which PyG draws from.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        validation: Validation | None = None,
        layout: str = "edges",
        seed: int = 0,
    ) -> None:
        if (settings.mask.kind, settings.mask.semantics) != ("edge", "reference"):
            raise ValueError("the plain side knows edge masks under reference semantics only")
        torch.manual_seed(seed)
        random.seed(seed)
        assert graph.features is not None
        csr = graph.structure.csr
        self.settings, self.validation, self.num_nodes = settings, validation, graph.num_nodes
        # [N, F], [2, 2 M]
        self.x = graph.features.dense()
        self.edge_index = torch.stack([csr.row_of_entry(), csr.indices])
        self.encoder = PlainEncoder(self.x.shape[1], settings, layout)
        self.decoder = PlainDecoder(settings.encoder.dim, settings)
        self.degree_decoder = PlainDecoder(settings.encoder.dim, settings)
        self.parameters = [
            *self.encoder.parameters(),
            *self.decoder.parameters(),
            *(self.degree_decoder.parameters() if settings.objective.alpha else ()),
        ]
        training = settings.training
        self.optimizer = torch.optim.Adam(
            self.parameters, lr=training.lr, weight_decay=training.weight_decay
        )

    def epoch(self) -> Iterator[tuple[int, int]]:
        """One pass over the targets; yields how many updates are done, and of how many.

        The mask and the negatives are drawn before the first yield, which is ``(0, updates)``.
        """
        drawn = torch.rand(self.edge_index.shape[1]) < self.settings.mask.p
        targets = self.edge_index[:, drawn]
        visible = to_undirected(self.edge_index[:, ~drawn], num_nodes=self.num_nodes)
        with_loops, _ = add_self_loops(self.edge_index, num_nodes=self.num_nodes)
        negatives = negative_sampling(with_loops, self.num_nodes, targets.shape[1])
        degrees = degree(targets[1], self.num_nodes)
        batches = torch.randperm(targets.shape[1]).split(BATCH)
        yield 0, len(batches)
        for number, batch in enumerate(batches):
            # PyG may find fewer negatives than it was asked for.
            drawn = batch[batch < negatives.shape[1]]
            self._update(visible, targets[:, batch], negatives[:, drawn], degrees)
            yield number + 1, len(batches)

    def _update(self, visible: Tensor, targets: Tensor, negatives: Tensor, degrees: Tensor) -> None:
        self._train(True)
        z = self.encoder(self.x, visible)
        positive = self.decoder(z[targets[0]] * z[targets[1]])
        negative = self.decoder(z[negatives[0]] * z[negatives[1]])
        loss = F.softplus(-positive).mean() + F.softplus(negative).mean()
        if self.settings.objective.alpha:
            predicted = self.degree_decoder(z)
            loss = loss + self.settings.objective.alpha * F.mse_loss(predicted, degrees)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, self.settings.training.clip)
        self.optimizer.step()

    def _train(self, on: bool) -> None:
        for part in (self.encoder, self.decoder, self.degree_decoder):
            part.train(on)

    @torch.no_grad()
    def validate(self) -> float:
        """AUC on the held-out pairs, with all training edges as messages."""
        assert self.validation is not None
        self._train(False)
        z = self.encoder(self.x, self.edge_index)
        pairs = (self.validation.pairs, self.validation.negatives)
        positive, negative = (self.decoder(z[u] * z[v]).numpy() for u, v in pairs)
        return auc(positive, negative)
