"""maskgae: node embeddings and missing links from an unlabelled graph.

>>> from maskgae import MaskGAE  # the estimator
>>> from maskgae import Graph    # the graph
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskgae.errors import InputError, RunError

if TYPE_CHECKING:
    from maskgae.estimator import MaskGAE
    from maskgae.graph.datasets import load_dataset
    from maskgae.graph.graph import Graph
    from maskgae.model import MaskGAENet

__version__ = "0.1.0"
__all__ = [
    "Graph",
    "InputError",
    "MaskGAE",
    "MaskGAENet",
    "RunError",
    "__version__",
    "load_dataset",
]

_LAZY = {
    "Graph": "maskgae.graph.graph",
    "MaskGAE": "maskgae.estimator",
    "MaskGAENet": "maskgae.model",
    "load_dataset": "maskgae.graph.datasets",
}


def __getattr__(name: str) -> Any:
    """Imports torch and the rest only when they are used, so that the command line starts fast."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'maskgae' has no attribute '{name}'")
