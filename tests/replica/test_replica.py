"""A replica as an application uses it: changes, questions, transactions, messages, subscriptions."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from microcosm.errors import Contradiction, JournalError, Malformed, MicrocosmError, Undefined, WrongReplica
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.core import COMPACT_AFTER
from microcosm.replica.journal import Journal
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from microcosm.state.microcosm import Microcosm
from tests.replica.nodes import is_given


def replica(name: str = "a", store: Memory | None = None) -> Replica:
    return Replica(store if store is not None else Memory(), name, incarnation=1)


class Full(Memory):
    """A store whose disk is full when told so."""

    full = False

    def commit(self, records: Sequence[tuple[str, bytes]]) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().commit(records)


def test_questions_are_those_of_a_microcosm() -> None:
    one = replica()
    one.local("e1")
    one.local("e2")
    one.learn("e2 < x < y")
    one.learn("x || z")
    known = Microcosm.parse("internal e1 < e2 \n e2 < x < y \n x || z")
    assert one.online("e1", "y") is Relation.BEFORE
    assert list(one.table()) == list(known.table())
    assert one.offline("y", "z").refuted == known.offline("y", "z").refuted
    assert one.possible("y", "z").relations == known.possible("y", "z").relations
    assert str(one.why("e1", "y")) == str(known.why("e1", "y"))
    kept = one.snapshot()
    one.learn("y < e3")
    assert "e3" not in kept
    assert one.events == ["e1", "e2", "e3", "x", "y", "z"]


def test_what_is_refused_changes_nothing() -> None:
    store = Memory()
    one = replica(store=store)
    one.local("e1")
    one.learn("e1 < x")
    one.learn("p !< q")
    before = one.digest(), one.counts(), len(list(store.records()))
    for refused in ("x < e1", "x || e1", "u < v < w < u", "p < m < q", "y < x < y"):
        with pytest.raises(Contradiction) as raised:
            one.learn(refused)
        assert raised.value.derivations
    with pytest.raises(Contradiction):
        one.learn("e1 !< x")
    for undefined in (lambda: one.local("e1"), lambda: one.local(""), lambda: one.remove("a < b")):
        with pytest.raises(Undefined):
            undefined()
    with pytest.raises(Undefined):
        one.update("a < b")
    with pytest.raises(Undefined):
        one.learn(Correspondence("a", Relation.UNKNOWN, "b"))
    assert (one.digest(), one.counts(), len(list(store.records()))) == before
    one.known._check()


def test_an_event_that_is_known_to_be_earlier_cannot_happen_now() -> None:
    one = replica()
    one.local("e1")
    one.learn("x < e1")
    with pytest.raises(Contradiction):
        one.local("x")
    one.learn("e1 < y")
    one.local("y")
    assert one.online("x", "y") is Relation.BEFORE
    one.known._check()


def test_a_transaction_is_whole_or_not_at_all() -> None:
    store = Full()
    one = replica(store=store)
    one.local("e1")
    before = one.digest()

    def three() -> None:
        with one.transaction():
            one.local("e2")
            one.learn("e2 < x")
            one.learn("x < e1")

    with pytest.raises(Contradiction):
        three()
    assert one.digest() == before
    for large in (lambda: one.local("y" * 10**5), lambda: one.learn(f"e1 < {'y' * 10**5}")):
        with pytest.raises(Undefined, match="too large"):
            large()
        assert one.known.events == ["e1"]
    store.full = True
    with pytest.raises(OSError, match="No space"):
        one.learn("e1 < x")
    store.full = False
    assert one.digest() == before == Replica(store).digest()
    with one.transaction():
        one.local("e2")
        one.note("transport", b"7")
    assert Replica(store).noted("transport") == b"7"
    one.compact()
    assert Replica(store).noted("transport") == b"7"
    with pytest.raises(Undefined, match="own"):
        one.note("evolution", b"")


def test_a_part_that_fails_cannot_be_hidden() -> None:
    one = replica()
    before = one.digest()

    def hide() -> None:
        with one.transaction(), pytest.raises(Contradiction):
            one.learn("a < b < a")

    with pytest.raises(Undefined, match="a part of this transaction"):
        hide()
    assert one.digest() == before


def test_a_contradiction_between_replicas_is_resolved_by_removing_a_side() -> None:
    one, other = replica("a"), replica("b")
    one.learn("x < y")
    other.learn("y < x")
    other.learn("y < z")
    level(one, other)
    assert [str(conflict) for conflict in one.conflicts] == ["x < y, y < x"]
    assert one.online("x", "y") is other.online("x", "y") is not Relation.BEFORE
    assert one.online("y", "z") is Relation.BEFORE
    for again in ("x < y", "z < y"):
        with pytest.raises(Contradiction):
            one.learn(again)
    one.learn("z < t")  # what has nothing to do with it goes on
    one.local("e1")
    other.remove("x < y")
    level(one, other)
    assert one.conflicts == other.conflicts == []
    assert one.online("y", "x") is Relation.BEFORE


def test_subscriptions() -> None:
    one, other = replica("a"), replica("b")
    told: list[tuple[str, str, Relation]] = []
    one.when_decided("x", "y", lambda *decided: told.append(decided))
    one.when_decided("x", "y", lambda *decided: told.append(decided), accurate=True)
    one.learn("x < m")
    assert told == []
    other.learn("x <> y")
    level(one, other)
    assert told == [("x", "y", Relation.RELATED)]
    other.update("x < y")
    level(one, other)
    assert told[1:] == [("x", "y", Relation.BEFORE)]
    one.when_decided("x", "y", lambda *decided: one.local("decided"))
    assert "decided" in one.events
    one.learn("x < n")
    assert len(told) == 2


def test_all_are_told_whatever_one_of_them_raises() -> None:
    one = replica()
    told: list[tuple[str, str, Relation]] = []

    def failing(*_: object) -> None:
        raise ZeroDivisionError

    for tell in (failing, lambda *decided: told.append(decided), failing):
        one.when_decided("x", "y", tell)
    with pytest.raises(ZeroDivisionError):
        one.learn("x < y")
    assert is_given(one, "x < y")
    assert told == [("x", "y", Relation.BEFORE)]
    one.learn("y < z")


def test_what_could_not_be_written_is_not_known_and_not_told(tmp_path: Path) -> None:
    one, other = Replica(tmp_path / "a", "a"), replica("b")
    one.local("e")
    journal = one.store
    assert isinstance(journal, Journal)
    journal._writer._connection.close()
    for _ in range(2):
        with pytest.raises(JournalError):
            one.local("x")
        assert one.events == ["e"]
    with pytest.raises(JournalError):  # it cannot note what the other has
        level(one, other)
    assert other.events == ["e"]
    with pytest.raises(JournalError), one.transaction():  # noqa: PT012 (closed in the midst of it)
        one.local("x")
        one.close()
    assert one.events == []
    again = Replica(tmp_path / "a")
    again.local("y")
    level(again, other)
    assert (other.events, again.divergences) == (["e", "y"], [])
    again.close()


def test_what_is_written_has_happened_though_no_snapshot_can_be() -> None:
    class Small(Memory):
        """A store with no room for a snapshot."""

        def compact(self, through: int, content: bytes) -> None:
            raise JournalError("no room", file="a")

    store = Small()
    one = Replica(store, "a", incarnation=1)
    for n in range(COMPACT_AFTER + 10):
        one.local(f"e{n}")
    assert Replica(store).digest() == one.digest()
    with pytest.raises(JournalError):
        one.compact()


class Wire:
    """An outbox that hands messages to the other replicas, once they are committed."""

    def __init__(self, replicas: dict[str, Replica], name: str) -> None:
        self.replicas, self.name = replicas, name
        self.accepted: list[tuple[str, tuple[str, ...], bytes]] = []

    def accept(self, message: str, to: tuple[str, ...], payload: bytes) -> None:
        unknown = [each for each in to if each not in self.replicas]
        if unknown:
            raise MicrocosmError(f"nobody is called {unknown[0]}")
        self.accepted.append((message, to, payload))

    def undone(self) -> None:
        self.accepted.clear()

    def committed(self) -> None:
        accepted, self.accepted = self.accepted, []
        for message, to, payload in accepted:
            for each in to:
                sent = Correspondence(f"c:{message}", Relation.BEFORE, f"d:{each}:{message}", "message")
                self.replicas[each].delivered(self.name, message, payload, [sent])


def test_messages_tell_what_happened_before() -> None:
    replicas = {name: replica(name) for name in "abc"}
    for name, each in replicas.items():
        each.outbox = Wire(replicas, name)
    heard: list[tuple[str, bytes]] = []

    @replicas["b"].on_deliver
    def answer(sender: str, message: str, payload: bytes) -> None:
        heard.append((sender, payload))
        replicas["b"].local("seen")
        replicas["b"].send("c", b"fwd:" + payload)

    replicas["a"].local("upload")
    message = replicas["a"].send("b", b"photo")
    assert heard == [("a", b"photo")]
    level(replicas["a"], replicas["b"])
    level(replicas["b"], replicas["c"])
    assert replicas["c"].online("upload", "seen") is Relation.BEFORE
    assert replicas["c"].online(f"c:{message}", f"d:b:{message}") is Relation.BEFORE
    with pytest.raises(MicrocosmError, match="nobody is called z"):
        replicas["a"].send("z", b"")
    assert len([event for event in replicas["a"].events if event.startswith("c:a")]) == 1
    with pytest.raises(Undefined, match="no outbox"):
        replica().send("b", b"")


def test_a_handler_that_fails_leaves_the_delivery_undone() -> None:
    one = replica()

    @one.on_deliver
    def fail(sender: str, message: str, payload: bytes) -> None:
        one.local("effect")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        one.delivered("b", "b.1.1", b"")
    assert one.events == []


def test_a_store_with_something_else_is_refused() -> None:
    store = Memory()
    store.commit([("replica", b"\x93\x01"), ("evolution", b"")])
    with pytest.raises(Malformed, match=r"record 1 \(replica\)"):
        Replica(store)
    store.compact(2, b"nothing")
    with pytest.raises(Malformed):
        Replica(store)


@pytest.mark.parametrize("seed", range(3))
def test_in_place_as_built_anew(seed: int) -> None:
    """Knowledge that follows each change is that of a replica opened afresh."""
    random = Random(seed)
    store = Memory()
    one = replica(store=store)
    names = [f"x{n}" for n in range(12)]
    for n in range(60):
        left, right = random.sample(names, 2)
        try:
            match random.randrange(4):
                case 0:
                    one.local(random.choice([f"e{n}", left]))
                case 1:
                    one.remove(
                        random.choice(one.ledger.given() or [Correspondence("q", Relation.BEFORE, "r")])
                    )
                case _:
                    one.learn(f"{left} {random.choice(('<', '<', '||', '<>', '!<'))} {right}")
        except (Contradiction, Undefined):
            continue
        one.known._check()
        assert list(one.table()) == list(Replica(store).table())


@pytest.mark.parametrize("seed", range(12))
def test_links_that_come_out_of_order_are_those_of_the_whole(seed: int) -> None:
    """After any batch the chains are linked event by event, as if they had come at once; none is built anew
    for that where nothing came in between."""
    random = Random(seed)
    one, ordered = replica(), seed % 2 == 0
    missing = [Append(Dot(name, 1, n), f"{name}{n}") for name in ("b", "c") for n in range(1, 40)]
    if not ordered:
        random.shuffle(missing)
    one.take([missing.pop(0)])
    known = one.known
    while missing:
        some, missing = missing[: random.randint(1, 12)], missing[12:]
        one.take(some)
        one.local(f"a{len(missing)}")
        assert one.known is known
        kept = one._view._skips
        assert not (ordered and kept)
        assert kept or one._view._built().givens == known.givens
        assert one._view.plain.givens == one._view._built().givens
        known = one.known


def test_a_replica_that_is_refused_leaves_its_journal_free(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    Replica(path, "a").close()
    with pytest.raises(WrongReplica, match="replica a, not of b"):
        Replica(path, "b")
    Replica(path).close()


def test_it_starts_no_thread_opens_no_socket_and_looks_at_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a replica by itself does not do that")

    for place, what in ((threading.Thread, "start"), (socket, "socket"), (time, "time"), (time, "monotonic")):
        monkeypatch.setattr(place, what, never)
    one, other = replica("a"), replica("b")
    one.local("x")
    other.learn("x < y")
    level(one, other)
    one.tidy()
    one.remove("x < y")
    one.compact()
    level(other, one)
    assert other.online("x", "y") is Relation.UNKNOWN
