"""How far an answer goes: the functions and files that it enters, and nothing built that it does not need.

39 functions in 12 files at most for `online`, and for the proof of an order that was asked for 27 in 8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

import pytest

from microcosm import Microcosm, Relation
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import ONLINE
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.logic.rulebook import read_rules
from microcosm.text.mc_reader import read_givens

INNER = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "<module>"}
CHAIN = "a < b\nb < c\nc < d\n"

Walk = set[tuple[str, str]]
"""Files of the package, and functions in them."""


def walk(asked: Callable[[], object]) -> tuple[object, Walk]:
    """An answer, and where it came by; comprehensions are part of the function that they stand in."""
    met: set[CodeType] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            met.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        answer = asked()
    finally:
        sys.setprofile(before)
    return answer, {
        (code.co_filename, code.co_qualname)
        for code in met
        if "/microcosm/" in code.co_filename.replace("\\", "/")
        and "/tests/" not in code.co_filename
        and code.co_name not in INNER
    }


@pytest.fixture
def warm() -> None:
    """The rules are read and lowered: that is paid once a rule book."""
    assert Microcosm.parse("x < y < z").online("x", "z") is Relation.BEFORE


@pytest.mark.usefixtures("warm")
def test_a_first_order_is_told_by_few() -> None:
    givens = read_givens(CHAIN)
    verdict, walked = walk(lambda: Microcosm(givens).online("a", "c"))
    assert verdict is Relation.BEFORE
    functions, files = len(walked), len({file for file, _ in walked})
    assert functions <= 39 and files <= 12, sorted(walked)  # noqa: PT018


@pytest.mark.usefixtures("warm")
def test_a_first_proof_is_told_by_few() -> None:
    """Of an order that was asked for."""
    assert Microcosm.parse("x < y < z").why("x", "z") is not None  # what is paid once a rule book
    known = Microcosm(read_givens(CHAIN))
    assert known.online("a", "c") is Relation.BEFORE
    proof, walked = walk(lambda: known.why("a", "c"))
    assert proof is not None
    functions, files = len(walked), len({file for file, _ in walked})
    assert functions <= 27 and files <= 8, sorted(walked)  # noqa: PT018


@pytest.mark.usefixtures("warm")
def test_nothing_is_built_that_an_order_does_not_need() -> None:
    _, walked = walk(lambda: Microcosm(read_givens(CHAIN)).online("a", "c"))
    files = {file.replace("\\", "/").rpartition("/engine/")[2].removesuffix(".py") for file, _ in walked}
    unneeded = {"table", "join", "propagation", "backward_search", "reachability"}
    assert not files & unneeded


@pytest.mark.usefixtures("warm")
def test_a_second_microcosm_lowers_no_rule() -> None:
    """Not even under `||` and `<>`, or where every judgement is asked for."""
    stated = "a < b\nc || d\nd <> e\nb || e\n"
    first = Engine(read_rules(), read_givens(stated))
    first.saturate()

    def second() -> Engine:
        engine = Engine(read_rules(), read_givens(stated))
        engine.saturate()
        return engine

    engine, walked = walk(second)
    assert isinstance(engine, Engine)
    assert all(engine.memo.program.of[pred] is first.memo.program.of[pred] for pred in ONLINE.values())
    assert not {function for file, function in walked if file.endswith(("strata.py", "body.py"))} & {
        "body",
        "strata",
        "merged",
        "Body.split",
        "Body.mirror",
    }


def test_a_relation_that_comes_to_be_given_is_heeded() -> None:
    """What was left out as long as nothing was given of it is there when something is."""
    engine = Engine(read_rules(), Givens())
    for fact in ("a < b", "b || c", "c <> a"):
        left, sign, right = fact.split()
        assert engine.add(Correspondence(left, Relation(sign), right)) is None
    assert engine.verdict("b", "c") is Relation.CONCURRENT
    assert engine.verdict("c", "a") is Relation.RELATED
    assert engine.verdict("a", "b") is Relation.BEFORE
