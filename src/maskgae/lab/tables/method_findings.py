"""What the records of all methods say, in sentences that follow from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from maskgae.lab.all_methods import LARGE
from maskgae.lab.records import Records
from maskgae.lab.row import Row
from maskgae.lab.tables.compare import RUNS_ENOUGH, beyond_noise

Record = Mapping[str, Any]
Found = Sequence[tuple[Row, Record]]

#: A dataset is spoken of from so many methods on.
METHODS_ENOUGH = 5
#: What methods are compared by where the paper has a number, and what they are ordered by: on a
#: task, or on a dataset. Collab is too large to be ranked among all nodes.
QUOTED = {"node": "accuracy", "link": "auc", "Collab": "hits@50"}
ORDERED = {"node": "accuracy", "link": "rank_hits@10", "Collab": "hits@50"}


def metric_of(names: Mapping[str, str], row: Row) -> str:
    """The metric of a row among :data:`QUOTED` or :data:`ORDERED`."""
    return names.get(row.cell.dataset, names[row.cell.task])


def name_of(row: Row) -> str:
    """What a method is called."""
    cell = row.cell
    return f"MaskGAE ({cell.settings.mask.kind})" if cell.method == "maskgae" else cell.method


def has_own_start(row: Row) -> bool:
    """Whether the untrained network of its records is of the method's own shape."""
    return row.cell.method not in ("sgc", "seal", "mlp", "gcn", "gat")


def best_rule(row: Row, record: Record) -> str:
    """The name of the simple rule that would be first in its table."""
    rules = {name: found for name, found in record["sanity"].items() if name != "untrained"}
    metric = metric_of(ORDERED, row)
    return max(rules, key=lambda name: float(rules[name][metric]["mean"]))


def found_of(rows: Sequence[Row], records: Records, first_seed: int = 0) -> Found:
    """The rows that have a record, with it."""
    asked = [(row, records.record(row.cell, row.numbers(first_seed))) for row in rows]
    return [(row, record) for row, record in asked if record is not None]


def method_findings(rows: Sequence[Row], found: Found) -> str:
    """How much was run, and a numbered list of what it shows, a sentence each."""
    counted = [
        each
        for each in found
        if len(each[1]["seeds"]) >= RUNS_ENOUGH and each[0].table != "methods checks"
    ]
    tell = (_against_published, _comparisons, _firsts, _without_learning, _training)
    parts = [text for sentence in tell if (text := sentence(counted))]
    listed = [f"{number}. {text}" for number, text in enumerate(parts, start=1)]
    return "\n".join([_state(rows, found), "", *listed]).strip()


def _state(rows: Sequence[Row], found: Found) -> str:
    done = _runs_by_dataset((row, len(record["seeds"])) for row, record in found)
    asked = _runs_by_dataset((row, row.seeds) for row in rows)
    # Of the largest graphs nothing is said where none of them was ever at hand.
    asked = {name: runs for name, runs in asked.items() if name not in LARGE or name in done}
    parts = [f"{name} {done.get(name, 0)} of {runs}" for name, runs in asked.items()]
    return (
        f"{sum(done.values())} of {sum(asked.values())} runs are there ({', '.join(parts)}); what "
        f"follows counts rows of at least {RUNS_ENOUGH} seeds."
    )


