"""maskgae: node embeddings and missing links from an unlabelled graph.

>>> from maskgae import MaskGAE  # the estimator
>>> from maskgae import Graph    # the graph
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskgae.base.errors import InputError, RunError

if TYPE_CHECKING:
    from maskgae.data.graph import Graph
    from maskgae.datasets.registry import load_dataset
    from maskgae.estimator import MaskGAE
    from maskgae.nn.network import MaskGAENet

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
    "Graph": "maskgae.data.graph",
    "MaskGAE": "maskgae.estimator",
    "MaskGAENet": "maskgae.nn.network",
    "load_dataset": "maskgae.datasets.registry",
}


def __getattr__(name: str) -> Any:
    """Imports torch and the rest only when they are used, so that the command line starts fast."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'maskgae' has no attribute '{name}'")
