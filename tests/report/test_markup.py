import json

import numpy as np
import pytest

from maskgae.report.markup import data, label, plain, text

NASTY = ["</script>", "<!--", "]]>", "a & b", "\u2028\u2029", "\ud800", '"quoted"', "\\u003c"]


@pytest.mark.parametrize("value", NASTY)
def test_data_survives_a_script_block(value: str) -> None:
    written = data({"id": value})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"id": value}


def test_data_takes_arrays_and_drops_what_json_has_no_word_for() -> None:
    document = {"x": np.array([1.5, np.nan, np.inf]), "n": np.int64(3), "t": (1, "a")}
    assert json.loads(data(document)) == {"x": [1.5, None, None], "n": 3, "t": [1, "a"]}
    assert plain(np.float32("inf")) is None


def test_text_and_labels_are_escaped() -> None:
    assert text("<a href='x'>&\r") == "&lt;a href=&#39;x&#39;&gt;&amp;&#13;"
    assert label("<br>&lt;") == "&lt;br&gt;&amp;lt;"
