"""Training: steps, the loop, checkpoints, and MaskGAE as a method."""

from maskgae.training.checkpoint import Checkpoints
from maskgae.training.loop import Trainer
from maskgae.training.maskgae import FittedMaskGAE, MaskGAEMethod
from maskgae.training.state import TrainingState

__all__ = ["Checkpoints", "FittedMaskGAE", "MaskGAEMethod", "Trainer", "TrainingState"]
