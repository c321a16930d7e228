"""`verify` of whole answers: whatever one thing is changed, what is accepted is still true.

Real answers about small random microcosms are changed at random; truth is decided by all posets and by the
second opinion of `tests.oracle`, which share no code with the package.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import tempfile
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.cli import exits, reading
from microcosm.cli.app import main
from microcosm.cli.commands.verify import fault_of
from microcosm.cli.show.offline import offline_fields, possible_fields, say_inconsistent
from microcosm.cli.show.verdict import verdict_fields
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.logic.derivation import proof_object
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.queries.offline import Inconsistent
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from tests import oracle, posets
from tests.cli.conftest import Run
from tests.notation import mc
from tests.queries.test_offline import OFFLINE_RULES, OPEN_CHORD, without
from tests.strategies import rngs

Answer = dict[str, Any]
EVENTS = "abcd"
OUTSIDE = "z"
BOOK = read_rules()


# -- random microcosms, consistent or not ------------------------------------------------------------------


@st.composite
def any_givens(draw: st.DrawFn) -> Givens:
    """Some facts about four events, mostly few enough to be true together."""
    givens = Givens()
    pairs = st.sampled_from(list(permutations(EVENTS, 2)))
    signs = st.sampled_from(["<", "<", "||", "||", "<>", "<>", "!<"])
    for (a, b), sign in draw(st.lists(st.tuples(pairs, signs), max_size=6)):
        givens.add(Correspondence(a, Relation(sign), b))
    extra = draw(st.sampled_from(["", "", "internal", "stamps", "clocks", "token"]))
    if extra == "internal":
        givens.internal = draw(st.lists(st.sampled_from(EVENTS), min_size=2, max_size=3, unique=True))
    if extra == "stamps":
        givens.stamps = draw(st.dictionaries(st.sampled_from(EVENTS), st.integers(0, 3), min_size=2))
    if extra == "clocks":
        givens.clocks = {"a": Clock("p", {"p": 1}), "b": Clock("q", {"p": draw(st.integers(0, 1)), "q": 1})}
    if extra == "token":
        givens.tokens = {"t": tuple(draw(st.lists(st.sampled_from(EVENTS), min_size=2, unique=True)))}
    return givens


# -- the truth ---------------------------------------------------------------------------------------------


def facts_of(givens: Givens) -> Iterator[tuple[str, str, str]]:
    """All that is given of single pairs, as facts that a world has to have."""
    yield from oracle.stated(givens)
    yield from ((fact.left, "!<", fact.right) for fact in givens.refuted.values())
    for (a, one), (b, other) in permutations(givens.clocks.items(), 2):
        if one.process != other.process:
            seen = other.entries.get(one.process, 0)
            if seen < one.own:
                yield a, "!<", b
    for (a, first), (b, second) in permutations(givens.stamps.items(), 2):
        if first >= second:
            yield a, "!<", b


def true_of(givens: Givens, pair: tuple[str, str]) -> set[str]:
    """The relations that some world gives a pair; empty where no world fits."""
    names = sorted({*givens.named(), *pair})
    at = {event: number for number, event in enumerate(names)}
    facts = [(at[a], sign, at[b]) for a, sign, b in facts_of(givens)]
    a, b = (at[event] for event in pair)
    return {s for s in ("<", ">", "||") if posets.fitting(len(names), [*facts, (a, s, b)])}


def fits(givens: Givens) -> bool:
    return bool(true_of(givens, ("a", "b")))


MEANS = {"<": {"<"}, ">": {">"}, "||": {"||"}, "<>": {"<", ">"}}


def assert_true(kind: str, answer: Answer, givens: Givens, *, shipped: bool = True) -> None:
    """That nothing which a reader would believe of an answer is false."""
    assert answer.get("schema", "microcosm/1") == "microcosm/1"
    if kind == "check":
        assert set(answer) <= {"schema", "consistent", "derivation", "conflict", "lemmas"}
        assert answer["consistent"] is False
        assert not fits(givens)
        assert_conflict(answer.get("conflict"), givens)
        return
    assert type(answer["pair"]) is list
    a, b = pair = tuple(answer["pair"])
    named = set(givens.named())
    assert answer.get("unknown_events", [e for e in pair if e not in named]) == [
        event for event in pair if event not in named
    ]
    truth = true_of(givens, pair)
    if kind == "online":
        assert set(answer) <= {"schema", "pair", "verdict", "derivation", "lemmas", "unknown_events"}
        assert answer["verdict"] == oracle.verdict_table([a, b], givens)[a, b]
        return
    left = answer["possible"]
    assert set(left) >= truth
    assert type(answer["exact"]) is bool
    if answer["exact"]:
        assert left == [sign for sign in ("<", ">", "||") if sign in truth]
    if kind == "possible":
        assert set(answer) <= {"schema", "pair", "possible", "worlds", "exact", "conflict", "unknown_events"}
        assert_worlds(answer["worlds"], givens, pair)
        if "conflict" in answer:
            assert not left
            assert_conflict(answer["conflict"], givens)
        return
    verdict, refuted = answer["verdict"], answer["refuted"]
    assert answer.get("consistent", False) is False
    if "consistent" in answer:
        assert not truth
    assert not {relation for sign in refuted for relation in MEANS[sign]} & truth
    assert verdict is None or truth <= MEANS[verdict]
    assert verdict is None or not shipped or set(left) <= MEANS[verdict]
    assert not set(left) & {relation for sign in refuted for relation in MEANS[sign]} or "<>" in refuted


def assert_worlds(worlds: dict[str, Any], givens: Givens, pair: tuple[str, str]) -> None:
    for sign, (order, before) in worlds.items():
        assert sorted(order) == sorted({*givens.named(), *pair})
        world = posets.holds_in(order, before)
        at = {event: number for number, event in enumerate(order)}
        assert all(x < y for x, y in world)
        assert posets.sign(world, at[pair[0]], at[pair[1]]) == sign
        for a, relation, b in facts_of(givens):
            assert posets.sign(world, at[a], at[b]) in posets.ALLOWED[relation]


def assert_conflict(conflict: list[str] | None, givens: Givens) -> None:
    """Given, contradictory, and minimal; the givens of a part are read as a file."""
    if conflict is None:
        return
    known = set(facts_of(givens))
    for line in conflict:
        said = read_givens(line)
        assert set(oracle.stated(said)) <= known
        assert all((f.left, "!<", f.right) in known for f in said.refuted.values())
        assert said.stamps.items() <= givens.stamps.items()
        assert all(givens.clocks[event] == clock for event, clock in said.clocks.items())
        assert (said.tokens, said.name, said.messages, said.internal) == ({}, None, [], [])
    assert not fits(read_givens("\n".join(conflict)))
    for at in range(len(conflict)):
        assert fits(read_givens("\n".join(conflict[:at] + conflict[at + 1 :])))


# -- real answers, and what becomes of them ----------------------------------------------------------------


def answers(
    givens: Givens, pair: tuple[str, str], depth: int | None, book: RuleBook = BOOK
) -> Iterator[tuple[str, Answer]]:
    """What the commands say with --json, as a program reads it."""
    told: list[tuple[str, Answer]] = []
    try:
        known = reading.microcosm_of(givens, book)
    except exits.InconsistentGivens:
        return
    verdict = known.online(*pair)
    told.append(("online", verdict_fields(*pair, verdict, known.why(*pair))))
    try:
        told.append(("offline", offline_fields(*pair, known.offline(*pair, depth=depth))))
    except Inconsistent as problem:
        empty: Answer = {"verdict": None, "refuted": [], "possible": [], "exact": True, "derivations": {}}
        proof = proof_object(problem.derivation)
        told.append(("offline", {"pair": [*pair], **empty, "consistent": False, "derivation": proof}))
    found = known.possible(*pair)
    fields = possible_fields(*pair, found)
    if not found.relations:
        fields["conflict"] = say_inconsistent("m.mc", givens, None)
    told.append(("possible", fields))
    for kind, answer in told:
        yield kind, json.loads(json.dumps({"schema": "microcosm/1", **answer}))


def checked(givens: Givens) -> Answer:
    """The answer of `check --json` on a file."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        file = Path(folder, "m.mc")
        file.write_text(write_mc(givens), encoding="utf-8")
        assert main(["check", str(file), "--json"]) == 1
    found: Answer = json.loads(out.getvalue())
    return found


