"""Tables that go into pages or, where there are none, to the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from maskgae.cli import screen
from maskgae.lab.tables.blocks import fill_file


def write_blocks(blocks: Mapping[str, str], pages: Sequence[Path]) -> None:
    """Fills each page with those of the blocks that it has a place for."""
    for page in pages:
        fill_file(page, blocks)
        screen.out.print(f"tables written to {screen.plain(page)}")
    if not pages:
        for name, block in blocks.items():
            screen.out.print(f"\n{name}\n{block}", markup=False)
