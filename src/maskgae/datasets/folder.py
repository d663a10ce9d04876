"""Datasets that are a folder of three plain files, put there by whoever has them.

=====================  =====================================================
``edges.csv.gz``       a header and two columns of node numbers
``features.npz``       a sparse matrix of SciPy, row i is node i
``labels.csv.gz``      a header, a node number and its class
=====================  =====================================================

``NAME/`` with the three is looked for in the data folders; nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.datasets.cache import DATA_VARIABLE, data_folders, find_folder

FILES = ("edges.csv.gz", "features.npz", "labels.csv.gz")
#: Which datasets come in this form.
FOLDERS = ("dblp",)


def is_folder_available(name: str) -> bool:
    """Whether a dataset's three files are on this machine."""
    return find_folder(name, FILES) is not None


def load_folder(name: str) -> Graph:
    """One of :data:`FOLDERS` as a graph."""
    from maskgae.io.matrices import read_matrix

    folder = find_folder(name, FILES)
    if folder is None:
        searched = " and ".join(str(base / name) for base in data_folders())
        raise InputError(
            f"dataset {name} is not on this machine (looked in {searched}) and not downloaded: set "
            f"{DATA_VARIABLE} to a folder that holds {name} with {', '.join(FILES)}"
        )
    try:
        features = read_matrix(folder / "features.npz")
        edges, (nodes, classes) = _columns(folder / "edges.csv.gz"), _columns(folder / FILES[2])
        labels = np.full(features.shape[0], -1, dtype=np.int64)
        labels[nodes] = classes
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise InputError(f"{folder} does not hold {name}: {error}") from error
    return Graph.from_edges(edges, features=features, labels=labels, name=name)


def _columns(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The columns of whole numbers in a file with a header, ``[columns, rows]``."""
    from pyarrow.csv import read_csv

    return np.stack([column.to_numpy().astype(np.int64) for column in read_csv(path).columns])
