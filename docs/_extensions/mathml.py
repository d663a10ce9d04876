"""Equations as MathML, which browsers draw themselves: no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)
#: What docutils does not know, in words that it knows.
SYNONYMS = {r"\dots": r"\ldots"}


def mathml(node: nodes.Element, as_block: bool) -> str:
    """The equation of a node; one that cannot be read is a warning, so the build fails."""
    try:
        return converted(node.astext(), as_block)
    except (MathError, AttributeError) as error:  # the latter from a line break outside a table
        log.warning("equation %r: %s", node.astext(), error, location=node)
        return ""


def converted(tex: str, as_block: bool) -> str:
    for unknown, known in SYNONYMS.items():
        tex = tex.replace(unknown, known)
    # A word below a symbol is a name and stands upright, not a product of letters.
    tex = re.sub(r"_\{([a-z]{3,})\}", r"_{\\mathrm{\1}}", tex)
    return str(tex2mathml(tex, as_block=as_block))


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
