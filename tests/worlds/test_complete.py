"""What a complete log says, or one of which some processes are complete: true of whatever else happened."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.givens.columns import Message
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence
from microcosm.kernel.check import check
from microcosm.kernel.search import GivenRows
from microcosm.order.order import BaseTables, base_facts, lacking, untold
from microcosm.queries.batch import ConcludedOffline
from microcosm.queries.offline import Inconsistent
from microcosm.queries.possible import Worlds
from tests.thorough import draws

Pairs = set[tuple[str, str]]


def execution(rng: Random, processes: int, events: int) -> tuple[list[Message | tuple[str, str]], Pairs]:
    """What happened, one after the other: messages sent and received, or an event of a process; its order."""
    told: list[Message | tuple[str, str]] = []
    last: dict[str, str] = {}
    order: Pairs = set()
    sent: list[Message] = []
    for number in range(events):
        process = f"p{rng.randrange(processes)}"
        event = f"{process}:{number}"
        before = [last[process]] if process in last else []
        open_ = [m for m in sent if m.process != process and (not m.receivers or process in m.receivers)]
        roll = rng.random()
        if open_ and roll < 0.5:
            message = rng.choice(open_)
            if any(isinstance(m, Message) and m[2:4] == (message.message, process) for m in told):
                continue
            before.append(message.event)
            told.append(Message("receive", event, message.message, process))
        elif roll < 0.85:
            others = [f"p{p}" for p in range(processes) if f"p{p}" != process]
            to = tuple(rng.sample(others, rng.randint(1, min(2, len(others))))) if rng.random() < 0.6 else ()
            message = Message("send", event, f"m{number}", process, to)
            sent.append(message)
            told.append(message)
        else:
            told.append((event, process))
        last[process] = event
        order |= {(a, event) for b in before for a in (b, *(x for x, y in order if y == b))}
    return told, order


def log_of(
    told: list[Message | tuple[str, str]], order: Pairs, named: set[str], rng: Random, whole: bool
) -> Givens:
    """What named processes recorded, and some of the others' events; what is known of the order."""
    givens = Givens(complete=True if whole else tuple(sorted(named)))
    chains: dict[str, list[str]] = {}
    sendings: dict[str, str] = {}
    for one in told:
        event, process = (one.event, one.process) if isinstance(one, Message) else one
        if process not in named and rng.random() < 0.5:
            continue
        chains.setdefault(process, []).append(event)
        if not isinstance(one, Message) and rng.random() < 0.8:
            givens.processes[process] = (*givens.processes.get(process, ()), event)
        if isinstance(one, Message):
            givens.messages.append(one)
            if one.kind == "send":
                sendings[one.message] = event
            elif one.message in sendings:
                givens.add(Correspondence(sendings[one.message], Relation.BEFORE, event, "message"))
    for chain in chains.values():
        for a, b in pairwise(chain):
            assert (a, b) in order
            givens.add(Correspondence(a, Relation.BEFORE, b, "process"))
    return givens


def left_by_questions(known: Microcosm, a: str, b: str) -> set[Relation]:
    """What answers to questions leave of a pair."""
    found = set()
    for relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT):
        (answer,) = known.assert_(f'never [name = "{a}"] {relation} [name = "{b}"]')  # noqa: PT009
        if answer.verdict == "violated":
            return {relation}
        found |= {relation} if answer.verdict == "open" else set()
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_is_called_concurrent_was_so_whatever_else_happened(seed: int) -> None:
    rng = Random(seed)
    processes = rng.randint(2, 4)
    told, order = execution(rng, processes, rng.randint(3, 14))
    every = {f"p{p}" for p in range(processes)}
    whole = rng.random() < 0.3
    named = every if whole else set(rng.sample(sorted(every), rng.randint(1, processes)))
    givens = log_of(told, order, named, rng, whole)
    assert lacking(givens) is None
    known = Microcosm(givens)
    members = {*givens.members(), *givens.events_with_process()}
    pairs = list(combinations(sorted(members), 2))
    for a, b in rng.sample(pairs, min(len(pairs), 12)):
        found, possible = known.offline(a, b), known.possible(a, b)
        happened = (
            Relation.BEFORE if (a, b) in order else Relation.AFTER if (b, a) in order else Relation.CONCURRENT
        )
        assert happened in found.possible
        assert happened in possible.relations
        assert set(found.possible) == set(possible.relations)
        assert left_by_questions(known, a, b) == {*possible.relations}
        if whole:
            assert possible.relations == (happened,)
        for proof in found.derivations.values():
            assert proof is not None
            assert check(known.givens, known.rules, proof.to_json()) is None


