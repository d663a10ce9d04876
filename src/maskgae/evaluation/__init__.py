"""Judging embeddings and scores: from arrays, never from a network."""

from maskgae.evaluation.heuristics import propagated_features
from maskgae.evaluation.metrics import auc, classification_metrics, link_metrics, summary
from maskgae.evaluation.probe import probe
from maskgae.evaluation.ranking import full_ranking
from maskgae.evaluation.rules import Rules, link_heuristics

__all__ = [
    "Rules",
    "auc",
    "classification_metrics",
    "full_ranking",
    "link_heuristics",
    "link_metrics",
    "probe",
    "propagated_features",
    "summary",
]
