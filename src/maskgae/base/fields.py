"""The fields of settings: what a setting may be, and the check of a value.

>>> @dataclass(frozen=True)
... class Config:
...     tau: float = setting(0.4, "temperature", low=0, open_ends=True)
>>> rules_of(Config, "grace.")["grace.tau"].checked(1)
1.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from maskgae.base.errors import InputError, nearest

T = TypeVar("T")


def setting(
    default: T,
    text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    open_ends: bool = False,
    choices: tuple[str, ...] = (),
    pattern: str = "",
) -> T:
    """A field with its help text and its constraint: a range, choices, or a pattern of a word."""
    limits = {"low": low, "high": high, "open": open_ends, "choices": choices, "pattern": pattern}
    return field(default=default, metadata={"help": text, **limits})


def rules_of(cls: type, prefix: str = "") -> dict[str, Rule]:
    """The settings of a dataclass, and of the dataclasses in it, by dotted key."""
    return {rule.key: rule for rule in _leaves(cls, prefix)}


def _leaves(cls: type, prefix: str) -> Iterator[Rule]:
    hints = get_type_hints(cls)
    for item in fields(cls):
        if item.metadata:
            yield Rule(prefix + item.name, hints[item.name], item.metadata)
        else:
            yield from _leaves(hints[item.name], f"{prefix}{item.name}.")


@dataclass(frozen=True)
class Rule:
    """What a setting is called, what it means and what it may be."""

    key: str
    kind: Any
    about: Mapping[str, Any]

    @property
    def help(self) -> str:
        return str(self.about["help"])

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.about["choices"])

    @property
    def limits(self) -> str:
        """What it may be, where its text does not say so: words, or a range with two ends."""
        low, high = self.about["low"], self.about["high"]
        if not all(f"{word}:" in self.help for word in self.choices):
            return ", ".join(self.choices)
        if low is None or high is None:
            return ""
        return f"in ({low:g}, {high:g})" if self.about["open"] else f"{low:g} to {high:g}"

    def checked(self, value: Any) -> Any:
        """The value in the field's type, or an error that says what it should be."""
        value = self._coerced(value, self.kind)
        if self.choices and value not in self.choices:
            raise InputError(f"{self.key} = '{value}' is not known: {nearest(value, self.choices)}")
        if self.about["pattern"] and not re.fullmatch(self.about["pattern"], value):
            raise InputError(f"{self.key} = '{value}' cannot be read: {self.help}")
        for number in value if isinstance(value, tuple) else (value,):
            if not isinstance(number, str):
                self._check_range(number)
        return value

    def _check_range(self, value: float) -> None:
        low, high, ends = self.about["low"], self.about["high"], self.about["open"]
        if low is None and high is None:
            return
        above = low is None or (value > low if ends else value >= low)
        below = high is None or (value < high if ends else value <= high)
        if above and below and -math.inf < value < math.inf:
            return
        left, right = ("(", ")") if ends else ("[", "]")
        left_end = "-inf" if low is None else f"{low:g}"
        right_end, right = ("inf", ")") if high is None else (f"{high:g}", right)
        masks = self.key in ("mask.p", "mask.q")
        hint = "; use mask.kind=none to train without a mask" if masks else ""
        rule = f"{left}{left_end}, {right_end}{right}"
        raise InputError(f"{self.key} must lie in {rule}, not {value:g}{hint}")

    def _coerced(self, value: Any, kind: Any) -> Any:
        """Turns what TOML, JSON or Python gave into a type, or says what it should be."""
        if get_origin(kind) is tuple:
            inner = get_args(kind)[0]
            items = value if isinstance(value, list | tuple) else [value]
            return tuple(self._coerced(item, inner) for item in items)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 2**1023 else math.inf
        if self.about["pattern"] and type(value) is int:
            return str(value)  # a word that may be digits only, as TOML reads it
        if not isinstance(value, kind) or isinstance(value, bool):
            name = {int: "a whole number", float: "a number", str: "a word"}[kind]
            given = repr(value)
            given = given if len(given) <= 80 else given[:80] + "..."
            raise InputError(f"{self.key} must be {name}, not {given}: {self.help}")
        return value
