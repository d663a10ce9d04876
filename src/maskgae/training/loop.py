"""The training loop."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from maskgae.base.errors import RunError
from maskgae.base.rng import Stream
from maskgae.data.graph import Graph
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.evaluation.metrics import auc
from maskgae.masking.mask import Masked
from maskgae.nn.network import MaskGAENet, StepLoss
from maskgae.training.average import Average
from maskgae.training.batch_norm import reestimate
from maskgae.training.checkpoint import Checkpoints
from maskgae.training.fitting import check_snapshot
from maskgae.training.held_out import BY_RANK, HeldOut
from maskgae.training.identity import identity_of
from maskgae.training.parallel import ranks
from maskgae.training.state import TrainingState, restore, take_snapshot
from maskgae.training.steps import Steps


class Trainer:
    """Fits a network to a training graph.

    Args:
        net: the network; its settings say how to train.
        graph: the training graph; nothing that is held out is in it.
        validation: held-out pairs on which to stop and select, or ``None`` to train to the end.
        stream: the root of the run's randomness.
        on_epoch: called after every epoch.
        checkpoints: where to save to and to go on from, or ``None`` to keep nothing.
    """

    def __init__(
        self,
        net: MaskGAENet,
        graph: Graph,
        validation: Validation | None,
        stream: Stream,
        on_epoch: OnEpoch | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.net, self.graph, self.validation = net, graph, validation
        self.stream, self.on_epoch, self.checkpoints = stream, on_epoch, checkpoints
        self.config, self.ranks = net.settings.training, ranks()
        self.steps = Steps(graph, net.settings, stream, self.ranks)
        self.held_out: HeldOut | None = None
        if validation is not None:
            self.held_out = HeldOut(graph, validation, net.settings, stream, self.ranks)
        self.optimizer = torch.optim.Adam(
            net.parameters(),
            lr=self.config.lr,
            weight_decay=self.config.weight_decay,
            fused=True,
        )
        self.average = Average(net, self.config.average) if self.config.average else None
        self.module = self.ranks.wrapped(StepLoss(net))
        self.state = TrainingState()
        self._started = 0.0

    def run(self) -> TrainingState:
        """Trains until the epochs, the steps or the patience are used up."""
        self._resume()
        while not self.state.stopped:
            self._epoch()
            self._between_steps()
        if self.average is not None:
            self.average.swap(self.net)
        if self.config.select != "last" and self.state.best_weights:
            self.net.load_state_dict(self.state.best_weights)
        self.ranks.align(self.net)
        if self.steps.fanouts:
            reestimate(self.net, self.graph)
        return self.state

    def _resume(self) -> None:
        """Goes to where the checkpoints say; randomness has an address, so the rest follows."""
        if self.checkpoints is None:
            return
        identity = identity_of(self.net.settings, self.graph, self.validation, self.net)
        snapshot = self.checkpoints.begin(identity)
        if snapshot is None:
            return
        where = str(self.checkpoints.latest or self.checkpoints.folder)
        check_snapshot(snapshot, self.net, self.average is not None, where)
        restore(snapshot, self.state, self.net, self.optimizer, self.average)
        if self.on_epoch is not None:
            for row in self.state.history:
                self.on_epoch(row)

    def _between_steps(self) -> None:
        """Saves where it is time to, and leaves the training where that was asked for."""
        state, checkpoints = self.state, self.checkpoints
        if checkpoints is not None and checkpoints.wanted(state.epoch, state.epoch_step):
            checkpoints.save(take_snapshot(state, self.net, self.optimizer, self.average))

    def _epoch(self) -> None:
        state = self.state
        self._started = time.perf_counter() - state.epoch_seconds
        masked = self.steps.mask(state.epoch)
        loss = self._learn(masked)
        row: dict[str, Any] = {
            "epoch": state.epoch,
            "loss": loss,
            "val_auc": None,
            **({self.config.select: None} if self.config.select in BY_RANK else {}),
            "hidden_share": masked.hidden_share,
            "visible_targets": masked.visible_targets,
            "targets": state.epoch_targets,
        }
        state.epoch += 1
        state.epoch_step, state.epoch_loss, state.epoch_seconds = 0, 0.0, 0.0
        state.epoch_targets = 0
        self._check_limits()
        if self.held_out and (state.epoch % self.config.eval_every == 0 or state.stopped):
            row |= self._validate()
        row["seconds"] = time.perf_counter() - self._started
        state.history.append(row)
        if self.on_epoch is not None:
            self.on_epoch(row)

    def _learn(self, masked: Masked) -> float:
        """Goes through the steps of the epoch that are not done yet; the mean loss of all."""
        self.net.train()
        state = self.state
        for step in self.steps.epoch(self.net, masked, state.epoch, first=state.epoch_step):
            if state.epoch_step:
                state.epoch_seconds = time.perf_counter() - self._started
                self._between_steps()
            noise = self.stream.at("noise", state.epoch, state.epoch_step)
            loss = step.weight * self.module(step, self.ranks.own(noise))
            self.optimizer.zero_grad()
            loss.backward()
            loss, targets = self._of_all_ranks(loss, step.targets.shape[1])
            self._update(loss)
            state.step, state.epoch_step = state.step + 1, state.epoch_step + 1
            state.epoch_loss += float(loss)
            state.epoch_targets += targets
            if self.config.max_steps and state.step >= self.config.max_steps:
                break
        return state.epoch_loss / state.epoch_step

    def _of_all_ranks(self, loss: Tensor, targets: int) -> tuple[Tensor, int]:
        """The loss over the targets of all ranks, and their number."""
        if self.ranks.alone:
            return loss.detach(), targets
        both = self.ranks.summed(torch.stack([loss.detach(), loss.new_tensor(float(targets))]))
        return both[0] / self.ranks.world, round(float(both[1]))

    def _update(self, loss: Tensor) -> None:
        limit = self.config.clip or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), limit)
        if not (torch.isfinite(loss) and torch.isfinite(norm)):
            raise RunError(
                f"the training run diverged in epoch {self.state.epoch}: loss {loss.item():g}, "
                f"gradient norm {norm.item():g}, learning rate {self.config.lr:g}; "
                f"lower training.lr or check the scale of the features{self._way_back()}"
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.net)

    def _way_back(self) -> str:
        kept = None if self.checkpoints is None else self.checkpoints.latest
        return "" if kept is None else f"; {kept} has earlier weights, which 'fit --from' takes"

    def _check_limits(self) -> None:
        state, config = self.state, self.config
        if state.epoch >= config.epochs:
            state.stopped = "epochs"
        elif config.max_steps and state.step >= config.max_steps:
            state.stopped = "max_steps"

    def _validate(self) -> dict[str, float]:
        """Figures of the current (averaged) weights, which are kept where they are the best."""
        assert self.held_out is not None
        if self.average is not None:
            self.average.swap(self.net)
        positive, negative = self.held_out.logits(self.net)
        figures = {"val_auc": auc(positive.numpy(), negative.numpy())}
        select = self.config.select
        if select in BY_RANK:
            figures[select] = self.held_out.mrr(self.net)
        self._keep_best(figures.get(select, figures["val_auc"]))
        if self.average is not None:
            self.average.swap(self.net)
        return figures

    def _keep_best(self, value: float) -> None:
        state, config = self.state, self.config
        if value > state.best_value:
            state.best_value, state.best_epoch = value, state.epoch
            if config.select != "last":
                weights = self.net.state_dict()
                state.best_weights = {k: v.detach().clone() for k, v in weights.items()}
        elif config.patience and state.epoch - state.best_epoch >= config.patience:
            state.stopped = state.stopped or "patience"
