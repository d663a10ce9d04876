"""What the records of all methods say, in sentences that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from maskgae.base.display import ROW_NAMES
from maskgae.lab.records import Records
from maskgae.lab.row import Row
from maskgae.lab.tables.compare import RUNS_ENOUGH, beyond_noise

Record = Mapping[str, Any]
Found = Sequence[tuple[Row, Record]]

#: A dataset is spoken of from so many methods on.
METHODS_ENOUGH = 5


def name_of(row: Row) -> str:
    """What a method is called."""
    cell = row.cell
    return f"MaskGAE ({cell.settings.mask.kind})" if cell.method == "maskgae" else cell.method


def has_own_start(row: Row) -> bool:
    """Whether the untrained network of its records is of the method's own shape."""
    return row.cell.method not in ("sgc", "seal", "mlp", "gcn", "gat")


def best_rule(record: Record) -> str:
    """The name of the rule with the most partners among the first ten."""
    rules = {name: row for name, row in record["sanity"].items() if name != "untrained"}
    return max(rules, key=lambda name: float(rules[name]["rank_hits@10"]["mean"]))


def found_of(rows: Sequence[Row], records: Records, first_seed: int = 0) -> Found:
    """The rows that have a record, with it."""
    asked = [(row, records.record(row.cell, row.numbers(first_seed))) for row in rows]
    return [(row, record) for row, record in asked if record is not None]


def method_findings(rows: Sequence[Row], found: Found) -> str:
    """A numbered list of what the records show."""
    counted = [each for each in found if len(each[1]["seeds"]) >= RUNS_ENOUGH]
    parts = [_state(rows, found), _against_published(counted)]
    for task, sentence in (("node", _nodes), ("link", _links)):
        for dataset in dict.fromkeys(row.cell.dataset for row in rows):
            here = _of(counted, task, dataset)
            if len(here) >= METHODS_ENOUGH:
                parts.append(sentence(dataset, here))
    parts.append(_training(counted))
    return "\n".join(f"{i}. {text}" for i, text in enumerate(filter(None, parts), start=1))


def _of(found: Found, task: str, dataset: str) -> Found:
    return [
        each
        for each in found
        if each[0].table == f"methods {task}" and each[0].cell.dataset == dataset
    ]


def _state(rows: Sequence[Row], found: Found) -> str:
    done, total = sum(len(r["seeds"]) for _, r in found), sum(row.seeds for row in rows)
    parts = []
    for dataset in dict.fromkeys(row.cell.dataset for row in rows):
        here = [r for row, r in found if row.cell.dataset == dataset]
        of = sum(row.seeds for row in rows if row.cell.dataset == dataset)
        parts.append(f"{dataset} {sum(len(r['seeds']) for r in here)} of {of}")
    return (
        f"**{done} of {total} runs are there** ({', '.join(parts)}); the others are to come, and "
        f"what follows counts rows of at least {RUNS_ENOUGH} seeds."
    )


def _against_published(found: Found) -> str:
    """How many rows are within noise of the published number, above it and below."""
    names: dict[str, list[str]] = {"within": [], "above": [], "below": []}
    for row, record in found:
        metric = "accuracy" if row.cell.task == "node" else "auc"
        quoted = row.published.get(metric)
        if quoted is None:
            continue
        ours = record["metrics"][metric]
        side = "above" if ours["mean"] > quoted["mean"] else "below"
        key = side if beyond_noise(ours, quoted) else "within"
        gap = 100 * (ours["mean"] - quoted["mean"])
        names[key].append(f"{name_of(row)} on {row.cell.dataset} ({row.cell.task}, {gap:+.1f})")
    if not any(names.values()):
        return ""
    counts = {key: len(value) for key, value in names.items()}
    return (
        f"**Published numbers**: of {sum(counts.values())} that have one of ours beside them, "
        f"{counts['within']} agree within noise, {counts['above']} of ours are above beyond it"
        f"{_listed(names['above'])} and {counts['below']} below{_listed(names['below'])}."
    )


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return f" ({text})" if text else ""


def _nodes(dataset: str, found: Found) -> str:
    """Who is first, where MaskGAE stands, and who is no better than SGC features."""
    order = _ordered(found, "accuracy")
    rule = "propagated_features"
    features = found[0][1]["sanity"][rule]["accuracy"]["mean"]
    behind = [name_of(row) for row, record in order if not _above(record, "accuracy", rule)]
    return (
        f"**Nodes of {dataset}**: {_places(order, 'accuracy')}. SGC features (smoothed twice), "
        f"which learn nothing, reach {100 * features:.1f}; {len(behind)} of {len(order)} methods "
        f"are not above them beyond noise{_listed(behind)}."
    )


def _links(dataset: str, found: Found) -> str:
    """Who is first by AUC and in the ranking, and who is behind the best rule there."""
    by_auc, order = _ordered(found, "auc"), _ordered(found, "rank_hits@10")
    rule = best_rule(order[0][1])
    reached = order[0][1]["sanity"][rule]["rank_hits@10"]["mean"]
    behind = [name_of(row) for row, record in order if not _above(record, "rank_hits@10", rule)]
    return (
        f"**Links of {dataset}**: by AUC {_places(by_auc, 'auc')}; among the first ten of all "
        f"nodes {_places(order, 'rank_hits@10')}. The rule *{ROW_NAMES[rule]}* has "
        f"{100 * reached:.1f} there, and {len(behind)} of {len(order)} "
        f"methods are not above it beyond noise{_listed(behind)}."
    )


def _places(order: Found, metric: str) -> str:
    """The first, and the best place of MaskGAE."""
    first, record = order[0]
    text = f"{name_of(first)} is first ({100 * record['metrics'][metric]['mean']:.1f})"
    if first.cell.method == "maskgae":
        return text
    for place, (row, own) in enumerate(order, start=1):
        if row.cell.method == "maskgae":
            value = 100 * own["metrics"][metric]["mean"]
            return f"{text}, {name_of(row)} is {value:.1f}, place {place} of {len(order)}"
    return text


def _training(found: Found) -> str:
    """What training adds to an untrained encoder of the same shape, on the node task."""
    gains = {
        f"{name_of(row)} on {row.cell.dataset}": 100 * (own["mean"] - before["mean"])
        for row, record in found
        if row.table == "methods node" and has_own_start(row)
        for own, before in [
            (record["metrics"]["accuracy"], record["sanity"]["untrained"]["accuracy"])
        ]
    }
    if not gains:
        return ""
    least, most = (pick(gains, key=lambda name: gains[name]) for pick in (min, max))
    return (
        f"**Training**, against an untrained encoder of the same shape under the same probe, adds "
        f"{median(gains.values()):.1f} points of accuracy in the median of {len(gains)} rows: most "
        f"{gains[most]:+.1f} ({most}), least {gains[least]:+.1f} ({least})."
    )


def _ordered(found: Found, metric: str) -> Found:
    return sorted(found, key=lambda each: -float(each[1]["metrics"][metric]["mean"]))


def _above(record: Record, metric: str, rule: str) -> bool:
    """Whether a method is above a rule by more than twice the error, seed by seed."""
    pairs = zip(
        record["metrics"][metric]["values"], record["sanity"][rule][metric]["values"], strict=True
    )
    gains = [own - other for own, other in pairs]
    return fmean(gains) > 2 * stdev(gains) / math.sqrt(len(gains))
