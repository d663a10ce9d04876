r"""Graph autoencoders, with PyG's modules.

With a two-layer GCN :math:`f`, :math:`Z = f(X, A)` and :math:`p_{uv} = \sigma(z_u^\top z_v)`:

=========  ================================================================================
``gae``    :math:`L = -\mathrm{mean}_E \log p_{uv} - \mathrm{mean}_{\bar E} \log(1 - p_{uv})`
``vgae``   :math:`z \sim \mathcal{N}(\mu, \sigma^2)`, both from :math:`f`, and
           :math:`L + \frac{1}{N} KL(q \| \mathcal{N}(0, 1))`
``arga``   as ``gae``, and a discriminator that must not tell :math:`z` from
           :math:`\mathcal{N}(0, 1)`
``arvga``  as ``vgae``, with that discriminator
=========  ================================================================================

Kipf and Welling (2016): hidden 32, dimension 16, Adam 0.01, 200 epochs, no dropout. Pan et al.
(IJCAI 2018): the same widths, a discriminator 16-64-32-1 at rate 0.001. Photo and Computers have no
published settings; there the rate 0.01 leaves nothing of the embedding, and rate and widths are
those that GAE did best with on Photo's validation nodes (``maskgae tune``, three seeds).

Differences from the published code: the loss takes as many negative samples (non-edges) of the
training graph as there are pairs, as PyG's does, rather than weighting all :math:`N^2`; they are
ours, since PyG's sampler draws from Python's global generator and may return too few; of all epochs
the one with the best validation AUC is kept, not the last. What PyG draws itself (the
reparametrisation, the discriminator) it draws inside :func:`~maskgae.base.rng.isolated_rng`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.extras import need
from maskgae.base.fields import setting
from maskgae.base.rng import Stream, isolated_rng
from maskgae.data.csr import csr_from_coordinates
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import Stack, View, dot_logits
from maskgae.lab.methods.loop import Loop, Recipe, link_judge
from maskgae.lab.methods.registry import Entry
from maskgae.lab.methods.vectors import FittedVectors, Untrained
from maskgae.nn.convs import GCNConv
from maskgae.nn.entries import EntryProducts, is_large

DISCRIMINATOR_RATE = 0.001
#: Updates between two validations.
EVERY = 5


@dataclass(frozen=True)
class AutoencoderConfig:
    """The published settings of the citation graphs."""

    hidden: int = setting(32, "width of the first layer", low=1)
    dim: int = setting(16, "width of the embedding", low=1)
    epochs: int = setting(200, "updates at most", low=1)
    patience: int = setting(
        0, "stop after this many updates without a better validation AUC; 0: never", low=0
    )
    lr: float = setting(0.01, "learning rate of Adam", low=0, open_ends=True)


class _InnerProduct(nn.Module):
    """PyG's decoder, with a gradient that does not depend on how threads interleave."""

    def forward(self, z: Tensor, edge_index: Tensor, sigmoid: bool = True) -> Tensor:
        u, v = edge_index
        if is_large(u.numel() * z.shape[1], z):
            logits: Tensor = EntryProducts.apply(z, z, csr_from_coordinates(u, v, (len(z), len(z))))
        else:
            logits = (z.index_select(0, u) * z.index_select(0, v)).sum(1)
        return logits.sigmoid() if sigmoid else logits


class _Gaussian(nn.Module):
    """Means and logarithms of deviations, from the two halves of a stack's output."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack

    def reset_parameters(self) -> None:
        self.stack.reset_parameters()

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        mean, log_deviation = self.stack(view).chunk(2, dim=1)
        return mean, log_deviation


@dataclass(frozen=True)
class Autoencoder:
    """One of the four, behind the contract of every method."""

    variational: bool
    adversarial: bool
    config: AutoencoderConfig = AutoencoderConfig()
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedVectors:
        view = View.of(graph, self.device)
        model = self._start(view, stream)
        update = self._update(model, graph, view, stream)

        def score(pairs: Tensor) -> Tensor:
            return dot_logits(model.encode(view), pairs)

        judge = link_judge(score, validation)
        config, parameters = self.config, model.encoder.parameters()
        recipe = Recipe(config.epochs, config.lr, patience=config.patience, every=EVERY)
        loop = Loop(model, recipe, update, judge, on_epoch, parameters)
        facts = loop.run()
        return FittedVectors(lambda other: model.encode(View.of(other, self.device)), facts)

    def untrained(self, graph: Graph, stream: Stream) -> Untrained:
        """The encoder that a fit with the same stream starts from."""
        model = self._start(View.of(graph, self.device), stream).eval()
        return Untrained(lambda other: model.encode(View.of(other, self.device)).cpu())

    def _start(self, view: View, stream: Stream) -> Any:
        with isolated_rng(stream.at("weights", "library")):
            return self._model(view.x.num_columns, stream.at("weights")).to(self.device)

    def _model(self, in_channels: int, stream: Stream) -> Any:
        # Imported here since PyG takes seconds to load, and no other method needs it.
        pyg = need("torch_geometric.nn", "lab")
        hidden, dim = self.config.hidden, self.config.dim
        width = 2 * dim if self.variational else dim
        stack = Stack([GCNConv(in_channels, hidden), GCNConv(hidden, width)], stream)
        encoder, decoder = _Gaussian(stack) if self.variational else stack, _InnerProduct()
        if not self.adversarial:
            return (pyg.VGAE if self.variational else pyg.GAE)(encoder, decoder)
        discriminator = nn.Sequential(
            *(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
        )
        return (pyg.ARGVA if self.variational else pyg.ARGA)(encoder, discriminator, decoder)

    def _update(
        self, model: Any, graph: Graph, view: View, stream: Stream
    ) -> Callable[[int], Tensor]:
        non_edges, pairs = NonEdges(graph), graph.pairs.to(self.device)
        oppose = _opponent(model.discriminator) if self.adversarial else None

        def update(epoch: int) -> Tensor:
            negatives = non_edges.sample(graph.num_pairs, stream.at("negatives", epoch))
            with isolated_rng(stream.at("noise", epoch)):
                z = model.encode(view)
                loss: Tensor = model.recon_loss(z, pairs, negatives.to(self.device))
                if self.variational:
                    loss = loss + model.kl_loss() / graph.num_nodes
                if oppose is not None:
                    oppose(model.discriminator_loss(z))
                    loss = loss + model.reg_loss(z)
            return loss

        return update


def _opponent(discriminator: nn.Module) -> Callable[[Tensor], None]:
    """Moves the discriminator by its own loss, with its own optimiser."""
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=DISCRIMINATOR_RATE)

    def oppose(loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return oppose


def _entry(name: str, variational: bool, adversarial: bool) -> Entry:
    def make(config: AutoencoderConfig, device: str) -> Autoencoder:
        return Autoencoder(variational, adversarial, config, device)

    return Entry(name, AutoencoderConfig, make, {"Photo": DENSE, "Computers": DENSE})


#: Where the features are dense and so are the edges.
DENSE = {"hidden": 512, "dim": 256, "lr": 0.001}

ENTRIES = (
    _entry("gae", variational=False, adversarial=False),
    _entry("vgae", variational=True, adversarial=False),
    _entry("arga", variational=False, adversarial=True),
    _entry("arvga", variational=True, adversarial=True),
)
