"""Judging embeddings and scores: from arrays, never from a network."""

from maskgae.evaluation.heuristics import propagated_features
from maskgae.evaluation.metrics import auc, classification_metrics, link_metrics, summary
from maskgae.evaluation.probe import probe

__all__ = [
    "auc",
    "classification_metrics",
    "link_metrics",
    "probe",
    "propagated_features",
    "summary",
]
