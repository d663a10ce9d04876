"""MaskGAE behind the contract of every method."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.nn.network import MaskGAENet
from maskgae.nn.readout import Readout
from maskgae.training.checkpoint import Checkpoints
from maskgae.training.logits import PairLogits, logits_on
from maskgae.training.loop import Trainer
from maskgae.training.state import TrainingState


@dataclass(frozen=True)
class FittedMaskGAE:
    """A trained network with the state its training ended in, and what reads it out."""

    net: MaskGAENet
    state: TrainingState
    readout: Readout | None = None

    def embed(self, graph: Graph) -> Tensor:
        return embedded(self.net, self.readout, graph, self.net.encode(graph))

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.net.score(graph, pairs)

    def on(self, graph: Graph) -> PairLogits | None:
        return logits_on(self.net, self.net.encode(graph))

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the masks really hid, how long it trained and which epoch was kept."""
        history = self.state.history
        if not history:  # nothing was trained
            return {}
        return {
            "hidden_share": statistics.fmean(row["hidden_share"] for row in history),
            "visible_targets": statistics.fmean(row["visible_targets"] for row in history),
            "epochs": len(history),
            "best_epoch": self.state.best_epoch,
            "stopped": self.state.stopped,
            "per_epoch_s": statistics.median(row["seconds"] for row in history),
            "pairs_per_s": self._pairs_per_s(),
        }

    def _pairs_per_s(self) -> float:
        history = self.state.history
        return sum(r["targets"] for r in history) / max(1e-9, sum(r["seconds"] for r in history))


def embedded(
    net: MaskGAENet, readout: Readout | None, graph: Graph, layers: Sequence[Tensor]
) -> Tensor:
    """The embedding of a graph's nodes from the layers' outputs, ``[N, D]``."""
    return net.readout(layers, graph) if readout is None else readout(layers, graph)


@dataclass(frozen=True)
class MaskGAEMethod:
    """Masked graph autoencoding with the given settings.

    Args:
        settings: everything that can be chosen.
        device: where to compute.
        checkpoints: where to save to and to go on from, or ``None`` to keep nothing.
    """

    settings: Settings
    device: str = "cpu"
    checkpoints: Checkpoints | None = None

    def fit(
        self,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
    ) -> FittedMaskGAE:
        net = self.untrained(graph, stream)
        state = TrainingState()
        if net.has_layers:
            state = Trainer(net, graph, validation, stream, on_epoch, self.checkpoints).run()
        config, readout = self.settings.embedding, None
        if config.parts == "both":
            layers = net.encode(graph)
            how = (config.columns, stream.at("readout"), config.weight, config.power)
            readout = Readout.fit(layers, graph, *how)
        return FittedMaskGAE(net, state, readout)

    def untrained(self, graph: Graph, stream: Stream) -> MaskGAENet:
        """The network before its first step: one of the baselines."""
        net = MaskGAENet.for_graph(graph, self.settings)
        net.reset_parameters(stream.at("weights"))
        return net.to(self.device)
