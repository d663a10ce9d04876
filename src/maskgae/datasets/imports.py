"""The embedded graph: the modules of libraries that the installation carries.

Nodes are the modules of sklearn, scipy, networkx and, where it is installed, torch_geometric,
without their tests and without these top-level packages, which nearly everything imports. A pair is
an import statement, wherever it stands in the file. Features are the words of docstrings and of
defined names, not of the module's path, hashed to a fixed number of columns. A label is the
sub-package where that has enough modules.

So the graph is real, needs no network, and is the same wherever the same versions are installed.
Reading 28 MB of source takes a few seconds; what comes of it is kept in the cache folder for as
long as the files stay as they are.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.data.graph import Graph
from maskgae.datasets.cache import cache_folder, filled_folder

PACKAGES = ("torch_geometric", "sklearn", "scipy", "networkx")
#: Of these, what comes with ``maskgae[datasets]`` alone.
OPTIONAL = {"torch_geometric"}

#: Words are hashed to this many columns.
NUM_COLUMNS = 4096

#: A sub-package is a class where it has at least this many modules.
SMALLEST_CLASS = 20

Arrays = dict[str, np.ndarray[Any, Any]]

# Runs of capitals, capitalised words, lower-case words: "GCNConv" -> "GCN", "Conv".
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Module:
    """What one source file says: what it imports and which words it defines things with.

    Args:
        imports: pairs (module, name) of ``from module import name``; name is empty for
            ``import module``.
        words: lower-case words of docstrings and of the names of functions and classes.
    """

    imports: frozenset[tuple[str, str]]
    words: frozenset[str]


def read_module(name: str, source: str | bytes, is_package: bool = False) -> Module:
    """The imports and words of a module's source; nothing of a source that does not parse.

    Args:
        name: the module's dotted name, which relative imports start from.
        source: its text.
        is_package: whether the text is that of an ``__init__.py``.

    >>> module = read_module("a.b", "from . import c\\ndef sumRows(): 'Adds up.'")
    >>> sorted(module.imports), sorted(module.words)
    ([('a', 'c')], ['adds', 'rows', 'sum'])
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return Module(frozenset(), frozenset())
    package = name if is_package else name.rpartition(".")[0]
    imports: set[tuple[str, str]] = set()
    texts: list[str] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports.update((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(package, node.level, node.module)
            imports.update((base, alias.name) for alias in node.names)
        elif isinstance(node, (ast.Module, *_DEFINITIONS)):
            texts.append(ast.get_docstring(node, clean=False) or "")
            texts.append(getattr(node, "name", ""))
    return Module(frozenset(imports), frozenset(words_of(" ".join(texts))))


def words_of(text: str) -> set[str]:
    """The lower-case words of three letters or more; camel case counts as several words.

    >>> sorted(words_of("GCNConv, a linear_layer"))
    ['conv', 'gcn', 'layer', 'linear']
    """
    return {word.lower() for word in set(_WORD.findall(text)) if len(word) > 2}


def hashed(words: Iterable[str]) -> list[int]:
    """The ascending columns that some words fall into, each once.

    >>> hashed(["graph", "node", "graph"])
    [1500, 2117]
    """
    return sorted({zlib.crc32(word.encode()) % NUM_COLUMNS for word in words})


def import_graph(folders: Mapping[str, Path]) -> tuple[Graph, list[str]]:
    """The import graph of some packages, given as name -> folder, and the names of its nodes.

    Nodes are ordered by name, so the same sources give the same graph on every machine.
    """
    return _assembled(_scanned(_files(folders)))


def load_imports() -> Graph:
    """The import graph of the installed libraries; read once a process."""
    return _installed()[0]


def imports_source() -> tuple[Graph, NDArray[Any], tuple[str, ...]]:
    """The graph of :func:`load_imports`, what its nodes are called, and what its classes are."""
    graph, names = load_imports(), np.array(module_names(), dtype=object)
    assert graph.labels is not None
    codes = graph.labels.tolist()
    packages = {c: ".".join(n.split(".")[:2]) for n, c in zip(names, codes, strict=True)}
    return graph, names, tuple(packages[code] for code in range(graph.num_classes))


def module_names() -> list[str]:
    """The dotted names of the nodes of :func:`load_imports`, in their order."""
    return list(_installed()[1])


def installed_packages() -> dict[str, Path]:
    """The packages that the graph of :func:`load_imports` is made of, and where they lie."""
    folders = {}
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            folders[package] = Path(spec.origin).parent
        elif package not in OPTIONAL:
            raise InputError(
                f"the graph 'imports' is made of installed packages, but {package} is missing: "
                f"pip install {package.replace('sklearn', 'scikit-learn')}"
            )
    return folders


@cache
def _installed() -> tuple[Graph, list[str]]:
    files = _files(installed_packages())
    kept = cache_folder() / "imports" / f"{_stamp(files)}.npz"
    arrays = _restored(kept)
    if arrays is None:
        arrays = _scanned(files)
        _keep(kept, arrays)
    return _assembled(arrays)


def _files(folders: Mapping[str, Path]) -> dict[str, Path]:
    return dict(sorted(item for name, at in folders.items() for item in _sources(name, at)))


def _scanned(files: Mapping[str, Path]) -> Arrays:
    """The nodes' names, the edges ``[2, E]`` and, by compressed rows, the columns of the words."""
    with _paused_collector():
        modules = {
            name: read_module(name, path.read_bytes(), path.name == "__init__.py")
            for name, path in files.items()
        }
    rows = [hashed(module.words) for module in modules.values()]
    return {
        "names": np.array(list(modules), dtype=np.str_),
        "edges": _edges(modules),
        "indptr": np.array([0, *accumulate(map(len, rows))], dtype=np.int64),
        "columns": np.array([column for row in rows for column in row], dtype=np.int64),
    }


def _assembled(arrays: Arrays) -> tuple[Graph, list[str]]:
    names: list[str] = arrays["names"].tolist()
    ones = np.ones(arrays["columns"].size, dtype=np.float32)
    words = sp.csr_matrix(
        (ones, arrays["columns"], arrays["indptr"]), shape=(len(names), NUM_COLUMNS)
    )
    graph = Graph.from_edges(
        arrays["edges"], len(names), features=words, labels=_labels(names), name="imports"
    )
    return graph, names


def _stamp(files: Mapping[str, Path]) -> str:
    """Sixteen hex digits that change with any file, with Python's grammar and with this one."""
    facts = [
        (name, (stat := path.stat()).st_size, stat.st_mtime_ns) for name, path in files.items()
    ]
    rules = (sys.version_info[:2], Path(__file__).stat().st_mtime_ns)
    return hashlib.blake2b(repr((rules, facts)).encode(), digest_size=8).hexdigest()


def _restored(path: Path) -> Arrays | None:
    try:
        with np.load(path, allow_pickle=False) as kept:
            return {key: kept[key] for key in ("names", "edges", "indptr", "columns")}
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


def _keep(path: Path, arrays: Arrays) -> None:
    with suppress(OSError), filled_folder(path.parent) as folder:
        np.savez(folder / path.name, **arrays)  # type: ignore[arg-type]


def _sources(package: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and file of every module below a package, tests left out."""
    for path in folder.rglob("*.py"):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        if "tests" in parts or parts[-1] == "conftest":
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if len(parts) > 1:
            yield ".".join(parts), path


@contextmanager
def _paused_collector() -> Iterator[None]:
    """Pauses the search for cycles: syntax trees have none, and it would double the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements at any depth; expressions, which hold no import, are not walked."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        for block in _BLOCKS:
            pending.extend(getattr(node, block, ()))


def _absolute(package: str, level: int, module: str | None) -> str:
    """The absolute name of what a relative import is relative to, or the name itself."""
    if not level:
        return module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - level + 1]
    return ".".join([*kept, module] if module else kept)


def _edges(modules: Mapping[str, Module]) -> np.ndarray[Any, Any]:
    """Each import of a module that is a node, ``[2, E]``."""
    number = {name: i for i, name in enumerate(modules)}
    edges = [
        (number[name], number[target])
        for name, module in modules.items()
        for base, imported in sorted(module.imports)
        # What is imported may be a module itself, or a name that its module defines.
        if (target := f"{base}.{imported}" if f"{base}.{imported}" in number else base) in number
    ]
    return np.array(edges, dtype=np.int64).reshape(-1, 2).T


def _labels(names: list[str]) -> list[int]:
    """The number of each module's sub-package, -1 where that has too few modules."""
    groups = [".".join(name.split(".")[:2]) for name in names]
    sizes = Counter(groups)
    classes = sorted(group for group, size in sizes.items() if size >= SMALLEST_CLASS)
    number = {group: i for i, group in enumerate(classes)}
    return [number.get(group, -1) for group in groups]
