"""What of the evolutions that a peer supplies is taken: what is signed by whom it ought to be, and no more.

Where two segments of a stream cannot be of one chain, that is the proof (`ledger.chain`) that its
journal runs twice, or was put back, or that its author lies:

- the replica whose stream it is begins another one, and says again what is in doubt (`changes`);
- who hears it from the author takes neither more of it nor less, keeps the proof, and tells the author;
- who hears it from somebody else takes out what may be two things, from the first number in doubt on, and
  tells everybody. The least number that is told counts; so all take out the same, however they heard of it.

A `Quota` bounds what is taken of each author: what is too much is not lost, but comes later, when there is
room for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from msgpack import packb

from microcosm.errors import Malformed, NewerVersion
from microcosm.replica.authored import Authored
from microcosm.replica.exchange import ExchangeMessage, Heads, Supply
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.chain import ForkProof, Segment, fork, read_proof, read_segment
from microcosm.replica.ledger.dots import Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import Evolution, NewerEvolution
from microcosm.replica.ledger.records import HEARSAY, MEMBER


@dataclass(frozen=True, slots=True)
class Quota:
    """What is taken of each other author at most; None is no bound."""

    rate: float | None = None
    """So many evolutions a second, and as many at once as come in `BURST` seconds, one at least."""
    held: int | None = None
    """So many evolutions that are held."""
    bytes: int | None = None
    """So many bytes of evolutions that are held."""


BURST = 60.0
"""Who was silent for so many seconds may say as much at once as it might have said in them."""


class Quotas:
    """What authors have used of a quota. `now`, in seconds, is set by whoever knows it."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.now = 0.0
        self.over: dict[str, str] = {}
        """Authors of whom the last thing that came was too much, and what of it."""
        self._left: dict[str, tuple[float, float]] = {}
        self._held: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._counted = float("-inf")

    def admits(self, name: str, size: int, *held: Iterable[Evolution]) -> bool:
        """Whether one evolution more of an author is taken now; then it is counted. Constant time.

        Once a second at most, where there seems to be too much, what is held is counted again: linear.
        """
        quota = self.quota
        rate, most, room = quota.rate, quota.held, quota.bytes
        if most is not None or room is not None:
            for again in (False, True):
                much = most is not None and self._held[name] >= most
                large = room is not None and self._bytes[name] + size > room
                if not (much or large):
                    break
                if again or self.now - self._counted < 1.0:
                    self.over[name] = (
                        f"more than {most:,} evolutions" if much else f"more than {room:,} bytes"
                    )
                    return False
                self._count(chain.from_iterable(held))
        if rate is not None:
            burst = max(1.0, rate * BURST)
            left, since = self._left.get(name, (burst, self.now))
            left = min(burst, left + (self.now - since) * rate)
            self._left[name] = (max(0.0, left - 1) if left >= 1 else left, self.now)
            if left < 1:
                self.over[name] = f"more than {rate:g} evolutions a second"
                return False
        self._held[name] += 1
        self._bytes[name] += size
        self.over.pop(name, None)
        return True

    def _count(self, held: Iterable[Evolution]) -> None:
        self._counted = self.now
        self._held, self._bytes = Counter(), Counter()
        for evolution in held:
            self._held[evolution.dot.replica] += 1
            if self.quota.bytes is not None:
                self._bytes[evolution.dot.replica] += len(evolutions.encode(evolution))


class Early(NamedTuple):
    """A part of a stream that came before what it follows."""

    peer: str
    segment: Segment
    contents: dict[int, bytes]
    linked: Dots
    until: int
    """The round of asking in which it is dropped."""

    def runs(self) -> Iterator[DotRun]:
        """The numbers whose contents it has."""
        return (DotRun(*self.segment.stream, number, number + 1) for number in self.contents)


