"""Packages that come with an extra of the distribution, and not by themselves."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from maskgae.base.errors import InputError


def need(module: str, extra: str) -> Any:
    """A module of an optional package, or the command that installs it.

    Args:
        module: its dotted name.
        extra: with which extra it comes.

    >>> need("math", "lab").pi > 3
    True
    >>> need("absent.part", "lab")
    Traceback (most recent call last):
    maskgae.base.errors.InputError: absent is not installed: pip install 'maskgae[lab]'
    """
    try:
        return import_module(module)
    except ImportError:
        raise missing(module.partition(".")[0], extra) from None


def missing(package: str, extra: str) -> InputError:
    """Says how to install a package."""
    return InputError(f"{package} is not installed: pip install 'maskgae[{extra}]'")
