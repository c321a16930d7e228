"""Authors: nobody speaks for another, takes its numbers, or tells two peers different things unnoticed."""

from __future__ import annotations

from random import Random

import msgpack
import pytest

from microcosm.errors import Malformed, Undefined, WrongReplica
from microcosm.givens.relation import Relation
from microcosm.replica.authored import MOST_HEADS
from microcosm.replica.exchange import Supply, decode, encode
from microcosm.replica.ledger import chain
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dot, DotRun, Dots
from microcosm.replica.ledger.evolution import Append, Remove
from microcosm.replica.network.status import divergences
from microcosm.replica.network.wire import fragments
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.nodes import is_given
from tests.replica.test_rollback import copy_of

pytest.importorskip("cryptography")


def signing(name: str, store: Memory | None = None, **options: object) -> Replica:
    replica = Replica(store or Memory(), name, incarnation=1, **options)  # type: ignore[arg-type]
    replica.sign(name[:1].encode() * 32)
    return replica


def clone(replica: Replica) -> Replica:
    """The same replica once more, from a copy of its store: it has the same key."""
    assert isinstance(replica.store, Memory)
    return Replica(copy_of(replica.store))


def again(replica: Replica) -> Replica:
    """It, read from its store, with and without a snapshot: the same."""
    found = clone(replica)
    shorter = clone(replica)
    shorter.compact()
    for each in (found, clone(shorter)):
        assert each.digest() == replica.digest()
        assert each.heads() == replica.heads()
        assert each.proved() == replica.proved()
        assert each.author_keys == replica.author_keys
        assert each.ledger.closed == replica.ledger.closed
        assert [p.written() for p in each.proofs] == [p.written() for p in replica.proofs]
        check(each.ledger)
    return found


def supplied(replica: Replica, to: str = "?") -> list[Supply]:
    """All that a replica can supply."""
    found = replica.held_of(replica.seen())
    return list(replica.supplies(found, 1 << 16))


def no_blame(*replicas: Replica) -> None:
    for each in replicas:
        assert not each.exchange.blamed
        assert not each.exchange.doubted
        assert not each.divergences


def test_a_third_party_relays_what_an_author_signed() -> None:
    a, b, c = map(signing, "abc")
    for n in range(150):  # more than two blocks
        a.local(f"e{n}")
    a.learn("e3 < x")
    level(a, b)
    b.local("mine")
    a.local("later")
    level(a, b)
    a.remove("e3 < x")
    level(a, b)
    level(b, c)
    assert c.digest() == b.digest() == a.digest()
    assert {**b.author_keys, **signing("c").author_keys} == c.author_keys
    no_blame(a, b, c)
    for each in (a, b, c):
        again(each)
    assert level(c, signing("d")).new == (0, a.seen().count + b.seen().count - a.seen().count - 1)


@pytest.mark.parametrize("size", [300, 900, 1 << 16])
def test_messages_of_any_size_bring_everything(size: int) -> None:
    a, b, c = (signing(name, largest=size) for name in "abc")
    for n in range(100):
        a.local(f"event {n}")
    level(a, b)
    a.local("last")
    level(a, b)
    level(b, c)
    assert a.digest() == c.digest()
    no_blame(a, b, c)


def tampered(supply: Supply, random: Random) -> bytes:
    """A supply with something changed in one of its parts."""
    part = list(random.choice(supply.signed))
    at = random.choice([0, 1, 2, 3, 4, 4, 4, 4, 5, 6])
    old = part[at]
    match old:
        case str():
            part[at] = old + "x"
        case int():
            part[at] = old + random.choice([-1, 1, 63, 64])
        case bytes():
            where = random.randrange(len(old))
            part[at] = old[:where] + bytes([old[where] ^ 1]) + old[where + 1 :]
        case list():
            items = list(old)
            which = random.randrange(len(items))
            match random.randrange(4):
                case 0:
                    del items[which]
                case 1:
                    items.insert(which, items[random.randrange(len(items))])
                case 2:
                    items[which] = evolutions.encode(Append(Dot(part[0], part[1], part[2] + which), "forged"))
                case 3:
                    items[which] = [bytes(chain.HASH_BYTES)]
            part[at] = items
    return encode(Supply(supply.evolutions, (part,)))


