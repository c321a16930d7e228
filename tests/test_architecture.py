"""Who may import whom: only to the left.  Every import statement counts, those inside functions too."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "microcosm"
FOUNDATION = ["errors", "files", "tuning", "givens", "order", "worlds", "text", "logic"]
"""The layers that everything else stands on, each on those before it."""

CORE = {"givens", "order", "worlds", "logic", "kernel", "engine", "queries", "state", "compare"}
CORE |= {"orderings", "protocol", "questions"}

BELOW = {part: set(FOUNDATION[:at]) for at, part in enumerate(FOUNDATION)} | {
    "kernel": {*FOUNDATION},
    "engine": {*FOUNDATION},
    "queries": {*FOUNDATION, "engine"},
    "questions": {*FOUNDATION, "kernel", "engine", "queries"},
    "state": {*FOUNDATION, "kernel", "engine", "queries", "questions", "traces"},
    "compare": {*FOUNDATION, "engine", "queries", "state"},
    "traces": {"errors", "files", "tuning", "givens", "order"},
    "orderings": {"errors", "tuning", "givens", "order"},
    "protocol": {"errors", "givens"},
    "simulation": {"errors", "givens", "protocol"},
    "spark": {*FOUNDATION, "engine", "queries", "state", "compare", "traces", "questions", "__init__"},
    "replica": {*FOUNDATION, "engine", "queries", "state", "protocol", "__init__"},
    "page": {*FOUNDATION, "kernel", "engine", "queries", "state", "compare", "traces", "questions"},
    "record": {"errors", "files"},
    "collect": {"errors", "files", "tuning", "givens", "order", "traces", "record"},
    "cli": {*FOUNDATION, "kernel", "engine", "queries", "state", "compare", "traces", "orderings", "protocol"}
    | {"questions", "simulation", "spark", "replica", "page", "collect", "__init__"},
    "testing": {"errors", "files", "questions", "record", "state", "__init__"},
    "__main__": {"cli", "tuning"},
    "__init__": {"errors", "givens", "worlds", "state", "compare"},
}
"""The parts of the package, and what each may import besides itself: the table of CONTRIBUTING.md."""

OUTSIDE = {
    "aiohttp": {"record"},
    "cryptography": {"replica"},
    "backports": {"traces"},
    "compression": {"traces"},
    "gmpy2": {"order"},
    "google": {"collect"},
    "grpc": {"collect", "record", "spark"},
    "httpx": {"record"},
    "lark": {"text", "questions"},
    "msgpack": {"protocol", "replica"},
    "networkx": {"queries", "state"},
    "numpy": {"order", "spark", "queries", "questions", "state"},
    "pandas": {"queries", "state"},
    "opentelemetry": {"collect", "record"},
    "requests": {"record"},
    "starlette": {"collect", "page"},
    "uvicorn": {"collect", "page"},
    "prompt_toolkit": {"cli"},
    "pyarrow": {"spark", "queries", "state", "traces"},
    "pysat": {"worlds"},
    "pytest": {"testing"},
    "pyspark": {"spark"},
    "rich": {"cli"},
    "typer": {"cli"},
}
"""The only other distributions, and the parts that may import them."""

EFFECTS = {"datetime", "glob", "io", "os", "pathlib", "random", "shutil", "subprocess", "tempfile", "time"}
TYPES = {"os.PathLike", "random.Random"}
"""Clocks, random sources, the file system: the core uses them as types alone, and `microcosm.files` reads."""


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Each import statement, with the dotted names that it may load; a relative one names nothing legal."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{'.' * node.level}{node.module}.{alias.name}") for alias in node.names)


def allowed(here: str, name: str) -> bool:
    top, *rest = name.split(".")
    if top == "microcosm":
        there = rest[0] if rest and rest[0] in BELOW else "__init__"
        return there == here or there in BELOW[here]
    if top in sys.stdlib_module_names:
        return here not in CORE or top not in EFFECTS or name in TYPES
    return here in OUTSIDE.get(top, ())


def test_imports_go_only_to_the_left() -> None:
    faults = []
    for file in sorted(PACKAGE.rglob("*.py")):
        here = file.relative_to(PACKAGE).with_suffix("").parts[0]
        faults += [f"{file}:{node.lineno}: {name}" for node, name in imports(file) if not allowed(here, name)]
    assert faults == []


def test_the_core_opens_no_file() -> None:
    faults = []
    for file in (file for folder in sorted(CORE) for file in (PACKAGE / folder).rglob("*.py")):
        calls = (n for n in ast.walk(parsed(file)) if isinstance(n, ast.Call))
        names = ((call.lineno, call.func.id) for call in calls if isinstance(call.func, ast.Name))
        faults += [f"{file}:{line}: {name}" for line, name in names if name in ("open", "input", "print")]
    assert faults == []


def loaded(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that are ever run, inside functions too; those for the type checker are not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from loaded(node)


@cache
def graph() -> networkx.DiGraph[str]:
    """An edge from each file to each file of the package that it imports, by module."""
    files = {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")
    }
    found: networkx.DiGraph[str] = networkx.DiGraph()
    for module, file in files.items():
        for node in loaded(parsed(file)):
            parts = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                parts = [*(f"{node.module}.{part}" for part in parts), str(node.module)]
            names = {part.removeprefix("microcosm.") for part in parts}
            found.add_edges_from((module, name) for name in names if name in files)
    return found


def circles(graph: networkx.DiGraph[str]) -> set[str]:
    """The nodes from which one comes back to where one began."""
    return {node for part in networkx.strongly_connected_components(graph) if len(part) > 1 for node in part}


def test_no_files_import_one_another_in_a_circle() -> None:
    assert circles(graph()) == set()


def test_no_packages_import_one_another_in_a_circle() -> None:
    table: networkx.DiGraph[str] = networkx.DiGraph()
    table.add_edges_from((here, there) for here, below in BELOW.items() for there in below)
    outside = {"__init__", "__main__"}  # it hands on what others ask for by name
    assert circles(table) <= outside
    parts: networkx.DiGraph[str] = networkx.DiGraph()
    parts.add_edges_from((a.split(".")[0], b.split(".")[0]) for a, b in graph().edges)
    parts.remove_edges_from([*networkx.selfloop_edges(parts)])
    assert circles(parts) <= outside


def test_contributing_tells_every_package_and_what_it_may_import() -> None:
    """Its table has a row for each part: `| name/ | what it is for | what it may import |`."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    told = {row[0].strip(" `/").removesuffix(".py"): set(re.findall(r"\w+", row[2])) for row in rows}
    parts = {
        part.name.removesuffix(".py")
        for part in PACKAGE.iterdir()
        if part.name not in {"py.typed", "schemas"}
    }
    assert told.keys() == BELOW.keys() == parts - {"__pycache__"}
    for here, there in told.items():
        if "foundation" in there:
            there = (there - {"foundation"}) | {*FOUNDATION}  # noqa: PLW2901
        assert there == BELOW[here] - {"__init__"}, here


def test_importing_the_package_imports_nothing_else() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    eager = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert eager == ["from __future__ import annotations"]
