"""What a fit tells on its way."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maskgae.base.errors import InputError

if TYPE_CHECKING:
    from maskgae.run.plan import Plan
    from maskgae.run.run import Run
    from maskgae.run.source import Source


class Callback:
    """Hears of a fit; override what you want to hear of.

    >>> class Losses(Callback):
    ...     def __init__(self):
    ...         self.values = []
    ...
    ...     def on_epoch(self, row):
    ...         self.values.append(row["loss"])
    """

    def on_plan(self, source: Source, plan: Plan) -> None:
        """The graph is read and the settings are chosen."""

    def on_part(self, name: str) -> None:
        """A part of the work begins: ``training``, ``scoring``, ``embedding`` or ``page``."""

    def on_epoch(self, row: Mapping[str, Any]) -> None:
        """An epoch has ended; its row of the history."""

    def on_notice(self, text: str) -> None:
        """Something that the user should know."""

    def on_end(self, run: Run) -> None:
        """The run is complete."""

    def wants_stop(self) -> bool:
        """Asked between two updates; a run with a folder is then saved and left."""
        return False


class Log(Callback):
    """Logs parts and validations, to standard error where nobody has set up logging."""

    def __init__(self) -> None:
        self.log = logging.getLogger("maskgae")
        if not self.log.hasHandlers():
            self.log.addHandler(logging.StreamHandler())
        self.log.setLevel(logging.INFO)

    def on_part(self, name: str) -> None:
        self.log.info("%s", name)

    def on_epoch(self, row: Mapping[str, Any]) -> None:
        if row.get("val_auc") is not None:
            epoch, loss = row["epoch"] + 1, row["loss"]
            self.log.info("epoch %d, loss %.3f, validation AUC %.4f", epoch, loss, row["val_auc"])


class Callbacks(Callback):
    """Tells several callbacks, in their order."""

    def __init__(self, each: Callback | Sequence[Callback]) -> None:
        self.each = tuple(each) if isinstance(each, Sequence) else (each,)
        self._stopping = False
        wrong = [one for one in self.each if not isinstance(one, Callback)]
        if wrong:
            raise InputError(f"callbacks are a list of objects of Callback, not {wrong[0]!r}")

    def on_plan(self, source: Source, plan: Plan) -> None:
        for one in self.each:
            one.on_plan(source, plan)

    def on_part(self, name: str) -> None:
        for one in self.each:
            one.on_part(name)

    def on_epoch(self, row: Mapping[str, Any]) -> None:
        for one in self.each:
            one.on_epoch(row)

    def on_notice(self, text: str) -> None:
        for one in self.each:
            one.on_notice(text)

    def on_end(self, run: Run) -> None:
        for one in self.each:
            one.on_end(run)

    def wants_stop(self) -> bool:
        self._stopping = self._stopping or any(one.wants_stop() for one in self.each)
        return self._stopping  # once said, for it is asked before and after saving