@pytest.mark.parametrize("seed", range(8))
def test_what_was_changed_on_the_way_is_refused(seed: int) -> None:
    random = Random(seed)
    a, b = map(signing, "ab")
    for n in range(random.randrange(1, 100)):
        a.local(f"e{n}")
    level(a, b)
    (supply,) = supplied(b)
    for _ in range(30):
        c = signing("c")
        c.trust("a", a.author_keys["a"][0])
        message = tampered(supply, random)
        c.exchange.receive("b", message)
        assert (not c.events and (c.exchange.blamed or c.exchange.doubted)) or message == encode(supply)
        assert not list(c.proved())
        level(c, b)
        assert c.digest() == b.digest()


def test_nobody_speaks_for_another() -> None:
    a, b, evil = map(signing, ("a", "b", "evil"))
    a.local("mine")
    level(a, b)
    level(b, a)
    for stream in (("a", 1), ("a", 7), ("b", 1), ("b", 7)):
        forger = Replica(Memory(), stream[0], incarnation=stream[1])
        forger.sign(b"evil" * 8)
        for n in range(3):
            forger.local(f"invented {n}")
        for supply in supplied(forger):
            for told, name in ((a, "evil"), (b, "evil"), (a, "b")):
                before = told.digest()
                told.exchange.receive(name, encode(supply))
                assert told.digest() == before
                assert told.exchange.blamed or told.exchange.doubted
    loose = encode(Supply((evolutions.encode(Append(Dot("a", 1, 2), "invented")),)))
    evil.local("own")
    for each in (a, b):
        each.exchange.receive("evil", loose)
        assert "invented" not in each.events
    level(a, b)
    level(evil, b)
    level(a, evil)
    assert a.digest() == b.digest() == evil.digest()
    assert a.stream == ("a", 1)


def test_a_removal_of_what_is_not_yet_takes_nothing_from_anybody() -> None:
    """Not the events to come, and what its victim learns next it says under another incarnation."""
    a, b, evil = map(signing, ("a", "b", "evil"))
    level(evil, a)
    with evil.transaction():
        evil._put(Remove(evil._next(), tuple(Dot("b", 1, n) for n in range(1, 9))))
    level(evil, b)
    b.local("event")
    b.learn("event < x")
    level(evil, a)
    level(b, a)
    assert a.happened("event")
    assert is_given(a, "event < x")
    assert a.digest() == b.digest()
    for each in (a, b):
        again(each)


def test_two_things_told_to_two_are_proved_and_all_converge() -> None:
    a, b, c = map(signing, "abc")
    evil = signing("evil")
    evil.local("same")
    level(evil, a)
    level(evil, b)
    other = clone(evil)
    for n in range(70):
        evil.local(f"to a {n}")
        other.local(f"to b {n}")
    other.learn("same < other")
    level(evil, a)
    level(other, b)
    for one, two in ((a, b), (b, c), (a, c), (a, b)):
        level(one, two)
    assert a.digest() == b.digest() == c.digest()
    for each in (a, b, c):
        assert each.chains()[("evil", 1)] == ["same"]
        (found,) = each.proofs
        assert found.holds()
        assert found.number == 2
        assert chain.imported(found.exported()).holds()
        assert [said["member"] for said in divergences(each)] == ["evil"]
        again(each)
    evil.local("more")
    level(evil, c)
    assert "more" not in c.events or c.happened("more")
    level(a, c)
    level(a, b)
    assert a.digest() == c.digest()


def test_what_two_copies_said_stays_in_no_chain_once_the_author_is_replaced() -> None:
    """The author was told, and may have forgotten; of two copies there may be parts that do not touch."""
    b, c = signing("b"), signing("c")
    one = signing("evil")
    one.local("same")
    other = clone(one)
    for n in range(19):
        one.local(f"one {n}")
    for n in range(40):
        other.local(f"other {n}")
    level(one, b)
    for run in (DotRun("evil", 1, 30, 42), DotRun("evil", 1, 21, 30)):
        for supply in other.supplies(other.held_of(Dots([run])), 1 << 16):
            list(b.accept("evil", decode(encode(supply))))  # type: ignore[arg-type]
    assert [found.number for found in b.proofs] == [21]
    b.settle_divergences("evil")
    assert b.chains()[("evil", 1)] == ["same", *(f"one {n}" for n in range(19))]
    assert divergences(b) == []
    level(b, c)
    assert b.digest() == c.digest()
    assert [found.number for found in c.proofs] == [21]
    again(b)


LIAR = chain.author_of(b"liar" * 8)


