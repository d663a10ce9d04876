import numpy as np
import pytest

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.report import layout as room
from maskgae.report.layout import layout


def clusters(count: int, width: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    group = np.arange(count) % 3
    return rng.normal(size=(count, width)) + 8 * np.eye(3, width)[group], group


@pytest.mark.usefixtures("global_rng_untouched")
@pytest.mark.parametrize("landmarks", [False, True])
def test_groups_stay_together_and_the_same_stream_gives_the_same_map(
    landmarks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if landmarks:
        monkeypatch.setattr(room, "ALL_NODES", 100)
        monkeypatch.setattr(room, "LANDMARKS", 90)
    x, group = clusters(150)
    places = layout(x, Stream(0))
    assert np.array_equal(places, layout(x, Stream(0)))
    assert places.shape == (150, 2)
    assert np.abs(places).max() == pytest.approx(1)
    centres = np.stack([places[group == g].mean(axis=0) for g in range(3)])
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.98


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (2, 4), (3, 1), (5, 2), (6, 3), (40, 1)])
def test_small_and_narrow_embeddings_can_be_drawn(shape: tuple[int, int]) -> None:
    places = layout(np.random.default_rng(0).normal(size=shape), Stream(0))
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


def test_constant_embeddings_can_be_drawn() -> None:
    assert not layout(np.ones((30, 4)), Stream(0)).any()


def test_infinite_embeddings_are_refused() -> None:
    with pytest.raises(InputError, match="finite"):
        layout(np.array([[1.0, np.nan]]), Stream(0))
