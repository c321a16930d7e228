"""What has to be trusted is listed, is all that the kernel loads, and is small."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import permutations, product
from pathlib import Path
from types import CodeType, FrameType

from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm import kernel as package
from microcosm.givens.columns import Message
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.kernel.check import check
from microcosm.kernel.consistent import surely_consistent
from microcosm.kernel.search import GivenRows
from microcosm.logic.rulebook import read_rules
from microcosm.order.order import lacking
from tests.strategies import microcosms

ROOT = Path(__file__).parents[2]
MOST_CODE, MOST_LINES = 1_499, 2_460
"""The lines of the trusted base with code on them, and all of them, with comments and blank ones: these may
only shrink."""


def loaded(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a file that are ever run; those for the type checker are not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from loaded(node)


def file_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def trusted() -> set[str]:
    """The modules that `kernel.check` loads, and those that these load."""
    waiting, found = {"microcosm.kernel.check"}, set[str]()
    while waiting:
        module = waiting.pop()
        if module in found or not file_of(module).is_file():
            continue
        found.add(module)
        for node in loaded(ast.parse(file_of(module).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                waiting |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
            else:
                waiting |= {alias.name for alias in node.names}
    return found


def lines_of(file: Path) -> tuple[int, int]:
    """The lines with code, and all lines: blank ones, comments and docstrings are no code."""
    text = file.read_text(encoding="utf-8")
    told = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    ]
    words = {
        line for n in told if isinstance(n.value.value, str) for line in range(n.lineno, n.end_lineno + 1)
    }
    lines = list(enumerate(map(str.strip, text.splitlines()), 1))
    return sum(bool(line) and line[0] != "#" and at not in words for at, line in lines), len(lines)


def test_the_trusted_base_is_what_the_kernel_says() -> None:
    listed = re.findall(r"^    ([a-z_.]+)  +\S", str(package.__doc__), re.MULTILINE)
    assert {f"microcosm.{module}" for module in listed} == trusted()
    assert len(listed) == len(set(listed))


def test_the_trusted_base_is_small() -> None:
    code, lines = map(sum, zip(*(lines_of(file_of(module)) for module in trusted()), strict=True))
    assert code <= MOST_CODE, code
    assert lines <= MOST_LINES, lines


def test_nothing_else_is_loaded_to_check_a_derivation(tmp_path: Path) -> None:
    """In a process of its own: no engine, and of the state nothing but the module by which files come in."""
    known = Microcosm.parse("a < b\nb < c\nc < d")
    proof = known.why("a", "d")
    assert proof is not None
    (tmp_path / "m.mc").write_text(known.to_text(), encoding="utf-8")
    (tmp_path / "proof.json").write_text(json.dumps(proof.to_json()), encoding="utf-8")
    told = (
        "import sys\nfrom microcosm.cli.app import main\n"
        f"try: main(['verify', {str(tmp_path / 'm.mc')!r}, {str(tmp_path / 'proof.json')!r}])\n"
        "except SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('microcosm.')))"
    )
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=ROOT)
    said, modules = ran.stdout.splitlines()
    assert said == "valid: the kernel accepts every step"
    loads = {"microcosm.state", "microcosm.state.opening"}
    packages = {name.split(".")[1] for name in {*modules.split()} - loads}
    assert packages <= {"cli", "errors", "files", "tuning", "givens", "kernel", "logic", "text"}


def walked(doing: Callable[[], object]) -> dict[str, set[str]]:
    """The functions of the package that are entered, by file."""
    found: dict[str, set[str]] = {}

    def entered(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        here = Path(code.co_filename)
        if event == "call" and (ROOT / "microcosm") in here.parents and code.co_name[0] != "<":
            found.setdefault(str(here), set()).add(code.co_qualname)

    sys.setprofile(entered)
    try:
        doing()
    finally:
        sys.setprofile(None)
    return found


def test_a_reader_of_the_kernel_meets_few_functions() -> None:
    """From `check` to its answer on a proof of three steps: at most 30 functions in six files."""
    rules, known = read_rules(), Microcosm.parse("a < b\nb < c\nc < d")
    proof = known.why("a", "c")
    assert proof is not None
    stated, givens = proof.to_json(), known.givens.copy()
    assert check(givens, rules, stated) is None  # the rules are read once
    met = walked(lambda: check(givens, rules, stated))
    assert sum(map(len, met.values())) <= 30, met
    assert len(met) <= 6, met


EVENTS = st.sampled_from("abcdef")
LOGS = st.builds(
    Givens,
    internal=st.lists(EVENTS, unique=True, max_size=4),
    messages=st.lists(
        st.builds(
            Message,
            st.sampled_from(["send", "receive"]),
            EVENTS,
            st.sampled_from("mn"),
            st.sampled_from("pq"),
            st.sampled_from([(), ("p",), ("p", "q")]),
        ),
        max_size=5,
    ),
)


@given(LOGS, st.lists(st.tuples(EVENTS, EVENTS).filter(lambda pair: pair[0] != pair[1]), max_size=9))
def test_whether_a_log_is_whole_is_told_as_elsewhere(log: Givens, before: list[tuple[str, str]]) -> None:
    for a, b in before:
        log.add(Correspondence(a, Relation.BEFORE, b))
    assert GivenRows(GivenFacts(log)).whole() == (lacking(log) is None)


@given(microcosms())
def test_of_what_fits_a_world_nothing_contradicts(givens: Givens) -> None:
    """Clocks, tokens, stamps and refutations of one world: no engine need be asked of any of it."""
    assert surely_consistent(givens, read_rules())


@given(microcosms())
def test_a_row_of_givens_is_what_the_single_facts_say(givens: Givens) -> None:
    """Nothing given is left out of a row: neither of chains, clocks and tokens, nor of what is refuted."""
    facts = GivenFacts(givens)
    rows, events = GivenRows(facts), sorted(givens.named())
    given = {
        (a, relation, b)
        for a, b in permutations(events, 2)
        for relation in Relation
        if relation.value is not None and any(True for _ in facts.evidence(a, relation, b))
    }
    for relation, event in product((one for one in Relation if one.value is not None), events):
        assert {*rows.partners(relation, 0, event)} == {b for a, r, b in given if (a, r) == (event, relation)}
        assert {*rows.partners(relation, 1, event)} == {a for a, r, b in given if (r, b) == (relation, event)}


STATED = st.sampled_from([Relation.BEFORE, Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED])
RECORDED = st.dictionaries(
    EVENTS,
    st.builds(
        Clock,
        st.sampled_from("pq"),
        st.dictionaries(st.sampled_from("pq"), st.integers(0, 3)),
        st.booleans(),
        st.sampled_from([None, None, None, "x"]),
    ),
    max_size=4,
)


@given(
    st.lists(st.tuples(EVENTS, STATED, EVENTS).filter(lambda fact: fact[0] != fact[2]), max_size=7),
    RECORDED,
    st.lists(EVENTS, unique=True, max_size=3),
)
def test_what_is_surely_consistent_makes_a_microcosm(
    stated: list[tuple[str, Relation, str]], clocks: dict[str, Clock], held: list[str]
) -> None:
    givens = Givens(clocks=clocks, tokens={"t": tuple(held)})
    for fact in stated:
        givens.add(Correspondence(*fact))
    if surely_consistent(givens, read_rules()):
        Microcosm(givens)