POOL: list[Any] = [
    None, True, False, 0, 1, "", [], {}, "<", ">", "||", "<>", "?", "!<", "!>", *EVENTS, OUTSIDE,
    ["<"], [">"], ["||"], ["<", ">"], ["<", ">", "||"], [">", "||"], ["a", "b"], ["b", "a"], ["a < b"],
    ["a < b", "b < a"], "a < b", "a || b", "stamp a = 1", "microcosm/2",
]  # fmt: skip
FIELDS = [
    "verdict", "possible", "exact", "refuted", "conflict", "consistent", "worlds", "unknown_events",
    "certificate", "derivation", "derivations", "note", "pair", "lemmas", "file",
]  # fmt: skip


def places(value: Any, container: Any = None, key: Any = None) -> Iterator[tuple[Any, Any]]:
    """Every place of a value inside another, as the container and the key or index."""
    if container is not None:
        yield container, key
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for k, member in list(members):
        yield from places(member, value, k)


def changed(answer: Answer, rng: Random) -> Answer:
    """The answer with one or two things changed: mostly fields of its own, now and then deep in a proof."""
    answer = copy.deepcopy(answer)
    for _ in range(rng.choice([1, 1, 1, 2])):
        everywhere = list(places(answer))
        where = [(answer, key) for key in answer] if rng.random() < 0.6 else everywhere
        container, key = rng.choice(where)
        source = POOL if rng.random() < 0.7 else [c[k] for c, k in everywhere]
        new = copy.deepcopy(rng.choice(source))
        match rng.choice(["replace", "replace", "replace", "drop", "add", "member", "turn"]):
            case "replace":
                container[key] = new
            case "drop":
                del container[key]
            case "add" if isinstance(container, list):
                container.insert(key, new)
            case "add":
                container[rng.choice(FIELDS)] = new
            case "member" if isinstance(container[key], list):
                container[key].append(new)
            case "member" if isinstance(container[key], dict):
                container[key][rng.choice(["<", ">", "||", "!<", "!||", "a"])] = new
            case "turn" if isinstance(container[key], list):
                container[key].reverse()
    return answer


