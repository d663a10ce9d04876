"""What ``results/scale.json`` says, as tables, and what follows from it for a billion edges.

Cost is taken to grow by the pair: the slope between the two largest graphs that were measured is
carried on, or, where one was measured, what it costs a pair. Time is CPU time, which a busy machine
changes least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.render import MISSING, table
from maskgae.base.settings import Settings
from maskgae.nn.network import MaskGAENet

Report = dict[str, Any]

#: The page's billion: edges, a tenth as many nodes, and the ranks that share an epoch.
PAIRS, RANKS = 10**9, (1, 4, 16)
GIB = 1024.0


def tables(report: Report) -> dict[str, str]:
    """All tables of the page by name."""
    sizes = sorted(report.get("sizes", {}).values(), key=lambda found: found["pairs"])
    makers = {"machine": _machine(report), "cost": _cost(sizes), "training": _training(sizes)}
    return makers | {"billion": _billion(sizes)}


def _machine(report: Report) -> str:
    about = report.get("machine")
    if not about:
        return MISSING
    return (
        f"{about['cpu']}, one thread of {about['cores']} cores, Python {about['python']}, "
        f"torch {about['torch']}, {report['date']}. Other jobs ran beside some of it: CPU seconds "
        "are the ones to compare."
    )


def _cost(sizes: list[Report]) -> str:
    head = ["pairs", "nodes", "store", "generate", "", "ingest CSV", "", "embed", "", "mapped"]
    rows = []
    for found in sizes:
        row = [f"{found['pairs']:,}", f"{found['nodes']:,}", _size(found["store_mb"])]
        for task in ("generate", "ingest", "embed"):
            row += [_seconds(found.get(task)), _held(found.get(task))]
        rows.append([*row, _size(found["embed"]["mapped_mb"]) if "embed" in found else "–"])
    return table(head, rows)


def _training(sizes: list[Report]) -> str:
    head = ["pairs", "updates", "neighbours per hop", "pairs per second", "fit", "held", "mapped"]
    head += ["validation AUC on the way", "training to 95.0", "test AUC", "best without training"]
    rows = []
    for found in (found for found in sizes if "fit" in found):
        fit = found["fit"]
        name, value = fit["best_sanity"]
        rows.append(
            [
                f"{found['pairs']:,}",
                f"{fit['updates']:,}",
                ", ".join(map(str, fit["fanouts"])) or "all",
                f"{fit['pairs_per_s']:,.0f}",
                _seconds(fit),
                _held(fit),
                _size(fit["mapped_mb"]),
                " → ".join(f"{100 * auc:.1f}" for auc in _some(fit["val_auc"])),
                f"{fit['to_goal_s']:,.0f} s" if fit.get("to_goal_s") else "–",
                f"{100 * fit['auc']:.1f}",
                f"{100 * value:.1f} ({name.replace('_', ' ')})",
            ]
        )
    return table(head, rows)


def _some(values: Sequence[float], most: int = 10) -> list[float]:
    """Values that lie even, the last among them.

    >>> _some(range(12), 4)
    [2, 5, 8, 11]
    """
    count = min(most, len(values))
    return [values[(number + 1) * len(values) // count - 1] for number in range(count)]


def _billion(sizes: list[Report]) -> str:
    fitted = [found for found in sizes if "fit" in found and "embed" in found]
    if not fitted:
        return MISSING
    per_pair = {
        "store": _slope(fitted, lambda found: found["store_mb"]),
        "generate": _slope(fitted, lambda found: found["generate"]["cpu_s"]),
        "fit": _slope(fitted, lambda found: found["fit"]["anonymous_mb"]),
        "embed": _slope(fitted, lambda found: found["embed"]["cpu_s"]),
    }
    at = {name: slope * PAIRS for name, slope in per_pair.items()}
    rate = fitted[-1]["fit"]["pairs_per_s"]
    targets, weights = 0.3 * PAIRS, _weights()
    rows = []
    for ranks in RANKS:
        updates = targets / 65536 / ranks
        seconds = targets / (rate * ranks)
        traffic = 2 * 4 * weights * updates * (ranks > 1)
        rows.append(
            [
                f"{ranks}",
                _size(at["store"]),
                _size(at["fit"]),
                f"{updates:,.0f}",
                _long(seconds),
                "–" if ranks == 1 else f"{traffic / 2**20:,.0f} MiB",
                _long(at["embed"] / ranks),
            ]
        )
    head = ["machines", "store on each", "held by each", "updates an epoch", "an epoch"]
    head += ["sent by each an epoch", "embedding"]
    return f"{table(head, rows)}\n\nMaking the store takes {_long(at['generate'])} on one thread."


def _slope(sizes: list[Report], value: Any) -> float:
    """What a pair more costs, from the two largest graphs, or from the only one."""
    large = sizes[-1]
    if len(sizes) == 1:
        return float(value(large)) / float(large["pairs"])
    small = sizes[-2]
    return float(value(large) - value(small)) / float(large["pairs"] - small["pairs"])


def _weights() -> int:
    settings = Settings().updated({"encoder.hidden": 128, "encoder.dim": 64})
    return sum(weight.numel() for weight in MaskGAENet(64, settings).parameters())


def _seconds(found: Report | None) -> str:
    return "–" if found is None else f"{found['cpu_s']:,.0f} s"


def _held(found: Report | None) -> str:
    return "–" if found is None else _size(found["anonymous_mb"])


def _size(mebibytes: float) -> str:
    return f"{mebibytes / GIB:,.1f} GiB" if mebibytes >= 1000 else f"{mebibytes:,.0f} MiB"


def _long(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h" if seconds >= 5400 else f"{seconds / 60:,.0f} min"
