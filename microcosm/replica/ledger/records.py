"""The records of a replica in its store, and what they come to.

replica     its identity (the last one counts)
evolution   an evolution, its own or another's
newer       an evolution that could not be read when it was taken: it counts as soon as it can be
forget      what was forgotten here: processes up to a number, and other events
struck      dots whose correspondences somebody saw removed
disown      dots of its own that may name two things: they are taken out
confirmed   up to which number of its incarnation a member has what it has of itself
author      its key as an author, and whether it takes what nobody signed
key         the key of another author, and from where it is known
signed      a part of a stream with the head that its author signed, and the evolutions that are new of it
fork        a proof that an author has said two things
cut         from which number on nothing of a stream is taken for that, and was taken out
give up     names of which an incarnation was given up: of these only unbroken chains are kept and taken
connect     up to which number a stream is taken to be of one chain, though parts of it are not known
network …   what the network of the replica keeps: a state, and all inputs since then in their order
any other   a note of whoever commits with the replica; the last one of each kind is kept

A snapshot holds all of it in one piece of bytes. Not kept is what follows again: the microcosm, what is set
aside, and who is known to have what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from microcosm.errors import JournalError, Malformed
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.chain import Author, Chains, Segment, leaf, read_proof, read_segment
from microcosm.replica.ledger.dots import Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import Evolution, NewerEvolution, read, run_of
from microcosm.replica.ledger.ledger import Delta, Ledger
from microcosm.replica.store import Store

OWN = (
    *("replica", "evolution", "newer", "forget", "struck", "disown", "confirmed", "instance"),
    *("author", "key", "signed", "fork", "cut", "give up", "connect"),
    *("network", "network start", "network state"),
)
"""Kinds that no note may have."""


def load(store: Store) -> tuple[ReplicaState, int]:
    """The state that a store holds, and how many records it has after the snapshot. Raises `Malformed`.

    Where it is compacted meanwhile, this begins anew, with the new snapshot.
    """
    snapshot = store.snapshot()
    state = ReplicaState() if snapshot is None else decode_state(snapshot[1])
    count = 0
    through = 0 if snapshot is None else snapshot[0]
    try:
        for record in store.records(after=through):
            if record.number > through + count + 1:
                return load(store)
            apply(state, record.kind, record.payload)
            count += 1
    except Malformed as error:
        raise Malformed(f"record {record.number} ({record.kind}) of the store: {error}") from None
    except JournalError:
        if (store.snapshot() or (0,))[0] == through:
            raise
        return load(store)
    return state, count


def apply(state: ReplicaState, kind: str, payload: bytes) -> None:
    """What one record changes. Raises `Malformed`."""
    match kind:
        case "replica":
            state.identity = decode_identity(payload)
            if state.author is not None:
                state.chains.begin((state.identity.name, state.identity.incarnation), state.author.key)
        case "evolution":
            state.take(evolutions.decode(payload), payload)
        case "newer":
            state.take_newer(evolutions.decode(payload), payload)
        case "forget":
            state.ledger.forget(*decode_forgotten(payload))
        case "struck":
            state.ledger.strike(map(evolutions.run_of, evolutions.read(payload)))
        case "disown":
            state.disown(evolutions.run_of(evolutions.read(payload)))
        case "author":
            seed, key, unsigned = evolutions.read(payload)
            state.become(Author(seed, key), unsigned)
        case "key":
            name, key, rank = evolutions.read(payload)
            state.trust(name, key, rank)
        case "signed":
            segment, contents = read_segment(evolutions.read(payload))
            state.take_signed(segment, {n: evolutions.decode(content) for n, content in contents.items()})
        case "fork":
            state.forks[read_proof(payload).stream] = payload
        case "cut":
            replica, incarnation, first = evolutions.read(payload)
            state.close((replica, incarnation), first)
        case "give up":
            state.give_up(evolutions.read(payload))
        case "connect":
            replica, incarnation, number = evolutions.read(payload)
            state.chains.connect((replica, incarnation), number)
        case "confirmed":
            incarnation, number = evolutions.read(payload)
            state.confirmed = {incarnation: number}
        case "network state":
            state.notes[kind] = payload
            state.network.clear()
        case "network" | "network start":
            state.network.append((kind, payload))
        case _:
            state.notes[kind] = payload


def decode_forgotten(payload: bytes) -> tuple[list[DotRun], list[str]]:
    """Runs of processes, and names of events. Raises `Malformed`."""
    match evolutions.read(payload):
        case (tuple(marks), tuple(names)) if all(isinstance(name, str) for name in names):
            return [evolutions.run_of(run) for run in marks], list(names)
    raise Malformed("nothing that can be forgotten")


VERSION = 2
"""Of an identity; those of version 1 were known by the incarnation of their dots."""

STATE_VERSION = 6
"""Of a snapshot; those of version 1 had no network, of 2 nothing confirmed, of 3 nothing struck, of 4 no
authors, of 5 nothing of a newer version, and nobody given up."""

HEARSAY, MEMBER, PINNED = 1, 2, 3
"""From where the key of an author is known: a third party, the member itself, whoever runs the replica."""


@dataclass(slots=True)
class Identity:
    """Who a replica is: its name, its incarnation, and the names of all members, itself among them."""

    name: str
    incarnation: int
    """That of its dots: another one as soon as they might name two things."""
    members: tuple[str, ...]
    known_as: int = 0
    """The incarnation by which the members know it on the network; 0: that of its dots."""


@dataclass(slots=True)
class ReplicaState:
    """What a replica keeps; `notes` are the last payloads of records of other kinds, by kind.

    `network` are the records of its network since the note `network state`.
    """

    identity: Identity | None = None
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, bytes] = field(default_factory=dict)
    network: list[tuple[str, bytes]] = field(default_factory=list)
    confirmed: dict[int, int] = field(default_factory=dict)
    """By the incarnation: up to which number members have what the replica has of itself."""
    author: Author | None = None
    """The replica as an author; None if it signs nothing, and takes whatever it is told."""
    unsigned: bool = False
    """Whether it takes what nobody signed, in names of which no key is known."""
    authors: dict[str, dict[bytes, int]] = field(default_factory=dict)
    """The keys that authors are known by, each with `HEARSAY`, `MEMBER` or `PINNED`."""
    chains: Chains = field(default_factory=Chains)
    forks: dict[Stream, bytes] = field(default_factory=dict)
    """Proofs that authors have said two things, the one with the least number of each stream."""
    unproved: Dots = field(default_factory=Dots)
    """Dots of others that need a signed head, and came without one: in messages, or long ago."""
    given_up: set[str] = field(default_factory=set)
    """The names of which an incarnation was given up."""

    def take(self, evolution: Evolution, content: bytes) -> bool:
        """Take an evolution: one's own, or one that nobody has signed yet; whether it was new."""
        if not self.ledger.take(evolution):
            return False
        if self.author is not None and self.identity is not None:
            dot = evolution.dot
            if dot.replica == self.identity.name:
                self.chains.append(dot, content, self.author.key)
            elif self._lacks_proof(dot):
                self.unproved.add(dot)
        return True

    def _lacks_proof(self, dot: Dot) -> bool:
        """Whether the author of a dot of another is to sign it, and no head of it is known."""
        return (not self.unsigned or dot.replica in self.authors) and self.chains.of(dot) is None

    def give_up(self, names: Iterable[str]) -> None:
        """Keep, of what others of some names have said, what is one chain from its beginning.

        The rest may be of another copy of the author's journal, or be known to nobody else, and the author is
        not there to be asked. It may come again from somebody who has all that is before it. Cost: what goes.
        """
        for name in names if self.author is not None else ():
            own = self.identity is not None and name == self.identity.name
            if self.unsigned and name not in self.authors and not own:
                continue
            self.given_up.add(name)
            for stream in self.ledger.seen.streams():
                if stream[0] == name:
                    run = DotRun(*stream, self.chains.trim(stream) + 1, self.ledger.seen.last(stream) + 1)
                    if run.first < run.end:
                        self.ledger.disown(run)
                        self._prove(run)

    def become(self, author: Author, unsigned: bool) -> None:
        """The replica signs from now on, also what it said before. Cost: what it has said."""
        assert self.identity is not None
        self.author, self.unsigned, self.ledger.signed = author, unsigned, True
        own = self.identity.name
        for stream in self.ledger.seen.streams():
            if stream[0] == own:
                for number in range(1, self.ledger.seen.last(stream) + 1):
                    held = self.ledger.held.get(Dot(*stream, number))
                    content = b"" if held is None else evolutions.encode(held)
                    self.chains.append(Dot(*stream, number), content, author.key)
        self.chains.begin((own, self.identity.incarnation), author.key)

    def trust(self, name: str, key: bytes, rank: int) -> None:
        """A key of an author is known; what a member says of itself goes before what others say of it."""
        known = self.authors.setdefault(name, {})
        if rank > HEARSAY:
            for other in [other for other, how in known.items() if how == HEARSAY and other != key]:
                del known[other]
                self._distrust(name, other)
        if not known and self.unsigned:  # else they are known to lack one
            some = (dot for dot in self.ledger.held if dot.replica == name and self.chains.of(dot) is None)
            self.unproved.update(dot.run for dot in some)
        known[key] = max(rank, known.get(key, 0))

    def _distrust(self, name: str, key: bytes) -> None:
        """What was signed with a key that is not the author's is taken out, and what it proved is no proof.

        No other key was known so far.
        """
        streams = {each.stream for each in self.chains.all() if each.key == key and each.stream[0] == name}
        for stream in streams:
            self.ledger.disown(DotRun(*stream, 1, self.ledger.seen.last(stream) + 1))
        self.chains.drop(streams)
        for stream in [each for each in (*self.ledger.closed, *self.forks) if each[0] == name]:
            self.ledger.closed.pop(stream, None)
            self.forks.pop(stream, None)

    def take_signed(self, segment: Segment, signed: Mapping[int, Evolution]) -> None:
        """Keep a signed segment, and take what came with it."""
        self.chains.add(segment)
        for number, evolution in signed.items():
            self._take_proved(Dot(*segment.stream, number), evolution)
        if self.unproved and segment.last >= segment.first:
            first, after = (Dot(*segment.stream, n) for n in (segment.first, segment.last + 1))
            for run in self.unproved.within(first, after):
                for number in range(run.first, run.end):
                    held = self.ledger.held.get(Dot(*segment.stream, number))
                    if held is None or leaf(evolutions.encode(held)) == segment.leaf(number):
                        self._prove(DotRun(*segment.stream, number, number + 1))

    def _take_proved(self, dot: Dot, evolution: Evolution) -> None:
        if dot in self.unproved:
            if self.ledger.held.get(dot, evolution) != evolution:
                self.ledger.disown(dot.run)
            self._prove(dot.run)
        self.ledger.take(evolution)

    def take_newer(self, evolution: Evolution, content: bytes) -> None:
        """Take what could not be read when it came: perhaps it can be now, and nothing is wrong with it."""
        dot = evolution.dot
        if self.ledger.fault_in(evolution) is not None:
            evolution = NewerEvolution(dot, content)
        if self.chains.vouches(dot, content):
            self._take_proved(dot, evolution)
        else:
            self.take(evolution, content)

    def _prove(self, run: DotRun) -> None:
        self.unproved = self.unproved - Dots([run])

    def close(self, stream: Stream, first: int) -> None:
        """Take nothing of a stream from a number on, and take out what there is. Cost: what goes."""
        self.ledger.close(stream, first)
        self._prove(DotRun(*stream, first, max(first, self.unproved.last(stream) + 1)))

    def disown(self, run: DotRun) -> None:
        """Take out evolutions of one's own that may be of two copies."""
        self.ledger.disown(run)
        if self.unproved:
            self._prove(run)
        if self.author is not None:
            self.chains.cut(run.stream, run.first)


