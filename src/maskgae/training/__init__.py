"""Training: steps, loop, and the contract that methods keep."""

from maskgae.training.loop import Trainer, TrainingState
from maskgae.training.maskgae import FittedMaskGAE, MaskGAEMethod
from maskgae.training.method import (
    Classifies,
    Embeds,
    Fitted,
    Listener,
    Method,
    Scores,
    Validation,
)

__all__ = [
    "Classifies",
    "Embeds",
    "Fitted",
    "FittedMaskGAE",
    "Listener",
    "MaskGAEMethod",
    "Method",
    "Scores",
    "Trainer",
    "TrainingState",
    "Validation",
]
