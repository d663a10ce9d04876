r"""GraphSAGE trained end to end to predict links.

Two layers of mean aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017), an inner-product
decoder and cross-entropy on logits, :math:`\log(1 + e^{-s_{uv}})` over the training pairs and
:math:`\log(1 + e^{s_{uv}})` over as many negative samples (non-edges). Nothing is masked: the
pairs to predict are the message-passing edges. Widths are MaskGAE's, 128 and 64, with dropout 0.5
and Adam 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.data.negatives import NonEdges
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.lab.methods.layers import Stack, View, dot_logits
from maskgae.lab.methods.loop import Loop, Recipe, link_judge
from maskgae.lab.methods.vectors import FittedVectors, Untrained
from maskgae.nn.convs import SAGEConv
from maskgae.nn.decoders import Dot
from maskgae.nn.losses import bce, pair_loss

RECIPE = Recipe(epochs=300, lr=0.01, patience=50, every=5)


@dataclass(frozen=True)
class EndToEndSAGE:
    """SAGE with an inner-product decoder, behind the contract of every method."""

    device: str = "cpu"
    hidden: int = 128
    dim: int = 64
    dropout: float = 0.5
    recipe: Recipe = RECIPE

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedVectors:
        view, non_edges = View.of(graph, self.device), NonEdges(graph)
        stack = self._stack(view, stream)
        pairs = graph.pairs.to(self.device)

        def update(epoch: int) -> Tensor:
            negatives = non_edges.sample(graph.num_pairs, stream.at("negatives", epoch))
            z = stack(view, stream.at("noise", epoch))
            return pair_loss(z, Dot(), pairs, negatives.to(self.device), bce, None)

        judge = link_judge(lambda pairs: dot_logits(stack(view), pairs), validation)
        facts = Loop(stack, self.recipe, update, judge, on_epoch).run()
        return FittedVectors(stack, facts, self.device)

    def untrained(self, graph: Graph, stream: Stream) -> Untrained:
        """The encoder that a fit with the same stream starts from."""
        stack = self._stack(View.of(graph, self.device), stream)
        return Untrained(lambda other: stack(View.of(other, self.device)).cpu())

    def _stack(self, view: View, stream: Stream) -> Stack:
        layers = [SAGEConv(view.x.num_columns, self.hidden), SAGEConv(self.hidden, self.dim)]
        return Stack(layers, stream.at("weights"), rate=self.dropout).to(self.device)