def encode_identity(identity: Identity) -> bytes:
    """The bytes of an identity."""
    written: bytes = msgpack.packb(
        [VERSION, identity.name, identity.incarnation, list(identity.members), identity.known_as]
    )
    return written


def decode_identity(content: bytes) -> Identity:
    """The identity that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (1, str(name), int(incarnation), tuple(members)) if all(isinstance(m, str) for m in members):
            return Identity(name, incarnation, members)
        case (2, str(name), int(incarnation), tuple(members), int(known_as)) if all(
            isinstance(m, str) for m in members
        ):
            return Identity(name, incarnation, members, known_as)
    raise Malformed("no identity of a replica that this program can read")


def encode_state(state: ReplicaState) -> bytes:
    """The bytes of all of it. Cost: linear."""
    assert state.identity is not None
    ledger = state.ledger
    state.chains.compact([*ledger.held, *(Dot(*cut, number - 1) for cut, number in ledger.closed.items())])
    written: bytes = msgpack.packb(
        [
            STATE_VERSION,
            encode_identity(state.identity),
            [*ledger.seen],
            [[*stream, number, number + 1] for stream, number in ledger.marks.items() if number],
            [evolutions.encode(each) for dot, each in ledger.held.items() if dot not in ledger.newer],
            state.notes,
            state.network,
            list(state.confirmed.items()),
            [*ledger.struck],
            _encode_authors(state),
            [evolutions.encode(ledger.held[dot]) for dot in ledger.newer],
        ]
    )
    return written


def decode_state(content: bytes) -> ReplicaState:
    """The state that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (int(version), bytes(identity), tuple(seen), tuple(marks), tuple(held), dict(notes), *rest) if (
            len(rest) == version - 1 <= 5
        ):
            none: list[Any] = [(), (), (), None, ()]
            network, confirmed, struck, authors, newer = [*rest, *none[len(rest) :]]
        case _:
            raise Malformed("no snapshot of a replica that this program can read")
    ledger = Ledger()
    ledger.struck = Dots(map(run_of, struck))
    for mark in map(run_of, marks):
        ledger.marks[mark.replica, mark.incarnation] = mark.first
    for each in held:
        ledger.hold(evolutions.decode(each))
    kept = [(evolutions.decode(each), each) for each in newer]
    ledger.seen = Dots(map(run_of, seen)) - Dots(e.dot.run for e, _ in kept)
    ledger.early = {*(ledger.struck - ledger.seen).dots()}
    state = ReplicaState(decode_identity(identity), ledger, notes, list(network), dict(confirmed))
    if authors is not None:
        _decode_authors(state, authors)
    for evolution, unread in kept:
        state.take_newer(evolution, unread)
    ledger.changes = Delta()
    return state