class EarlyParts:
    """Parts of streams whose authors were given up that came before what they follow; not durable.

    Of such an author only one chain from its beginning is taken. What comes out of order waits here, as if
    it were still on its way, so that one packet that is lost does not cost all that come behind it. What
    does not come to follow anything in some rounds is dropped, and asked for again.
    """

    BYTES = 4 << 20
    """So many bytes of contents wait at most."""

    ROUNDS = 8
    """Each waits for so many questions to peers at most; there are two in a second."""

    def __init__(self) -> None:
        self.dots = Dots()
        """What need not come again for now; read only."""
        self._parts: dict[Stream, dict[int, Early]] = {}
        self._bytes = self._round = 0

    def keep(self, peer: str, segment: Segment, contents: dict[int, bytes], linked: Dots) -> None:
        """Let a part wait, if there is room. Cost: its contents."""
        size = sum(map(len, contents.values()))
        if self._bytes + size <= self.BYTES:
            self.drop(segment)
            early = Early(peer, segment, contents, linked, self._round + self.ROUNDS)
            self._parts.setdefault(segment.stream, {})[segment.first] = early
            self._bytes += size
            self.dots.update(early.runs())

    def of(self, stream: Stream) -> list[Early]:
        """The parts of a stream that wait, the first one first."""
        parts = self._parts.get(stream, {})
        return [parts[first] for first in sorted(parts)]

    def firsts(self) -> list[Segment]:
        """The first part of each stream that waits."""
        return [parts[min(parts)].segment for parts in self._parts.values()]

    def asked(self) -> None:
        """A peer is asked: what waited for too many rounds is dropped."""
        self._round += 1
        late = [e for parts in self._parts.values() for e in parts.values() if e.until <= self._round]
        for early in late:
            self.drop(early.segment)

    def drop(self, segment: Segment) -> None:
        """The part that begins where a segment does waits no more, if there is one."""
        early = self._parts.get(segment.stream, {}).pop(segment.first, None)
        if early is not None:
            self._bytes -= sum(map(len, early.contents.values()))
            self.dots -= Dots(early.runs())
            if not self._parts[segment.stream]:
                del self._parts[segment.stream]


RENEWALS = 16
"""So often a replica begins anew, as long as it is open, because somebody knows dots that it does not."""


