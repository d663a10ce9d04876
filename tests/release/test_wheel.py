"""What is published: one version, a wheel that needs nothing of the repository."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.version import Version

import maskgae

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*words: str | Path, cwd: Path) -> str:
    """Output of a command that knows nothing of the checkout."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run([*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


def cells(page: Path) -> str:
    """The code of a MyST notebook, without the options of its cells."""
    found = re.findall(r"^```{code-cell} ipython3\n(.*?)^```", page.read_text(), re.DOTALL | re.M)
    return "\n".join(re.sub(r"\A(:.*\n)+", "", cell) for cell in found)


def test_the_version_stands_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {maskgae.__version__}\n" in citation


def test_what_only_the_laboratory_needs_is_no_dependency() -> None:
    text = " ".join(PROJECT["dependencies"])
    assert not [name for name in ("geometric", "ogb", "matplotlib", "gensim") if name in text]
    assert {"lab", "index", "datasets", "dev"} <= set(PROJECT["optional-dependencies"])


def test_the_oldest_allowed_versions_are_the_tested_ones() -> None:
    """But for torch, of which only the pinned version is tested."""
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    asked = [*PROJECT["dependencies"]]
    for extra in ("datasets", "lab", "index", "dev"):
        asked += PROJECT["optional-dependencies"][extra]
    bounds = dict(text.split(">=") for text in asked if not text.startswith(("maskgae[", "torch>")))
    low = {name: (Version(pins[name.lower()]), Version(bound)) for name, bound in bounds.items()}
    # The oldest of a series may lack a wheel: 4.3 stands for 4.3.3, never for 4.4.
    assert [
        name for name, (pin, bound) in low.items() if pin.release[:2] != (*bound.release, 0)[:2]
    ] == []


def test_the_workflow_tests_every_python_that_is_promised() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    promised = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert promised
    assert all(f'"{version}"' in workflow for version in promised)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and what it asks for, and nothing else."""
    place = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
    (wheel,) = (place / "dist").glob("*.whl")
    assert len(list((place / "dist").glob("*.tar.gz"))) == 1
    venv.create(place / "env", with_pip=True)
    programs = place / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = (programs / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    run(*pip, "torch", cwd=place)
    run(*pip, wheel, cwd=place)
    return programs


@pytest.mark.slow
def test_the_wheel_alone_runs_the_demo(bare: Path, tmp_path: Path) -> None:
    absent = "from importlib.util import find_spec as f; import maskgae; print(maskgae.__version__"
    absent += ", f('torch_geometric'), f('ogb'), f('maskgae.lab.cli') is not None)"
    found = run(bare / "python", "-c", absent, cwd=tmp_path)
    assert found.split() == [maskgae.__version__, "None", "None", "True"]
    told = run(bare / "maskgae", "demo", "--threads", "1", cwd=tmp_path)
    assert "sklearn, scipy, networkx" in told
    assert (tmp_path / "runs" / "demo" / "report.html").stat().st_size > 100_000


@pytest.mark.slow
def test_the_wheel_alone_runs_the_first_tutorial(bare: Path, tmp_path: Path) -> None:
    """Its pictures need Matplotlib, and nothing else is added."""
    pip = (bare / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    run(*pip, "matplotlib", cwd=tmp_path)
    code = cells(ROOT / "docs" / "tutorials" / "csv-to-links.md")
    compile(code, "csv-to-links", "exec")
    (tmp_path / "tutorial.py").write_text("import matplotlib\n\nmatplotlib.use('Agg')\n" + code)
    told = run(bare / "python", "tutorial.py", cwd=tmp_path)
    # The links and their reasons, each line opening with its share.
    assert len(re.findall(r"^0\.\d{3}  \S+", told, re.M)) >= 5
    assert re.search(r"probability 0\.\d{3}, score ", told)
    assert re.search(r"^[+-]\d\.\d\d  \w+", told, re.M)
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