def kind_of(answer: Answer) -> str:
    """What a reader would take an answer for."""
    if "derivations" in answer:
        return "offline"
    if "worlds" in answer:
        return "possible"
    return "check" if "consistent" in answer else "online"


@given(any_givens(), rngs())
def test_a_changed_answer_is_true_or_refused(givens: Givens, rng: Random) -> None:
    named = sorted(givens.named())
    events = sorted({*named, "a", "b", *([OUTSIDE] if len(named) < len(EVENTS) else [])})
    left, right = rng.sample(events, 2)
    real = [*answers(givens, (left, right), rng.choice([None, None, 0]))]
    if not fits(givens):
        real.append(("check", checked(givens)))
    for kind, answer in real:
        derived = answer.get("derivation") or answer.get("derivations") or kind == "possible"
        assert (fault_of(answer, givens, BOOK) is None) == bool(derived), (kind, answer)
        if not derived:
            continue
        assert_true(kind, answer, givens)
        for _ in range(12):
            other = changed(answer, rng)
            if "rule" not in other and fault_of(other, givens, BOOK) is None:
                assert_true(kind_of(other), other, givens)


@given(any_givens(), rngs())
def test_real_answers_under_fewer_rules_are_valid_and_changed_ones_true_or_refused(
    givens: Givens, rng: Random
) -> None:
    book = without(rng.choice(OFFLINE_RULES))
    for kind, answer in answers(givens, ("a", "b"), rng.choice([None, 0]), book):
        if kind == "offline" and (answer["derivations"] or answer.get("derivation")):
            assert fault_of(answer, givens, book) is None, answer
            assert_true(kind, answer, givens, shipped=False)
            for other in (changed(answer, rng) for _ in range(10)):
                if kind_of(other) == kind and fault_of(other, givens, book) is None:
                    assert_true(kind, other, givens, shipped=False)


