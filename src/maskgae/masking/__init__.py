"""Masks: which pairs the encoder sees and which it has to predict."""

from maskgae.masking.mask import Masked, draw_mask
from maskgae.masking.modules import MaskEdge, MaskPath
from maskgae.masking.walks import biased_walks, random_walks

__all__ = ["MaskEdge", "MaskPath", "Masked", "biased_walks", "draw_mask", "random_walks"]
