"""Text that a user wrote, made harmless for the three places it goes to.

=============  ==============================================================================
:func:`text`   into HTML, between tags or in a quoted attribute
:func:`label`  into a chart: Plotly reads tags and entities in names and hover texts
:func:`data`   into a ``<script type="application/json">`` block, which ends at ``</script``
=============  ==============================================================================
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape


def text(value: Any) -> Markup:
    """Escapes for HTML, as the templates do with every value that is not markup already.

    >>> str(text("<b id='x'>"))
    '&lt;b id=&#39;x&#39;&gt;'
    """
    if isinstance(value, Markup):
        return value
    # A parser would turn a bare carriage return into a line feed.
    return escape(value).replace("\r", Markup("&#13;"))


def label(value: Any) -> str:
    """Escapes for a chart's text.

    >>> label("a<br>&b")
    'a&lt;br&gt;&amp;b'
    """
    return html.escape(str(value), quote=False)


def data(document: Any) -> Markup:
    """JSON without any character that HTML or JavaScript could take for its own.

    >>> str(data({"id": "</script><!--", "x": float("nan")}))
    '{"id":"\\\\u003c/script\\\\u003e\\\\u003c!--","x":null}'
    """
    # Written in ASCII only, so U+2028 and U+2029 are escaped too.
    return htmlsafe_json_dumps(plain(document), allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """Arrays as lists, what is not a finite number as ``None``."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
