"""Proof trees as text: complete at any size, each step once, in the signs that the stream has."""

from __future__ import annotations

import io
import re
from collections import Counter
from itertools import pairwise

import pytest

from microcosm.cli.show.proofs import Provenance, proof_lines
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import INDENTED, Derivation, absent, links, not_in, step
from microcosm.logic.rule import Judgement
from microcosm.text.mc_reader import read_givens

INITIAL, ONLINE = Judgement.INITIAL, Judgement.ONLINE
BEFORE, UNKNOWN = Relation.BEFORE, Relation.UNKNOWN


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def given(left: str, right: str, relation: Relation = BEFORE) -> Derivation:
    return step("Init", INITIAL, left, relation, right)


def chain(names: list[str]) -> Derivation:
    """A balanced nest of In-Tr over the consecutive pairs of `names`."""
    row = [given(a, b) for a, b in pairwise(names)]
    while len(row) > 1:
        row = [_joined(row[at : at + 2]) for at in range(0, len(row), 2)]
    return row[0]


def _joined(steps: list[Derivation]) -> Derivation:
    if len(steps) == 1:
        return steps[0]
    left, right = steps[0].conclusion.left, steps[1].conclusion.right
    return step("In-Tr", INITIAL, left, BEFORE, str(right), *steps)


def unknown_by_steps(length: int) -> Derivation:
    """`e0 ? z`, one Un-2 on top of the other."""
    node = step("Un-4", ONLINE, f"e{length}", UNKNOWN, "z", not_in("z"))
    for k in reversed(range(length)):
        order = step("In-OK", ONLINE, f"e{k}", BEFORE, f"e{k + 1}", given(f"e{k}", f"e{k + 1}"))
        node = step("Un-2", ONLINE, f"e{k}", UNKNOWN, "z", absent(INITIAL, f"e{k}", "z"), order, node)
    return node


def test_a_nest_of_transitivity_is_one_step_with_its_links_in_order() -> None:
    assert list(proof_lines(chain(list("abcde")), stream=stream())) == [
        "⊢₀ a < e  (In-Tr, 4 links)",
        "├─ ⊢₀ a < b  (Init)",
        "├─ ⊢₀ b < c  (Init)",
        "├─ ⊢₀ c < d  (Init)",
        "└─ ⊢₀ d < e  (Init)",
    ]


def test_ascii_where_the_encoding_has_no_other_signs() -> None:
    lines = list(proof_lines(unknown_by_steps(1), stream=stream("ascii")))
    assert lines == [
        "|- e0 ? z  (Un-2)",
        "+- |/-0 e0 _ z",
        "+- |- e0 < e1  (In-OK)",
        "|  `- |-0 e0 < e1  (Init)",
        "`- |- e1 ? z  (Un-4)",
        "   `- z not in M",
    ]
    assert "\n".join(lines).isascii()


@pytest.mark.parametrize("names", [2, 3, 20_001])
def test_every_link_of_a_chain_is_printed(names: int) -> None:
    events = [f"e{k}" for k in range(names)]
    nest = chain(events)
    text = list(proof_lines(nest, stream=stream()))
    assert len(text) == (1 if names == 2 else names)
    assert len(links(nest)) == names - 1
    assert text[-1].endswith(f"⊢₀ e{names - 2} < e{names - 1}  (Init)")


def test_a_deep_proof_goes_on_under_numbers_and_stays_narrow() -> None:
    text = list(proof_lines(unknown_by_steps(3000), stream=stream()))
    assert max(map(len, text)) < 120
    said = Counter(line.partition("⊢ ")[2] for line in text)
    assert [said[f"e{k} < e{k + 1}  (In-OK)"] for k in range(3000)] == [1] * 3000
    assert sum("z not in M" in line for line in text) == 1
    marks = re.findall(r"^\[\d+\]", "\n".join(text), re.MULTILINE)
    assert marks == re.findall(r"(?<=see )\[\d+\]", "\n".join(text))
    assert len(marks) == (3000 - 1) // INDENTED


