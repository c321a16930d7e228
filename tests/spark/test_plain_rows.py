"""The digests of plain microcosms are those of the engine; whatever is not plain is left to it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from microcosm.compare.digest import analogy_digest
from microcosm.errors import MicrocosmError
from microcosm.files import decode
from microcosm.queries.possible import Worlds
from microcosm.spark.bisim import plain_rows
from microcosm.spark.bisim.plain_rows import digests, plain_digest
from microcosm.state.microcosm import Microcosm
from microcosm.text.json_form import decode_json, givens_from_json

NAMES = st.sampled_from(("a", "b", "c", "d", "ü", "f g", "", "\ud800"))
GOOD = st.sampled_from(("a", "b", "c", "d", "ü", "f g"))
FACTS = st.lists(
    st.tuples(GOOD, st.sampled_from(("<", "<", "<", "||", "<>", ">")), GOOD).map(list), max_size=8
)
ODD = st.lists(
    st.one_of(st.lists(st.one_of(NAMES, st.integers(), st.just("<")), max_size=4), st.text(max_size=3)),
    max_size=3,
)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "external": st.one_of(FACTS, FACTS, ODD, st.none()),
        "internal": st.one_of(
            st.lists(GOOD, max_size=4, unique=True), st.lists(NAMES, max_size=3), st.none()
        ),
        "refuted": st.just([["a", "b"]]),
        "name": st.just("x"),
    },
)


@given(RECORDS)
def test_a_digest_is_told_of_plain_microcosms_only_and_is_that_of_the_engine(record: dict[str, Any]) -> None:
    found = plain_digest(record)
    try:
        known = Microcosm(givens_from_json(record))
    except MicrocosmError:
        assert found is None
        return
    if found is not None:
        assert found == analogy_digest(known)
        assert Worlds(known.givens).one() is not None


@given(FACTS)
def test_nothing_plain_is_missed(facts: list[list[str]]) -> None:
    record = {"external": [fact for fact in facts if fact[1] in ("<", "||")]}
    try:
        Microcosm(givens_from_json(record))
    except MicrocosmError:
        assert plain_digest(record) is None
    else:
        assert plain_digest(record) is not None


IDS = st.one_of(st.sampled_from(("x", "ü", "2020-01-01")), st.sampled_from(("", None, 5)))
EMPTY = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from(("microcosm/1", "microcosm/2")),
        "name": st.sampled_from((None, "x", "2020-01-01")),
        "refuted": st.sampled_from(([], None)),
        "stamps": st.sampled_from(({}, {}, {"a": 5})),
        "clocks": st.just({}),
        "tokens": st.just({}),
        "complete": st.booleans(),
        "orderings": st.just([]),
    },
)
PLAIN = st.builds(
    lambda facts, chain: {"external": [fact for fact in facts if fact[1] in ("<", "||")], "internal": chain},
    FACTS,
    st.lists(GOOD, max_size=4, unique=True),
)
ODD_LINES = st.sampled_from(
    (
        b'{"id": "a", "id": "b"}',
        b'{"id": "a"}{"id": "b"}',
        b'{"id": "a", "external": [["a", "<", "\xff"]]}',
        b'{"id": "a", "external": [["a", "<", "\\ud800"]]}',
        b'{"id": "a", "external": null}',
        b'{"id": "a", "external": [["a", "<", null]]}',
        b'{"id": "a", "external": [null]}',
        b'{"id": "a", "external": [["a", "<", "b", "said"]]}',
        b'{"id": "a", "stamps": {"a": NaN}}',
        b"{",
        b"[]",
    )
)


def of_lines(lines: list[bytes]) -> list[tuple[str, str] | None]:
    """Id and digest of each line; None where it is left to the code for one."""
    found: list[tuple[str, str] | None] = [None] * len(lines)
    places, batch = plain_rows.of_lines(lines)
    if batch is not None:
        for at, each in zip(places, of_batch(batch), strict=True):
            found[at] = each
    return found


def of_batch(batch: pa.RecordBatch) -> list[tuple[str, str] | None]:
    """The same of each row."""
    found = plain_rows.of_batch(batch)
    assert found is not None
    read, names = found
    return [digest and (name, digest) for name, digest in zip(names, digests(read), strict=True)]


def expected(line: bytes) -> tuple[str, str] | None:
    """Id and digest by the engine; None where the line is no microcosm."""
    try:
        record: Any = decode_json(decode(line, "log"))
        name = record.pop("id")
        return name, analogy_digest(Microcosm(givens_from_json(record)))
    except (MicrocosmError, AttributeError, KeyError):
        return None


@given(st.lists(st.one_of(st.tuples(IDS, PLAIN, EMPTY), st.tuples(IDS, RECORDS, EMPTY)), max_size=6))
def test_a_digest_of_a_line_is_that_of_the_engine(rows: list[tuple[Any, Any, Any]]) -> None:
    lines = [json.dumps({"id": name, **empty, **record}).encode() for name, record, empty in rows]
    for found, line in zip(of_lines(lines), lines, strict=True):
        assert found is None or (found == expected(line) and isinstance(found[0], str))


@given(st.lists(ODD_LINES, min_size=1, max_size=2), st.integers(0, 2))
def test_lines_that_are_faults_are_left_to_the_code_for_one(odd: list[bytes], at: int) -> None:
    lines = [b'{"id": "x", "external": [["a", "<", "b"]]}'] * 2
    lines[at:at] = odd
    for found, line in zip(of_lines(lines), lines, strict=True):
        assert found is None or found == expected(line)


@given(st.lists(PLAIN, min_size=1, max_size=6), st.booleans())
def test_nothing_plain_is_missed_in_columns(records: list[dict[str, Any]], structs: bool) -> None:
    lines = [json.dumps({"id": str(at), **record}).encode() for at, record in enumerate(records)]
    wanted = [expected(line) for line in lines]
    assert of_lines(lines) == wanted
    text = pa.string()
    fact = pa.struct([(name, text) for name in ("left", "relation", "right", "source")])
    schema = [("id", text), ("internal", pa.list_(text)), ("stamps", pa.map_(text, pa.int64()))]
    schema.append(("external", pa.list_(fact if structs else pa.list_(text))))
    rows = []
    for at, record in enumerate(records):
        facts = record["external"]
        if structs:
            facts = [dict(zip(("left", "relation", "right"), each, strict=True)) for each in facts]
        rows.append({"id": str(at), **record, "external": facts, "stamps": [] if at % 2 else None})
    assert of_batch(pa.RecordBatch.from_pylist(rows, schema=pa.schema(schema))) == wanted


def test_many_events_and_facts_of_few_and_many() -> None:
    """Sixty-four events fit, one more does not; a chain is as deep as it is long."""
    names = [f"e{at}" for at in range(65)]
    lines = [
        json.dumps({"id": str(count), "internal": names[:count], "external": [["x", "||", "e0"]]}).encode()
        for count in (2, 63, 64)
    ]
    found = of_lines(lines)
    assert found[:2] == [expected(line) for line in lines[:2]]
    assert found[2] is None


def test_a_line_that_ends_or_begins_with_a_text_is_torn_and_takes_nothing_from_its_neighbours() -> None:
    whole = b'{"id": "1", "external": [["c", "<", "d"]]}'
    for torn in (
        b'{"id": "0", "external": [["a", "<"',
        b'"external": [["a", "<", "b"]], "id": "0"}',
        b'"id": "0"',
        b'{"id": "0"',
        b'{"id": "0", "internal": ["a", "b",',
        b'{"internal": [], "id": "0",',
    ):
        for lines in ([torn, whole], [whole, torn], [whole, torn, torn, whole]):
            wanted = [expected(whole) if line is whole else None for line in lines]
            assert of_lines(lines) == wanted


PIECES = st.sampled_from(
    (
        *b'[]{}:,"\n \\',
        *(b"null", b"false", b"true", b"5", b'"id"', b'"internal"', b'["a"]', b'["a", "<"', b"]]"),
    )
)


@given(
    st.lists(PLAIN, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0), st.integers(0, 3), PIECES), max_size=3),
    st.booleans(),
)
def test_a_line_that_was_changed_anywhere_is_no_other_than_the_engine_says(
    records: list[dict[str, Any]], changes: list[tuple[int, int, int | bytes]], escaped: bool
) -> None:
    texts = [json.dumps({"id": str(at), **each}, ensure_ascii=escaped) for at, each in enumerate(records)]
    block = "\n".join(texts).encode()
    for place, length, piece in changes:
        at = place % (len(block) + 1)
        block = block[:at] + (bytes([piece]) if isinstance(piece, int) else piece) + block[at + length :]
    lines = [line for line in block.split(b"\n") if line.strip()]
    for found, line in zip(of_lines(lines), lines, strict=True):
        assert found is None or found == expected(line)
