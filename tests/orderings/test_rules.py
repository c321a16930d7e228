"""What a known ordering tells offline: every conclusion is true, and each rule is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from itertools import pairwise
from json import dumps
from random import Random

import pytest

from microcosm import Microcosm, Relation, files
from microcosm.kernel import check as kernel
from microcosm.logic.rule import BasePredicate, Instance, Judged, Not, Premise
from microcosm.logic.rulebook import parse_rules
from microcosm.order.order import base_facts
from tests.orderings import oracle
from tests.orderings.notation import chains_of
from tests.orderings.oracle import NAMES, Chains, Placed
from tests.orderings.test_enumeration import drawn
from tests.thorough import draws

STATEMENTS = [*NAMES, *(f"{name} interior" for name in NAMES)]


def name_of(event: Placed) -> str:
    kind, m, p = event
    return f"{kind}{m}" if kind == "s" else f"r{m}@{p}"


def microcosm_of(
    chains: Chains, given: list[tuple[Placed, Placed]], ordering: str, to: dict[int, list[str]] | None = None
) -> Microcosm:
    """The messages of a computation, some of its happens-before, and what is known of the network.

    Sends name the receivers `to` which they go, as if no copy had been lost where that is not given.
    """
    lines = [f"ordering {ordering}"] if ordering else []
    events = [event for row in oracle.placed(chains) for event in row]
    for event in events:
        kind, m, p = event
        receivers = [f"p{q}" for k, n, q in events if (k, n) == ("r", m)] or ["nobody"]
        named = receivers if to is None else to[m]
        listed = f" -> {', '.join(named)}" if kind == "s" and named else ""
        lines.append(f"{'send' if kind == 's' else 'receive'} {name_of(event)} = m{m} p{p}{listed}")
    lines += [f"{name_of(a)} < {name_of(b)}" for a, b in given]
    return Microcosm.parse("\n".join(lines))


def left_of(microcosm: Microcosm) -> dict[tuple[str, str], tuple[Relation, ...]]:
    return {(a, b): left for a, b, left in microcosm.offline_table()}


Fact = tuple[Placed, Placed]


def truths(chains: Chains, statement: str) -> dict[str, set[tuple[Placed, ...]]]:
    """What is true of a computation whose network keeps an ordering: relations and base predicates."""
    events = [event for row in oracle.placed(chains) for event in row]
    before = oracle.causal(chains)
    pairs = {(a, b) for a in events for b in events if a != b}
    apart = {(a, b) for a, b in pairs if (a, b) not in before and (b, a) not in before}
    givens = microcosm_of(chains, [], statement).givens.copy()
    givens.complete = True
    named = {name_of(event): event for event in events}
    base = base_facts(givens)
    said = {name: {tuple(named[e] for e in fact) for fact in base[name]} for name in base}
    return {"<": set(before), "||": set(apart), "!<": pairs - before, "!||": pairs - apart, **said}


def holds(premise: Premise, named: dict[str, Placed], true: dict[str, set[tuple[Placed, ...]]]) -> bool:
    """Whether a premise is true."""
    if isinstance(premise, BasePredicate):
        return tuple(named[e] for e in premise.events) in true[premise.name]
    if isinstance(premise, Not):
        if isinstance(premise.body, BasePredicate):
            return not holds(premise.body, named, true)
        assert isinstance(premise.body, Judged)
        a, b = named[premise.body.left], named[premise.body.right]
        return a != b and (a, b) not in true["<"] and (b, a) not in true["<"]
    assert isinstance(premise, Judged)
    return (named[premise.left], named[premise.right]) in true[str(premise.relation)]


def assignments(instance: Instance, true: dict[str, set[tuple[Placed, ...]]]) -> Iterator[dict[str, Placed]]:
    """The events that the base predicates of a rule allow for its variables."""
    found: list[dict[str, Placed]] = [{}]
    for premise in instance.premises:
        if isinstance(premise, BasePredicate):
            found = [
                {**named, **dict(zip(premise.events, fact, strict=True))}
                for named in found
                for fact in true[premise.name]
                if all(named.get(e, x) == x for e, x in zip(premise.events, fact, strict=True))
            ]
    return iter(found)


def unsound(scope: Iterable[Chains], statement: str) -> list[tuple[str, str]]:
    """The rules that conclude something false from true premises, of a network that keeps an ordering."""
    book = parse_rules(files.shipped("rules").joinpath("orderings.rules").read_text(encoding="utf-8"))
    name, _, interior = statement.partition(" ")
    found = []
    for chains in scope:
        if not oracle.verdicts(chains)[name][bool(interior)]:
            continue
        true = truths(chains, statement)
        for instance in book.instances:
            for named in assignments(instance, true):
                if all(holds(premise, named, true) for premise in instance.premises):
                    said = instance.conclusion
                    a, b = named[said.left], named[said.right]
                    if not holds(said, named, true) if a != b else said.relation is Relation.BEFORE:
                        found.append((instance.rule.name, oracle.shown(chains)))
    return found


def messages_with_one_receiver() -> list[Chains]:
    return [chains for messages in (1, 2, 3) for chains in oracle.computations(messages, 4)]


def messages_with_several_receivers() -> list[Chains]:
    return [*oracle.multicasts(1, 4), *oracle.multicasts(2, 4), *oracle.multicasts(3, 3)[::6]]


SCOPES = [messages_with_one_receiver, messages_with_several_receivers]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_rule_is_sound_of_every_computation(
    statement: str, scope: Callable[[], Iterable[Chains]]
) -> None:
    """From true premises to a true conclusion, of all that a network with an ordering can have produced."""
    assert unsound(scope(), statement) == []


@pytest.mark.thorough
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_rule_is_sound_of_three_messages_with_several_receivers(statement: str) -> None:
    assert unsound(oracle.multicasts(3, 3), statement) == []


def true_of(a: Placed, b: Placed, before: Set[Fact]) -> Relation:
    if (a, b) in before:
        return Relation.BEFORE
    return Relation.AFTER if (b, a) in before else Relation.CONCURRENT


def false_verdicts(rng: Random, chains: Chains, statement: str) -> tuple[list[str], bool]:
    """What is left of no pair though it is true, of a part of what there is to know; and whether it told."""
    events = [event for row in oracle.placed(chains) for event in row]
    before = oracle.causal(chains)
    given = [pair for pair in sorted(before) if rng.random() < 0.5]
    to: dict[int, list[str]] = {}
    for kind, m, p in events:
        if kind == "s":
            reached = [f"p{q}" for k, n, q in events if (k, n) == ("r", m)]
            lost = [f"p{q}" for q in range(5) if q != p and f"p{q}" not in reached and rng.random() < 0.2]
            to[m] = [] if rng.random() < 0.2 else sorted(reached + lost)
    known = microcosm_of(chains, given, "", to)
    part = known.givens.copy()
    part.messages = [one for one in part.messages if rng.random() < 0.9]
    known = Microcosm(part)
    ordered = Microcosm(replace(part.copy(), orderings=[statement]))
    without, named = left_of(known), {name_of(event): event for event in events}
    false, said = [], False
    for (a, b), left in left_of(ordered).items():
        said |= left != without[a, b]
        if true_of(named[a], named[b], before) not in left:
            false.append(f"{oracle.shown(chains)}: {a}, {b}")
    return false, said


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("scope", SCOPES)
def test_every_conclusion_is_true(statement: str, scope: Callable[[], Iterable[Chains]]) -> None:
    """Of computations that the network can have produced, and of any part of what is known of them."""
    name, _, interior = statement.partition(" ")
    rng = Random(3)
    produced = [x for x in scope() if x and oracle.verdicts(x)[name][bool(interior)]]
    told = 0
    for chains in rng.sample(produced, min(len(produced), 25)):
        false, said = false_verdicts(rng, chains, statement)
        assert not false
        told += said
    assert told or statement in ("fifo-1-1", "fifo-1-1 interior", "causal interior")


@pytest.mark.slow
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_conclusion_is_true_of_hundreds_of_multicasts(statement: str) -> None:
    name, _, interior = statement.partition(" ")
    rng, tried = Random(17), 0
    while tried < draws(60, 700):
        chains, order = drawn(rng, rng.randint(2, 4), rng.randint(1, 4), 3)
        if not order or len(order) > 9 or not oracle.verdicts(chains)[name][bool(interior)]:
            continue
        tried += 1
        assert not false_verdicts(rng, chains, statement)[0]


@pytest.mark.parametrize(
    ("rule", "ordering", "text", "given", "pair", "proved", "refuted"),
    [
        ("Fifo-Send", "fifo-1-1", "s1 s2|r1 r2", [("r1@1", "r2@1")], ("s1", "s2"), "<", None),
        ("Fifo-Receive", "fifo-1-1", "s1 s2|r1 r2", [("s1", "s2")], ("r1@1", "r2@1"), "<", None),
        ("Causal-Receive", "causal", "s1|s2|r1 r2", [("s1", "s2")], ("r1@2", "r2@2"), "<", None),
        ("Causal-Send", "fifo-n-1", "s1|s2|r1 r2", [("r1@2", "r2@2")], ("s1", "s2"), None, ">"),
        ("Causal-Copies", "causal", "s1|r1|r1", [], ("r1@1", "r1@2"), "||", ">"),
        ("Causal-Apart", "fifo-n-n", "s1 s2|r1|r2", [("s1", "s2")], ("r1@1", "r2@2"), None, ">"),
        ("Outbox-Receive", "fifo-1-n", "s1|s2|r1 r2", [("s1", "s2")], ("r1@2", "r2@2"), "<", None),
        ("Outbox-Send", "fifo-1-n", "s1|s2|r1|r2", [("r1@2", "r2@3")], ("s1", "s2"), None, ">"),
        ("Outbox-Send", "fifo-1-n", "s1 s2|r1 r2|r2 r1", [("r1@1", "r2@2")], ("s1", "s2"), None, ">"),
        ("Outbox-Apart", "fifo-1-n", "s1|s2|r1|r2", [("s1", "s2")], ("r1@2", "r2@3"), None, ">"),
        ("Outbox-Apart", "fifo-1-n", "s1 s2|r1|r1|r2", [("s1", "s2")], ("r1@1", "r2@3"), None, ">"),
        ("Rsc-Between", "rsc", "s1 s2|r1|r2", [("s1", "s2")], ("r1@1", "s2"), None, ">"),
        ("Rsc-Between", "rsc", "s1 s2|r1", [("s1", "s2")], ("r1@1", "s2"), None, ">"),
        ("Mailbox-Interior", "fifo-n-1 interior", "s1|s2|r1 r2", [("r1@2", "r2@2")], ("s1", "s2"), "<", None),
        ("Outbox-Interior", "fifo-1-n interior", "s1|s2|r1|r2", [("s1", "s2")], ("r1@2", "r2@3"), "<", None),
        (
            "Outbox-Interior",
            "fifo-1-n interior",
            "s1 s2|r1|r1|r2",
            [("s1", "s2")],
            ("r1@2", "r2@3"),
            "<",
            None,
        ),
        ("Queue-Interior", "fifo-n-n interior", "s1|s2|r1|r2", [], ("s1", "s2"), "<>", "||"),
        ("Queue-Interior", "fifo-n-n interior", "s1|s2|r1|r2|r1", [], ("r1@4", "r2@3"), "<>", "||"),
        ("Rsc-Interior", "rsc interior", "s1|s2|r1", [], ("s1", "s2"), "<>", "||"),
        ("Rsc-Interior", "rsc interior", "s1|s2|r1|r1", [], ("r1@3", "s2"), "<>", "||"),
    ],
)
def test_each_rule(
    rule: str,
    ordering: str,
    text: str,
    given: list[tuple[str, str]],
    pair: tuple[str, str],
    proved: str | None,
    refuted: str | None,
) -> None:
    chains = chains_of(text)
    events = {name_of(e): e for row in oracle.placed(chains) for e in row}
    known = [(events[a], events[b]) for a, b in given]
    found = microcosm_of(chains, known, ordering).offline(*pair)
    assert (str(found.relation) if found.relation is not None else None) == proved
    if refuted is not None:
        assert refuted in [str(one) for one in found.refuted]
    assert not found.exact
    microcosm = microcosm_of(chains, known, ordering)
    assert any(f'"{rule}"' in dumps(derivation.to_json()) for derivation in found.derivations.values())
    for derivation in found.derivations.values():
        assert kernel.check(microcosm.givens, microcosm.rules, derivation.to_json()) is None
    silent = microcosm_of(chains, known, "").offline(*pair)
    assert silent.relation is None
    assert not silent.refuted


def test_one_event_may_send_or_receive_several_messages() -> None:
    """Nothing follows of an event and itself."""
    both = "send s = m1 p -> q\nsend s = m2 p -> q\nreceive r1 = m1 q\nreceive r2 = m2 q\ns < r1 < r2\n"
    late = "send s1 = m1 p -> q\nsend s2 = m2 p -> q\nreceive r = m1 q\nreceive r = m2 q\ns1 < s2 < r\n"
    for text in (both, late):
        for statement in STATEMENTS:
            if text == late and statement.startswith("rsc"):
                continue  # s2 comes between s1 and its reception
            known = Microcosm.parse(f"{text}ordering {statement}")
            assert known.contradiction() is None
            assert left_of(known) == left_of(Microcosm.parse(text))


def test_what_the_issue_of_several_receivers_was() -> None:
    """The second copy of a message may come late: what the first one caused need not wait for it."""
    text = (
        "send s1 = m1 p1 -> p2, p3\nreceive r13 = m1 p3\nsend s2 = m2 p3 -> p2\nreceive r2 = m2 p2\n"
        "receive r12 = m1 p2\ns1 < r13 < s2 < r2\ns1 < r12\n"
    )
    assert Microcosm.parse(f"{text}ordering fifo-1-n").offline("r12", "r2").relation is None
    assert Microcosm.parse(f"{text}ordering fifo-1-n\nr2 < r12").contradiction() is None
    for stronger in ("causal", "fifo-n-1", "fifo-n-n", "rsc"):
        found = Microcosm.parse(f"{text}ordering {stronger}").offline("r12", "r2")
        assert found.relation is Relation.BEFORE
    for statement in STATEMENTS:
        known = Microcosm.parse(f"{text.replace('s1 < r13 < s2 < r2', 's1 < r13')}ordering {statement}")
        assert Relation.CONCURRENT in known.offline("r12", "r13").possible


def test_nothing_follows_from_complete_where_an_order_is_missing() -> None:
    """Who states that nothing is missing, and does not order a message or a process, has not said it all."""
    text = "send s = m p -> q\nreceive r = m q\nsend t = n q -> p\nsend u = o z -> p\n"
    assert Microcosm.parse(f"{text}s < r < t\ncomplete").offline("s", "u").relation is Relation.CONCURRENT
    for given in ("", "s < r", "r < t"):
        known = Microcosm.parse(f"{text}{given}\ncomplete")
        assert known.contradiction() is None
        assert known.offline("s", "u").relation is None
        assert known.possible("s", "u").ignored == ("complete",)


def test_facts_that_contradict_the_ordering() -> None:
    """Received the wrong way round: no world of a causal network has all of it."""
    text = "send s1 = m1 a -> b\nsend s2 = m2 a -> b\nreceive r1 = m1 b\nreceive r2 = m2 b\n"
    microcosm = Microcosm.parse(text + "s1 < s2\nr2 < r1\nordering causal")
    assert microcosm.contradiction() is not None
    assert Microcosm.parse(text + "s1 < s2\nr2 < r1").contradiction() is None


def test_a_complete_log_decides_every_pair_exactly() -> None:
    """From the order of the peers and the messages alone; without the statement nothing is concurrent."""
    rng = Random(2)
    for chains in rng.sample([x for x in oracle.computations(3, 4) if oracle.causal(x)], 40):
        before = oracle.causal(chains)
        if any((a, a) in before for a, _ in before):
            continue
        rows = oracle.placed(chains)
        cover = [pair for row in rows for pair in pairwise(row)]
        cover += [(a, b) for a, b in sorted(before) if (a[0], b[0]) == ("s", "r") and a[1] == b[1]]
        events = {name_of(e): e for row in rows for e in row}
        for ordering in ("", "complete"):
            known = Microcosm.parse(f"{microcosm_of(chains, cover, '').to_text()}{ordering}\n")
            for (a, b), left in left_of(known).items():
                x, y = events[a], events[b]
                if (x, y) in before or (y, x) in before:
                    assert left == ((Relation.BEFORE,) if (x, y) in before else (Relation.AFTER,))
                else:
                    assert (left == (Relation.CONCURRENT,)) is bool(ordering)


def test_nothing_is_concurrent_without_the_statement() -> None:
    text = "send s1 = m1 a -> c\nsend s2 = m2 b -> c\nreceive r1 = m1 c\ns1 < r1\n"
    assert Microcosm.parse(text).offline("s1", "s2").relation is None
    known = Microcosm.parse(f"{text}complete")
    found = known.offline("s1", "s2")
    assert (found.relation, found.exact) == (Relation.CONCURRENT, True)
    for derivation in found.derivations.values():
        assert kernel.check(known.givens, known.rules, derivation.to_json()) is None
    related = Microcosm.parse(f"{text}complete\ns1 <> s2").offline("s1", "s2")
    assert related.relation is Relation.RELATED  # a complete log would order them, so that it is none


def test_opposite_views_prove_sends_concurrent() -> None:
    """Two receivers that disagree, and a causal network: whoever sent first, some order would be broken."""
    chains = chains_of("s0 s1|s2 s3|r1 r2|r3 r0")
    known = microcosm_of(chains, [], "causal")
    for fact in ("s0 < s1", "s2 < s3", "r1@2 < r2@2", "r3@3 < r0@3"):
        known.add(fact)
    for a in ("s0", "s1"):
        for b in ("s2", "s3"):
            assert known.offline(a, b).relation is Relation.CONCURRENT