@pytest.mark.parametrize("seed", range(200))
def test_what_clocks_and_vague_relations_leave_open_is_not_called_concurrent(seed: int) -> None:
    """Messages are recorded, or clocks stand for them; some events have no clock, or do not count themselves;
    of some pairs it is known that they are related, and nothing else. Whatever is claimed was so.
    """
    rng = Random(seed)
    processes = rng.randint(2, 3)
    told, order = execution(rng, processes, rng.randint(3, 10))
    events = [(one.event, one.process) if isinstance(one, Message) else one for one in told]
    recorded, share, lazy = rng.random() < 0.5, rng.choice([0.5, 0.8, 1]), rng.choice([0, 0.3])
    ticks = {event for event, _ in events if rng.random() >= lazy}
    givens = Givens(complete=True)
    chains: dict[str, list[str]] = {}
    for event, process in events:
        chain = chains.setdefault(process, [])
        if chain:
            givens.add(Correspondence(chain[-1], Relation.BEFORE, event, "process"))
        chain.append(event)
        own = [e for e, _ in events if e == event or (e, event) in order]
        entries = {p: sum(e in ticks for e, of in events if of == p and e in own) for p in chains}
        if rng.random() < share:
            counted = {p: count for p, count in entries.items() if count}
            givens.set_clock(event, Clock(process, counted, event in ticks))
    givens.processes = {process: tuple(chain) for process, chain in chains.items()}
    sendings: dict[str, str] = {}
    for one in told:
        if isinstance(one, Message) and recorded:
            givens.messages.append(one)
            if one.kind == "send":
                sendings[one.message] = one.event
            else:
                givens.add(Correspondence(sendings[one.message], Relation.BEFORE, one.event, "message"))
    if not recorded and not all(any(e in givens.clocks for e in chain) for chain in chains.values()):
        return  # a process without messages or clocks says of its messages that there are none
    for a, b in rng.sample(sorted(order), min(len(order), rng.choice([0, 0, 1]))):
        one, other = rng.sample([a, b], 2)
        givens.add(Correspondence(one, Relation.RELATED, other))
    known, fewer = Microcosm(givens), Microcosm(givens)
    assert GivenRows(GivenFacts(givens)).whole() == (lacking(givens) is None)
    gone, _ = rng.choice(events)
    fewer.forget(gone)
    pairs = list(combinations(sorted(e for e, _ in events), 2))
    for a, b in rng.sample(pairs, min(3, len(pairs))):
        assert left_by_questions(known, a, b) == {*known.possible(a, b).relations}
    for a, b in pairs:
        happened = (
            Relation.BEFORE if (a, b) in order else Relation.AFTER if (b, a) in order else Relation.CONCURRENT
        )
        found, possible = known.offline(a, b), known.possible(a, b)
        assert happened in found.possible, (a, b, lacking(givens))
        assert happened in possible.relations, (a, b, lacking(givens))
        assert gone in (a, b) or happened in fewer.offline(a, b).possible, (a, b, gone)
        if untold(givens) is None:
            assert found.possible == (happened,)
        for proof in found.derivations.values():
            assert proof is not None
            assert check(known.givens, known.rules, proof.to_json()) is None


