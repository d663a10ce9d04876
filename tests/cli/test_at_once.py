"""Two commands at once: one of two runs into a folder is refused, records of both are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.harness.calls import Ended, Warm

from maskgae.base.jsonl import read_lines
from maskgae.datasets.generated import generate
from maskgae.run import Run


def both(first: Warm, second: Warm, command: str, folder: Path) -> list[Ended]:
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(run, *command.split(), folder=str(folder)) for run in (first, second)]
        return [call.result() for call in calls]


def test_one_of_two_that_resume_goes_on(warm: Warm, warm_elsewhere: Warm, tmp_path: Path) -> None:
    pairs = generate(300, 1500, num_features=4, seed=3).pairs.T.tolist()
    (tmp_path / "edges.csv").write_text("".join(f"n{u},n{v}\n" for u, v in pairs))
    fit = "fit edges.csv --out run --threads 1 --quiet --set training.epochs=40 --resume"
    assert warm(*fit.replace("run", "alone").split(), folder=str(tmp_path)).code == 0
    ends = both(warm, warm_elsewhere, fit, tmp_path)
    done, refused = sorted(ends, key=lambda end: end.code)
    assert done.code == 0 and refused.code == 1, ends
    assert "error: run is in use by another run (process " in refused.errors
    run, alone = (Run.load(tmp_path / name) for name in ("run", "alone"))
    assert (run.embedding == alone.embedding).all()


def test_two_tables_at_once_keep_the_same_records(
    warm: Warm, warm_elsewhere: Warm, tmp_path: Path
) -> None:
    """As of ``reproduce`` and ``ablate``, which run cells by the same hands."""
    small = "--set training.epochs=2 --set encoder.hidden=16 --set encoder.dim=16"
    tune = f"tune link --grid mask.p=[0.3,0.5] --seeds 2 {small} --results log --quiet"
    ends = both(warm, warm_elsewhere, tune, tmp_path)
    assert [end.code for end in ends] == [0, 0], ends
    (path,) = (tmp_path / "log").rglob("*.jsonl")
    lines = read_lines(path)
    runs = {(line["digest"], line["seed"], str(line["metrics"])) for line in lines}
    assert len(runs) == 4 and 4 <= len(lines) <= 8
    assert [found.name for found in path.parent.iterdir()] == [path.name]  # no lock is left
