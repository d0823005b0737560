"""The architecture as DESIGN gives it: which module may import which."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PURE = {
    "errors": set(),
    "messages": {"errors"},
    "windows": {"messages"},
    "kernel": set(),
    "model": {"kernel"},
    "quality": {"windows", "model"},
    "warming": set(),
    "bundle": {"kernel", "model", "errors", "warming"},
    "card": {"model"},
    "pipeline": {"messages", "windows", "model", "quality", "warming"},
}
PURE_THIRD_PARTY = {
    "messages": {"msgpack"},
    "kernel": {"numpy"},
    "model": {"numpy"},
    "bundle": {"numpy", "msgpack"},
    "card": {"numpy"},
}
OUTSIDE_WORLD = {
    "os",
    "sys",
    "time",
    "socket",
    "logging",
    "pathlib",
    "sqlite3",
    "threading",
    "subprocess",
    "random",
}
SHARED_WITH_TRAINER = {"errors", "messages", "windows", "kernel", "model", "bundle", "warming"}


def imports(path: Path) -> set[str]:
    """Every module a file imports, as dotted names, wherever in the file the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "edge_agent":
            found.update(f"edge_agent.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def ours(found: set[str], package: str = "edge_agent") -> set[str]:
    return {name.split(".")[1] for name in found if name.startswith(f"{package}.")}


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_imports_only_what_the_design_allows(module: str) -> None:
    """No I/O, clock, logging or shell module anywhere in the pure core."""
    found = imports(ROOT / "edge_agent" / f"{module}.py")
    assert ours(found) <= PURE[module]
    assert not {name.split(".")[0] for name in found} & OUTSIDE_WORLD
    third_party = {name.split(".")[0] for name in found} & {
        "numpy",
        "msgpack",
        "paho",
        "pydantic",
        "structlog",
    }
    assert third_party <= PURE_THIRD_PARTY.get(module, set())


@pytest.mark.parametrize(
    ("library", "module"), [("paho", "mqtt"), ("sqlite3", "journal"), ("structlog", "log")]
)
def test_each_outside_thing_has_one_file(library: str, module: str) -> None:
    """One outside thing per file: the only importer of a library is its module."""
    importers = {
        path.stem
        for path in (ROOT / "edge_agent").glob("*.py")
        if library in {name.split(".")[0] for name in imports(path)}
    }
    assert importers <= {module}


def test_the_agent_never_imports_the_trainer() -> None:
    for path in (ROOT / "edge_agent").rglob("*.py"):
        assert not any(name.split(".")[0] == "model_export" for name in imports(path)), path


def test_the_trainer_imports_only_what_it_shares_with_the_agent() -> None:
    """Training and serving share one definition of a window and a prediction, and nothing else."""
    for path in (ROOT / "model_export").rglob("*.py"):
        assert ours(imports(path)) <= SHARED_WITH_TRAINER, path
