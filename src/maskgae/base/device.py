"""Where to compute."""

from __future__ import annotations

import torch

from maskgae.base.errors import InputError


def check_device(device: str) -> None:
    """Refuses a device that is not here, before any work is done.

    >>> check_device("cpu")
    """
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(
            f"the device '{device}' is not available here: use cpu (--device cpu)"
        ) from None
