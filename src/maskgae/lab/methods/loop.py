"""How every baseline is trained: full-graph updates of Adam, stopped and selected on validation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from maskgae.base.errors import RunError
from maskgae.evaluation.method import OnEpoch, Validation
from maskgae.evaluation.metrics import auc

#: A validation figure, the larger the better; entries after the first break ties.
Figure = tuple[float, ...]


@dataclass(frozen=True)
class Recipe:
    """The published settings of a training run.

    Args:
        epochs: at most this many updates.
        lr: learning rate of Adam.
        weight_decay: weight decay of Adam.
        patience: stop after this many epochs without a better figure; 0: never.
        every: epochs between two validations.
        decoupled: whether weights decay apart from the gradient, as in AdamW.
    """

    epochs: int
    lr: float
    weight_decay: float = 0.0
    patience: int = 100
    every: int = 1
    decoupled: bool = False

    def within(self, max_steps: int) -> Recipe:
        """The recipe with at most so many updates; 0 means no limit."""
        return replace(self, epochs=min(self.epochs, max_steps)) if max_steps else self

    def __str__(self) -> str:
        start = f"Adam{'W' * self.decoupled} {self.lr:g}, weight decay {self.weight_decay:g}, "
        if not self.patience:
            return start + f"{self.epochs} epochs"
        return start + f"at most {self.epochs} epochs, patience {self.patience}"


@dataclass
class Loop:
    """Trains a module and leaves it with the weights of its best validation figure.

    Args:
        module: what is trained.
        recipe: for how long and how fast.
        update: the loss of an epoch, given its number.
        judge: the validation figure of the current weights, or ``None`` to train to the end.
        on_epoch: called after every epoch with its row, as the main loop does.
        parameters: what Adam moves; all of the module's where it is not given.
        figure: what the validation figure is called in a row.
        schedule: the share of the learning rate that each epoch has; all of it where not given.
        clipped: the parts of the module whose gradients are each cut to length one.
    """

    module: nn.Module
    recipe: Recipe
    update: Callable[[int], Tensor]
    judge: Callable[[], Figure] | None = None
    on_epoch: OnEpoch | None = None
    parameters: Iterable[nn.Parameter] | None = None
    figure: str = "val_auc"
    schedule: Callable[[int], float] | None = None
    clipped: Sequence[nn.Module] = ()
    history: list[dict[str, Any]] = field(default_factory=list, init=False)
    best: Figure = field(default=(), init=False)
    best_epoch: int = field(default=0, init=False)
    best_weights: dict[str, Tensor] = field(default_factory=dict, init=False)

    def run(self) -> dict[str, Any]:
        """Trains, and returns the facts of it for the record."""
        recipe = self.recipe
        optimizer = torch.optim.Adam(
            self.module.parameters() if self.parameters is None else self.parameters,
            lr=recipe.lr,
            weight_decay=recipe.weight_decay,
            decoupled_weight_decay=recipe.decoupled,
            fused=True,
        )
        stopped = "epochs"
        for epoch in range(recipe.epochs):
            self._epoch(epoch, optimizer)
            waited = epoch + 1 - self.best_epoch if self.best else 0
            if 0 < recipe.patience <= waited:
                stopped = "patience"
                break
        if self.best_weights:
            self.module.load_state_dict(self.best_weights)
        self.module.eval()
        return {
            "recipe": str(recipe),
            "epochs": len(self.history),
            "best_epoch": self.best_epoch or len(self.history),
            "stopped": stopped,
            "per_epoch_s": statistics.median(row["seconds"] for row in self.history),
        }

    def _epoch(self, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        started = time.perf_counter()
        self.module.train()
        loss = self.update(epoch)
        if not torch.isfinite(loss):
            raise RunError(
                f"the training run diverged in epoch {epoch}: loss {loss.item():g}, learning rate "
                f"{self.recipe.lr:g}; check the scale of the features"
            )
        optimizer.zero_grad()
        loss.backward()
        self._prepare(epoch, optimizer)
        optimizer.step()
        figure: float | None = None
        if self.judge is not None and (epoch + 1) % self.recipe.every == 0:
            figure = self._judge(epoch + 1)
        row = {"epoch": epoch, "loss": loss.item(), self.figure: figure}
        row["seconds"] = time.perf_counter() - started
        self.history.append(row)
        if self.on_epoch is not None:
            self.on_epoch(row)

    def _prepare(self, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        """Clips gradients and sets the learning rate, where either is asked for."""
        for part in self.clipped:
            nn.utils.clip_grad_norm_(part.parameters(), 1.0)
        if self.schedule is not None:
            for group in optimizer.param_groups:
                group["lr"] = self.recipe.lr * self.schedule(epoch)

    def _judge(self, epoch: int) -> float:
        assert self.judge is not None
        self.module.eval()
        with torch.no_grad():
            figure = self.judge()
        if figure > self.best:
            self.best, self.best_epoch = figure, epoch
            weights = self.module.state_dict()
            self.best_weights = {key: value.detach().clone() for key, value in weights.items()}
        return figure[0]


def link_judge(
    score: Callable[[Tensor], Tensor], validation: Validation | None
) -> Callable[[], Figure] | None:
    """Judges by the AUC of held-out pairs, where there are any."""
    if validation is None:
        return None
    pairs = torch.cat([validation.pairs, validation.negatives], dim=1)
    count = validation.pairs.shape[1]

    def judge() -> Figure:
        logits = score(pairs).cpu().numpy()
        return (auc(logits[:count], logits[count:]),)

    return judge


def by_loss(
    update: Callable[[int], Tensor],
) -> tuple[Callable[[int], Tensor], Callable[[], Figure]]:
    """An update and a judge of its training loss, for methods that stop on nothing else.

    The loss is that of the weights before the step of its epoch, the weights kept those after it.
    """
    last = 0.0

    def watched(epoch: int) -> Tensor:
        nonlocal last
        loss = update(epoch)
        last = loss.item()
        return loss

    return watched, lambda: (-last,)
