"""Lines of many thousand names."""

from __future__ import annotations

import pytest

from microcosm.errors import TextError
from microcosm.text.mc_reader import read_givens

MANY = [f"e{n}" for n in range(30_000)]


@pytest.mark.parametrize(
    ("text", "message", "faulty"),
    [
        (" < ".join([*MANY, "send", *MANY]), "`send` is a keyword", "send"),
        (" < ".join([*MANY, "e0", "e0"]), "no relation to itself", None),
        (" < ".join(MANY) + " <", "ends too early: expected a name", None),
        (" < ".join(MANY) + " x", "unexpected 'x' after the statement", "x"),
        (" < ".join([*MANY, "?x", *MANY]), "expected a name, not '?'", "?x"),
        ("internal " + " < ".join([*MANY, "||"]), "expected a name, not '||'", "||"),
        ("internal " + " < ".join([*MANY, "e7"]), "'e7' stands twice", None),
        ("token t = " + ", ".join(MANY) + ",", "ends too early: expected a name", None),
        ("token t = " + ", ".join([*MANY, '"a\\qb"', *MANY]), "not an escape", '\\q'),
        ("send e = m p -> " + ", ".join([*MANY, "from", "x"]), "`from` is a keyword", "from"),
        ("clock e = p {" + ": 1, ".join(MANY) + ": 1; q: 1}", "expected `,` or `}`, not ';'", ";"),
        ("clock e = p {" + ": 1, ".join([*MANY, '""', *MANY]) + ": 1}", "cannot be empty", '""'),
        ("clock e = p {" + ": 1, ".join([*MANY, "e0"]) + ": 1}", "clock for 'e0' is stated twice", "e0: 1}"),
        ("x" * 200_000, "ends too early: expected a relation", None),
        ("ab " * 100_000, "no relation", None),
        ('"' + "\\n" * 100_000, "the quoted text does not end", '"'),
        ("a-" * 100_000, "no relation", None),
    ],
)  # fmt: skip
def test_a_long_line_gives_a_short_error_in_its_place(text: str, message: str, faulty: str | None) -> None:
    with pytest.raises(TextError) as caught:
        read_givens("a < b\n" + text)
    error = caught.value
    assert message in error.message
    assert error.line == 2
    assert len(str(error)) < 500
    assert error.column is not None
    assert faulty is None or text.startswith(faulty, error.column - 1)
    assert error.column <= len(text) + 1


def test_long_statements_are_read() -> None:
    chain = read_givens(" < ".join(MANY))
    assert len(chain.external) == len(MANY) - 1
    assert read_givens("internal " + " < ".join(MANY)).internal == MANY
    assert read_givens("token t = " + ", ".join(MANY)).tokens == {"t": tuple(MANY)}
    clock = read_givens("clock e = p {" + ", ".join(f"{e}:1" for e in MANY) + "}").clocks["e"]
    assert list(clock.entries) == MANY
    long_name = "x" * 20_000
    assert read_givens(f"{long_name} < b").external.keys() == {(long_name, "<", "b")}
