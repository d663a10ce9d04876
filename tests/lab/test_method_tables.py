"""What the page of all methods says follows from its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskgae.lab import Outcome, Records
from maskgae.lab.all_methods import method_rows
from maskgae.lab.row import Row
from maskgae.lab.tables.methods import method_blocks

TIMES = {"train": 2.0, "evaluate": 1.0}


def rows_of(task: str, *methods: str) -> list[Row]:
    found = [row for row in method_rows() if row.table == f"methods {task}"]
    return [r for r in found if r.cell.dataset == "Cora" and r.cell.method in methods]


def node_run(seed: int, accuracy: float, features: float = 0.82) -> Outcome:
    sanity = {
        "propagated_features": {"accuracy": features, "accuracy_random_splits": 0.8},
        "raw_features": {"accuracy": 0.6, "accuracy_random_splits": 0.6},
        "untrained": {"accuracy": 0.7, "accuracy_random_splits": 0.7},
    }
    own = {"accuracy": accuracy, "accuracy_random_splits": 0.8}
    return Outcome(seed, own, sanity, {}, {}, TIMES, peak_rss_mb=500.0)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path)


def test_nothing_is_claimed_where_nothing_was_run(records: Records) -> None:
    blocks = method_blocks(rows_of("node", "dgi", "gmi"), records)
    assert blocks["methods findings"].startswith("0 of 10 runs are there (Cora 0 of 10)")
    assert "\n" not in blocks["methods findings"]
    assert blocks["methods node"].count("\n") == 1


def test_places_differences_and_features_come_out_of_the_runs(records: Records) -> None:
    rows = rows_of("node", "dgi", "gmi", "grace", "gca", "maskgae")
    level = {"dgi": 0.83, "gmi": 0.85, "grace": 0.81, "gca": 0.80, "maskgae": 0.84}
    for row in rows:
        for seed in (200, 201, 202):
            noise = 0.001 * (seed - 201)
            records.save(row.cell, node_run(seed, level[row.cell.method] + noise))
    blocks = method_blocks(rows, records)
    text = blocks["methods findings"]
    assert "18 of 30 runs are there" in text
    assert "gmi 85.0 before MaskGAE (edge) 84.0 at place 2 of 6 on Cora (node)." in text
    assert "are SGC features by 2 of 6 node rows, 0 of them MaskGAE's." in text
    assert "(most +2.0: gmi on Cora, node)" in text
    assert "below (most -1.8: gca on Cora, node)" in text
    assert "hold beyond noise, 0 are too close to call and 2 turn round (gmi on Cora, node)" in text
    assert [line[:2] for line in text.splitlines()[2:]] == ["1.", "2.", "3.", "4.", "5."]
    assert "most +15.0 (gmi on Cora), least +10.0 (gca on Cora)" in text
    lines = blocks["methods node"].splitlines()
    assert lines[2].startswith("| Cora, SGC features (smoothed twice) | 3 | 82.00 ± 0.00 |")
    assert lines[4].startswith("| Cora, gmi | 3 | 85.00 ± 0.10 | 83.00 ± 0.30 | **+2.00** |")


def test_two_runs_say_nothing_of_noise(records: Records) -> None:
    rows = rows_of("node", "dgi")
    for seed in (200, 201):
        records.save(rows[0].cell, node_run(seed, 0.9))
    blocks = method_blocks(rows, records)
    assert "| +7.70 |" in blocks["methods node"]
    assert "Published numbers" not in blocks["methods findings"]


def test_links_are_set_against_the_best_rule(records: Records) -> None:
    rows = rows_of("link", "dgi", "gmi", "grace", "gca", "bgrl")
    names = ("auc", "ap", "rank_hits@10", "rank_mrr", "hard_hits@10", "hard_mrr")
    for place, row in enumerate(rows):
        for seed in (200, 201, 202):
            own = dict.fromkeys(names, 0.9) | {"rank_hits@10": 0.4 + 0.02 * place + seed / 1e5}
            rule = dict.fromkeys(names, 0.8) | {"rank_hits@10": 0.45}
            sanity = {"adamic_adar": rule, "pagerank": dict.fromkeys(names, 0.1), "untrained": rule}
            records.save(row.cell, Outcome(seed, own, sanity, {}, {}, TIMES))
    blocks = method_blocks(rows, records)
    assert f"{rows[-1].cell.method} 48.2 on Cora (link)" in blocks["methods findings"]
    assert "are the best simple rule by 3 of 5 link rows" in blocks["methods findings"]
    assert blocks["methods link"].splitlines()[2].endswith("| a rule |")


def test_collab_which_is_not_ranked_has_a_table_by_its_hits(records: Records) -> None:
    rows = [row for row in method_rows() if row.cell.dataset == "Collab"]
    assert {"gae", "dgi", "maskgae"} <= {row.cell.method for row in rows}
    for place, row in enumerate(rows):
        for seed in (200, 201, 202):
            own = {"auc": 0.9, "ap": 0.9, "hits@50": 0.3 + 0.02 * place + seed / 1e5}
            sanity = {"adamic_adar": dict.fromkeys(own, 0.35), "untrained": own}
            records.save(row.cell, Outcome(seed, own, sanity, {}, {}, TIMES))
    blocks = method_blocks(rows, records)
    first, last = (row.cell.method for row in (rows[0], rows[-1]))
    lines = blocks["methods link"].splitlines()
    start = lines.index("") + 1
    assert lines[start].startswith("|  | n | Hits@50 | published | difference | AUC | AP |")
    assert lines[start + 2].startswith("| Collab, Adamic-Adar | 3 | 35.00 ± 0.00 |  |  | 35.00")
    assert last in lines[start + 3].lower() and first in lines[-1].lower()
    assert any("| 47.14 ± 1.45 |" in line for line in lines if "Collab, gae" in line)
    assert (
        f"{3 * len(rows)} of {3 * len(rows)} runs are there (Collab" in blocks["methods findings"]
    )
    assert " on Collab (link)" in blocks["methods findings"]


def test_nothing_is_said_of_the_largest_graphs_where_they_never_were(records: Records) -> None:
    rows = [row for row in method_rows() if row.cell.method == "mlp"]
    assert {"arXiv", "MAG"} < {row.cell.dataset for row in rows}
    assert "arXiv" not in method_blocks(rows, records)["methods findings"]


def test_a_cut_is_compared_on_the_seeds_that_both_have(records: Records) -> None:
    rows = [r for r in method_rows() if r.cell.dataset == "Cora" and r.cell.method == "grace"]
    for row in rows:
        if row.cell.task == "node":
            check = row.table == "methods checks"
            for seed in (200, 201) if check else (201, 202):
                records.save(row.cell, node_run(seed, 0.80 if check else 0.81))
    (line,) = method_blocks(rows, records)["methods checks"].splitlines()[2:]
    assert line == "| grace, `grace.sample=512` | 1 | 81.00 | 80.00 | -1.00 |"


def test_the_cost_of_all_runs_is_added_up(records: Records) -> None:
    rows = [r for r in method_rows() if r.cell.dataset == "Cora" and r.cell.method == "grace"]
    for row in rows:
        if row.cell.task == "node":
            for seed in row.numbers():
                records.save(row.cell, node_run(seed, 0.81))
    text = method_blocks(rows, records)["methods cost"]
    # Five runs and the three of the check, at three seconds each.
    assert text.endswith("\n\nAll 8 runs took 0.0 hours of one thread.")
    assert "--set grace.sample=512" in text


def test_what_lies_outside_the_range_of_others_is_bold(records: Records) -> None:
    (inside,), (outside,) = rows_of("node", "dgi"), rows_of("node", "gmi")
    records.save(inside.cell, node_run(200, 0.8204))
    records.save(outside.cell, node_run(200, 0.79))
    table = method_blocks([inside, outside], records)["methods ranges"].splitlines()
    assert table[2:] == [
        "| dgi | 82.0 (1) | 81 to 82.5 |  |  |",
        "| gmi | **79.0 (1)** | 80.5 to 83 |  |  |",
    ]
