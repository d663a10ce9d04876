"""Which method is first on which graph, from records made by hand."""

from __future__ import annotations

from pathlib import Path

from maskgae.evaluation.outcome import Outcome
from maskgae.lab import Records
from maskgae.lab.contest.entry import Entry
from maskgae.lab.tables.which import which_blocks


def keep(records: Records, method: str, seconds: float, **metrics: float) -> None:
    given = {name.replace("_at_", "@"): value for name, value in metrics.items()}
    run = Outcome(200, given, {}, {}, {}, {"train": seconds, "evaluate": 0.0})
    records.save(Entry("tiny", method, {}, "tiny"), run)


def test_the_first_and_who_is_close_to_it_are_named_with_their_cost(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, "adamic_adar", 1.0, rank_hits_at_10=0.400)
    keep(records, "three_steps", 2.0, rank_hits_at_10=0.392)
    keep(records, "maskgae", 90.0, rank_hits_at_10=0.350, accuracy=0.8)
    blocks = which_blocks(records)
    row = "| tiny | Adamic-Adar 40.0 (1 s); paths of three steps 39.2 (2 s) | 35.0 |"
    assert row in blocks["which links"]
    assert blocks["which links"].endswith("First on so many of 1 graphs: Adamic-Adar 1.")
    assert "| tiny | maskgae fit 80.0 (90 s) | 80.0 |" in blocks["which vectors"]


def test_nothing_is_said_where_nothing_was_run(tmp_path: Path) -> None:
    assert which_blocks(Records(tmp_path)) == {
        "which links": "Nothing was run yet.",
        "which vectors": "Nothing was run yet.",
    }
