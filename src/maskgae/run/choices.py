"""What a fit chose: the settings of a run that were chosen for its graph or given, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from maskgae.base.settings import Settings
from maskgae.run.defaults import suggest

if TYPE_CHECKING:
    from maskgae.run.run import Run

GIVEN = "Given, by a preset, --set, --config or an option."
OF_MEMORY = "Given, or chosen for the memory that was there."
#: What may follow from the memory.
PLANNED = (
    "training.batch_pairs",
    "training.fanouts",
    "training.batches",
    "training.epoch_steps",
)


class Choice(NamedTuple):
    """A setting of a run, what it is by default, and why it is what it is."""

    key: str
    value: Any
    default: Any
    why: str


def choices(run: Run) -> list[Choice]:
    """The settings of a run that suit its graph or are not the defaults, each with its reason.

    >>> from maskgae import fit
    >>> run = fit([(0, 1), (1, 2), (2, 3)], {"training.epochs": 1}, holdout=False)
    >>> {choice.key: choice.why for choice in choices(run)}["training.epochs"][:5]
    'Given'
    """
    graph = run.graph if run.has_table else run.graph.with_features(None)
    suggestion, defaults = suggest(graph), Settings().flat()
    found = []
    for key, value in run.settings.flat().items():
        if suggestion.settings.get(key) == value:
            found.append(Choice(key, value, defaults[key], suggestion.why[key]))
        elif value != defaults[key]:
            why = OF_MEMORY if key in PLANNED else GIVEN
            found.append(Choice(key, value, defaults[key], why))
    return found
