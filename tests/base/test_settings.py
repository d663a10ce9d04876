"""Settings are checked when they are set, survive TOML, and have one digest."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskgae.base.errors import InputError, nearest
from maskgae.base.settings import APART, KEYS, Settings, choices, help_text
from maskgae.base.settings_text import flatten, parse_assignment, read_toml, to_toml


def refusal(key: str, value: Any) -> str:
    with pytest.raises(InputError) as error:
        Settings().updated({key: value})
    return str(error.value)


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_has_a_help_text_and_a_default_that_passes_its_own_check(key: str) -> None:
    assert len(help_text(key)) > 5
    default = Settings().flat()[key]
    assert Settings().updated({key: default}) == Settings()
    assert not choices(key) or default in choices(key)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("mask.pp", "'mask.p'"),
        ("encoder.layer", "'encoder.layers'"),
        ("Mask.P", "'mask.p'"),
        ("training.learning_rate", "training."),
        ("mask", "'mask."),
    ],
)
def test_an_unknown_key_names_the_nearest(key: str, hint: str) -> None:
    message = refusal(key, 1)
    assert f"'{key}'" in message
    assert hint in message


@pytest.mark.parametrize(
    ("key", "word", "hint"),
    [
        ("encoder.kind", "gcm", "'gcn'"),
        ("mask.kind", "Paths", "'path'"),
        ("mask.roots", "x", "edge"),
    ],
)
def test_an_unknown_word_names_the_nearest(key: str, word: str, hint: str) -> None:
    message = refusal(key, word)
    assert word in message
    assert hint in message


@pytest.mark.parametrize("key", ["mask.p", "mask.q"])
@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_a_ratio_lies_inside_zero_and_one(key: str, value: float) -> None:
    message = refusal(key, value)
    assert f"{key} must lie in (0, 1), not {value:g}" in message
    assert "mask.kind=none" in message


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("training.lr", 0, "(0, inf), not 0"),
        ("training.lr", math.inf, "(0, inf), not inf"),
        ("training.weight_decay", -1e-4, "[0, inf), not -0.0001"),
        ("objective.alpha", math.nan, "[0, inf), not nan"),
        ("encoder.dropout", 1.0, "[0, 0.996], not 1"),
        ("encoder.layers", 0, "[1, 100], not 0"),
        ("split.test", 1.1, "[0, 1], not 1.1"),
        ("seed", -1, "[0, inf), not -1"),
        ("probe.grid", [1.0, -2.0], "[0, inf), not -2"),
        ("probe.grid", [math.nan], "[0, inf), not nan"),
    ],
)
def test_a_number_out_of_range(key: str, value: Any, rule: str) -> None:
    assert f"{key} must lie in {rule}" in refusal(key, value)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("encoder.layers", 2.0, "a whole number, not 2.0"),
        ("encoder.layers", True, "a whole number, not True"),
        ("encoder.layers", "two", "a whole number, not 'two'"),
        ("mask.p", "half", "a number, not 'half'"),
        ("mask.p", False, "a number, not False"),
        ("mask.p", None, "a number, not None"),
        ("mask.p", {"a": 1}, "a number, not {'a': 1}"),
        ("mask.kind", 3, "a word, not 3"),
        ("probe.grid", ["x"], "a number, not 'x'"),
    ],
)
def test_a_value_of_the_wrong_type(key: str, value: Any, rule: str) -> None:
    assert f"{key} must be {rule}" in refusal(key, value)


def test_whole_numbers_become_numbers_and_single_values_lists() -> None:
    settings = Settings().updated({"objective.alpha": 1, "probe.grid": 2})
    assert settings.objective.alpha == 1.0 and isinstance(settings.objective.alpha, float)
    assert settings.probe.grid == (2.0,)


def test_updating_makes_a_copy_in_which_later_values_win() -> None:
    first = Settings()
    second = first.updated({"mask.p": 0.5, "encoder.kind": "gat"}).updated({"mask.p": 0.6})
    assert (first.mask.p, second.mask.p, second.encoder.kind) == (0.3, 0.6, "gat")
    assert second.mask.q == first.mask.q


@given(
    seed=st.integers(0, 2**63),
    p=st.floats(0, 1, exclude_min=True, exclude_max=True),
    decay=st.floats(0, 1e300),
    kind=st.sampled_from([kind for kind in choices("encoder.kind") if kind != "none"]),
    grid=st.lists(st.floats(0, 1e9, exclude_min=True), min_size=1, max_size=4),
)
def test_toml_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    p: float,
    decay: float,
    kind: str,
    grid: list[float],
) -> None:
    values = {"seed": seed, "mask.p": p, "training.weight_decay": decay, "encoder.kind": kind}
    settings = Settings().updated(values | {"probe.grid": grid})
    path = tmp_path_factory.mktemp("toml") / "config.toml"
    path.write_text(to_toml(settings.flat()))
    assert Settings().updated(read_toml(path)) == settings


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.toml: No such file"):
        read_toml(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="cannot read"):
        read_toml(tmp_path)
    broken = tmp_path / "broken.toml"
    for content in (b"mask.p == 3", b"\xff\xfe\x00"):
        broken.write_bytes(content)
        with pytest.raises(InputError, match=r"broken\.toml is not a TOML file"):
            read_toml(broken)


def test_digest_stands_for_all_settings_that_change_a_result() -> None:
    plain = Settings().digest()
    assert all(Settings().updated({key: _other(key)}).digest() == plain for key in APART)
    assert len(plain) == 16
    changed = {Settings().updated({key: _other(key)}).digest() for key in KEYS if key not in APART}
    assert len(changed | {plain}) == len(KEYS) - len(APART) + 1


def _other(key: str) -> Any:
    """A valid value of a setting that is not its default."""
    value = Settings().flat()[key]
    if choices(key):
        return next(word for word in choices(key) if word != value)
    if isinstance(value, tuple):
        return (7,)
    if isinstance(value, float):
        return value / 2 or 0.25
    return "10" if isinstance(value, str) else value + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mask.p=0.5", ("mask.p", 0.5)),
        ("mask.p = 1e-3", ("mask.p", 1e-3)),
        ("encoder.kind=gat", ("encoder.kind", "gat")),
        ('encoder.kind="gat"', ("encoder.kind", "gat")),
        ("encoder.layers=3", ("encoder.layers", 3)),
        ("probe.grid=[1, 2.5]", ("probe.grid", [1, 2.5])),
        ("name=a=b", ("name", "a=b")),
    ],
)
def test_assignments(text: str, expected: tuple[str, Any]) -> None:
    assert parse_assignment(text) == expected


def test_an_assignment_needs_an_equals_sign() -> None:
    with pytest.raises(InputError, match=r"key=value.*not 'mask\.p'"):
        parse_assignment("mask.p")


def test_tables_become_dotted_keys() -> None:
    assert flatten({"a": 1, "b": {"c": {"d": 2}, "e": 3}}) == {"a": 1, "b.c.d": 2, "b.e": 3}


def test_nearest_without_a_close_word_lists_them_all() -> None:
    assert nearest("zzz", ["gcn", "gat"]) == "choose one of gcn, gat"
    assert nearest("z", map(str, range(60))).endswith("18, 19 and 40 more")


@pytest.mark.parametrize("key", ["-", "p", "seed" * 1000, "mask." + "p" * 4000])
def test_an_unknown_key_makes_no_long_line(key: str) -> None:
    assert len(refusal(key, 1)) < 1000


@pytest.mark.parametrize("values", [{"probe.grid": []}, {"probe.grid": [0, 1]}])
def test_a_grid_without_a_penalty_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"probe\.grid must list"):
        Settings().updated(values)
    if values["probe.grid"]:
        assert Settings().updated({**values, "probe.kind": "adam"}).probe.grid == (0, 1)
