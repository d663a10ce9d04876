"""What the site must hold, read from its pages without building it."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cached_property
from pathlib import Path
from types import FunctionType

import pytest

import maskgae

ROOT = Path(__file__).parent.parent.parent
DOCS, PACKAGE = ROOT / "docs", ROOT / "src" / "maskgae"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "generated" not in page.parts)
PUBLIC = [name for name in maskgae.__all__ if not name.startswith("__")]
#: Not rooms of the library to look into: the command line has its own page.
APART = {"cli", "__init__", "__main__"}


def directives(page: Path, name: str) -> list[str]:
    """The entries of every directive of that name on a page, without its options."""
    fenced = re.findall(rf"```{{{name}}}\n(.*?)```", page.read_text(), re.DOTALL)
    plain = re.findall(rf"\.\. {name}::\n(.*?)(?=\n\S|```|\Z)", page.read_text(), re.DOTALL)
    lines = [line.strip() for text in fenced + plain for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_stands_in_a_toctree() -> None:
    listed = {
        (page.parent / entry).resolve() for page in PAGES for entry in directives(page, "toctree")
    }
    pages = {page.with_suffix("") for page in PAGES} - {DOCS / "index"}
    assert pages - listed == set()
    assert listed - pages == set()


def test_every_public_name_and_room_stands_in_the_reference() -> None:
    entries = directives(DOCS / "api" / "index.md", "autosummary")
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted(entries) == sorted({*PUBLIC, *rooms} - APART - {"__pycache__"})


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_and_its_methods_have_a_docstring(name: str) -> None:
    thing = getattr(maskgae, name)
    assert thing.__doc__
    own = vars(thing) if isinstance(thing, type) else {}
    kinds = (FunctionType, classmethod, staticmethod, property, cached_property)
    members = {k: v for k, v in own.items() if not k.startswith("_") and isinstance(v, kinds)}
    assert [member for member, value in members.items() if not value.__doc__] == []


def equations(path: Path) -> list[tuple[str, bool]]:
    """The equations of a module's docstrings and of its comments on constants."""
    text = path.read_text()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documented = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    docstrings = "\n\n".join(ast.get_docstring(node) or "" for node in documented)
    prose = docstrings + "\n" + "\n".join(re.findall(r"#:(.*)", text))
    blocks = re.findall(r"\.\. math::\s*\n((?:\n|[ ]+.*\n)+)", prose)
    return [(tex, True) for tex in blocks] + [
        (tex, False) for tex in re.findall(r":math:`(.*?)`", prose, re.DOTALL)
    ]


def test_every_equation_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="needs what builds the site: pip install maskgae[docs]")
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    mathml = importlib.import_module("mathml")
    found = [each for path in sorted(PACKAGE.rglob("*.py")) for each in equations(path)]
    assert len(found) > 300
    for tex, as_block in found:
        assert "<math" in mathml.converted(tex, as_block)
    assert "<mi>pairs</mi>" in mathml.converted(r"L_{pairs}", False)