def lied(name: str, words: list[str], incarnation: int = 1, *, first: int = 1, told: str = "") -> bytes:
    """A supply of a stream that the liar has signed, from a number on; of those in `told` only, if any."""
    stream = (name, incarnation)
    contents = [evolutions.encode(Append(Dot(*stream, n), word)) for n, word in enumerate(words, 1)]
    bare = chain.Segment(stream, 1, chain.origin(stream), b"".join(map(chain.leaf, contents)), LIAR.key)
    part = bare.part(first, len(words), LIAR.signed, LIAR.key)
    some = {n: contents[n - 1] for n in range(first, len(words) + 1) if not told or str(n) in told}
    return encode(Supply((), (part.written(some),)))


def test_what_another_key_signed_in_the_name_of_an_author_is_no_proof_against_it() -> None:
    """Somebody says two things as an author whom nobody has met: that one is heard, and not accused."""
    a, b = map(signing, "ab")
    for word in ("one", "two"):
        a.exchange.receive("evil", lied("b", [word]))
    assert [proof.stream for proof in a.proofs] == [("b", 1)]
    b.local("mine")
    exchanged(b, a)
    exchanged(a, b)
    assert a.happened("mine")
    assert (a.proofs, a.ledger.closed, a.divergences) == ([], {}, [])
    assert a.digest() == b.digest()
    again(a)


def test_who_believes_a_liar_is_no_liar() -> None:
    a, b = map(signing, "ab")
    a.exchange.receive("evil", lied("b", ["invented"]))
    exchanged(b, a)
    assert not b.exchange.blamed
    assert [name for name, _ in b.exchange.doubted] == ["a"]
    b.local("mine")
    exchanged(b, a)
    exchanged(a, b)
    assert a.digest() == b.digest()
    assert not a.happened("invented")


def test_who_is_told_what_begins_before_a_cut_and_goes_on_behind_it_tells_of_the_cut() -> None:
    """It begins where what nobody has any more begins, so that all is seen to be of one chain."""
    a, b = map(signing, "ab")
    a.exchange.receive("evil", lied("evil", ["x", "y", "one"], told="13"))
    b.exchange.receive("evil", lied("evil", ["x", "y", "one"], told="13"))
    b.exchange.receive("c", lied("evil", ["x", "y", "two"], told="13"))
    assert b.ledger.closed == {("evil", 1): 3}
    level(a, b)
    assert a.chains() == b.chains() == {("evil", 1): ["x"]}
    again(a)
    again(b)


@pytest.mark.parametrize("gap", [3, 4])
def test_two_chains_that_do_not_touch_are_found_out_beside_one_that_is_whole(gap: int) -> None:
    """One replica has the beginning of the one and the end of the other, and nobody has what is between."""
    a, b, other = signing("a"), signing("b"), signing("c")
    words = ["x", "y", "z", "u", "v"]
    lost = "12345".replace(str(gap), "")
    a.exchange.receive("evil", lied("evil", words, told=lost))
    b.exchange.receive("evil", lied("evil", ["x", *("two" + word for word in words[1 : gap - 1])]))
    b.exchange.receive("evil", lied("evil", words, first=gap + 1))
    assert a.proved() == b.proved()
    assert a.chains() != b.chains()
    for one, another in ((a, b), (b, other), (other, a)):
        level(one, another)
    assert a.chains() == b.chains() == other.chains() == {("evil", 1): ["x"]}
    assert [proof.number for each in (a, b, other) for proof in each.proofs] == [2, 2, 2]


def test_what_is_signed_as_nobody_writes_it_is_not_taken() -> None:
    """Its hash is not that of what was read from it, so whoever took it could prove it to nobody."""
    a, b = map(signing, "ab")
    for number, odd in enumerate(([True, 0], [1.0, 0], [1, False]), 1):
        stream = ("evil", number)
        content = msgpack.packb([*odd, [*stream, 1], "odd", None])
        assert isinstance(evolutions.decode(content), Append)
        bare = chain.Segment(stream, 1, chain.origin(stream), chain.leaf(content), LIAR.key)
        part = bare.part(1, 1, LIAR.signed, LIAR.key).written({1: content})
        a.exchange.receive("evil", encode(Supply((), (part,))))
    assert [why for _, why in a.exchange.blamed] == [
        f"evil.{number}.1 is not written as evolutions are" for number in (1, 2, 3)
    ]
    level(a, b)
    assert a.events == b.events == []


