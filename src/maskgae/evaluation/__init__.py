"""Judging embeddings and scores: from arrays, never from a network."""

from maskgae.evaluation.audit import audit_negatives, audit_split, count_held_out
from maskgae.evaluation.heuristics import link_heuristics, propagated_features
from maskgae.evaluation.metrics import auc, classification_metrics, link_metrics, summary
from maskgae.evaluation.probe import probe

__all__ = [
    "auc",
    "audit_negatives",
    "audit_split",
    "classification_metrics",
    "count_held_out",
    "link_heuristics",
    "link_metrics",
    "probe",
    "propagated_features",
    "summary",
]