def test_a_shared_step_is_drawn_once() -> None:
    shared = step("In-OK", ONLINE, "a", BEFORE, "b", given("a", "b"))
    twice = step("Both", ONLINE, "a", UNKNOWN, "c", shared, shared)
    assert list(proof_lines(twice, stream=stream())) == [
        "⊢ a ? c  (Both)",
        "├─ ⊢ a < b  (In-OK)",
        "│  └─ ⊢₀ a < b  (Init)",
        "└─ ⊢ a < b  (In-OK, as above)",
    ]


def test_sharing_that_unfolds_to_more_steps_than_there_are_atoms_is_printed() -> None:
    node = given("a", "b")
    for _ in range(300):
        node = step("Twice", INITIAL, "a", BEFORE, "b", node, node)
    text = list(proof_lines(node, stream=stream()))
    assert len(text) < 1000


@pytest.mark.parametrize(
    ("text", "pair", "said"),
    [
        ("a < b", ("a", "b"), "given, album.mc:1"),
        ('a < b from "message m7"', ("a", "b"), "message m7"),
        ('a < b from "album.mc:7"', ("a", "b"), "album.mc:7"),
        ("internal a < b < c", ("a", "c"), "internal events"),
        ("clock a = p {p: 3}\nclock b = q {p: 3, q: 1}", ("a", "b"), "clocks p:3 ≤ q sees p:3"),
        ("clock a = p {p: 3}\nclock b = p {p: 5}", ("a", "b"), "clocks p:3 < p:5"),
        ("clock a = p {p: 3}\nclock b = p {p: 3}", ("a", "b"), "clocks p:3 = p:3, in program order"),
        ('a < b from "a\\u001b[31mb"', ("a", "b"), "a\\x1b[31mb"),
        ("c < d", ("a", "b"), "given"),
    ],
)
def test_provenance_of_an_order(text: str, pair: tuple[str, str], said: str) -> None:
    assert Provenance(read_givens(text, "album.mc")).between(pair[0], BEFORE, pair[1]) == said


@pytest.mark.parametrize(
    ("text", "relation", "said"),
    [
        ("b || a", Relation.CONCURRENT, "given, album.mc:1"),
        ("clock a = p {p: 2}\nclock b = q {p: 1, q: 1}", Relation.CONCURRENT,
         "clocks p:2 > q sees p:1; q:1 > p sees q:0"),
        ('token "lock 7" = a, b', Relation.RELATED, 'token "lock 7"'),
    ],
)  # fmt: skip
def test_provenance_of_what_is_symmetric(text: str, relation: Relation, said: str) -> None:
    provenance = Provenance(read_givens(text, "album.mc"))
    assert provenance.between("a", relation, "b") == said


def test_names_are_quoted_so_that_nothing_reaches_the_terminal() -> None:
    [line] = proof_lines(given("log in", "\x1b[31m"), stream=stream())
    assert line == '⊢₀ "log in" < "\\u001b[31m"  (Init)'


def test_a_terminal_gets_colour_and_folds_the_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    provenance = Provenance(read_givens('a < b from "a source of some length"'))
    long = list(proof_lines(given("a", "b"), stream=Terminal(), provenance=provenance))
    assert [line.replace("\x1b[2m", "").replace("\x1b[1m", "").replace("\x1b[0m", "") for line in long] == [
        "⊢₀ a < b",
        "   (Init: a source of some length)",
    ]
    assert "\x1b[" in long[0]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in "".join(proof_lines(given("a", "b"), stream=Terminal(), provenance=provenance))


@pytest.mark.parametrize(
    ("evolution", "said"),
    [
        ({"add": ["a", "<", "b c"]}, '(Strng, + a < "b c")'),
        ({"update": ["a", "<", "b"]}, "(Strng, a <> b := a < b)"),
    ],
)
def test_an_evolution_shows_what_changed(evolution: dict[str, object], said: str) -> None:
    node = step("Strng", ONLINE, "a", BEFORE, "b", absent(INITIAL, "a", "b"), evolution=evolution)
    assert next(iter(proof_lines(node, stream=stream()))).endswith(said)
