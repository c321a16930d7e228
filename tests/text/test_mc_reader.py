"""Microcosm files: what each statement says."""

from __future__ import annotations

import gc
import subprocess
import sys
from decimal import Decimal

import pytest

from microcosm.errors import TextError
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.text import statement as s
from microcosm.text.mc_reader import parse_correspondences, parse_statement, read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.text.statement_reader import by_words
from tests.text.documents import ALBUM

BEFORE, NOT_BEFORE = Relation.BEFORE, Relation.NOT_BEFORE


def fact(left: str, relation: Relation, right: str) -> Correspondence:
    return Correspondence(left, relation, right)


def facts(givens: Givens) -> list[str]:
    return [str(each) for given in (givens.external, givens.refuted) for each in given.values()]


def test_every_statement() -> None:
    givens = read_givens(ALBUM, "album.mc")
    assert givens.name == "phone"
    assert givens.internal == ["e1", "e2", "e3"]
    assert facts(givens) == [
        "unshare < upload", "upload || log in", "e3 <> upload", "a < b", "upload !< unshare"
    ]  # fmt: skip
    assert givens.stamps == {"e1": 5, "upload": (10.0, 12.5)}
    assert givens.clocks == {
        "upload": Clock("phone", {"phone": 3, "laptop": 1}),
        "log in": Clock("laptop", {"laptop": 2}, ticked=False),
    }
    assert givens.messages == [
        Message("send", "e", "m1", "phone", ("laptop", "album")),
        Message("receive", "f", "m1", "laptop"),
    ]
    assert givens.orderings == ["causal", "fifo-1-1 interior"]
    assert givens.complete
    assert givens.tokens == {"lock7": ("e1", "e3", "upload")}


@pytest.mark.parametrize("text", ["", "\n", "   \t\n\n", "# only a comment", "#", "\ufeff", "\r\n\r\n"])
def test_a_file_that_says_nothing_is_the_empty_microcosm(text: str) -> None:
    assert read_givens(text) == Givens()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a < b"]),
        ("b > a", ["a < b"]),
        ("a<b<c", ["a < b", "b < c"]),
        ("a < b || c <> d !< e", ["a < b", "b || c", "c <> d", "d !< e"]),
        ("c > b < d", ["b < c", "b < d"]),
        ("a ≺ b → c ∥ d ≬ e ≮ f", ["a < b", "b < c", "c || d", "d <> e", "e !< f"]),
        ("b ≻ a", ["a < b"]),
        ("b !> a", ["a !< b"]),
        ("7 < 007", ["7 < 007"]),
        ("a.b:c@d/e-f_g < é < 事", ["a.b:c@d/e-f_g < é", "é < 事"]),
        ('"a # b" < "c \\" d" # "e"', ['a # b < c " d']),
        ('"\\u0061" < b', ["a < b"]),
        ('"send" < sender', ["send < sender"]),
        ("a < b\nb > a", ["a < b"]),
        ("a || b\nb || a", ["a || b"]),
        ("a < b\r\nc < d\re < f", ["a < b", "c < d", "e < f"]),
        ("\u00a0a\u2003< b", ["a < b"]),
    ],
)
def test_correspondences(text: str, expected: list[str]) -> None:
    givens = read_givens(text)
    assert [str(each) for each in givens.external.values()] + [
        str(each) for each in givens.refuted.values()
    ] == sorted(expected, key=lambda each: "!" in each)


