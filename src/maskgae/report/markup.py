"""Text that a user wrote, made harmless for the three places it goes to.

=============  ==============================================================================
:func:`text`   into HTML, between tags or in a quoted attribute
:func:`label`  into a chart: Plotly reads tags and entities in names and hover texts
:func:`data`   into a ``<script type="application/json">`` block, which ends at ``</script``
=============  ==============================================================================
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def text(value: Any) -> str:
    """Escapes for HTML.

    >>> text("<b id='x'>")
    '&lt;b id=&#x27;x&#x27;&gt;'
    """
    # A parser would turn a bare carriage return into a line feed.
    return html.escape(str(value), quote=True).replace("\r", "&#13;")


def label(value: Any) -> str:
    """Escapes for a chart's text.

    >>> label("a<br>&b")
    'a&lt;br&gt;&amp;b'
    """
    return html.escape(str(value), quote=False)


def data(document: Any) -> str:
    """JSON without any character that HTML or JavaScript could take for its own.

    >>> data({"id": "</script><!--", "x": float("nan")})
    '{"id":"\\\\u003c/script\\\\u003e\\\\u003c!--","x":null}'
    """
    written = json.dumps(plain(document), allow_nan=False, separators=(",", ":"))
    # json.dumps writes ASCII only, so U+2028 and U+2029 are escaped already.
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


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


def table(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """A table from cells that are HTML already; the first cell of a row is its heading."""
    lines = ["".join(f'<th scope="col">{cell}</th>' for cell in head)]
    for first, *rest in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in rest)
        lines.append(f'<th scope="row">{first}</th>{cells}')
    header, *body = (f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="scroll"><table class="{kind}"><thead>{header}</thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