def test_all_are_told_of_any_number_of_forks() -> None:
    honest = [signing(name) for name in "abc"]
    for stream in range(1, 81):
        for each, word in zip(honest, ("one", "two", "one"), strict=True):
            each.exchange.receive("evil", lied("evil", [f"{word} {stream}"], stream))
    for _ in range(2):
        for one, other in ((0, 1), (1, 2), (2, 0)):
            level(honest[one], honest[other])
    assert {each.digest() for each in honest} == {signing("d").digest()}
    assert [len(each.proofs) for each in honest] == [80, 80, 80]


def test_a_proof_that_proves_nothing_is_none() -> None:
    a = signing("a")
    for n in range(5):
        a.local(f"e{n}")
    (supply,) = supplied(a)
    one, _ = chain.read_segment(decode(encode(supply)).signed[0])  # type: ignore[union-attr]
    forger = Replica(Memory(), "a", incarnation=1)
    forger.sign(b"evil" * 8)
    forger.local("other")
    two, _ = chain.read_segment(decode(encode(supplied(forger)[0])).signed[0])  # type: ignore[union-attr]
    two.key = one.key
    for pair in ((one, one), (one, two), (two, one)):
        found = chain.ForkProof(*pair)
        assert not found.holds()
        b = signing("b")
        level(a, b)
        b._heard_proof("evil", found)
        assert b.happened("e1")
        assert not b.proofs
    with pytest.raises(Malformed):
        chain.imported('{"schema": "microcosm-fork/1", "proof": "00"}')
    with pytest.raises(Malformed):
        chain.imported("nothing")


def test_a_clone_that_runs_at_once_begins_anew_and_nothing_is_lost() -> None:
    a, b, c = map(signing, "abc")
    a.local("first")
    level(a, b)
    level(a, c)
    copy = clone(a)
    a.local("of a"), copy.local("of the copy")
    level(a, b)
    level(copy, c)
    for _ in range(3):
        level(b, c)
        level(a, b)
        level(copy, c)
        level(a, c)
        level(copy, b)
    replicas = (a, b, c, copy)
    assert len({each.digest() for each in replicas}) == 1
    assert all(each.happened(event) for each in replicas for event in ("first", "of a", "of the copy"))
    assert all(each.divergences for each in replicas)
    assert a.stream != copy.stream


def test_a_journal_that_was_put_back_gets_what_it_lost_from_those_who_have_it() -> None:
    a, b = map(signing, "ab")
    a.local("first")
    level(a, b)
    old = clone(a)
    for n in range(5):
        a.local(f"lost {n}")
    level(a, b)
    for n in range(3):
        old.local(f"after {n}")
    # it meets whoever knows more: not through `level`, which looks at both stores
    for _ in range(4):
        for one, other in ((old, b), (b, old)):
            waiting = [(other, one, message) for message in one.exchange.begin(other.name)]
            while waiting:
                to, sender, message = waiting.pop(0)
                waiting += [(sender, to, answer) for answer in to.exchange.receive(sender.name, message)]
    assert old.digest() == b.digest()
    assert all(b.happened(f"lost {n}") for n in range(5))
    assert all(b.happened(f"after {n}") for n in range(3))
    assert old.divergences
    assert old.stream != ("a", 1)
    assert b.twice == []


def test_a_head_of_what_was_lost_by_all_stops_nobody() -> None:
    """A member heard of a head late, and never of what it stands for; then the journal was put back."""
    one, other = signing("one"), signing("other")
    old = clone(one)
    one.local("lost"), one.local("lost too")
    for heads in one.newest_heads(answer=True):
        other.exchange.receive("one", encode(heads))
    for event in ("first", "second", "third"):
        old.local(event)
    level(old, other)
    assert old.digest() == other.digest()
    assert {"first", "second", "third"} <= {*other.events}


def test_what_others_brought_back_is_said_again_where_it_is_cut() -> None:
    """A journal that was put back has said what is brought back under its dot; and then that is cut."""
    a, b, c = map(signing, "abc")
    a.local("first")
    old = clone(a)
    a.local("lost")
    exchanged(c, a)
    a = old
    a.local("kept"), a.learn("kept < x")
    for supply in supplied(a):
        b.exchange.receive("a", encode(supply))
    a.begin_anew("b", Dot("a", 1, 1))
    level(a, b)
    assert a.chains()["a", 1] == ["first", "kept"]
    for _ in range(2):
        for one, other in ((a, c), (c, b), (b, a)):
            exchanged(one, other)
            exchanged(other, one)
    assert len({each.digest() for each in (a, b, c)}) == 1
    assert all(each.online("first", "x") is Relation.BEFORE for each in (a, b, c))
    assert c.happened("kept")
    assert (c.twice, c.conflicts) == ([], [])
    again(a)