def test_an_internal_line_may_name_one_event_and_a_second_continues_the_first() -> None:
    assert read_givens("internal e1").internal == ["e1"]
    assert read_givens("internal e1 < e2\ninternal e3\ninternal e4 ≺ e5").internal == [
        "e1",
        "e2",
        "e3",
        "e4",
        "e5",
    ]
    assert read_givens("internal e3 > e2 > e1").internal == ["e1", "e2", "e3"]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("stamp e = -5", s.Stamped("e", -5)),
        ("stamp e=[1,2]", s.Stamped("e", (1, 2))),
        ("stamp e = [-1.5e3, 2E-1]", s.Stamped("e", (Decimal("-1500"), Decimal("0.2")))),
        ("stamp e = [1000000000000000001, 1000000000000000002]", s.Stamped("e", (10**18 + 1, 10**18 + 2))),
        ("clock e = p {}", s.Clocked("e", Clock("p", {}))),
        ("clock e=p{p:3,q:1}", s.Clocked("e", Clock("p", {"p": 3, "q": 1}))),
        ("clock e = h:80 {h:80: 3, h:81:4}", s.Clocked("e", Clock("h:80", {"h:80": 3, "h:81": 4}))),
        ('clock "a b" = "p q" {"p q": 3} unticked', s.Clocked("a b", Clock("p q", {"p q": 3}, ticked=False))),
        ("clock e = p {p: 1} in run-1", s.Clocked("e", Clock("p", {"p": 1}, execution="run-1"))),
        ('clock e = p {} unticked in "in"', s.Clocked("e", Clock("p", {}, False, "in"))),
        ("send e = m p", s.Messaged(Message("send", "e", "m", "p"))),
        ("send e = m p->q,r", s.Messaged(Message("send", "e", "m", "p", ("q", "r")))),
        ("ordering rsc interior", s.Ordered("rsc interior")),
        ("token t = t", s.Token("t", ("t",))),
        ('name "my album"', s.OwnName("my album")),
        ('name ""', s.OwnName("")),
        ("complete # all of it", s.Complete()),
    ],
)  # fmt: skip
def test_other_statements_by_both_readers(text: str, statement: s.Statement) -> None:
    assert parse_statement(text) == statement
    assert by_words(text) == statement


def test_provenance() -> None:
    givens = read_givens(
        'a < b\n\nb < c < d from "message m7"\ne !< f\ng < h from "node.log:12"\n', "dir/album.mc"
    )
    sources = {str(each): each.source for each in (*givens.external.values(), *givens.refuted.values())}
    assert sources == {
        "a < b": "dir/album.mc:1",
        "b < c": "message m7",
        "c < d": "message m7",
        "e !< f": "dir/album.mc:4",
        "g < h": "node.log:12",
    }
    assert (
        write_mc(givens)
        == 'a < b\nb < c from "message m7"\nc < d from "message m7"\ng < h from "node.log:12"\ne !< f\n'
    )
    assert write_mc(givens, sources=False) == "a < b\nb < c\nc < d\ng < h\ne !< f\n"


def test_the_first_provenance_of_a_given_is_kept() -> None:
    # The first two lines are read as one run, the last alone.
    for text in ("a < b\na < b\n", 'a < b\na < b from "m"\n', 'a < b\n"a" < b # again\n'):
        (only,) = read_givens(text, "f").external.values()
        assert only.source == "f:1"


def test_correspondences_of_a_statement() -> None:
    assert parse_correspondences("b > a !< c") == [fact("a", BEFORE, "b"), fact("a", NOT_BEFORE, "c")]
    assert parse_correspondences('a || b from "m"\n')[0].source == "m"
    assert parse_correspondences("a <> b")[0].source is None
    with pytest.raises(TextError, match="not a correspondence"):
        parse_correspondences("stamp a = 3")
    with pytest.raises(TextError, match="no statement"):
        parse_correspondences("  # nothing")
    with pytest.raises(TextError, match="more than one line"):
        parse_correspondences("a < b\nb < c")


def test_a_grammar_is_loaded_neither_for_what_is_right_nor_for_a_fault() -> None:
    script = (
        "import sys; from microcosm.text.mc_reader import *; from microcosm.errors import TextError\n"
        "read_givens(sys.argv[1]); print('lark' in sys.modules)\n"
        "try: read_givens('a b')\n"
        "except TextError: print('lark' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, ALBUM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_collection_is_as_before_reading() -> None:
    read_givens("a < b")
    assert gc.isenabled()
    with pytest.raises(TextError):
        read_givens("a <")
    assert gc.isenabled()
