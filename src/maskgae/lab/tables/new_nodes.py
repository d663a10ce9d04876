"""Nodes that come later, from kept records: a fit that never saw them beside one that did."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from maskgae.base.display import METRIC_NAMES
from maskgae.lab.contest.contestants import contestant
from maskgae.lab.contest.new_nodes import FITS, TASK
from maskgae.lab.records import Records, Run
from maskgae.lab.row import UNSEEN
from maskgae.lab.tables.blocks import markdown_table

METRICS = ("accuracy", "rank_hits@10", "rank_mrr")
NAMES = METRIC_NAMES | {"accuracy": "label probe"}


def new_node_block(records: Records, first: int = UNSEEN) -> str:
    """A row for each graph and fit: every figure new, seen, and their difference."""
    header = ["", "", "n", *(f"{NAMES[m]}: new / seen" for m in METRICS), "nodes", "edges asked"]
    rows = []
    for name in records.datasets(TASK):
        for method in FITS:
            both = [_by_seed(records, name, f"{way} {method}", first) for way in ("new", "seen")]
            seeds = sorted(both[0].keys() & both[1].keys())
            if seeds:
                new, seen = ([found[seed] for seed in seeds] for found in both)
                figures = [_beside(new, seen, metric) for metric in METRICS]
                facts = [f"{new[0]['facts'][key]:,}" for key in ("new_nodes", "asked_edges")]
                rows.append([name, contestant(method).title, str(len(seeds)), *figures, *facts])
    return markdown_table(header, rows) if rows else "Nothing was run yet."


def _by_seed(records: Records, dataset: str, method: str, first: int) -> Mapping[int, Run]:
    """The runs by seed, of the settings that were last run."""
    digest: str = ""
    found: dict[int, Run] = {}
    for (own, seed), run in records.runs(TASK, dataset).items():
        if run["cell"]["method"] == method and seed >= first:
            digest, found = own, (found if own == digest else {}) | {seed: run}
    return found


def _beside(new: list[Run], seen: list[Run], metric: str) -> str:
    if metric not in new[0]["metrics"]:
        return ""
    one, other = (100 * fmean(run["metrics"][metric] for run in runs) for runs in (new, seen))
    return f"{one:.1f} / {other:.1f} ({one - other:+.1f})"