class Admitting(Authored):
    """A replica that takes what others have signed."""

    _renewals = 0
    early: EarlyParts
    quotas: Quotas | None = None
    """What bounds what is taken of each author; None: nothing."""

    def accept(self, peer: str, supply: Supply) -> Iterator[ExchangeMessage]:
        """Take what a peer supplies as far as it is signed by whom it ought to be; what to tell the peer."""
        with self.transaction():
            linked = Dots(supply.linked)
            for value in supply.signed:
                try:
                    segment, contents = read_segment(value)
                except Malformed as error:
                    self._blame(peer, f"what cannot be read: {error}")
                    continue
                yield from self._admit_part(peer, segment, contents, linked)
            self.take(self._loose(peer, supply.evolutions))
            if supply.struck:
                self.strike(supply.struck)

    def _admit_part(
        self, peer: str, segment: Segment, contents: dict[int, bytes], linked: Dots
    ) -> Iterator[ExchangeMessage]:
        """Admit a part, and then what came before it and follows it; what to tell the peer."""
        proof = self._admit_segment(peer, segment, contents, linked)
        if proof is not None:
            yield Heads((), (proof.written(),), answer=False)
        for early in self.early.of(segment.stream):
            if not self._follows(early.segment, early.linked):
                break
            self.early.drop(early.segment)
            proof = self._admit_segment(*early[:4])
            if proof is not None:
                yield Heads((), (proof.written(),), answer=False)

    def proved(self) -> Dots:
        """The dots that need not come again, for they are signed, or wait for what they follow; read only."""
        seen, unproved, early = self.ledger.seen, self._state.unproved, self.early.dots
        proved = seen - unproved if unproved else seen
        return proved | early if early else proved

    def unlinked(self) -> Iterator[tuple[DotRun, DotRun]]:
        """Of what waits for what it follows: what is between, and the first that waits behind it."""
        for first in self.early.firsts():
            known = self._state.chains.connected(first.stream)
            yield (
                DotRun(*first.stream, known + 1, first.first),
                DotRun(*first.stream, first.first, first.last + 1),
            )

    def compare_heads(self, peer: str, heads: Heads) -> Iterator[ExchangeMessage]:
        """A peer has seen the same dots, and tells what they are to it; what to tell it."""
        for content in heads.proofs:
            try:
                proof = read_proof(content)
            except Malformed as error:
                self._blame(peer, f"what cannot be read: {error}")
                continue
            self._heard_proof(peer, proof)
        yield from self.accept(peer, Supply((), heads.heads))
        if heads.answer:
            yield from self.newest_heads(answer=False)

    def _heard_proof(self, peer: str, proof: ForkProof) -> None:
        """Somebody proves that an author has said two things."""
        stream, name = proof.stream, proof.stream[0]
        keys = {*self._state.authors.get(name, ()), *((self._own_key,) if name == self.name else ())}
        if fork(*proof) is None or proof.number >= self.ledger.closed.get(stream, proof.number + 1):
            return
        if proof.one.key not in keys:
            return
        if not proof.holds():
            self._blame(peer, f"a proof against {name} that proves nothing")
        elif stream == self.stream:
            self._divided(peer, proof.number)
        else:
            self._keep_proof(proof, cut=True)

    def _divided(self, peer: str, number: int) -> bool:
        """Another copy of this journal has signed what this one has not: go on as another stream."""
        return self.diverged(peer, Dot(*self.stream, max(1, number)))

    def diverged(self, peer: str, dot: Dot) -> bool:
        """A peer knows a dot of this replica that it does not know itself; whether it has begun anew.

        Then this store is an old copy, or another replica has the name, or somebody invents. In any case
        no dot may name two things: it goes on under another incarnation, and what was known of the old one
        can be taken. Not more often than `RENEWALS` times as long as it is open, for who invents may go on.
        """
        if self._renewals >= RENEWALS:
            return False
        self._renewals += 1
        self.begin_anew(peer, dot)
        return True

    def _admit_segment(
        self, peer: str, segment: Segment, contents: dict[int, bytes], linked: Dots
    ) -> ForkProof | None:
        """Keep a segment, and take what came with it, if all is as it ought to be; else a proof, or blame."""
        name, stream, state = segment.stream[0], segment.stream, self._state
        rank = self._rank(peer, segment)
        if rank is None:
            return None
        known = not rank or segment.key in state.authors.get(name, ())
        if known and state.ledger.closed.get(stream, segment.first + 1) <= segment.first:
            return self._told_of(segment)
        beside = [other for other in state.chains.beside(segment) if other.key == segment.key]
        same = any(
            each.first - 1 <= segment.last <= each.last and each.head(segment.last) == segment.end
            for each in beside
        )
        if not same and not segment.is_signed():
            self._blame(peer, f"a head in the name of {name} that it has not signed")
            return None
        if rank and rank > state.authors.get(name, {}).get(segment.key, 0):
            self._know_key(name, segment.key, rank)
        if stream == self.stream and segment.last > state.ledger.seen.last(stream):
            if not self._divided(peer, segment.last):
                return None
            beside = [*state.chains.beside(segment)]
        for other in beside:
            number = fork(segment, other)
            if number is None:
                continue
            if stream == self.stream:
                if not self._divided(peer, number):
                    return None
                return self._admit_segment(peer, segment, contents, linked)
            one, two = (self._whole(each) for each in (segment, other))
            proof = ForkProof(one, two)
            if number < state.ledger.closed.get(stream, number + 1):
                self._keep_proof(proof, cut=peer != name)
                return proof
        follows = self._follows(segment, linked)
        if follows and state.chains.connected(stream) < segment.first - 1 < segment.last:
            self._write("connect", packb([*stream, segment.first - 1]))  # what is between is kept
        if follows or name not in state.given_up:
            self._take_part(peer, segment, contents, same)
        elif segment.first <= segment.last:
            self.early.keep(peer, segment, contents, linked)
        return self._told_of(segment)

    def _told_of(self, segment: Segment) -> ForkProof | None:
        """What to tell who has a segment that goes on where its author has said two things."""
        stream, state = segment.stream, self._state
        if stream in state.forks and state.ledger.closed.get(stream, segment.last + 1) <= segment.last:
            return read_proof(state.forks[stream])
        return None

    def _follows(self, segment: Segment, linked: Dots) -> bool:
        """Whether a segment follows what is known of its chain.

        `linked` is what the peer knows, and cannot prove any more, to be of one chain with what is around it.
        """
        known = self._state.chains.connected(segment.stream)
        return segment.last < segment.first or not (
            Dots([DotRun(*segment.stream, known + 1, segment.first)]) - linked
        )

    def _rank(self, peer: str, segment: Segment) -> int | None:
        """From where its key would be known, 0 if that is one's own; None if it is not the author's."""
        name, key = segment.stream[0], segment.key
        if name == self.name:
            if key == self._own_key or key in self._state.authors.get(name, ()):
                return 0
            # it may believe a third one, who told it so
            self._doubted(peer, f"what it has of {name}, which is this replica, is signed with another key")
            return None
        rank = MEMBER if peer == name else HEARSAY
        known = self._state.authors.get(name, {})
        if not known or key in known or (rank > HEARSAY and set(known.values()) == {HEARSAY}):
            return rank
        own = "its" if peer == name else f"{name}'s"
        self._doubted(
            peer,
            f"{own} key is {key.hex()[:16]}…, and known by another one: if it lost its journal,"
            f" `replica member add --author` states the new one",
        )
        return None

    def _take_part(self, peer: str, segment: Segment, contents: dict[int, bytes], same: bool) -> None:
        """Keep a segment that contradicts none, and take what is new of what came with it."""
        state = self._state
        found: dict[int, Evolution] = {}
        for number, content in contents.items():
            dot = Dot(*segment.stream, number)
            if (dot in state.ledger.seen and dot not in state.unproved) or state.ledger.is_closed(dot):
                continue
            try:
                evolution = evolutions.decode(content)
            except NewerVersion as error:
                self.exchange.newer[peer] = str(error)
                return  # nothing of the part is kept, so that it is asked for again
            except Malformed as error:
                self._blame(peer, f"an evolution that cannot be read: {error}")
                continue
            fault = self.ledger.fault_in(evolution)
            if evolution.dot != dot:
                fault = f"{dot} is said to be {evolution.dot}"
            elif evolutions.encode(evolution) != content:  # nobody could prove it to others
                fault = f"{dot} is not written as evolutions are"
            if fault is not None:
                self._blame(peer, fault)
                continue
            if not self.exchange.keeps(peer, evolution):
                return
            held = state.ledger.held.values(), found.values()
            if self.quotas is None or self.quotas.admits(dot.replica, len(content), *held):
                found[number] = evolution
        new = segment.first <= segment.last and state.chains.of(Dot(*segment.stream, segment.first)) is None
        bare = 0 < segment.last < segment.first
        early = bare and Dot(*segment.stream, segment.last) not in state.ledger.seen
        if found or new or not (same or early):  # a head of what is not there comes again, or is nobody's
            state.take_signed(segment, found)
            kept = [n for n, each in found.items() if type(each) is NewerEvolution]
            some = {number: contents[number] for number in found if number not in kept}
            self._pending.append(("signed", packb(segment.written(some))))
            self._pending += [("newer", contents[number]) for number in kept]

    def _loose(self, peer: str, contents: Iterable[bytes]) -> Iterator[Evolution]:
        """What nobody signed, as far as it is taken."""
        for evolution in self.exchange.readable(peer, contents):
            name = evolution.dot.replica
            if name == self.name or name in self._state.authors:
                self._doubted(peer, f"evolutions of {name} that nobody has signed")
            elif not self._state.unsigned:
                self.exchange.let_be(peer, evolution.dot)  # of somebody who never signed anything
            elif (fault := self.ledger.fault_in(evolution)) is not None:
                self._blame(peer, fault)
            elif evolution.dot not in self.ledger.seen and self.exchange.keeps(peer, evolution):
                yield evolution

    def _blame(self, peer: str, why: str) -> None:
        self.exchange.blamed.append((peer, why))

    def _doubted(self, peer: str, why: str) -> None:
        self.exchange.doubted.append((peer, why))
