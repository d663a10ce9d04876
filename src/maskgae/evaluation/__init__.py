"""Judging embeddings and scores: from arrays, never from a network."""

from maskgae.evaluation.metrics import auc, classification_metrics, link_metrics, summary

__all__ = ["auc", "classification_metrics", "link_metrics", "summary"]
