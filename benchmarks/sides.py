"""Both sides behind one small interface: do one pass, or train towards an AUC."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.cases import Case
from benchmarks.plain import BATCH, PlainTraining
from maskgae.base.rng import stream
from maskgae.data.graph import Graph
from maskgae.evaluation.method import Validation
from maskgae.nn.network import MaskGAENet
from maskgae.training.loop import Trainer

#: The sides by name. ``ours`` makes one update a pass, ``ours-often`` a few on some of its targets
#: each, the others one for 65,536 targets.
SIDES = ("plain", "plain-csr", "ours", "ours-batched", "ours-often")
#: Targets of an update of ``ours-often``, and updates between two masks.
FEW, OFTEN = 16384, 5


@dataclass(frozen=True)
class Pass:
    """How long one pass over the targets took, in wall and in CPU seconds.

    Where only some of its updates were run, ``updates < of`` and the times are scaled up.
    """

    wall: float
    cpu: float
    updates: int
    of: int


@dataclass
class Curve:
    """Validation AUC against seconds of training, the validations' own left out."""

    seconds: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)

    def first_at(self, target: float) -> int | None:
        """The first validation that reaches a value."""
        return next((i for i, value in enumerate(self.auc) if value >= target), None)


class Plain:
    """The plain side."""

    def __init__(
        self, case: Case, graph: Graph, validation: Validation, layout: str, seed: int = 0
    ) -> None:
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
        self.training = PlainTraining(graph, case.settings, validation, layout, seed)

    def run(self, limit: float = float("inf")) -> Pass:
        """One pass; after ``limit`` seconds and two updates the rest is extrapolated."""
        wall, cpu = time.perf_counter(), time.process_time()
        marks, done, total = [], 0, 1
        for done, total in self.training.epoch():  # noqa: B007
            marks.append((time.perf_counter() - wall, time.process_time() - cpu))
            if done >= 2 and marks[-1][0] > limit:
                break
        # The mask and the negatives are drawn once, whatever the number of updates.
        first, last = marks[0], marks[-1]
        scale = total / done
        wall, cpu = (a + (b - a) * scale for a, b in zip(first, last, strict=True))
        return Pass(wall, cpu, done, total)

    def curve(self, every: int, enough: Callable[[Curve], bool]) -> Curve:
        """Trains and validates every so many updates, until it is enough."""
        curve, updates, spent, started = Curve(), 0, 0.0, time.perf_counter()
        for done in self._endless():
            if not done:
                continue
            updates += 1
            if updates % every == 0:
                spent += time.perf_counter() - started
                _note(curve, spent, self.training.validate(), updates)
                if enough(curve):
                    return curve
                started = time.perf_counter()
        return curve

    def _endless(self) -> Iterator[int]:
        while True:
            for done, _ in self.training.epoch():
                yield done


class Ours:
    """Our side: the package's own trainer, one epoch at a time."""

    def __init__(
        self,
        case: Case,
        graph: Graph,
        validation: Validation | None,
        batch_pairs: int,
        seed: int = 0,
        epoch_steps: int = 0,
    ) -> None:
        updates = {"training.batch_pairs": batch_pairs, "training.epoch_steps": epoch_steps}
        settings = case.settings.updated({**updates, "seed": seed})
        net = MaskGAENet.for_graph(graph, settings)
        self.trainer = Trainer(net, graph, validation, stream(seed, "benchmark"))

    def run(self, limit: float = float("inf")) -> Pass:
        """One pass; the limit is for the slower side."""
        wall, cpu, before = time.perf_counter(), time.process_time(), self.trainer.state.step
        self.trainer._epoch()
        updates = self.trainer.state.step - before
        return Pass(time.perf_counter() - wall, time.process_time() - cpu, updates, updates)

    def curve(self, every: int, enough: Callable[[Curve], bool]) -> Curve:
        """Trains and validates every so many updates or whole passes, until it is enough."""
        curve, spent, validated = Curve(), 0.0, 0
        while True:
            spent += self.run().wall
            step = self.trainer.state.step
            if step - validated >= every:
                validated = step
                _note(curve, spent, self.trainer._validate()["val_auc"], step)
                if enough(curve):
                    return curve


def _note(curve: Curve, seconds: float, value: float, updates: int) -> None:
    curve.seconds.append(seconds)
    curve.auc.append(value)
    curve.updates.append(updates)


def make_side(
    name: str, case: Case, graph: Graph, validation: Validation, seed: int = 0
) -> Plain | Ours:
    """A fresh training of the named side."""
    if name == "ours":
        return Ours(case, graph, validation, batch_pairs=0, seed=seed)
    if name == "ours-batched":
        return Ours(case, graph, validation, batch_pairs=BATCH, seed=seed)
    if name == "ours-often":
        return Ours(case, graph, validation, batch_pairs=FEW, seed=seed, epoch_steps=OFTEN)
    return Plain(case, graph, validation, "csr" if name == "plain-csr" else "edges", seed)
