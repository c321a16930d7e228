"""Who may import whom: only to the left.  Every import statement counts, those inside functions too."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "microcosm"
FOUNDATION = ["errors", "files", "tuning", "givens", "order", "worlds", "text", "logic"]
"""The layers that everything else stands on, each on those before it."""

CORE = {"givens", "order", "worlds", "logic", "kernel", "engine", "queries", "state", "compare"}
CORE |= {"orderings", "protocol"}

BELOW = {part: set(FOUNDATION[:at]) for at, part in enumerate(FOUNDATION)} | {
    "kernel": {*FOUNDATION},
    "engine": {*FOUNDATION},
    "queries": {*FOUNDATION, "engine"},
    "state": {*FOUNDATION, "kernel", "engine", "queries", "traces"},
    "compare": {*FOUNDATION, "engine", "queries", "state"},
    "traces": {"errors", "files", "tuning", "givens", "order"},
    "orderings": {"errors", "givens", "order"},
    "protocol": {"errors", "givens"},
    "simulation": {"errors", "givens", "order", "protocol"},
    "spark": {*FOUNDATION, "engine", "queries", "state", "compare", "traces", "__init__"},
    "replica": {*FOUNDATION, "engine", "queries", "state", "protocol", "__init__"},
    "cli": {*FOUNDATION, "kernel", "engine", "queries", "state", "compare", "traces", "orderings", "protocol"}
    | {"simulation", "spark", "replica", "__init__"},
    "__main__": {"cli"},
    "__init__": {"errors", "givens", "worlds", "state", "compare"},
}
"""The parts of the package, and what each may import besides itself."""

OUTSIDE = {
    "cryptography": {"replica"},
    "lark": {"logic", "text"},
    "msgpack": {"protocol", "replica"},
    "networkx": {"queries", "state"},
    "numpy": {"order", "spark", "queries", "state"},
    "pandas": {"queries", "state"},
    "zstandard": {"traces"},
    "prompt_toolkit": {"cli"},
    "pyarrow": {"spark", "queries", "state", "traces"},
    "pysat": {"worlds"},
    "pyspark": {"spark"},
    "rich": {"cli"},
    "typer": {"cli"},
}
"""The only other distributions, and the parts that may import them."""

DOORS = {"datetime", "glob", "io", "os", "pathlib", "random", "shutil", "subprocess", "tempfile", "time"}
TYPES = {"os.PathLike", "random.Random"}
"""No clock, random source or file system in the core: `microcosm.files` is the door. As a type, yes."""


def imports(file: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Each import statement, with the dotted names that it may load; a relative one names nothing legal."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
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
        return here not in CORE or top not in DOORS or name in TYPES
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
        calls = (n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
        names = ((call.lineno, call.func.id) for call in calls if isinstance(call.func, ast.Name))
        faults += [f"{file}:{line}: {name}" for line, name in names if name in ("open", "input", "print")]
    assert faults == []


def test_the_kernel_shares_nothing_with_the_search() -> None:
    """What the kernel loads, and what that loads in turn, is never of the engine or the state."""
    waiting, trusted = {"microcosm.kernel.check"}, set[str]()
    while waiting:
        name = waiting.pop()
        file = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
        if name not in trusted and file.is_file():
            trusted.add(name)
            waiting |= {part for _, n in imports(file) for part in (n, n.rpartition(".")[0])}
    assert "microcosm.givens.givens" in trusted
    assert {name.split(".")[1] for name in trusted} <= {"kernel", *BELOW["kernel"]}


def test_importing_the_package_imports_nothing_else() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    eager = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert eager == ["from __future__ import annotations", "from typing import TYPE_CHECKING"]