# -- what was accepted once --------------------------------------------------------------------------------

OFFLINE = ("offline", "m.mc", "b", "c")
DEEP = "a < c\nc < b\na || d\nb || d\nc <> d\nx < y\nstamp x = 3\n"


def told(run: Run, text: str, *argv: str) -> Answer:
    Path("m.mc").write_text(text, encoding="utf-8")
    found: Answer = run(*argv, "--json").json
    return found


def verdict_on(run: Run, answer: Answer) -> tuple[int, str | None]:
    ran = run("verify", "m.mc", "-", "--json", stdin=json.dumps(answer).encode())
    return ran.code, ran.json["fault"]


def refused(run: Run, answer: Answer, **fields: Any) -> bool:
    """Whether an answer is valid as it is, and not with other fields."""
    assert verdict_on(run, answer) == (0, None)
    code, fault = verdict_on(run, {**answer, **fields})
    return code == 1 and bool(fault)


def test_a_verdict_stands_beside_what_it_leaves_possible(run: Run) -> None:
    answer = told(run, "a < b\na || c", "offline", "m.mc", "a", "b")
    assert answer["verdict"] == "<"
    alone = {"refuted": [], "derivations": {"<": answer["derivations"]["<"]}}
    for exact in (True, False):
        for left in (["<", ">", "||"], ["<"], [">"], []):
            assert refused(run, answer, **alone, exact=exact, possible=left)
    assert refused(run, answer, possible=["<", "||"])
    fewer = {sign: proof for sign, proof in answer["derivations"].items() if sign != "<"}
    assert refused(run, answer, verdict=None, derivations=fewer)


def test_what_is_called_exact_has_worlds(run: Run) -> None:
    text = write_mc(mc(OPEN_CHORD + " b!<e"))
    answer = told(run, text, "offline", "m.mc", "b", "e", "--depth", "0")
    assert (answer["possible"], answer["exact"]) == ([">", "||"], False)
    assert true_of(read_givens(text), ("b", "e")) == {">"}
    assert refused(run, answer, exact=True)
    some = told(run, "a || b\nb !< c", *OFFLINE)
    assert (some["exact"], some["possible"]) == (True, [">", "||"])
    for left in (["<", ">", "||"], [">"], ["||"], ["||", ">"], []):
        assert refused(run, {**some, "exact": False}, possible=left)
    assert refused(run, some, exact=1)


def test_exact_is_not_claimed_where_worlds_do_not_know_all(run: Run) -> None:
    text = "complete\nsend s = m p -> q\nreceive r = m q\nb !< c\nb || s\nc || r\n"
    answer = told(run, text, *OFFLINE)
    assert answer["exact"] is False
    assert refused(run, answer, exact=True)
    possible = {**told(run, text, "possible", "m.mc", "b", "c"), "exact": False}
    assert refused(run, possible, exact=True)
    assert verdict_on(run, {**possible, "ignored": ["complete"]}) == (0, None)
    assert refused(run, possible, ignored=["ordering causal"])


def test_a_conflict_is_given_contradictory_and_minimal(run: Run) -> None:
    answer = told(run, DEEP, "check", "m.mc")
    lines = answer["conflict"]
    assert len(lines) == 5
    for other in (
        lines[1:], [*lines, "x < y"], [*lines, "stamp x = 3"], [*lines, lines[0]], ["x < y", "y < x"], [],
        ["a < c", "c < b", "a || d", "b || d", "d <> c"], [*lines[:-1], "c <> d  # or so"],
        ["a < c < b", *lines[2:]], [*lines[:-1], 'c <> d from "message m1"'], "a < c", [None],
        ["nonsense <"], ["name x", *lines],
    ):  # fmt: skip
        assert refused(run, answer, conflict=other), other
    assert verdict_on(run, {**answer, "conflict": None}) == (0, None), "null claims nothing"
    nothing = told(run, DEEP, "possible", "m.mc", "a", "x")
    assert nothing["possible"] == []
    assert refused(run, nothing, conflict=lines[1:])
    assert refused(run, nothing, possible=["<"], exact=False)


