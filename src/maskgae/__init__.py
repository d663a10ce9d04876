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
    from maskgae.estimator import HeldOutLinks, MaskGAE
    from maskgae.masking import MaskEdge, MaskPath
    from maskgae.nn.network import MaskGAENet
    from maskgae.run import Callback, Run, Source, fit, read

__version__ = "0.3.0.dev1"
__all__ = [
    "Callback",
    "Graph",
    "HeldOutLinks",
    "InputError",
    "MaskEdge",
    "MaskGAE",
    "MaskGAENet",
    "MaskPath",
    "Run",
    "RunError",
    "Source",
    "__version__",
    "fit",
    "load_dataset",
    "read",
]

_LAZY = {
    "Graph": "maskgae.data.graph",
    "HeldOutLinks": "maskgae.estimator",
    "MaskGAE": "maskgae.estimator",
    **dict.fromkeys(("MaskEdge", "MaskPath"), "maskgae.masking"),
    "MaskGAENet": "maskgae.nn.network",
    **dict.fromkeys(("Callback", "Run", "Source", "fit", "read"), "maskgae.run"),
    "load_dataset": "maskgae.datasets.registry",
}


def __getattr__(name: str) -> Any:
    """Imports torch and the rest only when they are used, so that the command line starts fast."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'maskgae' has no attribute '{name}'")
