"""The embedded graph: imports resolved by hand on a tiny package, and the installed one."""

import numpy as np
import pytest

from maskgae.data import SparseFeatures
from maskgae.datasets.imports import (
    hashed,
    import_graph,
    load_imports,
    module_names,
    read_module,
    words_of,
)

FILES = {
    "__init__.py": "from .left import a\n",
    "left/__init__.py": '"""Left things."""\n',
    "left/one.py": "from . import two\nfrom .two import f\nimport pkg.right.three\n",
    "left/two.py": "def f():\n    from ..right import three as t\n    return t\n",
    "right/__init__.py": "from .three import *\nfrom .three import Ring\n",
    "right/three.py": "import numpy\nif True:\n    import pkg.left\nclass Ring: 'A closed path.'\n",
    "right/lonely.py": "import os\n",
    "right/broken.py": "def (:\n",
    "right/tests/__init__.py": "",
    "right/tests/test_three.py": "from pkg.right import three\n",
    "conftest.py": "import pkg.left.one\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "pkg"


def test_tiny_package(package):
    graph, names = import_graph({"pkg": package})
    assert names == [
        "pkg.left",
        "pkg.left.one",
        "pkg.left.two",
        "pkg.right",
        "pkg.right.broken",
        "pkg.right.lonely",
        "pkg.right.three",
    ]
    # one-two, one-three, two-three (inside a function), three-left, right-three
    assert graph.pairs.T.tolist() == [[0, 6], [1, 2], [1, 6], [2, 6], [3, 6]]
    assert graph.cleaning.isolated == 2
    assert graph.labels.tolist() == [-1] * 7
    columns = graph.features.dense()[6].nonzero().squeeze(1).tolist()
    assert columns == hashed(["ring", "closed", "path"])


def test_labels_are_large_sub_packages(tmp_path):
    for i in range(20):
        for group in ("big", "small"):
            (tmp_path / group).mkdir(exist_ok=True)
            if group == "big" or i < 19:
                (tmp_path / group / f"m{i:02}.py").write_text("")
    graph, names = import_graph({"p": tmp_path})
    assert len(names) == 39
    assert graph.labels.tolist() == [0] * 20 + [-1] * 19


@pytest.mark.parametrize(
    ("statement", "is_package", "expected"),
    [
        ("import a.b", False, ("a.b", "")),
        ("import a.b as c", False, ("a.b", "")),
        ("from a import b", False, ("a", "b")),
        ("from . import b", False, ("p.q", "b")),
        ("from . import b", True, ("p.q.m", "b")),
        ("from .a import b", False, ("p.q.a", "b")),
        ("from ..a import b", False, ("p.a", "b")),
        ("from ..a import b", True, ("p.q.a", "b")),
        ("try:\n    pass\nexcept E:\n    import a", False, ("a", "")),
        ("match x:\n    case 1:\n        import a", False, ("a", "")),
        ("async def f():\n    with g():\n        import a", False, ("a", "")),
    ],
)
def test_import_statements(statement, is_package, expected):
    assert read_module("p.q.m", statement, is_package).imports == {expected}


def test_words_come_from_docstrings_and_definitions_only():
    source = (
        '"""Module text."""\n'
        "import secret\n"
        "variable = 'hidden'  # comment\n"
        "class HTTPServer:\n"
        '    """Serves pages."""\n'
        "    def send_all(self): pass\n"
    )
    words = read_module("path.name", source).words
    assert words == {"module", "text", "http", "server", "serves", "pages", "send", "all"}
    assert words_of("k-nearest x2 GCN2Conv") == {"nearest", "gcn", "conv"}


def test_hash_does_not_depend_on_the_process():
    # zlib.crc32, unlike hash(), is the same everywhere.
    assert hashed(["graph"]) == [1500]


def test_installed_libraries():
    graph, names = load_imports(), module_names()
    assert graph.num_nodes == len(names) == len(set(names))
    assert names == sorted(names)
    assert 1500 < graph.num_nodes < 2500
    assert 4500 < graph.num_pairs < 8000
    assert isinstance(graph.features, SparseFeatures)
    assert graph.num_classes >= 15
    assert 0.5 < float((graph.labels >= 0).float().mean()) < 1
    known = {(names[u], names[v]) for u, v in graph.pairs.T.tolist()}
    assert ("sklearn.svm._base", "sklearn.svm._classes") in known
    assert not [name for name in names if ".tests" in name or "." not in name]


def test_the_graph_is_made_of_what_is_installed(monkeypatch, package):
    from maskgae.base.errors import InputError
    from maskgae.datasets import imports

    spec = type("Spec", (), {"origin": str(package / "__init__.py")})
    monkeypatch.setattr(
        imports, "find_spec", lambda name: {"torch_geometric": None}.get(name, spec)
    )
    assert list(imports.installed_packages()) == ["sklearn", "scipy", "networkx"]
    monkeypatch.setattr(imports, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="sklearn is missing: pip install scikit-learn"):
        imports.installed_packages()


def test_kept_copy_gives_the_same_graph(monkeypatch, tmp_path, package):
    from maskgae.datasets import imports

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(imports, "PACKAGES", ("pkg",))
    spec = type("Spec", (), {"origin": str(package / "__init__.py")})
    monkeypatch.setattr(imports, "find_spec", lambda name: spec)
    fresh, names = imports._installed.__wrapped__()
    (kept,) = (tmp_path / "cache").rglob("*.npz")
    monkeypatch.setattr(imports, "_scanned", None)
    restored, names_again = imports._installed.__wrapped__()
    assert names == names_again
    assert np.array_equal(fresh.pairs, restored.pairs)
    assert np.array_equal(fresh.features.dense(), restored.features.dense())
    monkeypatch.undo()
    assert not np.load(kept, allow_pickle=False)["names"].dtype.hasobject


def test_changed_file_is_read_again(package):
    from maskgae.datasets import imports

    files = imports._files({"pkg": package})
    before = imports._stamp(files)
    (package / "right" / "lonely.py").write_text("import pkg.left\n")
    assert imports._stamp(files) != before
