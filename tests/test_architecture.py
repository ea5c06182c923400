"""Who may know whom: the rooms of docs/architecture.md, each importing only those to its left."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tamis

SOURCE = Path(tamis.__file__).parent

CORE = """
    errors model arrays predicates language bindings matching published graphs operators
""".split()
ROOMS: dict[str, list[str]] = {
    **{room: CORE[:index] for index, room in enumerate(CORE)},
    "engine": CORE,
    "routing": [*CORE, "engine"],
    "broker": [*CORE, "engine", "routing"],
    "server": [*CORE, "engine", "routing", "broker"],
    "client": ["errors", "model"],
    "spark": [*CORE, "engine", "routing", "client"],
    "console": ["errors"],
    "demo": [*CORE, "engine", "routing", "client", "spark", "console"],
    "cli": [*CORE, "engine", "routing", "broker", "server", "client", "spark", "demo", "console"],
}
"""For each room those that it may import."""


INNER: dict[str, list[str]] = {
    "matching": """
        fallbacks batch pairs doors setting oracle lines axes points covers protocol boxes sieve evaluation
        segments planning scan capabilities
    """.split(),
    "published": """
        boxes index predicates selectivity counting clusters interval gryphon neon mbd naive gough frame
    """.split(),
}
"""The folders and modules of the largest rooms, each of which may import those before it."""


@cache
def statements(path: Path) -> list[ast.AST]:
    """The imports and assignments of a module, wherever in it they stand."""
    kinds = (ast.Import, ast.ImportFrom, ast.Assign)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def modules_imported(path: Path) -> set[tuple[str, ...]]:
    """The modules of Tamis that a module imports."""
    found = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {tuple(name.split(".")[1:]) for name in names if name.startswith("tamis.")}
    return found


def modules(room: str) -> list[Path]:
    """The modules of a room, which may be a single one."""
    return sorted([*(SOURCE / room).rglob("*.py"), *SOURCE.glob(f"{room}.py")])


def test_every_module_is_in_a_room() -> None:
    known = {path for room in ROOMS for path in modules(room)}
    known.add(SOURCE / "__init__.py")
    assert set(SOURCE.rglob("*.py")) - known == set()


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_those_to_their_left(room: str) -> None:
    allowed = {*ROOMS[room], room}
    if room in ("cli", "server"):
        allowed |= {"__version__"}
    wrong = {}
    for path in modules(room):
        imports = {name[0] for name in modules_imported(path)}
        if imports - allowed:
            wrong[path.relative_to(SOURCE).as_posix()] = imports - allowed
    assert not wrong


@pytest.mark.parametrize("room", INNER)
def test_folders_within_a_room_import_only_those_before_them(room: str) -> None:
    wrong = {}
    for path in modules(room):
        inner = path.relative_to(SOURCE / room).parts[0].removesuffix(".py")
        if inner == "__init__":
            continue
        assert inner in INNER[room], f"{room}/{inner} has no place in the order of {room}"
        before = INNER[room][: INNER[room].index(inner) + 1]
        within = {name[1] for name in modules_imported(path) if name[0] == room}
        if within - {*before}:
            wrong[path.relative_to(SOURCE).as_posix()] = within - {*before}
    assert not wrong


def aliases_of_arrays(path: Path) -> list[str]:
    """The names that a module gives to types of arrays."""
    return [
        ast.unparse(node)
        for node in statements(path)
        if isinstance(node, ast.Assign) and "NDArray[" in ast.unparse(node.value)
    ]


def test_types_of_arrays_have_their_names_in_one_module() -> None:
    own = {SOURCE / "arrays" / "types.py", *(SOURCE / "model").rglob("*.py")}
    found = {path: aliases_of_arrays(path) for path in set(SOURCE.rglob("*.py")) - own}
    assert not {path.relative_to(SOURCE): names for path, names in found.items() if names}


_PRIVATE = re.compile(r"(?<![\w\])])(?!self\b|cls\b)\w+(?:\.\w+)*\.(_[a-z]\w*)")
_FOREIGN = {"_replace", "_asdict", "_fields", "_make", "_value_", "_repr_html_"}
"""Private by their names only: those of named tuples, enumerations and notebooks."""
_PYSPARK = {"_jsc", "_jvm", "_jsparkSession", "_gateway"}
"""The ways into the JVM, which have no public names."""
_POOLS = {"_processes"}
"""The processes of a pool, which have to be ended when a call takes too long."""
_NUMBA = {"_unique_ids"}
"""The numbers of compiled functions, which have to differ between processes."""


def test_modules_keep_to_their_own_private_names() -> None:
    """Whatever a module asks of an object of another one has a public name there."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        module = path.relative_to(SOURCE).as_posix()
        names = set(_PRIVATE.findall(text)) - _FOREIGN
        if module.startswith("spark/"):
            names -= _PYSPARK
        if module == "operators/pools.py":
            names -= _POOLS
        if module == "arrays/jit.py":
            names -= _NUMBA
        own = set(re.findall(r"(?:\b(?:self|cls)\.|\bdef |^ +)(_[a-z]\w*)", text, re.MULTILINE))
        if names - own:
            found[module] = names - own
    assert not found


def test_import_is_light() -> None:
    heavy = ["pyspark", "pyarrow", "numpy", "pandas", "polars", "re2", "rich", "typer"]
    heavy += ["starlette", "uvicorn", "rdflib", "pyoxigraph", "shapely", "numba"]
    code = f"import sys, tamis; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_import_does_little() -> None:
    """Counted rather than timed, so that a busy machine changes nothing: the 57,000 calls and 92
    modules of today take 0.13 s."""
    code = """if True:
        import sys
        calls = 0
        def count(frame, event, argument):
            global calls
            calls += event == "call"
        before = set(sys.modules)
        sys.setprofile(count)
        import tamis
        sys.setprofile(None)
        loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
        own = sum(name.startswith("tamis") for name in sys.modules)
        print(calls, own, *sorted(loaded - set(sys.stdlib_module_names)))
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    calls, own, *foreign = run.stdout.split()
    assert foreign == ["tamis"]
    assert int(calls) < 130_000
    assert int(own) < 130


def test_public_names_are_those_of_the_documentation() -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    missing = [name for name in tamis.__all__ if f"`{name}" not in page]
    assert not missing, f"docs/api.md does not mention {missing}"


@pytest.mark.parametrize("kind", [tamis.Engine, tamis.Matches])
def test_public_methods_are_those_of_the_documentation(kind: type) -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    public = {name for name in vars(kind) if not name.startswith("_")}
    assert not {name for name in public if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)}


def places() -> list[tuple[str, str]]:
    """What docs/architecture.md names: a module, and a name in it."""
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    return sorted(set(re.findall(r"`([\w/]+)\.py` `([\w.]+)`", page)))


@pytest.mark.parametrize(("module", "name"), places(), ids=lambda part: str(part))
def test_the_walks_of_the_documentation_name_what_there_is(module: str, name: str) -> None:
    found: object = importlib.import_module(f"tamis.{module.replace('/', '.')}")
    for part in name.split("."):
        assert hasattr(found, part), f"tamis/{module}.py has no {name}"
        found = getattr(found, part)


def test_the_documentation_names_modules_that_there_are() -> None:
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))
    root = Path(__file__).parents[1]
    missing = [
        name for name in named if not (SOURCE / name).exists() and not (root / name).exists()
    ]
    assert not missing
    assert len(places()) > 40
