"""No line of the package opens a pickle of a user's, or runs what a file says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maskgae

SOURCE = Path(maskgae.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}

#: What unpickles, evaluates, or is known to crash on broken files. Whoever is called by another
#: name (``from pickle import loads as f``) is caught by the imports.
LOADERS = {
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "torch.load", "np.load", "numpy.load"),
    *("np.fromfile", "np.genfromtxt", "np.loadtxt", "sp.load_npz", "load_npz", "pd.read_pickle"),
    *("joblib.load", "dill.load", "cloudpickle.load", "shelve.open", "marshal.load"),
    *("marshal.loads", "yaml.load", "loadmat", "mmread", "eval", "exec", "compile", "__import__"),
    *("networkx.read_graphml", "networkx.read_gpickle", "ElementTree.parse", "etree.parse"),
    *("runpy.run_path", "os.system", "subprocess.run", "read_npz", "read_planetoid_data"),
}
MODULES = {"shelve", "marshal", "yaml", "joblib", "dill", "cloudpickle", "xml.etree", "subprocess"}
MODULES |= {"xml.dom", "xml.sax", "scipy.io", "runpy", "ctypes", "code", "imp"}

#: Of these only the bare name counts: ``net.eval()`` and ``re.compile`` are others.
BUILT_IN = {"eval", "exec", "compile", "__import__"}

#: File and call, and why it may stand.
ALLOWED = {
    ("datasets/planetoid.py", "read_npz"): "after the SHA-256 of the file was compared",
    (
        "datasets/planetoid.py",
        "read_planetoid_data",
    ): "after the SHA-256 of every file was compared",
    ("datasets/ogb.py", "torch.load"): "of files with known checksums, arrays alone",
    ("datasets/imports.py", "np.load"): "of this installation's own cache, without pickles",
    ("io/tables.py", "load_npz"): "of this package, which reads headers first",
    ("io/matrices.py", "load_npz"): "of this package, which reads headers first",
}

#: Calls that must say this.
MUST_SAY = {"np.load": "allow_pickle=False", "torch.load": "weights_only=True"}


def found(source: str) -> Iterator[tuple[str, int, str]]:
    """Loaders that a text calls or imports, each with its line and the whole expression."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            bare = called.rpartition(".")[2]
            if called in LOADERS or (bare in LOADERS and bare not in BUILT_IN):
                yield called, node.lineno, ast.unparse(node)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name in LOADERS or any(f"{name}.".startswith(f"{m}.") for m in MODULES):
                yield name, node.lineno, name


def test_every_loader_is_known() -> None:
    offenders = [
        f"{name}:{line} {expression}"
        for name, path in FILES.items()
        for called, line, expression in found(path.read_text())
        if (name, called) not in ALLOWED or MUST_SAY.get(called, "") not in expression
    ]
    assert not offenders, "\n".join(offenders)


def test_what_is_allowed_is_there() -> None:
    texts = {name: FILES[name].read_text() for name, _ in ALLOWED}
    calls = {(name, call) for name, text in texts.items() for call, *_ in found(text)}
    assert set(ALLOWED) <= calls, "drop what is no longer needed"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle\npickle.loads(x)",
        "from pickle import loads",
        "torch.load(path)",
        "numpy.load(path)",
        "scipy.io.mmread(path)",
        "from scipy.io import mmread as read",
        "import joblib",
        "import xml.etree.ElementTree as ET",
        "eval('1')",
    ],
)
def test_the_walk_finds_them(text: str) -> None:
    assert list(found(text))
