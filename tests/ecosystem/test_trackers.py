"""The how-to's TensorBoard callback with the real package: what it writes is the history."""

import re
from pathlib import Path
from typing import Any

import pytest

from maskgae import Callback, fit

pytest.importorskip("tensorboard", reason="make ecosystem installs it")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "trackers.md"
EDGES = [(i, (i * 7 + j) % 60) for i in range(60) for j in (1, 2, 3)]


def test_tensorboard_has_the_history(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (code,) = re.findall(r"```{code-block} python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"Callback": Callback}
    exec(code, names)
    run = fit(EDGES, {"training.epochs": 4}, callbacks=[names["TensorBoard"](str(tmp_path))])
    events = EventAccumulator(str(tmp_path)).Reload()
    found = {event.step: event.value for event in events.Scalars("loss")}
    assert found == pytest.approx({row["epoch"]: row["loss"] for row in run.history})