def _encode_authors(state: ReplicaState) -> list[Any] | None:
    if state.author is None:
        return None
    return [
        [*state.author, state.unsigned],
        [[name, key, rank] for name, keys in state.authors.items() for key, rank in keys.items()],
        [[*s.stream, s.first, s.before, bytes(s.leaves), s.key, s.signature] for s in state.chains.all()],
        [*state.forks.values()],
        [[*stream, number] for stream, number in state.ledger.closed.items()],
        sorted(state.given_up),
        [[*stream, number] for stream, number in state.chains.gaps()],
    ]


def _decode_authors(state: ReplicaState, value: Any) -> None:
    (seed, key, unsigned), authors, segments, forks, closed, *later = value
    state.author, state.unsigned, state.ledger.signed = Author(seed, key), unsigned, True
    for replica, incarnation, *rest in segments:
        state.chains.add(Segment((replica, incarnation), *rest))
    state.forks = {read_proof(content).stream: content for content in forks}
    state.ledger.closed = {(replica, incarnation): number for replica, incarnation, number in closed}
    for name, known, rank in authors:
        state.trust(name, known, rank)
    held, own = state.ledger.held, state.identity and state.identity.name
    state.unproved.update(dot.run for dot in held if dot.replica != own and state._lacks_proof(dot))
    if later:
        state.given_up = set(later[0])
        for replica, incarnation, number in later[1]:
            state.chains.connect((replica, incarnation), number)
    else:  # nobody has looked so far
        for segment in state.chains.newest():
            state.chains.connect(segment.stream, segment.last)
