r"""GraphSAGE trained end to end to predict links.

Two layers of mean aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017), an inner-product
decoder and cross-entropy on logits, :math:`\log(1 + e^{-s_{uv}})` over the training pairs and
:math:`\log(1 + e^{s_{uv}})` over as many negative samples (non-edges). Nothing is masked: the
pairs to predict are the message-passing edges. Widths are MaskGAE's, 128 and 64, with dropout 0.5
and Adam 0.01. On Photo and Computers, whose rows have hundreds of ones, features are divided by
their sum, as Photo's validation nodes ask for (``maskgae tune``, three seeds): as they are, nothing
of the embedding is left after some updates.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import Stack, View, dot_logits
from maskgae.lab.methods.loop import Loop, Recipe, link_judge
from maskgae.lab.methods.registry import Entry
from maskgae.lab.methods.vectors import FittedVectors, Untrained
from maskgae.nn.convs import SAGEConv
from maskgae.nn.decoders import Dot
from maskgae.nn.losses import bce, pair_loss

#: Updates between two validations.
EVERY = 5


@dataclass(frozen=True)
class SAGEConfig:
    """MaskGAE's widths."""

    hidden: int = setting(128, "width of the first layer", low=1)
    dim: int = setting(64, "width of the embedding", low=1)
    dropout: float = setting(0.5, "dropout before each layer", low=0, high=0.996)
    features: str = setting(
        "raw", "raw: as they are; unit: each row divided by its sum", choices=("raw", "unit")
    )
    epochs: int = setting(300, "updates at most", low=1)
    patience: int = setting(
        50, "stop after this many updates without a better validation AUC; 0: never", low=0
    )
    lr: float = setting(0.01, "learning rate of Adam", low=0, open_ends=True)


@dataclass(frozen=True)
class EndToEndSAGE:
    """SAGE with an inner-product decoder, behind the contract of every method."""

    config: SAGEConfig = SAGEConfig()
    device: str = "cpu"

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedVectors:
        view, non_edges, config = self._view(graph), NonEdges(graph), self.config
        stack = self._stack(view, stream)
        pairs = graph.pairs.to(self.device)

        def update(epoch: int) -> Tensor:
            negatives = non_edges.sample(graph.num_pairs, stream.at("negatives", epoch))
            z = stack(view, stream.at("noise", epoch))
            return pair_loss(z, Dot(), pairs, negatives.to(self.device), bce, None)

        judge = link_judge(lambda pairs: dot_logits(stack(view), pairs), validation)
        recipe = Recipe(config.epochs, config.lr, patience=config.patience, every=EVERY)
        facts = Loop(stack, recipe, update, judge, on_epoch).run()
        return FittedVectors(lambda other: stack(self._view(other)), facts)

    def untrained(self, graph: Graph, stream: Stream) -> Untrained:
        """The encoder that a fit with the same stream starts from."""
        stack = self._stack(self._view(graph), stream)
        return Untrained(lambda other: stack(self._view(other)).cpu())

    def _view(self, graph: Graph) -> View:
        return View.of(graph, self.device, normalize=self.config.features == "unit")

    def _stack(self, view: View, stream: Stream) -> Stack:
        config = self.config
        layers = [SAGEConv(view.x.num_columns, config.hidden), SAGEConv(config.hidden, config.dim)]
        return Stack(layers, stream.at("weights"), rate=config.dropout).to(self.device)


ENTRY = Entry(
    "sage",
    SAGEConfig,
    EndToEndSAGE,
    {"Photo": {"features": "unit"}, "Computers": {"features": "unit"}},
)
