"""The rooms and their order: imports point down, one file prints, and nothing draws globally."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maskgae

SOURCE = Path(maskgae.__file__).parent

# A file imports from rooms above its own in this list, and from its own room. A new room takes the
# place that its imports give it; docs/architecture.md says what each is for.
ORDER = [
    "base",
    "presets",
    "data",
    "io",
    "store",
    "datasets",
    "masking",
    "nn",
    "evaluation",
    "training",
    "report",
    "run",
    "estimator",
    "cli",
    "lab",
]

FILES = sorted(SOURCE.rglob("*.py"))

#: Of the rooms below it, a room named here imports these alone.
ONLY = {"presets": {"base"}}


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[str]:
    """The rooms that a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: imports are absolute"
            modules = [node.module or ""]
            if node.module == "maskgae":
                modules = [f"maskgae.{alias.name}" for alias in node.names]
        else:
            continue
        for parts in (module.split(".") for module in modules):
            if parts[0] == "maskgae" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a file with the dotted name of what is called, ``.f`` on an expression."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_every_room_has_its_place() -> None:
    rooms = {room(path) for path in FILES} - {"__init__", "__main__"}
    assert sorted(rooms - set(ORDER)) == [], "new rooms: give them a place in ORDER"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_point_down(path: Path) -> None:
    here = room(path)
    if here in ("__init__", "__main__"):  # the face of the package stands above all rooms
        return
    below = ONLY.get(here, set(ORDER[: ORDER.index(here)]))
    assert sorted(set(imported_rooms(path)) - below - {here}) == []


@pytest.mark.parametrize("path", FILES, ids=name)
def test_only_the_screen_prints(path: Path) -> None:
    if name(path) in ("cli/screen.py", "cli/app.py"):  # the second for --version alone
        return
    speaking = {"print", "rich.print", "typer.echo", "Console", "sys.stdout.write"}
    speaking |= {"sys.stderr.write", "warnings.warn"}
    assert sorted({called for called, _ in calls(path)} & speaking) == []


SEEDS = ("torch.manual_seed", "np.random.seed", "random.seed", "np.random.set_state")
DRAWS = {
    "torch": "rand randn randint randperm bernoulli multinomial normal",
    "np.random": "rand randn random randint choice shuffle permutation normal uniform",
    "random": "random randint randrange choice choices sample shuffle uniform gauss",
    "F": "dropout alpha_dropout feature_dropout gumbel_softmax",
    "nn": "Dropout",
}
DRAWING_METHODS = ("random_", "uniform_", "normal_", "bernoulli_", "exponential_", "multinomial")
GLOBAL = {f"{module}.{function}" for module, names in DRAWS.items() for function in names.split()}


def draws_globally(called: str, node: ast.Call) -> bool:
    has_generator = any(keyword.arg == "generator" for keyword in node.keywords)
    if called in SEEDS:
        return True
    if called in ("np.random.default_rng", "np.random.SFC64"):
        return not node.args  # seeded by the operating system
    if called in GLOBAL:
        return not has_generator
    return called.rpartition(".")[2] in DRAWING_METHODS and not has_generator


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_draws_from_a_global_generator(path: Path) -> None:
    if name(path) == "base/rng.py":
        return
    assert [called for called, node in calls(path) if draws_globally(called, node)] == []


def test_the_check_for_global_draws_finds_them() -> None:
    text = "torch.rand(3); np.random.shuffle(x); random.random(); x.normal_(); torch.manual_seed(0)"
    text += "; np.random.default_rng()"
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    assert all(draws_globally(ast.unparse(node.func), node) for node in found)
    fine = ast.parse("torch.rand(3, generator=g); rng.random(3); np.random.default_rng(3)")
    found = [n for n in ast.walk(fine) if isinstance(n, ast.Call)]
    assert not any(draws_globally(ast.unparse(node.func), node) for node in found)
