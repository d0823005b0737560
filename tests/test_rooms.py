"""The architecture, executed: which room may import which, for every module of both packages."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("edge_agent", "model_export")
    for path in sorted((ROOT / package).rglob("*.py"))
}
# room -> the rooms it may import, beside itself
ROOMS = {
    "edge_agent.core": set(),
    "edge_agent": {"edge_agent.core"},
    "model_export.files": {"edge_agent.core"},
    "model_export.regression": {"edge_agent.core"},
    "model_export.figures": {"edge_agent.core"},
    "model_export.engine": {"edge_agent.core"},
    "model_export.simulator": {"edge_agent.core", "model_export.files"},
    "model_export.recordings": {"edge_agent.core", "model_export.regression"},
}
ROOMS["model_export.archive"] = {
    "edge_agent.core",
    "model_export.engine",
    "model_export.files",
    "model_export.figures",
}
ROOMS["model_export.calibration"] = {
    *ROOMS["model_export.recordings"],
    "model_export.recordings",
    "model_export.figures",
    "model_export.files",
}
ROOMS["model_export.doctor"] = {*ROOMS["model_export.calibration"], "model_export.calibration"}
ROOMS["model_export.experiment"] = {*ROOMS["model_export.doctor"], "model_export.engine"}
ROOMS["model_export.fleet"] = {
    *ROOMS["model_export.experiment"],
    "model_export.doctor",
    "model_export.engine",
}
ROOMS["model_export.bundle"] = {
    "edge_agent.core",
    "model_export.recordings",
    "model_export.files",
    "model_export.archive",
}
ROOMS["model_export.library"] = {
    *ROOMS["model_export.doctor"],
    "model_export.archive",
    "model_export.bundle",
    "model_export.doctor",
}
ROOMS["model_export.cli"] = {room for room in ROOMS if room != "edge_agent"}
ROOMS["model_export"] = {*ROOMS["model_export.cli"], "model_export.cli"}

OUTSIDE_WORLD = {
    *("os", "sys", "time", "socket", "logging", "pathlib", "sqlite3", "threading", "subprocess", "random"),
    *("paho", "pydantic", "pydantic_settings", "structlog"),
}


@cache
def imports(module: str) -> frozenset[str]:
    """Every module that a module imports, as dotted names, wherever in the file the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            found |= inside or {node.module or ""}
    return frozenset(found)


def ours(module: str) -> frozenset[str]:
    """The modules of both packages among them."""
    return frozenset(name for name in imports(module) if name in MODULES)


def room(module: str) -> str:
    """The innermost room that a module stands in."""
    return max((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), key=len)


def chain(module: str, seen: tuple[str, ...] = ()) -> int:
    """How many modules must be read, one after the other, to understand this one."""
    assert module not in seen, f"a circle: {' → '.join((*seen, module))}"
    return 1 + max((chain(each, (*seen, module)) for each in ours(module)), default=0)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_room_may(module: str) -> None:
    allowed = {*ROOMS[room(module)], room(module)}
    assert {each for each in ours(module) if room(each) not in allowed} == set()


@pytest.mark.parametrize("module", [module for module in MODULES if room(module) == "edge_agent.core"])
def test_the_core_touches_nothing_outside(module: str) -> None:
    """No file, clock, network, log or randomness: only the standard library's values, numpy and msgpack."""
    assert {name.split(".")[0] for name in imports(module)} & OUTSIDE_WORLD == set()


@pytest.mark.parametrize(
    ("library", "module"), [("paho", "mqtt"), ("sqlite3", "database"), ("structlog", "log")]
)
def test_each_outside_thing_has_one_file(library: str, module: str) -> None:
    """The agent's only importer of a library is the module made for it."""
    importers = {
        name
        for name in MODULES
        if room(name) == "edge_agent" and library in {each.split(".")[0] for each in imports(name)}
    }
    assert importers == {f"edge_agent.{module}"}


def test_the_agents_tests_need_no_trainer() -> None:
    """They run on a gateway's install, too: make oldest."""
    for path in (ROOT / "tests" / "edge_agent").rglob("*.py"):
        assert "model_export" not in path.read_text(), path


def test_no_module_imports_in_a_circle() -> None:
    assert max(map(chain, MODULES)) <= 18


def test_every_room_says_what_it_may_import() -> None:
    for name in ROOMS.keys() - {"edge_agent", "model_export"}:
        assert "mports" in (ast.get_docstring(ast.parse(MODULES[name].read_text())) or ""), name
