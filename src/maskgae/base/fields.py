"""The fields of settings: what a setting may be, and the check of a value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar, get_args, get_origin

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


def limits_text(about: Mapping[str, Any]) -> str:
    """What a setting may be, from its metadata, where its help does not say so."""
    words, low, high = about["choices"], about["low"], about["high"]
    if not all(f"{word}:" in about["help"] for word in words):
        return ", ".join(words)
    if low is None or high is None:
        return ""
    return f"in ({low:g}, {high:g})" if about["open"] else f"{low:g} to {high:g}"


def checked(key: str, value: Any, hint: Any, about: Mapping[str, Any]) -> Any:
    """A value of a setting in the field's type; one that it must not have is an error.

    Args:
        key: the setting's dotted name.
        value: what TOML, JSON or Python gave.
        hint: the field's type.
        about: the field's metadata, which :func:`setting` made.
    """
    value = _coerced(key, value, hint, about)
    words, low, high = about["choices"], about["low"], about["high"]
    if words and value not in words:
        raise InputError(f"{key} = '{value}' is not known: {nearest(value, words)}")
    if about["pattern"] and not re.fullmatch(about["pattern"], value):
        raise InputError(f"{key} = '{value}' cannot be read: {about['help']}")
    for number in value if isinstance(value, tuple) else (value,):
        if not isinstance(number, str) and (low is not None or high is not None):
            _check_range(key, number, low, high, about["open"])
    return value


def _check_range(key: str, value: float, low: float | None, high: float | None, ends: bool) -> None:
    above = low is None or (value > low if ends else value >= low)
    below = high is None or (value < high if ends else value <= high)
    if above and below and -math.inf < value < math.inf:
        return
    left, right = ("(", ")") if ends else ("[", "]")
    left_end = "-inf" if low is None else f"{low:g}"
    right_end, right = ("inf", ")") if high is None else (f"{high:g}", right)
    hint = "; use mask.kind=none to train without a mask" if key in ("mask.p", "mask.q") else ""
    raise InputError(f"{key} must lie in {left}{left_end}, {right_end}{right}, not {value:g}{hint}")


def _coerced(key: str, value: Any, hint: Any, about: Mapping[str, Any]) -> Any:
    """Turns what TOML, JSON or Python gave into the field's type, or says what it should be."""
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_coerced(key, item, inner, about) for item in items)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**1023 else math.inf
    if about["pattern"] and type(value) is int:
        return str(value)  # a word that may be digits only, as TOML reads it
    if not isinstance(value, hint) or isinstance(value, bool):
        name = {int: "a whole number", float: "a number", str: "a word"}[hint]
        given = repr(value)
        given = given if len(given) <= 80 else given[:80] + "..."
        raise InputError(f"{key} must be {name}, not {given}: {about['help']}")
    return value
