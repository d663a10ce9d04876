"""What each part of a link's score is worth, and our rows beside HeaRT's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maskgae.base.display import ROW_NAMES
from maskgae.evaluation.metrics import summary
from maskgae.lab.published import HEART_RULES, HEART_TABLE
from maskgae.lab.row import Row
from maskgae.lab.tables.blocks import markdown_table
from maskgae.lab.tables.compare import RUNS_ENOUGH, figure, gain

Record = Mapping[str, Any]
Found = Sequence[tuple[Row, Record | None]]

#: What a list of links is judged by, and its heading.
SHOWN = {"rank_hits@10": "Hits@10", "rank_mrr": "MRR", "auc": "AUC"}
HITS, MRR = "rank_hits@10", "hard_mrr"


def parts_table(rows: Found) -> str:
    """Each method alone and with the rules, and what that adds to the rules alone."""
    ways = [f"{way}: {name}" for way in ("alone", "with the rules") for name in SHOWN.values()]
    header = ["", "n", *ways, "Hits@10 above the rules alone"]
    lines = []
    for dataset, here in _by_dataset(rows).items():
        lines += [_line(f"{dataset}, {name}", record) for name, record in here.items()]
        rules = next(iter(here.values()))
        own = [figure(rules["sanity"]["rules"][metric]) for metric in SHOWN]
        label, count = f"{dataset}, {ROW_NAMES['rules']}", str(len(rules["seeds"]))
        lines.append([label, count, *[""] * len(SHOWN), *own, ""])
    return markdown_table(header, lines)


def parts_findings(rows: Found) -> str:
    """What masking still adds, in figures of the table."""
    return "\n".join(_finding(name, here) for name, here in _by_dataset(rows).items())


def heart_table(rows: Found) -> str:
    """The rules by which the rule is checked, ours, and what was published of others."""
    names = list(HEART_TABLE)
    ours = {"untrained": ROW_NAMES["untrained"], "network": "MaskGAE, network alone"}
    shown = {**{key: ROW_NAMES[key] for key in HEART_RULES}, **ours, "rules": ROW_NAMES["rules"]}
    shown |= {"": "MaskGAE with the rules"}
    shown |= {key: key for name in names for key in HEART_TABLE[name] if key not in shown}
    lines = []
    for key, label in shown.items():
        line = [label]
        for dataset in names:
            quoted = HEART_TABLE[dataset].get(key)
            here = [r for row, r in rows if row.cell.dataset == dataset and r is not None]
            line += [_hard(here, key), "" if quoted is None else f"{quoted:.2f}"]
        lines.append(line)
    header = [cell for name in names for cell in (f"{name} (seeds)", "published")]
    return markdown_table(["", *header], lines)


def _hard(records: Sequence[Record], key: str) -> str:
    """The MRR of a row from the record with the most seeds that has it, and their number.

    Only MaskGAE is a row by its own score; rules are the same beside every method.
    """
    found = [
        (len(record["seeds"]), row[MRR])
        for record in records
        if (row := record["sanity"].get(key, {}) if key else _own(record)) and MRR in row
    ]
    if not found:
        return ""
    count, value = max(found, key=lambda each: each[0])
    return f"{figure(value)} ({count})"


def _own(record: Record) -> Mapping[str, Any]:
    return record["metrics"] if record["method"] == "maskgae" else {}


def _by_dataset(rows: Iterable[tuple[Row, Record | None]]) -> dict[str, dict[str, Record]]:
    """Records by dataset and label, in the order of the rows."""
    found: dict[str, dict[str, Record]] = {}
    for row, record in rows:
        if record is not None:
            found.setdefault(row.cell.dataset, {})[_label(row)] = record
    return found


MASKED, UNMASKED, UNTRAINED = "MaskGAE", "MaskGAE without a mask", "untrained encoder"


def _label(row: Row) -> str:
    if row.cell.method == "maskgae":
        return UNMASKED if row.cell.settings.mask.kind == "none" else MASKED
    return ROW_NAMES.get(row.cell.method, row.cell.method)


def _line(label: str, record: Record) -> list[str]:
    alone = record["sanity"]["network"]
    cells = [figure(part[metric]) for part in (alone, record["metrics"]) for metric in SHOWN]
    return [label, str(len(record["seeds"])), *cells, _above(record)]


def _finding(dataset: str, here: Mapping[str, Record]) -> str:
    """One line of a list."""
    ours = (MASKED, UNMASKED, UNTRAINED)
    others = [n for n in here if n not in ours and len(here[n]["seeds"]) >= RUNS_ENOUGH]
    told = [f"{name} {_above(here[name])}" for name in ours if name in here]
    if others:
        best = max(
            others, key=lambda name: _less(_hits(here[name]), _hits(here[name], "rules"))["mean"]
        )
        told.append(f"the best baseline, {best}, {_above(here[best])}")
    text = f"- {dataset}, points of Hits@10 above the rules alone: {', '.join(told)}."
    if MASKED in here and UNMASKED in here:
        with_rules, alone = (
            gain(_less(*(_hits(here[name], row) for name in (MASKED, UNMASKED))))
            for row in ("", "network")
        )
        text += f" Masked less unmasked: {with_rules} with the rules, {alone} alone."
    return text


def _above(record: Record) -> str:
    return gain(_less(_hits(record), _hits(record, "rules")))


def _hits(record: Record, row: str = "") -> dict[int, float]:
    """Hits@10 by seed, of the method or of a row beside it."""
    part = record["sanity"][row] if row else record["metrics"]
    return dict(zip(record["seeds"], part[HITS]["values"], strict=True))


def _less(one: Mapping[int, float], other: Mapping[int, float]) -> dict[str, Any]:
    """The paired difference over the seeds that both have."""
    return summary([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])