def test_keys_of_members_themselves_go_before_those_of_hearsay() -> None:
    a, b = map(signing, "ab")
    a.local("mine")
    forger = Replica(Memory(), "a", incarnation=9)
    forger.sign(b"evil" * 8)
    forger.local("invented")
    for supply in supplied(forger):
        b.exchange.receive("evil", encode(supply))
    assert b.happened("invented")  # of somebody whom nobody has met
    level(a, b)
    assert not b.happened("invented")
    assert b.author_keys == {"a": a.author_keys["a"], "b": b.author_keys["b"]}
    assert b.digest() == a.digest()
    again(b)
    c = signing("c")
    c.trust("a", a.author_keys["a"][0])
    for supply in supplied(forger):
        c.exchange.receive("a", encode(supply))
    assert not c.events
    assert "its key is" in c.exchange.doubted[0][1]
    c.trust("a", forger.author_keys["a"][0])
    for supply in supplied(forger):
        c.exchange.receive("a", encode(supply))
    assert c.events == ["invented"]
    for key in ("", "xy", "00"):
        with pytest.raises(Undefined):
            c.trust("a", key)
    with pytest.raises(Undefined):
        c.trust("c", a.author_keys["a"][0])


def test_a_journal_from_before_signatures_signs_what_it_said() -> None:
    stores = {name: Memory() for name in "abz"}
    a, b, z = (Replica(store, name, incarnation=1) for name, store in stores.items())
    for each in (a, b, z):
        for n in range(5):
            each.local(f"{each.name}{n}")
    a.learn("a1 < b1")
    a.learn("b1 < z1")
    a.remove("a1 < b1")
    for one, other in ((a, b), (b, z), (a, b)):
        level(one, other)
    a, b = (Replica(stores[name]) for name in "ab")  # z never comes back
    a.local("a5")
    for each in (a, b):
        each.sign()
    a.local("a6")
    level(a, b)
    assert a.digest() == b.digest()
    no_blame(a, b)
    c = signing("c")
    level(c, a)
    assert {event for event in c.events if event[0] == "a"} == {f"a{n}" for n in range(7)}
    assert not any(c.happened(f"z{n}") for n in range(5))  # nobody has signed that
    level(c, b)
    assert c.happened("b1")
    old = Replica(Memory(), "d")
    old.sign(unsigned=True)
    level(old, b)
    assert old.happened("z1")
    for each in (a, b, c, old):
        again(each)


def test_what_comes_in_a_message_is_asked_for_with_a_head() -> None:
    a, b = map(signing, "ab")
    a.local("e1"), a.local("e2")
    b.local("b1")
    level(a, b)
    a.local("e3")
    sent = a.held(Dot("a", 1, 3))
    assert isinstance(sent, Append)
    b.take([sent])
    assert Dot("a", 1, 3) in b.seen()
    assert Dot("a", 1, 3) not in b.proved()
    again(b)
    level(a, b)
    assert b.proved() == b.seen()
    b.take([Append(Dot("a", 1, 4), "forged")])
    a.local("e4")
    level(a, b)
    assert b.chains()["a", 1] == ["e1", "e2", "e3", "e4"]
    assert b.is_forged(Append(Dot("a", 1, 4), "forged"))
    assert not b.is_forged(Append(Dot("a", 1, 4), "e4"))
    again(b)


def test_it_signs_heads_and_not_evolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"signed": 0, "checked": 0}
    sign, check = chain.Author.signed, chain.is_signed

    def counting_sign(self: chain.Author, said: bytes) -> bytes:
        counts["signed"] += 1
        return sign(self, said)

    def counting_check(key: bytes, signature: bytes, said: bytes) -> bool:
        counts["checked"] += 1
        return check(key, signature, said)

    monkeypatch.setattr(chain.Author, "signed", counting_sign)
    monkeypatch.setattr(chain, "is_signed", counting_check)
    a, b = map(signing, "ab")
    for n in range(640):
        a.local(f"e{n}")
    level(a, b)
    assert counts["signed"] <= 640 / chain.BLOCK + 2
    assert counts["checked"] <= 640 / chain.BLOCK + 2


