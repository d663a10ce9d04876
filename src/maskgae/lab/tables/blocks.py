"""Numbers in documents: the text between two markers is replaced by what a command computed.

A document holds ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; everything outside is prose and
stays as it is. A test renders the committed records again and compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from maskgae.base.errors import InputError
from maskgae.base.files import write_text


def filled(text: str, blocks: Mapping[str, str]) -> str:
    """A document with the blocks that it has a place for.

    >>> filled("<!-- begin a -->old<!-- end a -->", {"a": "new", "b": "no place"})
    '<!-- begin a -->\\nnew\\n<!-- end a -->'
    """
    for name, block in blocks.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        new = f"{begin}\n{block.strip()}\n{end}"
        text = marked.sub(new.replace("\\", r"\\"), text)
    return text


def fill_file(path: Path, blocks: Mapping[str, str]) -> None:
    """Fills a document in place."""
    if not path.exists():
        raise InputError(f"there is no {path} to fill in: run this in a checkout of the project")
    write_text(path, filled(path.read_text(encoding="utf-8"), blocks))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """A table whose first columns, one or more, are text and whose others are numbers.

    >>> print(markdown_table(["", "AUC"], [["ours", "96.1"]]))
    |  | AUC |
    |---|---:|
    | ours | 96.1 |
    """
    rule = "|" + "---|" * texts + "---:|" * (len(header) - texts)
    lines = ["| " + " | ".join(header) + " |", rule]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
