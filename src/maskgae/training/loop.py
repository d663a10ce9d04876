"""The training loop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from maskgae.errors import RunError
from maskgae.evaluation.audit import audit_negatives
from maskgae.evaluation.metrics import auc
from maskgae.graph.graph import Graph
from maskgae.masking.mask import Masked
from maskgae.model import MaskGAENet
from maskgae.rng import Stream
from maskgae.training.average import Average
from maskgae.training.method import Listener, Validation
from maskgae.training.steps import Steps


@dataclass
class TrainingState:
    """Where a training stands: all that a checkpoint must hold beside weights and optimiser."""

    epoch: int = 0
    step: int = 0
    best_auc: float = float("-inf")
    best_epoch: int = -1
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""


class Trainer:
    """Fits a network to a training graph.

    Args:
        net: the network; its settings say how to train.
        graph: the training graph; nothing that is held out is in it.
        validation: held-out pairs on which to stop and select, or ``None`` to train to the end.
        stream: the root of the run's randomness.
        listener: called after every epoch.
    """

    def __init__(
        self,
        net: MaskGAENet,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        listener: Listener | None = None,
    ) -> None:
        self.net, self.graph, self.validation = net, graph, validation
        self.stream, self.listener = stream, listener
        self.config = net.settings.training
        self.steps = Steps(graph, net.settings, stream)
        self.optimizer = torch.optim.Adam(
            net.parameters(),
            lr=self.config.lr,
            weight_decay=self.config.weight_decay,
            fused=True,
        )
        self.average = Average(net, self.config.average) if self.config.average else None
        self.state = TrainingState()

    def run(self) -> TrainingState:
        """Trains until the epochs, the steps or the patience are used up."""
        while not self.state.stopped:
            self._epoch()
        if self.average is not None:
            self.average.swap(self.net)
        if self.config.select == "val_auc" and self.state.best_weights:
            self.net.load_state_dict(self.state.best_weights)
        return self.state

    def _epoch(self) -> None:
        state, started = self.state, time.perf_counter()
        masked = self.steps.mask(state.epoch)
        loss = self._learn(masked)
        row: dict[str, Any] = {
            "epoch": state.epoch,
            "loss": loss,
            "val_auc": None,
            "hidden_share": masked.hidden_share,
            "visible_targets": masked.visible_targets,
        }
        state.epoch += 1
        self._check_limits()
        if self.validation and (state.epoch % self.config.eval_every == 0 or state.stopped):
            row["val_auc"] = self._validate()
        row["seconds"] = time.perf_counter() - started
        state.history.append(row)
        if self.listener is not None:
            self.listener(row)

    def _learn(self, masked: Masked) -> float:
        self.net.train()
        state, total, count = self.state, 0.0, 0
        for number, step in enumerate(self.steps.epoch(self.net, masked, state.epoch)):
            if state.step == 0:
                audit_negatives(self.graph, step.negatives.cpu())
            loss = self.net(step, self.stream.at("noise", state.epoch, number))
            self.optimizer.zero_grad()
            loss.backward()
            self._update(loss)
            state.step += 1
            total, count = total + float(loss.detach()), count + 1
            if self.config.max_steps and state.step >= self.config.max_steps:
                break
        return total / count

    def _update(self, loss: Tensor) -> None:
        limit = self.config.clip or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), limit)
        if not (torch.isfinite(loss) and torch.isfinite(norm)):
            raise RunError(
                f"the training diverged in epoch {self.state.epoch}: loss {loss.item():g}, "
                f"gradient norm {norm.item():g}, learning rate {self.config.lr:g}; "
                "lower training.lr or check the scale of the features"
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.net)

    def _check_limits(self) -> None:
        state, config = self.state, self.config
        if state.epoch >= config.epochs:
            state.stopped = "epochs"
        elif config.max_steps and state.step >= config.max_steps:
            state.stopped = "max_steps"

    def _validate(self) -> float:
        """Validation AUC of the current (averaged) weights; keeps them where they are the best."""
        assert self.validation is not None
        if self.average is not None:
            self.average.swap(self.net)
        pairs = torch.cat([self.validation.pairs, self.validation.negatives], dim=1)
        logits = self.net.score(self.graph, pairs).cpu().numpy()
        count = self.validation.pairs.shape[1]
        value = auc(logits[:count], logits[count:])
        self._keep_best(value)
        if self.average is not None:
            self.average.swap(self.net)
        return value

    def _keep_best(self, value: float) -> None:
        state, config = self.state, self.config
        if value > state.best_auc:
            state.best_auc, state.best_epoch = value, state.epoch
            if config.select == "val_auc":
                weights = self.net.state_dict()
                state.best_weights = {k: v.detach().clone() for k, v in weights.items()}
        elif config.patience and state.epoch - state.best_epoch >= config.patience:
            state.stopped = state.stopped or "patience"