def test_of_the_events_that_share_a_value_nothing_is_said_to_who_has_seen_it_and_all_of_the_others() -> None:
    """As in csight's logs, where what is local does not tick: c has heard of a, and of b nobody knows."""
    log = Givens(complete=True)
    clocks = {
        "a": Clock("p", {"p": 1}),
        "b": Clock("p", {"p": 1}, ticked=False),
        "c": Clock("q", {"p": 1, "q": 1}),
        "d": Clock("q", {"p": 1, "q": 2}),
        "e": Clock("p", {"p": 2}),
        "f": Clock("r", {"r": 1}),
    }
    for event, clock in clocks.items():
        log.set_clock(event, clock)
    known = Microcosm(log)
    said = {(a, b): known.offline(a, b).possible for a, b in combinations(sorted(clocks), 2)}
    unsure = {pair for pair, possible in said.items() if len(possible) > 1}
    assert unsure == {("b", "c"), ("b", "d")}
    assert said["b", "c"] == (Relation.BEFORE, Relation.CONCURRENT)
    assert said["c", "e"] == said["b", "f"] == (Relation.CONCURRENT,)
    assert lacking(log) is None
    assert untold(log) == "a clock has seen a value that several events share: c may have heard of a or b"


def test_events_without_a_clock_may_be_what_was_heard_of_and_may_have_heard_it() -> None:
    """x follows a, and z comes before c, which has seen what a counted; one message of r is recorded."""
    log = Givens(complete=True, processes={"p": ("a", "x"), "q": ("z", "c")})
    log.set_clock("a", Clock("p", {"p": 1}))
    log.set_clock("c", Clock("q", {"p": 1, "q": 1}))
    log.messages.append(Message("send", "s", "m", "r"))
    for a, b in [("a", "x"), ("z", "c")]:
        log.add(Correspondence(a, Relation.BEFORE, b))
    known = Microcosm(log)
    for pair in [("a", "z"), ("x", "c"), ("x", "z")]:
        assert {Relation.BEFORE, Relation.CONCURRENT} <= {*known.offline(*pair).possible}, pair
    for event in "axzc":
        assert known.offline(event, "s").possible == (Relation.CONCURRENT,)


