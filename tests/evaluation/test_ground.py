"""One ground serves every method, and answers what each would hear alone."""

from __future__ import annotations

import pytest

from maskgae.base.settings import Settings
from maskgae.datasets.generated import generate
from maskgae.evaluation.ground import Ground
from maskgae.lab import Cell, run_seed
from maskgae.lab.protocol import _ground, _judge

QUICK = Settings().updated({"training.max_steps": 5, "split.hard_negatives": 10})


@pytest.mark.parametrize("task", ["link", "node"])
def test_a_second_method_hears_what_it_would_alone(task: str) -> None:
    graph = generate(200, 700, num_features=12, communities=3, seed=1)
    _ground.cache_clear()
    _judge.cache_clear()
    together = [run_seed(Cell(task, "imports", QUICK, method=m), graph, 4) for m in ("gae", "sage")]
    again = generate(200, 700, num_features=12, communities=3, seed=1)
    alone = run_seed(Cell(task, "imports", QUICK, method="sage"), again, 4)
    assert together[1].metrics == alone.metrics and together[1].sanity == alone.sanity
    assert list(together[1].sanity) == list(alone.sanity)
    rules = {name: row for name, row in alone.sanity.items() if name != "untrained"}
    assert rules and all(together[0].sanity[name] == row for name, row in rules.items())


def test_rules_are_asked_once_for_as_many_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate(200, 700, num_features=12, communities=3, seed=1)
    ground, _ = _ground.__wrapped__("imports", QUICK.split, graph, 4)
    calls: list[int | None] = []
    asked = Ground.asked
    monkeypatch.setattr(Ground, "asked", lambda self, b, e: calls.append(e) or asked(self, b, e))
    first, second, third = (ground.rule_rows(ends) for ends in (None, None, 20))
    assert calls == [None, 20] and first is second
    assert first["adamic_adar"]["auc"] == third["adamic_adar"]["auc"]