def test_the_worlds_of_what_is_possible_fit(run: Run) -> None:
    answer = told(run, "a < b\nb || c\nstamp d = 2\nstamp c = 3\n", "possible", "m.mc", "a", "c")
    assert answer["possible"] == ["<", "||"]
    order, before = answer["worlds"]["||"]
    worlds = answer["worlds"]
    assert refused(run, answer, possible=["||"], worlds={"||": worlds["||"]})
    assert refused(run, answer, worlds={"||": worlds["||"]})
    assert refused(run, answer, worlds={**worlds, "<": worlds["||"]})
    assert refused(run, answer, possible=["<", ">", "||"], worlds={**worlds, ">": worlds["<"]})
    undecided = {**answer, "possible": ["<", ">", "||"], "exact": False}
    assert verdict_on(run, undecided) == (0, None), "what is not exact may list what is not possible"
    for other in (
        [order[:-1], before], [[*order, "z"], before], [order, []], [order, [*before, ["c", "d"]]],
        [order, [["z", "a"]]], [order[::-1], before], [order, before[::-1] + before], [order], None,
        [order, [["a"]]], [[1], []],
    ):  # fmt: skip
        assert refused(run, answer, worlds={**worlds, "||": other}), other


def test_where_no_world_fits_nothing_is_said_of_a_pair(run: Run) -> None:
    answer = told(run, DEEP, "offline", "m.mc", "a", "x")
    for fields in (
        {"verdict": "<"},
        {"possible": ["<"]},
        {"refuted": [">"]},
        {"exact": 1},
        {"exact": False},
        {"consistent": True},
    ):
        assert refused(run, answer, **fields), fields


def test_events_that_nothing_names_are_those(run: Run) -> None:
    answer = told(run, "a < b\n", "online", "m.mc", "a", "nobody")
    assert verdict_on(run, {**answer, "unknown_events": ["nobody"]}) == (0, None)
    assert refused(run, answer, unknown_events=["a"])
    assert refused(run, answer, unknown_events=[])
    assert refused(run, answer, note="b < a as well")
    assert refused(run, answer, certificate="proof.drat")


@pytest.mark.parametrize(
    "argv",
    [("table", "m.mc"), ("bisim", "m.mc", "m.mc"), ("why-not", "m.mc", "a < b"), ("diff", "m.mc", "m.mc")],
)
def test_an_answer_without_proofs_is_not_valid(run: Run, argv: tuple[str, ...]) -> None:
    code, fault = verdict_on(run, told(run, "a < b\n", *argv))
    assert code == 1
    assert fault


INITIAL = (
    "a < b\nb < a", "a < b\nb < c\na || c", "a || b\na <> b", "internal a < b < c\nc < a",
    "token t = a, b\na || b", "clock x = p {p: 1}\nclock y = p {p: 2}\ny < x", "a < b\nb < c\nc < d\nd < a\n",
)  # fmt: skip


@pytest.mark.parametrize("text", INITIAL)
def test_a_contradiction_in_the_initial_judgements_can_be_verified(run: Run, text: str) -> None:
    answer = told(run, text, "check", "m.mc")
    assert answer["derivation"]["conclusion"]["judgement"] == "initial"
    assert verdict_on(run, answer) == (0, None)
    assert verdict_on(run, answer["derivation"]) == (0, None)
    assert refused(run, answer, conflict=[*answer["conflict"], answer["conflict"][0]])
    assert refused(run, answer, derivation={**answer["derivation"], "premises": []})
    for stated in (b"{}", json.dumps(answer["derivation"]["premises"][0]).encode()):
        ran = run("verify", "m.mc", "-", "--json", stdin=stated)
        assert ran.refused(4), "nothing else is said of such a file"