@pytest.mark.parametrize("seed", range(12))
def test_a_liar_with_many_faces_among_honest_ones(seed: int) -> None:
    """Whatever it tells whom, in whatever order: the honest ones end up with the same, and name it."""
    random = Random(seed)
    honest = [signing(name) for name in "abc"]
    faces = [signing("evil")]
    for n in range(120):
        match random.randrange(8):
            case 0 | 1:
                each = random.choice(honest)
                each.local(f"{each.name}{n}")
            case 2 | 3:
                face = random.choice(faces)
                face.local(f"evil{n}") if random.random() < 0.7 else face.learn(f"x{n} < y{n}")
            case 4 if len(faces) < 6:
                faces.append(clone(random.choice(faces)))
            case 5:
                exchanged(random.choice(faces), random.choice(honest))
            case 6 | 7:
                exchanged(*random.sample(honest, 2))
    for _ in range(6):
        for one, other in ((0, 1), (1, 2), (0, 2)):
            exchanged(honest[one], honest[other])
    assert len({each.digest() for each in honest}) == 1
    assert all(again(each) for each in honest)
    if any(each.proofs for each in honest):
        assert all("evil" in {said["member"] for said in each.divergences} for each in honest if each.proofs)
    own = {name: [e for e in honest[0].events if e[0] == name] for name in "abc"}
    assert all({e for e in each.events if e[0] == each.name} == set(own[each.name]) for each in honest)
    assert all(each.stream == (each.name, 1) for each in honest)


def exchanged(one: Replica, other: Replica) -> None:
    """One round of an exchange, with nothing but messages: neither looks at the other's store."""
    waiting = [(other, one, message) for message in one.exchange.begin(other.name)]
    while waiting:
        to, sender, message = waiting.pop(0)
        waiting += [(sender, to, answer) for answer in to.exchange.receive(sender.name, message)]


def test_heads_of_many_streams_fit_into_messages() -> None:
    a, b = signing("a"), signing("b" * 200)
    for n in range(5 * MOST_HEADS):
        b.local(f"e{n}")
        b.renew()
    exchanged(a, b)
    told = [*a.newest_heads(answer=True)]
    assert [each.answer for each in told] == [True, *[False] * (len(told) - 1)]
    streams = [head[:2] for each in told for head in each.heads]
    assert len(streams) == len({*map(tuple, streams)}) > 5 * MOST_HEADS - 2
    assert all(list(fragments(encode(each), 1100)) for each in told)


def test_a_segment_is_read_or_refused() -> None:
    a = signing("a")
    for n in range(3):
        a.local(f"e{n}")
    (supply,) = supplied(a)
    for broken in (
        None,
        (),
        ("a", 1, 1),
        ("a", 1, 0, b"", (), b"", b""),
        ("a", 0, 1, bytes(24), (), bytes(32), bytes(64)),
        ("a", 1, 1, bytes(24), (b"x",), bytes(32), bytes(64)),
        ("a", 1, 2, bytes(24), (1,), bytes(32), bytes(64)),
        ("a", 1, 60, bytes(24), (b"x",) * 9, bytes(32), bytes(64)),
        ("a", 1, 1 << 48, bytes(24), (b"x",) * 3, bytes(32), bytes(64)),
    ):
        with pytest.raises(Malformed):
            chain.read_segment(broken)
    assert chain.read_segment(msgpack.unpackb(msgpack.packb(supply.signed[0]), use_list=False))


def test_who_comes_back_without_its_key_is_named_with_what_to_do() -> None:
    """Its journal was put back to before it had one; nothing of it is taken until the new key is stated."""
    a, b = map(signing, "ab")
    a.local("first")
    level(a, b)
    other = Replica(Memory(), "a", incarnation=2)
    key = other.sign(b"z" * 32)
    other.local("second")
    with pytest.raises(WrongReplica):
        level(other, b)
    assert not b.happened("second")
    who, why = b.exchange.doubted[-1]
    assert who == "a"
    assert "`replica member add --author` states the new one" in why
    b.trust("a", key.hex())
    other.had_key(a.author_keys["a"][0])
    other.had_key(key.hex())
    level(other, b)
    assert b.happened("second")
    assert other.happened("first")
    assert other.digest() == b.digest()
    assert other.author_keys["a"] == [key.hex(), a.author_keys["a"][0]]
    assert b.author_keys["a"] == a.author_keys["a"] + [key.hex()]
    again(other)
    again(b)
