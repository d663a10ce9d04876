"""The site, built by ``make docs`` from pages, notebooks and docstrings, without network."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import maskgae

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "maskgae"
version = release = maskgae.__version__
copyright = "the maskgae authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "mathml",
    "commands",
]
templates_path = ["_templates"]
exclude_patterns = ["_templates", "_extensions"]
highlight_language = "none"
smartquotes = False  # an option of a command in plain text keeps its two dashes

# Pages are read on GitHub too: headings may be linked to, and a label needs no directive.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# A notebook that fails fails the build. They run in folders of their own, and draw alike.
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

# A page of a module that is gone would be an error: all are written anew.
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
autodoc_default_options = {"show-inheritance": True}
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Shapes"]
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "maskgae"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_favicon = "_static/mask.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {
        "text": "maskgae",
        "image_light": "_static/mask.svg",
        "image_dark": "_static/mask.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}


def left_out(
    app: Any, what: str, name: str, thing: object, skip: bool | None, options: Any
) -> bool | None:
    """Leaves out classes that have a page under their public name, and what scikit-learn adds."""
    if what == "class":
        return True if name.endswith("_request") else None
    public = [getattr(maskgae, each) for each in maskgae.__all__]
    return True if isinstance(thing, type) and thing in public else None


def keep_colons(
    app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Napoleon takes what stands before an attribute's first colon for its type; ours are prose."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", left_out)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)
