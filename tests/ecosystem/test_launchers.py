"""The recipes of docs/scale.md: two workers, killed and started again, end where torchrun does."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.torch import load_file

pytestmark = pytest.mark.slow
SETTINGS = {"training.epochs": 6, "training.checkpoint_every": 1}

#: What each worker runs; the first attempt dies after its fourth epoch.
WORK = f"""
import os, signal
from pathlib import Path


def work(config):
    from maskgae import Callback, fit

    place = Path(config["place"])

    class Killed(Callback):
        def on_epoch(self, row):
            if row["epoch"] == 3 and not (place / "killed").exists():
                (place / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)

    how = {{"batch_pairs": 128, "resume": True, "callbacks": [Killed()]}}
    fit(place / "edges.csv", {SETTINGS!r}, folder=place / "run", **how)
"""

LIGHTNING = """
from lightning import Fabric

Fabric(accelerator="cpu", devices=2, strategy="ddp").launch()
work({"place": "."})
"""

RAY = """
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

here = str(Path.cwd())
TorchTrainer(
    work,
    train_loop_config={"place": here},
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=f"{here}/ray", failure_config=FailureConfig(max_failures=1)),
).fit()
"""


def called(place: Path, *words: str) -> int:
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=place, env=env, capture_output=True, timeout=900).returncode


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edges, and with the run that torchrun makes of them."""
    place = tmp_path_factory.mktemp("torchrun")
    rows = [f"{i},{(i * 7 + j) % 200}" for i in range(200) for j in (1, 2, 3)]
    (place / "edges.csv").write_text("\n".join(["source,target", *rows, ""]))
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "maskgae", "fit"]
    words += ["edges.csv", "--out", "run", "--batch-pairs", "128", "--quiet"]
    for key, value in SETTINGS.items():
        words += ["--set", f"{key}={value}"]
    assert called(place, *words) == 0
    return place


@pytest.mark.parametrize(
    ("package", "script", "starts_again"), [("lightning", LIGHTNING, False), ("ray", RAY, True)]
)
def test_killed_once_it_ends_with_the_same_weights(
    package: str, script: str, starts_again: bool, expected: Path, tmp_path: Path
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"make ecosystem installs {package}")
    (tmp_path / "edges.csv").write_text((expected / "edges.csv").read_text())
    (tmp_path / "script.py").write_text(WORK + script)
    if not starts_again:
        assert called(tmp_path, "script.py") != 0
    assert called(tmp_path, "script.py") == 0
    assert (tmp_path / "killed").exists()
    ours, theirs = (load_file(p / "run" / "model.safetensors") for p in (expected, tmp_path))
    assert ours.keys() == theirs.keys()
    assert all(ours[name].equal(theirs[name]) for name in ours)
