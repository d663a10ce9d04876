"""What metrics and rows are called, and how numbers are written, on screen and on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: In the order in which they are shown.
METRIC_NAMES = {
    "rank_mrr": "rank MRR",
    "rank_hits@10": "rank Hits@10",
    "rank_hits@50": "rank Hits@50",
    "auc": "AUC",
    "ap": "AP",
    "hits@10": "Hits@10",
    "hits@20": "Hits@20",
    "hits@50": "Hits@50",
    "hits@100": "Hits@100",
    "mrr": "MRR",
    "direction_auc": "direction AUC",
    "pooled_direction_auc": "pooled direction AUC",
    "in_rank_mrr": "rank MRR, in-links",
    "in_rank_hits@10": "rank Hits@10, in-links",
    "in_rank_hits@50": "rank Hits@50, in-links",
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "accuracy_random_splits": "random splits",
}

ROW_NAMES = {
    "maskgae": "MaskGAE",
    "common_neighbours": "common neighbours",
    "adamic_adar": "Adamic-Adar",
    "resource_allocation": "resource allocation",
    "degree_product": "product of degrees",
    "feature_cosine": "feature cosine",
    "smoothed_cosine": "smoothed features, cosine",
    "twice_smoothed_cosine": "smoothed twice, cosine",
    "knn_cosine": "smoothed with like nodes, cosine",
    "three_steps": "paths of three steps",
    "pagerank": "personalised PageRank",
    "degree_gap": "difference of degrees",
    "spectral": "low-rank adjacency",
    "spectral_cosine": "low-rank adjacency, cosine",
    "prone_product": "ProNE, weighted product",
    "prone_cosine": "ProNE, weighted cosine",
    "first_side_degree": "neighbours of the first side",
    "second_side_degree": "neighbours of the second side",
    "filtered_paths": "paths of three steps and low rank",
    "in_degree": "in-degree of the target",
    "out_degree": "out-degree of the source",
    "source_in_degree": "in-degree of the source",
    "target_out_degree": "out-degree of the target",
    "level_gap": "difference of levels",
    "upstream": "against the flow",
    "forward_paths": "paths of two steps ahead",
    "backward_paths": "paths of two steps back",
    "shared_targets": "shared targets",
    "shared_sources": "shared sources",
    "directed_three_steps": "paths by shared targets",
    "turned_three_steps": "paths by shared targets, turned round",
    "network": "network alone",
    "rules": "rules alone, combined",
    "raw_features": "raw features",
    "propagated_features": "SGC features (smoothed twice)",
    "joined_inputs": "joined inputs, no network",
    "untrained": "untrained encoder",
}


def has_network(record: Mapping[str, Any]) -> bool:
    """Whether a record is of a network; ``fit --quick`` has none."""
    return record.get("settings", {}).get("encoder.kind") != "none"


def method_name(record: Mapping[str, Any]) -> str:
    """What the method of a record is called.

    >>> method_name({"method": "maskgae"})
    'MaskGAE'
    >>> method_name({"method": "maskgae", "settings": {"encoder.kind": "none"}})
    'fit --quick, no network'
    """
    name = record.get("method", "maskgae")
    return ROW_NAMES.get(name, name) if has_network(record) else "fit --quick, no network"


def printable(value: Any) -> str:
    """Text without what a terminal obeys: controls, escapes and marks of direction are spelt out.

    >>> printable("a\\x1b[2J\\u202eb\\n"), printable("Zoë, 名")
    ('a\\\\x1b[2J\\\\u202eb\\\\n', 'Zoë, 名')
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def percent(summary: Mapping[str, Any]) -> str:
    """Mean and standard deviation in percent.

    >>> percent({"mean": 0.9612, "std": 0.0031}), percent({"mean": 0.5, "std": None})
    ('96.12 ± 0.31', '50.00')
    """
    mean, std = summary["mean"], summary.get("std")
    return f"{100 * mean:.2f}" if std is None else f"{100 * mean:.2f} ± {100 * std:.2f}"


def shown(value: Any) -> str:
    """A value for a reader.

    >>> shown(12004), shown(0.25), shown(True), shown((0.1, 1.0)), shown(None), shown({"a": 2})
    ('12,004', '0.25', 'yes', '0.1, 1', '–', 'a 2')
    """
    if value is None or value == "" or value == () or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(shown(item) for item in value)
    return str(value)