def _runs_by_dataset(counts: Iterable[tuple[Row, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row, runs in counts:
        found[row.cell.dataset] += runs
    return dict(found)


def _against_published(found: Found) -> str:
    """How many rows are within noise of the published number, above it and below."""
    gaps: dict[str, dict[str, float]] = {"within": {}, "above": {}, "below": {}}
    for row, record in found:
        quoted = row.published.get(metric_of(QUOTED, row))
        if quoted is not None:
            ours = record["metrics"][metric_of(QUOTED, row)]
            side = "above" if ours["mean"] > quoted["mean"] else "below"
            key = side if beyond_noise(ours, quoted) else "within"
            gaps[key][_place(row)] = 100 * (ours["mean"] - quoted["mean"])
    counts = {key: len(value) for key, value in gaps.items()}
    if not sum(counts.values()):
        return ""
    return (
        f"**Published numbers**: of {sum(counts.values())} that have ours "
        f"beside them, {counts['within']} agree within noise, {counts['above']} of ours are above "
        f"beyond it{_largest(gaps['above'])} and {counts['below']} below{_largest(gaps['below'])}."
    )


def _comparisons(found: Found) -> str:
    """Which of the paper's claims to be ahead of another method hold here."""
    names: dict[str, list[str]] = {"holds": [], "open": [], "turned": []}
    for row, record, ours in _claims(found):
        names[_verdict(_gains(ours, record, metric_of(QUOTED, row)))].append(_place(row))
    counts = {key: len(value) for key, value in names.items()}
    if not sum(counts.values()):
        return ""
    return (
        f"**The paper's comparisons**: of {sum(counts.values())} in which it has MaskGAE ahead of "
        f"another method, seed by seed {counts['holds']} hold beyond noise, {counts['open']} are "
        f"too close to call{_listed(names['open'])} and {counts['turned']} turn round"
        f"{_listed(names['turned'])}."
    )


def _claims(found: Found) -> Iterator[tuple[Row, Record, Record]]:
    """Rows that the paper has below MaskGAE, with their record and MaskGAE's."""
    own = [each for each in found if each[0].cell.method == "maskgae"]
    for row, record in found:
        metric = metric_of(QUOTED, row)
        for ours, reached in own:
            same = ours.table == row.table and ours.cell.dataset == row.cell.dataset
            theirs, claimed = (each.published.get(metric) for each in (row, ours))
            if not same or row.cell.method == "maskgae" or theirs is None or claimed is None:
                continue
            if theirs["mean"] < claimed["mean"]:
                yield row, record, reached


def _firsts(found: Found) -> str:
    """Who is first on each dataset, and where MaskGAE stands."""
    parts = []
    for task in ("node", "link"):
        for dataset in dict.fromkeys(row.cell.dataset for row, _ in found):
            here = [each for each in found if _is(each[0], task, dataset)]
            if len(here) >= METHODS_ENOUGH:
                order = _order(here, metric_of(ORDERED, here[0][0]))
                parts.append(f"{order} on {dataset} ({task})")
    if not parts:
        return ""
    return f"**First**, by accuracy or by partners among the first ten: {'; '.join(parts)}."


def _order(found: Found, metric: str) -> str:
    """The first and, where it is another, the best place of MaskGAE."""
    order = sorted(found, key=lambda each: -float(each[1]["metrics"][metric]["mean"]))
    names = [f"{name_of(r)} {100 * own['metrics'][metric]['mean']:.1f}" for r, own in order]
    places = [i for i, (row, _) in enumerate(order) if row.cell.method == "maskgae"]
    if not places or places[0] == 0:
        return names[0]
    return f"{names[0]} before {names[places[0]]} at place {places[0] + 1} of {len(order)}"


def _without_learning(found: Found) -> str:
    """How many are no better than what learns nothing."""
    rows = [(row.cell.task, row.cell.method, _beats_rules(row, record)) for row, record in found]
    parts = []
    for task, what in (("node", "SGC features"), ("link", "the best simple rule")):
        here = [each for each in rows if each[0] == task]
        if here:
            missed = [method for _, method, beaten in here if not beaten]
            ours = f", {missed.count('maskgae')} of them MaskGAE's" if missed else ""
            parts.append(f"{what} by {len(missed)} of {len(here)} {task} rows{ours}")
    return f"**Without learning**: not beaten beyond noise are {'; '.join(parts)}." if parts else ""


def _beats_rules(row: Row, record: Record) -> bool:
    """Whether a method is above SGC features, or above the rule that ranks best, beyond noise."""
    rule = "propagated_features" if row.cell.task == "node" else best_rule(row, record)
    return _verdict(_over_rule(record, metric_of(ORDERED, row), rule)) == "holds"


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


def _is(row: Row, task: str, dataset: str) -> bool:
    return (row.cell.task, row.cell.dataset) == (task, dataset)


def _place(row: Row) -> str:
    return f"{name_of(row)} on {row.cell.dataset}, {row.cell.task}"


def _listed(names: Iterable[str]) -> str:
    text = "; ".join(dict.fromkeys(names))
    return f" ({text})" if text else ""


def _largest(gaps: Mapping[str, float]) -> str:
    """The largest gap, by name."""
    if not gaps:
        return ""
    name = max(gaps, key=lambda each: abs(gaps[each]))
    return f" (most {gaps[name]:+.1f}: {name})"


def _gains(one: Record, other: Record, metric: str) -> list[float]:
    """One less the other, on the seeds that both have."""
    first, second = (
        dict(zip(each["seeds"], each["metrics"][metric]["values"], strict=True))
        for each in (one, other)
    )
    return [first[seed] - second[seed] for seed in first if seed in second]


def _over_rule(record: Record, metric: str, rule: str) -> list[float]:
    """A method less a rule, seed by seed."""
    both = record["metrics"][metric]["values"], record["sanity"][rule][metric]["values"]
    return [own - other for own, other in zip(*both, strict=True)]


def _verdict(gains: Sequence[float]) -> str:
    """Whether a gain ``holds`` beyond twice its error, has ``turned`` to a loss, or is ``open``."""
    if len(gains) < RUNS_ENOUGH:
        return "open"
    error = stdev(gains) / math.sqrt(len(gains))
    if abs(fmean(gains)) <= 2 * error:
        return "open"
    return "holds" if fmean(gains) > 0 else "turned"