def test_a_log_that_relates_two_events_without_an_order_is_not_complete() -> None:
    known = Microcosm.parse("a <> b\nb < c\nd < a\ncomplete")
    assert lacking(known.givens) == "nothing orders b and a, which are related"
    for a, b in ["ac", "db", "dc"]:
        assert len(known.offline(a, b).possible) > 1, (a, b)


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_and_the_engine_agree_on_what_a_log_tells(seed: int) -> None:
    """Of random statements, right or wrong: each by its own search."""
    rng = Random(seed)
    told, order = execution(rng, 3, rng.randint(2, 10))
    named = set(rng.sample(["p0", "p1", "p2"], rng.randint(1, 3)))
    givens = log_of(told, order, named, rng, rng.random() < 0.3)
    for key in rng.sample(sorted(givens.external), len(givens.external) // 4):
        del givens.external[key]
    rows = GivenRows(GivenFacts(givens))
    mine, theirs = BaseTables(givens, rows.whole, rows.reached), base_facts(givens)
    assert mine["complete"] == theirs["complete"]
    assert {(b, a) for a, b in mine["complete"]} == set(mine["complete"])
    members = sorted({*givens.members(), *givens.events_with_process()})
    for a, b in combinations(members, 2):
        assert mine.holds("complete", a, b) == ((a, b) in mine["complete"])
        assert (b in set(mine.partners("complete", 0, a))) == ((a, b) in mine["complete"])


@pytest.mark.parametrize("seed", range(40))
def test_worlds_and_rules_agree_on_what_a_log_lacks(seed: int) -> None:
    """Also where an event passes on what it receives, under the same name: it does not come before itself."""
    rng = Random(seed)
    told, order = execution(rng, 3, rng.randint(3, 9))
    givens = log_of(told, order, {"p0", "p1", "p2"}, rng, whole=True)
    received = [message for message in givens.messages if message.kind == "receive"]
    givens.messages += [message._replace(kind="send") for message in received if rng.random() < 0.5]
    for key in rng.sample(sorted(givens.external), len(givens.external) // 4):
        del givens.external[key]
    known = Microcosm(givens)
    for a, b in combinations(known.events, 2):
        assert set(known.offline(a, b).possible) == set(known.possible(a, b).relations)


def happenings(events: int) -> Iterator[tuple[str, Pairs]]:
    """All that two processes can record, p and q, of what three do in so many events; with the order of each.

    Every sequence of steps of every process: an event, a sending to one of the others or to somebody, a
    reception. Of the third process, r, nothing is recorded, and only its messages matter.
    """
    waiting: list[list[tuple[str, str, str, str]]] = [[]]
    while waiting:
        steps = waiting.pop()
        if len(steps) == events:
            yield recorded(steps)
            continue
        at = str(len(steps))
        received = {(process, message) for kind, process, message, _ in steps if kind == "receive"}
        for process in "pqr":
            others = [other for other in "pqr" if other != process]
            sends = [("send", process, at, to) for to in (*others, "pqr" if process == "p" else others[0])]
            fits = [
                ("receive", process, message, sender)
                for kind, sender, message, to in steps
                if kind == "send" and process in to and (process, message) not in received
            ]
            alone = [("event", process, "", "")] if process != "r" else []
            waiting += [[*steps, one] for one in {*alone, *sends, *fits} if one[3] != process]


def recorded(steps: list[tuple[str, str, str, str]]) -> tuple[str, Pairs]:
    """What p and q record of steps, as a microcosm that says that both are complete; the order of theirs."""
    count: dict[str, int] = {}
    lines: dict[str, list[str]] = {"p": [], "q": [], "r": []}
    sent: dict[str, str] = {}
    called: dict[str, str] = {}
    past: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    links: list[str] = []
    for kind, process, message, to in steps:
        count[process] = count.get(process, 0) + 1
        event = f"{process}{count[process]}"
        before = [last[process]] if process in last else []
        if kind == "receive":
            before.append(sent[message])
            name = f"{process}<{event}" if to == "r" else called[message]
            lines[process].append(f'receive {event} = "{name}" {process}')
            if "r" not in (process, to):
                links.append(f"{sent[message]} < {event}")
        elif kind == "send":
            sent[message] = event
            called[message] = f"{event}>"
            known = f" -> {', '.join(to)}" if len(to) == 1 else ""
            lines[process].append(f'send {event} = "{called[message]}" {process}{known}')
        else:
            lines[process].append(f"process {process} = {event}")
        if process in last:
            lines[process].append(f"{last[process]} < {event}")
        past[event] = {one for each in before for one in (each, *past[each])}
        last[process] = event
    order = {(a, b) for b in past for a in past[b] if "r" not in a + b}
    return "\n".join([*lines["p"], *lines["q"], *sorted(links), "complete p, q"]), order


def test_what_is_told_of_two_processes_was_so_in_every_execution_with_that_log() -> None:
    """All that three processes can do, by the log that two of them leave: what once was ordered is never
    called concurrent; and where the events suffice for all that r may have done, what never was is.
    """
    events = draws(4, 5)
    happened: dict[str, list[Pairs]] = {}
    for less in range(2, events + 1):
        for text, order in happenings(less):
            happened.setdefault(text, []).append(order)
    alone = 0
    for text, orders in happened.items():
        known = Microcosm.parse(text)
        inner = {event for events in known.givens.processes.values() for event in events}
        ever: Pairs = set().union(*orders)
        names = sorted(known.givens.named())
        unsent = text.count('= "p<') + text.count('= "q<')
        room = len(names) + unsent < events  # for all that r needs to have done
        for a, b in combinations(names, 2):
            apart = known.concluded.verdict(a, b) is ConcludedOffline.APART
            never = ever.isdisjoint(((a, b), (b, a)))
            assert never or not apart, (text, a, b)
            assert apart or not never or not room, (text, a, b)
            alone += apart and not inner.isdisjoint((a, b))
    assert alone > 100


def test_an_edit_of_a_log_without_messages() -> None:
    """Parents are edges: revisions that nothing orders were concurrent."""
    known = Microcosm.parse("one < two\none < three\ntwo < four\ncomplete")
    found = known.offline("two", "three")
    assert found.relation is Relation.CONCURRENT
    assert known.possible("three", "four").relations == (Relation.CONCURRENT,)
    silent = Microcosm.parse("one < two\none < three")
    assert silent.offline("two", "three").relation is None


def test_what_leaves_the_named_processes_may_come_back() -> None:
    text = "send a1 = m1 alice -> {to}\nsend b1 = m2 bob -> alice\nreceive b2 = m3 bob\nb1 < b2\n"
    text += "complete alice, bob\n"
    assert Microcosm.parse(text.format(to="bob")).offline("a1", "b2").relation is Relation.CONCURRENT
    assert Microcosm.parse(text.format(to="carol")).offline("a1", "b2").relation is None
    assert Microcosm.parse(text.format(to="carol")).offline("a1", "b1").relation is Relation.CONCURRENT


def test_events_of_others_change_nothing_for_the_named_processes() -> None:
    text = "process alice = a1\nprocess bob = b1\n{}complete alice, bob\n"
    for others in ("", "process carol = c1\n", "send c1 = m carol\n"):
        known = Microcosm.parse(text.format(others))
        assert known.offline("a1", "b1").relation is Relation.CONCURRENT
        if others:
            assert known.offline("a1", "c1").relation is None


def test_of_which_processes_survives_both_forms_and_merging() -> None:
    known = Microcosm.parse('a < b\ncomplete alice, "b c"\ncomplete alice, dan\n')
    assert known.givens.complete == ("alice", "b c", "dan")
    assert Microcosm.parse(known.to_text()).givens == known.givens
    assert known.to_json()["complete"] == ["alice", "b c", "dan"]
    assert Microcosm.parse('{"complete": ["alice"]}').givens.complete == ("alice",)
    assert Microcosm.parse('{"complete": []}').givens.complete is False
    assert Microcosm.parse("complete alice\ncomplete").givens.complete is True
    known.merge(Microcosm.parse("complete alice"))
    assert known.givens.complete == ("alice",)
    known.merge(Microcosm.parse("complete"))
    assert known.givens.complete is False


def test_what_is_added_is_told_of() -> None:
    known = Microcosm.parse("send s = m p\nreceive r = m q\nsend t = n z\ncomplete")
    assert known.offline("s", "t").relation is None
    known.add("s < r")
    assert known.offline("s", "t").relation is Relation.CONCURRENT


@pytest.mark.parametrize("seed", range(40))
def test_the_table_of_many_events_is_that_of_the_rules(seed: int) -> None:
    """Of many events worlds make it, of few the rules: they leave the same."""
    rng = Random(seed)
    told, order = execution(rng, 3, rng.randint(2, 12))
    whole = rng.random() < 0.5
    named = {"p0", "p1", "p2"} if whole else set(rng.sample(["p0", "p1", "p2"], rng.randint(1, 2)))
    givens = log_of(told, order, named, rng, whole)
    apart = [pair for pair in combinations(sorted(givens.members()), 2) if not order & {pair, pair[::-1]}]
    ordered = sorted((a, b) for a, b in order if {a, b} <= {*givens.members()})
    if apart and rng.random() < 0.5:
        a, b = rng.choice(apart)
        givens.add(Correspondence(a, Relation.NOT_BEFORE, b))
    if ordered and rng.random() < 0.5:
        a, b = rng.choice(ordered)
        givens.add(Correspondence(a, Relation.RELATED, b))
    known = Microcosm(givens)
    try:
        by_rules = known.offline_table()
    except Inconsistent:
        assert Worlds(givens).propagated() is None
        return
    by_worlds = Worlds(givens).propagated()
    assert by_worlds is not None
    assert [*by_rules] == [*by_worlds]


@pytest.mark.parametrize("seed", range(25))
def test_few_events_do_for_what_is_decided_of_a_pair(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microcosm.tuning.ALL_TAKE_PART", 0)
    rng = Random(seed)
    told, order = execution(rng, 3, rng.randint(4, 12))
    named = {"p0", "p1", "p2"} if seed % 2 else set(rng.sample(["p0", "p1", "p2"], 2))
    givens = log_of(told, order, named, rng, bool(seed % 2))
    known = Microcosm(givens)
    for a, b in combinations(sorted({*givens.members(), *givens.events_with_process()}), 2):
        found = known.offline(a, b)
        assert set(found.possible) == set(known.possible(a, b).relations)
        assert found.exact
        for proof in found.derivations.values():
            assert proof is not None
            assert check(known.givens, known.rules, proof.to_json()) is None


@pytest.mark.parametrize("seed", range(40))
def test_what_is_forgotten_makes_nothing_known_of_the_others(seed: int) -> None:
    rng = Random(seed)
    told, order = execution(rng, 3, rng.randint(4, 12))
    givens = log_of(told, order, set(rng.sample(["p0", "p1", "p2"], rng.randint(1, 2))), rng, False)
    known = Microcosm(givens)
    events = sorted(givens.named())
    if len(events) < 3:
        return
    was = {(a, b): known.offline(a, b).possible for a, b in combinations(events, 2)}
    gone = rng.sample(events, rng.randint(1, 2))
    for event in gone:
        known.forget(event)
    for (a, b), possible in was.items():
        if not {a, b} & {*gone}:
            assert set(known.offline(a, b).possible) == set(possible)


def test_an_event_of_two_processes_is_told_of_by_neither() -> None:
    text = "process alice = a\nprocess bob = b\ncomplete alice, bob"
    assert Microcosm.parse(text).offline("a", "b").relation is Relation.CONCURRENT
    assert Microcosm.parse(f"{text}\nprocess carol = a").offline("a", "b").relation is None
    both = Microcosm.parse(f"{text}\nprocess bob = a")
    assert both.offline("a", "b").relation is None
    assert lacking(both.givens) == "nothing orders a and b of process bob"


def test_whose_events_are_is_told_by_the_words_of_a_complete_log() -> None:
    text = "event a process alice\nevent b process bob\nevent c process carol\n"
    assert not Microcosm.parse(text).givens.processes
    known = Microcosm.parse(f"{text}complete alice, bob\n")
    assert known.givens.processes == {"alice": ("a",), "bob": ("b",)}
    assert Microcosm.parse(known.to_text()).givens == known.givens
    assert known.offline("a", "b").relation is Relation.CONCURRENT


def test_complete_is_no_online_rule() -> None:
    """Were it one, these two would be analogous, and not stay so (Worlds of Events, Theorem 5.10)."""
    complete = Microcosm.parse("r < a\nr < b\ncomplete")
    stated = Microcosm.parse("r < a\nr < b\na || b")
    assert complete.online("a", "b") is Relation.SILENT
    assert complete.offline("a", "b").relation is stated.online("a", "b") is Relation.CONCURRENT
    for known in (complete, stated):
        known.add("r < c")
    assert complete.offline("a", "c").relation is Relation.CONCURRENT
    assert stated.offline("a", "c").relation is None
    assert complete.online("a", "c") is stated.online("a", "c") is Relation.SILENT
