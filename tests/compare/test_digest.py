"""The digests: equal exactly where they should be, the same everywhere, and as their docstring says."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Contradiction, Microcosm, bisimilar
from microcosm.compare.digest import analogy_digest, analogy_digest_of, givens_digest, same_givens
from microcosm.compare.verdict_rows import analogous
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import read_givens
from tests import oracle
from tests.compare.test_analogy import BOOKS
from tests.enumeration import as_givens, enumerated, inside
from tests.rulesets import without
from tests.strategies import microcosms, rngs

FIXTURES = {
    "empty": "",
    "album": 'unshare < upload \n upload < notify \n upload || "log in"',
    "every verdict": "internal e1 < e2 \n e2 < u \n u || v \n v <> w \n e1 <> u",
    "clocks": "clock a = p {p: 1} \n clock b = q {p: 1, q: 1} \n clock c = q {q: 2, p: 1} \n token t = c, d",
    "names": '"é" < "\\n" \n "事件" || a \n a <> "🜁"',
}

GOLDEN = {
    "empty": (
        "a536aa3cede6ea3c1f3e0357c3c60e0f216a8c89b853df13b29daa8f85065dfb",
        "bb303ab33e10ab687ede112cdebd040e4861428d0cad88fd02f0a8ece1e82195",
    ),
    "album": (
        "9f32bc31ae8c78c2d2d877015377d71b504fde927a59de258731c6f7437b7edb",
        "077676d9665e79da46a6cf2d15aa8ce20c4c5730893ef554eadcbcf404d87876",
    ),
    "every verdict": (
        "647060e8a755e1055d16c32311b6d014a563977271571146386ff2566deda0c9",
        "1919e89d15e392413e46fbc9d6a42fad8f0fe675526aee23e7fc49e9d9ffb319",
    ),
    "clocks": (
        "10a8f02ba7cc3a45f41e6925c421aac98b86c496c1c56da4a36cae6685ef270a",
        "653ad06f3b3bffa102e6f2a7f78e165cb246a8759a2c0fd33f2522678bd98ccf",
    ),
    "names": (
        "a7e4e9658e91cb28ab3673a6971a6369d656c83ec20487f545689a7a2b4af515",
        "dafa0582aeb81312fb762a150d26b23e1dac1ad9faf75b7e0b7924b55bc4049f",
    ),
}


def test_the_digest_is_what_its_docstring_says() -> None:
    """Made by hand, from the verdicts of a microcosm of 9 events, so that a row takes two bytes."""
    chain = [f"e{at}" for at in range(8)]
    m = Microcosm.parse(f"{' < '.join(chain)} \n f || e0 \n f <> e7")
    names = [*chain, "f"]
    hashed = b"\x01" + (9).to_bytes(8, "little")
    hashed += b"".join(len(name).to_bytes(8, "little") + name.encode() for name in names)
    for sign in ("<", "||", "<>"):
        for right in names:
            row = sum(
                1 << i
                for i, left in enumerate(names)
                if left != right and m.online(left, right).value == sign
            )
            hashed += row.to_bytes(2, "little")
    assert analogy_digest(m) == sha256(hashed).hexdigest()
    assert (
        givens_digest(Microcosm.parse("b || a").givens)
        == sha256(b'\x01[["external","a","||","b"]]').hexdigest()
    )


def test_equal_digests_mean_analogous_over_all_pairs_of_three_events() -> None:
    tables = {}
    for facts in enumerated("abc", superseding=True):
        table = frozenset(oracle.tabulate("abc", facts, inside(facts)).items())
        tables[facts] = table, analogy_digest(Microcosm(as_givens(facts)))
    for (one, here), (other, there) in combinations(tables.values(), 2):
        assert (one == other) is (here == there)


def test_equal_digests_mean_analogous_on_a_sample_of_four_events() -> None:
    sample = Random(5).sample(enumerated("abcd", superseding=True), 800)
    by_table, by_digest = {}, {}
    for facts in sample:
        table = frozenset(oracle.tabulate("abcd", facts, inside(facts)).items())
        digest = analogy_digest(Microcosm(as_givens(facts)))
        assert by_table.setdefault(table, digest) == digest
        assert by_digest.setdefault(digest, table) == table
    assert 300 < len(by_table) < 800


@given(microcosms(2, 4), microcosms(2, 4))
def test_equal_digests_mean_analogous(one: Givens, other: Givens) -> None:
    here, there = Microcosm(one), Microcosm(other)
    assert (analogy_digest(here) == analogy_digest(there)) is analogous(here, there)
    assert (givens_digest(one) == givens_digest(other)) is same_givens(one, other)
    assert analogy_digest_of(one) == analogy_digest(here)


@given(microcosms(2, 9))
def test_the_digest_of_many_events_is_that_of_few(givens: Givens) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found = {analogy_digest(Microcosm(givens))}
        patch.setattr("microcosm.tuning.ROWS_HELD", 2)
        found.add(analogy_digest(Microcosm(givens)))
        patch.setattr("microcosm.tuning.ROWS_UP_TO", 1)
        patch.setattr("microcosm.tuning.EVENTS_A_CHAIN", 1)
        found.add(analogy_digest(Microcosm(givens)))
    assert len(found) == 1


def test_the_digest_of_givens_that_contradict() -> None:
    with pytest.raises(Contradiction):
        analogy_digest_of(read_givens("a < b < a"))


@given(microcosms(2, 5), st.sampled_from(sorted(BOOKS)))
def test_the_digest_straight_from_the_givens_under_other_rules(givens: Givens, book: str) -> None:
    try:
        known = Microcosm(givens, rules=BOOKS[book])
    except Contradiction:
        return
    assert analogy_digest_of(givens, BOOKS[book]) == analogy_digest(known)


@given(microcosms(2, 4), microcosms(2, 4), st.sampled_from(sorted(set(BOOKS) - {"no Un-4"})))
def test_equal_digests_mean_analogous_under_other_rules(one: Givens, other: Givens, book: str) -> None:
    try:
        known = [Microcosm(g, rules=rules) for g in (one, other) for rules in (None, BOOKS[book])]
    except Contradiction:
        return
    for here, there in combinations(known, 2):
        assert (analogy_digest(here) == analogy_digest(there)) is analogous(here, there)


def test_silence_counts_where_rules_make_it_differ() -> None:
    """Without Un-1 more is silent; the digest says so, and is that of the shipped rules elsewhere."""
    text, plain = "a || e \n e || b", "a < b"
    assert analogy_digest(Microcosm.parse(text)) != analogy_digest(
        Microcosm.parse(text, rules=without("Un-1"))
    )
    assert analogy_digest(Microcosm.parse(plain)) == analogy_digest(
        Microcosm.parse(plain, rules=without("Un-1"))
    )


@given(microcosms(2, 7, nasty=True), rngs())
def test_the_order_of_arrival_does_not_matter(givens: Givens, rng: Random) -> None:
    shuffled = givens.copy()
    items = list(givens.external.items())
    rng.shuffle(items)
    shuffled.external = dict(items)
    shuffled.tokens = {name: group[::-1] for name, group in reversed(givens.tokens.items())}
    shuffled.name = "another"
    assert givens_digest(shuffled) == givens_digest(givens)
    grown = Microcosm(shuffled)
    assert analogy_digest(grown) == analogy_digest(Microcosm(givens))
    for fact in (fact for _, fact in items):
        grown.remove(fact)
    for fact in givens.external.values():
        grown.add(fact)
    assert analogy_digest(grown) == analogy_digest(Microcosm(givens))


STATEMENTS = (
    "a < b", "b || d", "a <> d", "d !< a", "stamp a = 5", "stamp b = [1.5, 2]", "clock d = p {p: 1, q: 2}",
    "send a = m1 p -> q, r", "receive b = m1 q", "send a = m1 p", "ordering causal", "complete p",
    "token t = a, x", "process p = a, b", "internal y",
)  # fmt: skip


@pytest.mark.parametrize("twice", STATEMENTS)
def test_what_is_stated_twice_is_given_once(twice: str) -> None:
    text = "\n".join(STATEMENTS)
    one = read_givens(text)
    try:
        other = read_givens(f"{text}\n{twice}")
    except TextError:  # it may be stated only once
        return
    assert same_givens(one, other)
    assert givens_digest(one) == givens_digest(other)
    assert bisimilar(Microcosm(one), Microcosm(other), backward=True).holds


@pytest.mark.parametrize("number", ["0", "-0", "-0.0", "0e5", "10", "1e1", "10.00", "1e-400", "0.10", "1e-1"])
def test_what_is_the_same_however_a_number_is_written_has_one_digest(number: str) -> None:
    one = read_givens(f"stamp a = [{number}, 20]")
    for written in ("0.0", "-0.0", "10", "0.1", "1e-400"):
        other = read_givens(f"stamp a = [{written}, 20]")
        assert (givens_digest(one) == givens_digest(other)) is same_givens(one, other)


def test_events_of_which_nothing_is_known_do_not_matter() -> None:
    one = Microcosm.parse("a < b")
    for other in ("a < b \n stamp z = 1", "internal z \n a < b", "a < b \n token t = z", "a < b \n z !< a"):
        assert analogy_digest(Microcosm.parse(other)) == analogy_digest(one)
        assert givens_digest(Microcosm.parse(other).givens) != givens_digest(one.givens)


@pytest.mark.parametrize("name", FIXTURES)
def test_a_digest_never_changes(name: str) -> None:
    """If one of these changes, `VERSION` must."""
    m = Microcosm.parse(FIXTURES[name])
    assert (analogy_digest(m), givens_digest(m.givens)) == GOLDEN[name]


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_a_digest_is_the_same_in_every_process(seed: str) -> None:
    program = """
import sys
from microcosm import Contradiction, Microcosm
from microcosm.compare.digest import analogy_digest, givens_digest
m = Microcosm.parse(sys.argv[1])
print(analogy_digest(m), givens_digest(m.givens))
"""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
    ran = subprocess.run(
        [sys.executable, "-c", program, FIXTURES["every verdict"]],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert tuple(ran.stdout.split()) == GOLDEN["every verdict"]
