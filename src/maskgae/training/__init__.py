"""Training: steps, loop, and the contract that methods keep."""

from maskgae.training.checkpoint import Checkpoints
from maskgae.training.loop import Trainer
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
from maskgae.training.state import TrainingState

__all__ = [
    "Checkpoints",
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
