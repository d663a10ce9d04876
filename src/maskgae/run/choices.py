"""What a fit chose: the settings of a run that are not the defaults, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from maskgae.base.settings import Settings
from maskgae.run.defaults import suggest

if TYPE_CHECKING:
    from maskgae.run.run import Run

GIVEN = "Given, by a preset, --set, --config or an option."
OF_MEMORY = "Given, or chosen for the memory that was there."
#: What may follow from the memory.
PLANNED = ("training.batch_pairs", "training.fanouts", "training.epoch_steps")


class Choice(NamedTuple):
    """A setting of a run, what it would be by default, and why it is not."""

    key: str
    value: Any
    default: Any
    why: str


def choices(run: Run) -> list[Choice]:
    """The settings of a run that are not the defaults, each with its reason.

    >>> from maskgae import fit
    >>> run = fit([(0, 1), (1, 2), (2, 3)], {"training.epochs": 1}, holdout=False)
    >>> {choice.key: choice.why for choice in choices(run)}["training.epochs"][:5]
    'Given'
    """
    graph = run.graph if run.structural is None else run.graph.with_features(None)
    suggestion, defaults = suggest(graph), Settings().flat()
    found = []
    for key, value in run.settings.flat().items():
        if value != defaults[key]:
            why = OF_MEMORY if key in PLANNED else GIVEN
            if suggestion.settings.get(key) == value:
                why = suggestion.why[key]
            found.append(Choice(key, value, defaults[key], why))
    return found
