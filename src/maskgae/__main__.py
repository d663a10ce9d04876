"""``python -m maskgae``, the same as ``maskgae``."""

from maskgae.cli import main

main()
