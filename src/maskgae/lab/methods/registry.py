r"""Methods with settings of their own: shown by ``maskgae settings --method NAME``, set by
``--set NAME.key=value``, kept in the record and in the digest of a cell.

To add a method, write in its file ::

    @dataclass(frozen=True)
    class GraceConfig:
        epochs: int = setting(200, "updates", low=1)  # every method has it
        tau: float = setting(0.4, "temperature", low=0, open_ends=True)

    ENTRY = Entry(
        "grace", GraceConfig, lambda config, device: Grace(config, device),
        by_dataset={"CiteSeer": {"tau": 0.9}},
    )

and add ``grace.ENTRY`` to ``CONFIGURED`` in ``lab/methods/__init__.py``. ``make`` gives a
:class:`~maskgae.evaluation.method.Method`; one that trains a network on a loss of its own is
:class:`~maskgae.lab.methods.pretraining.Pretrained`. Defaults are those of Cora, ``by_dataset`` has
what differs elsewhere; ``training.max_steps`` of a cell cuts ``epochs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.base.fields import Rule, rules_of
from maskgae.base.settings import KEYS, Settings
from maskgae.evaluation.method import Method


@dataclass(frozen=True)
class Entry:
    """A method, its settings, and what they are on each dataset.

    Args:
        name: what ``--method`` calls it, and the head of its keys.
        config: a frozen dataclass of :func:`~maskgae.base.fields.setting` fields.
        make: the method from such a config and a device.
        by_dataset: dataset -> the fields whose value is not the default there.
    """

    name: str
    config: Any
    make: Callable[[Any, str], Method]
    by_dataset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """The settings by dotted key."""
        return rules_of(self.config, f"{self.name}.")

    def configured(self, dataset: str | None, values: Mapping[str, Any] | None = None) -> Any:
        """The config for a dataset, with some dotted keys set; every value is checked.

        Without a dataset it starts from the defaults.
        """
        config = replace(self.config(), **self.by_dataset.get(dataset or "", {}))
        for key, value in (values or {}).items():
            if key not in self.rules:
                raise InputError(f"no setting is called '{key}': {nearest(key, self.rules)}")
            config = replace(config, **{self._field(key): self.rules[key].checked(value)})
        return config

    def flat(self, config: Any) -> dict[str, Any]:
        """A config by dotted key."""
        return {f"{self.name}.{key}": value for key, value in asdict(config).items()}

    def method(self, config: Any, settings: Settings, device: str) -> Method:
        """The method, within the updates that a cell allows."""
        most = settings.training.max_steps or config.epochs
        return self.make(replace(config, epochs=min(config.epochs, most)), device)

    def __call__(self, settings: Settings, device: str) -> Method:
        return self.method(self.config(), settings, device)

    def _field(self, key: str) -> str:
        return key.removeprefix(f"{self.name}.")


def divided(
    values: Mapping[str, Any], method: str, entries: Mapping[str, Entry]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Dotted keys of a method's own settings, and all other ones; what belongs to another method
    is refused.
    """
    own = {key: value for key, value in values.items() if key.startswith(f"{method}.")}
    others = {key: value for key, value in values.items() if key not in own}
    for key in others:
        head = key.partition(".")[0]
        if head in entries:
            raise InputError(f"{key} belongs to {head}, not to {method}: use --method {head}")
        _check_known(key, (*KEYS, *(entries[method].rules if method in entries else ())))
    return own, others


def _check_known(key: str, known: Iterable[str]) -> None:
    if key not in known:
        raise InputError(f"no setting is called '{key}': {nearest(key, known)}")
