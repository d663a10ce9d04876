"""The rooms and their order: imports point down, one file prints, and nothing draws globally."""

import ast
from collections.abc import Callable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import maskgae

SOURCE = Path(maskgae.__file__).parent

# A file imports from rooms above its own in this list, and from its own room. A new room takes the
# place that its imports give it; docs/architecture.md says what each is for.
ORDER = [
    "base",
    "kernels",
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

TREES = {
    path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text())
    for path in sorted(SOURCE.rglob("*.py"))
}

#: Of the rooms below it, a room named here imports these alone.
ONLY = {"presets": {"base"}}

#: The face of the package stands above all rooms.
FACE = ("__init__.py", "__main__.py")


def room(name: str) -> str:
    return name.partition("/")[0].removesuffix(".py")


def folder(name: str) -> str:
    return name.rpartition("/")[0] or name


def file_of(module: str) -> str | None:
    """The file of a module of the package, ``None`` for what is none.

    >>> file_of("maskgae.base.rng"), file_of("maskgae.base.rng.stream")
    ('base/rng.py', None)
    """
    own = module.removeprefix("maskgae").replace(".", "/").removeprefix("/")
    places = (f"{own}.py", f"{own}/__init__.py".removeprefix("/"))
    is_own = module.partition(".")[0] == "maskgae"
    return next((place for place in places if place in TREES), None) if is_own else None


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The files that a file imports and where, however deep in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [file_of(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."  # relative, which no file is
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            found = [file_of(f"{module}.{name}") or file_of(module) for name in names]
        else:
            continue
        yield from ((name, node.lineno) for name in found if name)


def for_types(tree: ast.AST) -> set[int]:
    """The lines of a file that only a type checker reads."""
    blocks = (n for n in ast.walk(tree) if isinstance(n, ast.If))
    guarded = (n for n in blocks if ast.unparse(n.test).endswith("TYPE_CHECKING"))
    return {line for n in guarded for line in range(n.lineno, (n.body[-1].end_lineno or 0) + 1)}


def graph(part: Callable[[str], str]) -> dict[str, set[str]]:
    """What the parts of the package import of each other when they run."""
    result: dict[str, set[str]] = {}
    for name, tree in TREES.items():
        typed = for_types(tree)
        others = {part(other) for other, line in imports(tree) if line not in typed}
        result.setdefault(part(name), set()).update(others - {part(name)})
    return result


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Nodes along a cycle of a graph, none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def calls(
    trees: dict[str, ast.Module], apart: Iterable[str]
) -> Iterator[tuple[str, str, ast.Call]]:
    """Calls in all files but some: the place, the dotted name of what is called, and the call."""
    for name, tree in trees.items():
        for node in ast.walk(tree) if name not in apart else ():
            if isinstance(node, ast.Call):
                yield f"{name}:{node.lineno}", ast.unparse(node.func), node


def test_every_room_has_its_place() -> None:
    rooms = {room(name) for name in TREES if name not in FACE}
    assert sorted(rooms - set(ORDER)) == [], "new rooms: give them a place in ORDER"


def test_imports_point_down() -> None:
    def above(here: str, there: str) -> bool:
        below = ONLY.get(here, set(ORDER[: ORDER.index(here)]))
        return there not in below | {here}

    offenders = [
        f"{name}:{line} imports {other}"
        for name, tree in TREES.items()
        for other, line in imports(tree)
        if name not in FACE and above(room(name), room(other))
    ]
    assert not offenders, "\n".join(offenders)


def test_imports_are_absolute() -> None:
    offenders = [
        f"{name}:{node.lineno}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not offenders, "\n".join(offenders)


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert cycle(graph(str)) == []


def test_no_folder_imports_itself_by_way_of_others() -> None:
    assert cycle(graph(folder)) == []


def test_the_check_for_cycles_finds_them() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    text = (
        "if TYPE_CHECKING:\n    import maskgae.base.rng\ndef f():\n    from maskgae.base import rng"
    )
    tree = ast.parse(text)
    assert sorted(imports(tree)) == [("base/rng.py", 2), ("base/rng.py", 4)]
    assert for_types(tree) == {1, 2}


def test_only_the_screen_prints() -> None:
    speaking = {"print", "rich.print", "typer.echo", "Console", "sys.stdout.write"}
    speaking |= {"sys.stderr.write", "warnings.warn"}
    screen = ("cli/screen.py", "cli/app.py")  # the second for --version alone
    assert [
        (place, called) for place, called, _ in calls(TREES, screen) if called in speaking
    ] == []


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


def test_nothing_draws_from_a_global_generator() -> None:
    found = calls(TREES, ["base/rng.py"])
    offenders = [f"{place} {called}" for place, called, n in found if draws_globally(called, n)]
    assert not offenders, "\n".join(offenders)


def test_the_check_for_global_draws_finds_them() -> None:
    text = "torch.rand(3); np.random.shuffle(x); random.random(); x.normal_(); torch.manual_seed(0)"
    text += "; np.random.default_rng()"
    assert all(draws_globally(called, n) for _, called, n in calls({"": ast.parse(text)}, ()))
    fine = "torch.rand(3, generator=g); rng.random(3); np.random.default_rng(3)"
    assert not any(draws_globally(called, n) for _, called, n in calls({"": ast.parse(fine)}, ()))
