"""What public functions cost and which errors they raise stands in docstrings; a module says what it is for.

Numbers of what is still missing stand here by package, and may only shrink.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from microcosm import errors

PACKAGE = Path(__file__).parents[1] / "microcosm"

NO_COST = {
    **{"logic": 0, "kernel": 0, "engine": 0, "queries": 0, "state": 0, "worlds": 0},
    **{"orderings": 0, "protocol": 0},
}
"""By package, the public functions and methods that do not say what they cost."""

NO_RAISES = {
    **{"logic": 0, "kernel": 0, "engine": 0, "queries": 0, "state": 0, "worlds": 0},
    **{"orderings": 0, "protocol": 0},
}
"""By package, those that raise a public error and do not say so."""

NAMES_ANOTHER = {part.name: 0 for part in sorted(PACKAGE.iterdir()) if (part / "__init__.py").is_file()}
"""By package, the modules whose first sentence names another module."""

PUBLIC = {name for name, value in vars(errors).items() if isinstance(value, type)}
"""The errors that people see."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(package: str) -> list[Path]:
    return sorted((PACKAGE / package).rglob("*.py"))


def functions(tree: ast.Module) -> Iterator[tuple[str, Function, str]]:
    """Public functions, and public methods of public classes, with the docstrings that speak for them.

    A method may leave its cost to its class, and one without a docstring all to the class that it extends.
    Properties, overloads and dunder methods are plain enough.
    """
    for node in tree.body:
        if isinstance(node, Function) and node.name[0] != "_":
            yield node.name, node, ast.get_docstring(node) or ""
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            about = ast.get_docstring(node) or ""
            for part in node.body:
                if not isinstance(part, Function) or part.name[0] == "_" or decorated(part):
                    continue
                said = ast.get_docstring(part)
                if said or not node.bases:
                    yield f"{node.name}.{part.name}", part, f"{said or ''}\n{about}"


def decorated(function: Function) -> bool:
    names = {ast.unparse(one).split(".")[-1] for one in function.decorator_list}
    return bool(names & {"property", "cached_property", "setter", "overload"})


def raised(function: Function) -> set[str]:
    """The public errors that a function raises itself, functions inside it left out."""
    found, waiting = set[str](), list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            what = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found |= {ast.unparse(what).split(".")[-1]} & PUBLIC
        waiting += ast.iter_child_nodes(node)
    return found


def without_cost(package: str) -> list[str]:
    return [
        f"{file.relative_to(PACKAGE)}:{node.lineno} {name}"
        for file in files(package)
        for name, node, said in functions(ast.parse(file.read_text(encoding="utf-8")))
        if not re.search(r"\bcosts?\b", said, re.IGNORECASE)
    ]


def without_raises(package: str) -> list[str]:
    return [
        f"{file.relative_to(PACKAGE)}:{node.lineno} {name}"
        for file in files(package)
        for name, node, said in functions(ast.parse(file.read_text(encoding="utf-8")))
        if raised(node) and not re.search(r"\braises?\b", said, re.IGNORECASE)
    ]


def naming_another(package: str) -> list[str]:
    modules = {".".join(file.relative_to(PACKAGE).with_suffix("").parts) for file in PACKAGE.rglob("*.py")}
    found = []
    for file in files(package):
        first = re.split(r"\.\s", ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")[0]
        named = {word.removeprefix("microcosm.") for word in re.findall(r"`([a-z_.]+)`", first)}
        if named & modules or re.search(r"`\w+\.py`", first):
            found.append(str(file.relative_to(PACKAGE)))
    return found


@pytest.mark.parametrize("package", NO_COST)
def test_what_it_costs_is_said(package: str) -> None:
    missing = without_cost(package)
    assert len(missing) <= NO_COST[package], missing


@pytest.mark.parametrize("package", NO_RAISES)
def test_what_it_raises_is_said(package: str) -> None:
    missing = without_raises(package)
    assert len(missing) <= NO_RAISES[package], missing


@pytest.mark.parametrize("package", NAMES_ANOTHER)
def test_a_module_says_what_it_is_for(package: str) -> None:
    missing = naming_another(package)
    assert len(missing) <= NAMES_ANOTHER[package], missing


SHARED = {
    **dict.fromkeys(["Message", "Line", "Part", "Place", "Format"], "what a format calls so, seen there"),
    **dict.fromkeys(["Found", "Knowledge"], "of one surface only"),
    "Causality": "the fixture of `microcosm.testing` is public under this name",
    "Not": "negation in a rule, and in a question",
}
"""Names that classes in several modules have, and why they stay; it may only shrink."""


def test_no_name_means_two_classes() -> None:
    """None within the packages of the core. Commands are apart: what one names nothing else imports."""
    meant: dict[str, set[str]] = {}
    for path in files("."):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_" and PACKAGE / "cli" not in path.parents:
                meant.setdefault(node.name, set()).add(path.relative_to(PACKAGE).as_posix())
    assert {name for name, places in meant.items() if len(places) > 1} <= set(SHARED)
    core = ("givens", "order", "logic", "kernel", "engine", "queries", "state", "compare", "worlds")
    for name, places in meant.items():
        assert sum(place.partition("/")[0] in core for place in places) < 2, (name, places)
