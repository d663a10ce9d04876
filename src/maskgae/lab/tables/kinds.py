"""The tables of docs/kinds.md from kept records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from maskgae.base.display import METRIC_NAMES, ROW_NAMES
from maskgae.lab.kinds.graphs import KINDS, ROWS, TASK
from maskgae.lab.records import Records, Run
from maskgae.lab.row import UNSEEN
from maskgae.lab.tables.blocks import markdown_table

#: What LightGCN's authors published on Gowalla.
PUBLISHED = {"recall@20": 0.1830, "ndcg@20": 0.1554}
TITLES = {
    "fit": "**`fit`**",
    "quick": "**`fit --quick`**",
    "undirected": "`fit`, undirected",
    "undirected-quick": "`fit --quick`, undirected",
    "lightgcn": "LightGCN of PyG, here",
}
SIDES = ("recall@20", "ndcg@20")
WAYS = ("direction_auc", "rank_mrr", "rank_hits@10", "in_rank_mrr", "in_rank_hits@10")
YEARS = ("rank_mrr", "rank_hits@10", "rank_hits@50", "auc")
HEADINGS = METRIC_NAMES | {
    "recall@20": "Recall@20",
    "ndcg@20": "NDCG@20",
    "direction_auc": "direction AUC",
    "in_rank_mrr": "in-links MRR",
    "in_rank_hits@10": "in-links Hits@10",
}
#: The rules that the issue of time is about stand first; popularity is the in-degree.
OF_YEARS = ("in_degree", "three_steps", "directed_three_steps", "adamic_adar")

Seeds = Sequence[Run]


def kind_blocks(records: Records, first: int = UNSEEN) -> dict[str, str]:
    """The tables by their names."""
    found = {name: standing(records, name, first) for name in KINDS}
    ways = [
        f"#### {name}\n\n{_ways(found[name])}"
        for name in ("cora_ml", "polblogs", "arxiv")
        if found[name]
    ]
    nothing = "Nothing was run yet."
    return {
        "kinds sides": _sides(found["gowalla"]) if found["gowalla"] else nothing,
        "kinds ways": "\n\n".join(ways) or nothing,
        "kinds years": _years(found["arxiv-by-year"]) if found["arxiv-by-year"] else nothing,
    }


def standing(records: Records, name: str, first: int = 0) -> dict[str, Seeds]:
    """The runs of each row, of the settings that it was last run with."""
    found: dict[str, tuple[str, dict[int, Run]]] = {}
    for (digest, seed), run in records.runs(TASK, name).items():
        row = run["cell"]["method"]
        if seed < first or row not in ROWS:
            continue
        if row not in found or found[row][0] != digest:
            found[row] = digest, {}
        found[row][1][seed] = run
    return {row: list(found[row][1].values()) for row in ROWS if row in found}


def _sides(found: Mapping[str, Seeds]) -> str:
    lines = [_line(_trained(row, runs[0]), runs, SIDES) for row, runs in found.items()]
    lines += _rules(found, SIDES, {"degree_product": "popularity"})
    published = [f"{100 * PUBLISHED[name]:.2f}" for name in SIDES]
    lines.append(["LightGCN, published", "", *published, "", ""])
    return _table(SIDES, lines)


def _trained(row: str, run: Run) -> str:
    """The title of a row, with the epochs of one that has its own."""
    epochs = run["cell"]["settings"].get("epochs")
    return TITLES[row] if epochs is None else f"{TITLES[row]}, {epochs} epochs"


def _ways(found: Mapping[str, Seeds]) -> str:
    lines = [_line(TITLES[row], runs, WAYS) for row, runs in found.items()]
    return _table(WAYS, lines + _rules(found, WAYS)) + _sampled(found)


def _years(found: Mapping[str, Seeds]) -> str:
    lines = [_line(TITLES[row], runs, YEARS) for row, runs in found.items()]
    rules = _rules(found, YEARS, {"in_degree": "popularity (in-degree)"})
    return _table(YEARS, lines + rules) + _sampled(found)


def _sampled(found: Mapping[str, Seeds]) -> str:
    """What a ranking of few ends is worth, where it is one."""
    asked = [run["facts"]["ranked_ends"] for runs in found.values() for run in runs if _few(run)]
    if not asked:
        return ""
    error = 100 * (0.25 / min(asked)) ** 0.5
    return (
        f"\n\nRanks are those of a sample of {min(asked)} ends: shares are known to within "
        f"{error:.1f} points (one standard error, at most)."
    )


def _few(run: Run) -> bool:
    return "ranked_ends" in run["facts"]


def _rules(
    found: Mapping[str, Seeds], metrics: Sequence[str], titles: Mapping[str, str] | None = None
) -> list[list[str]]:
    """The rules beside the first row that has them, the parts of ``fit`` before the others."""
    runs = next((runs for runs in found.values() if runs[0]["sanity"]), [])
    names = list(runs[0]["sanity"]) if runs else []
    parts = [name for name in ("network", "rules") if name in names]
    lines = []
    for name in (*parts, *(name for name in names if name not in parts)):
        title = (titles or {}).get(name) or ROW_NAMES.get(name, name)
        part = [{**run, "metrics": run["sanity"][name], "time_s": {}} for run in runs]
        lines.append(_line(title, part, metrics))
    return lines


def _line(title: str, runs: Seeds, metrics: Sequence[str]) -> list[str]:
    values = [[run["metrics"][m] for run in runs if m in run["metrics"]] for m in metrics]
    seconds = [sum(run["time_s"].get(p, 0.0) for p in ("train", "evaluate")) for run in runs]
    costs = ["", ""]
    if any(seconds):
        costs = [f"{fmean(seconds):,.0f}", f"{fmean(run['peak_rss_mb'] for run in runs):,.0f}"]
    return [title, str(len(runs)), *(_percent(found) for found in values), *costs]


def _percent(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * fmean(values):.{1 if spread else 2}f}{spread}"


def _table(metrics: Sequence[str], lines: list[list[str]]) -> str:
    header = ["", "n", *(_heading(name) for name in metrics), "seconds", "MB"]
    return markdown_table(header, lines)


def _heading(name: str) -> Any:
    return HEADINGS.get(name, name)
