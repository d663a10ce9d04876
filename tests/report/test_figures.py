import numpy as np
import pytest

from maskgae.evaluation.calibration import calibration_bins
from maskgae.report import figures
from maskgae.report.palette import PALETTE, SYMBOLS


def test_epochs_are_counted_as_the_chosen_one_is() -> None:
    history = [{"epoch": i, "loss": 1.0, "val_auc": 0.5 + i / 10} for i in range(3)]
    figure = figures.auc_curve(history, 3)
    assert figure is not None
    assert figure["data"][0]["x"] == [1, 2, 3]
    assert (figure["data"][1]["x"], figure["data"][1]["y"]) == ([3], [0.7])


def test_what_is_missing_is_not_drawn() -> None:
    assert figures.loss_curve([]) is None
    assert figures.auc_curve([{"epoch": 0, "loss": 1.0, "val_auc": None}], None) is None
    assert figures.metric_bars({}) is None


def test_long_histories_are_thinned() -> None:
    figure = figures.loss_curve([{"epoch": i, "loss": 1.0} for i in range(5000)])
    assert figure is not None
    assert len(figure["data"][0]["x"]) == 1667


def test_calibration_weighs_both_classes_alike() -> None:
    rows = calibration_bins(np.full(10, 0.75), np.full(1000, 0.75))
    (row,) = rows
    assert row["observed"] == pytest.approx(0.5)
    assert row["predicted"] == pytest.approx(0.75)
    assert row["low"] < 0.5 < row["high"]
    assert row["count"] == 1010


def test_calibration_of_no_scores_is_empty() -> None:
    assert calibration_bins(np.array([]), np.array([])) == []


def test_histogram_counts_every_score() -> None:
    figure = figures.score_histogram(np.array([0.0, 0.5, 1.0]), np.array([0.2]))
    assert [int(trace["customdata"].sum()) for trace in figure["data"]] == [3, 1]
    assert [float(trace["y"].sum()) for trace in figure["data"]] == pytest.approx([100, 100])


def test_degrees_below_the_axis_lie_on_it() -> None:
    figure = figures.degree_scatter(np.array([0, 4]), np.array([-1.0, 5.0]), np.arange(2))
    assert figure["data"][0]["x"].tolist() == [0.5, 4]
    assert figure["data"][0]["y"].tolist() == [0.5, 5]


def luminance(color: str) -> float:
    values = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("color", PALETTE)
def test_colours_hold_on_light_and_dark(color: str) -> None:
    light, dark, own = 1.0, luminance("#16181d"), luminance(color)
    assert (light + 0.05) / (own + 0.05) > 2.05
    assert (own + 0.05) / (dark + 0.05) > 2.5


def test_each_colour_has_a_shape() -> None:
    assert len(PALETTE) == len(SYMBOLS) == len(set(PALETTE)) == 12
