"""Anti-entropy: two replicas find out what each lacks of the other's, and hand over that and no more.

A replica compares what it has seen, as fingerprints of ranges of dots. Equal ranges are done; of others the
parts are compared, until a range has few runs, which are then told. So what is sent grows with the
difference (and the logarithm of the whole), not with what both have. There is no session: a message is
answered from what the replica knows when it comes, so that lost, repeated, late or reordered messages do no
harm, and an exchange that breaks off goes on wherever the next one begins. The order of arrival is irrelevant
to what both may conclude (Worlds of Events, Theorem 5.12).

Of what was removed both tell each other too, as bare dots, when they have seen the same: one of them may have
it from a backup that is older than the removal, which nobody else holds any more.

What the other has seen but holds no more (removed, forgotten) it says once, and counts as equal between these
two; somebody else may still have it. It is asked for again now and then, and where heads differ: a peer that
was put back to an older copy gives its dots to something else.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgpack

from microcosm.errors import Malformed, NewerVersion
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import FIRST, Dot, DotRun, Dots, fingerprint
from microcosm.replica.ledger.evolution import Append, Evolution, NewerEvolution, dot_of, run_of
from microcosm.replica.ledger.ledger import MOST_NEWER

if TYPE_CHECKING:
    from microcosm.replica.replica import Replica

VERSIONS = (2,)
"""The versions of messages that this program reads and writes, oldest first; a greeting tells members."""


class Range(NamedTuple):
    """What a replica has seen from the dot `low` up to, not including, `high` (None: all that follow).

    A fingerprint of it, or the runs themselves.
    """

    low: Dot
    high: Dot | None
    seen: bytes | tuple[DotRun, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Some ranges: compare them with your own."""

    ranges: tuple[Range, ...]
    removed: bytes = b""
    """The fingerprint of all dots that I know to be removed, where the ranges are all that I have seen."""
    heads: bytes = b""
    """What stands for the newest heads of all streams that I know, likewise; empty if I sign nothing."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Some ranges of the dots that I know to be removed: compare them with your own, and tell me in turn."""

    ranges: tuple[Range, ...]
    answer: bool = True


@dataclass(frozen=True, slots=True)
class Same:
    """All that I have seen has this fingerprint, as yours has."""

    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Want:
    """I lack these; you have seen them."""

    runs: tuple[DotRun, ...]


@dataclass(frozen=True, slots=True)
class Supply:
    """Evolutions, as bytes; and parts of streams, as `Segment.written` has them, with evolutions in them.

    `struck` are dots among them that are known to be removed, `linked` others, of which I have no hashes any
    more: what I tell that follows them is of one chain with what goes before them.
    """

    evolutions: tuple[bytes, ...]
    signed: tuple[Any, ...] = ()
    struck: tuple[DotRun, ...] = ()
    linked: tuple[DotRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Heads:
    """The newest heads of streams, as segments without numbers, and proofs that authors said two things."""

    heads: tuple[Any, ...]
    proofs: tuple[bytes, ...]
    answer: bool = True


@dataclass(frozen=True, slots=True)
class Gone:
    """I have seen these, and hold them no more: removed, superseded or forgotten."""

    runs: tuple[DotRun, ...]


ExchangeMessage = Compare | Same | Want | Supply | Gone | Removed | Heads

_CODES: tuple[type[ExchangeMessage], ...] = (Compare, Same, Want, Supply, Gone, Removed, Heads)


def encode(message: ExchangeMessage, version: int = VERSIONS[-1]) -> bytes:
    """The bytes of a message, in a version that the receiver reads."""
    content: Any = [getattr(message, each.name) for each in fields(message)]
    if len(content) == 1:
        [content] = content
    elif isinstance(message, Supply) and not message.linked:
        content.pop()
    written: bytes = msgpack.packb([version, _CODES.index(type(message)), content])
    return written


def decode(content: bytes) -> ExchangeMessage:
    """The message that bytes stand for. Raises `Malformed`, and nothing else.

    >>> decode(encode(Want((DotRun("phone", 1, 3, 9),))))
    Want(runs=(DotRun(replica='phone', incarnation=1, first=3, end=9),))
    """
    match evolutions.read(content):
        case (version, *_) if version not in VERSIONS:
            raise evolutions.other_version("a message", version, VERSIONS[-1])
        case (_, 0, (tuple(ranges), bytes(removed), bytes(heads))):
            return Compare(tuple(map(_range, ranges)), removed, heads)
        case (_, 5, (tuple(ranges), bool(answer))):
            return Removed(tuple(map(_range, ranges)), answer)
        case (_, 1, bytes(fingerprint)):
            return Same(fingerprint)
        case (_, 2, tuple(runs)):
            return Want(tuple(map(run_of, runs)))
        case (_, 3, (tuple(told), tuple(signed), tuple(struck), *linked)) if _all_bytes(told) and (
            [*map(type, linked)] in ([], [tuple])
        ):
            return Supply(told, signed, *(tuple(map(run_of, some)) for some in (struck, *linked)))
        case (_, 6, (tuple(heads), tuple(proofs), bool(answer))) if _all_bytes(proofs):
            return Heads(heads, proofs, answer)
        case (_, 4, tuple(runs)):
            return Gone(tuple(map(run_of, runs)))
    raise Malformed("no message: its parts are not those of any kind")


def _all_bytes(values: tuple[object, ...]) -> bool:
    return all(isinstance(each, bytes) for each in values)


def _range(value: object) -> Range:
    match value:
        case (low, high, bytes() | tuple() as seen):
            begin = FIRST if low == FIRST else dot_of(low)
            dots = seen if isinstance(seen, bytes) else tuple(map(run_of, seen))
            return Range(begin, None if high is None else dot_of(high), dots)
    raise Malformed("no range of dots")


def told_of(signed: Iterable[Any]) -> Iterator[tuple[Dot, bytes]]:
    """The evolutions in parts of streams, each with its dot, whatever they are worth."""
    for part in signed:
        match part:
            case (str(name), int(incarnation), int(first), _, tuple(items), _, _):
                for number, item in enumerate(items, first):
                    if isinstance(item, bytes):
                        yield Dot(name, incarnation, number), item


Item = TypeVar("Item")

LEAF = 16
"""A range of at most so many runs is told as it is."""

ANSWERS = 64
"""So many messages one is answered with, at most."""

PARTS = 8
"""Any other is compared in about so many parts."""

NONE_REMOVED = fingerprint(())

TRIES, AGAIN = 3, 64
"""So often removals that stay different are compared, for messages are lost, and once in so many rounds; as
rarely a peer is asked again for what it held no more, for it may have been put back since."""

RUN_BYTES = 64
"""What a run or a range is reckoned to take; names are short."""


class AntiEntropy:
    """One replica's side of its exchanges with all others: messages in, messages out.

    `largest` is about how many bytes a message may have; one gets at most `ANSWERS` answers, and what is
    left over comes with the next round. The host sends what is returned, calls `begin` for each peer now and
    then, and may lose anything.
    """

    def __init__(self, side: Replica, *, largest: int = 1 << 16) -> None:
        self._side = side
        self._largest = largest
        self._gone: dict[str, Dots] = {}
        """What each peer has seen and need not tell: it does not hold it any more, or it is not taken."""
        self._rounds: Counter[str] = Counter()
        """How often each peer was asked."""
        self._tried: dict[tuple[str, str], tuple[tuple[bytes, bytes], int]] = {}
        """What stands for removals, or for heads, here and at each peer, and how often they were compared."""
        self.malformed = 0
        """How many messages, or evolutions in them, could not be read; they were dropped."""
        self.newer: dict[str, str] = {}
        """Peers that speak a version that this program does not know, and of what. An evolution is kept for a
        program that reads it; what cannot be is asked for again whenever there is an exchange."""
        self.blamed: deque[tuple[str, str]] = deque(maxlen=64)
        """Peers that said what no replica of this program says, and what; for the host to take out."""
        self.doubted: deque[tuple[str, str]] = deque(maxlen=64)
        """Peers that know dots of this replica that it does not, more often than it begins anew."""
        self.version: Callable[[str], int] = lambda peer: VERSIONS[-1]
        """Asked for the version in which to speak to a peer."""
        self.heard: Callable[[str, Iterable[Dot]], object] | None = None
        """Told what a peer supplies, new or not, before it is taken."""

    def keeps(self, peer: str, evolution: Evolution) -> bool:
        """Whether an evolution can be kept: what cannot be read up to `MOST_NEWER` bytes; it is noted."""
        if not isinstance(evolution, NewerEvolution):
            return True
        self.newer[peer] = str(
            evolutions.other_version("an evolution", evolution.version, evolutions.VERSION)
        )
        return self._side.ledger.newer_bytes < MOST_NEWER

    def readable(self, peer: str, contents: Iterable[bytes]) -> Iterator[Evolution]:
        """The evolutions that a peer tells, as far as they can be read; what cannot is noted."""
        for content in contents:
            try:
                yield evolutions.decode(content)
            except NewerVersion as error:
                self.newer[peer] = str(error)
            except Malformed as error:
                self.malformed += 1
                self.blamed.append((peer, f"an evolution that cannot be read: {error}"))

    def let_be(self, peer: str, dot: Dot) -> None:
        """What a peer has seen of a dot is not taken from it: it is not asked for again."""
        self._gone.setdefault(peer, Dots()).add(dot)

    def ask_again(self) -> None:
        """What was let be may be taken now."""
        self._gone.clear()

    def is_held(self, peer: str, held: Collection[Dot]) -> None:
        """What a peer holds is not gone. Cost: what it holds, where something is gone."""
        if gone := self._gone.get(peer):
            self._gone[peer] = gone - Dots(dot.run for dot in held if dot in gone)

    def begin(self, peer: str, *, plainly: bool = False) -> list[bytes]:
        """What to send to a peer so that both come to know what the other does.

        `plainly`: not a fingerprint but all runs, for a peer that is sure to have seen something else.
        """
        if plainly:
            seen = self._view(peer).within(FIRST, None)
            return [encode(Compare((Range(FIRST, None, tuple(seen)),)), self.version(peer))]
        self._side.early.asked()  # what waits for something else does not wait for ever
        self._rounds[peer] += 1
        if self._rounds[peer] % AGAIN == 0:
            self._gone.pop(peer, None)
        whole = Range(FIRST, None, fingerprint(self._view(peer).within(FIRST, None)))
        compare = Compare((whole,), self._removals(), self._side.heads())
        return [encode(compare, self.version(peer))]

    def offer(self, peer: str, runs: Iterable[DotRun]) -> list[bytes]:
        """What to send to a peer that has not asked: what is held of some dots."""
        return [encode(message, self.version(peer)) for message in self._supplied(runs)]

    def receive(self, peer: str, content: bytes) -> list[bytes]:
        """What to send back to a peer for a message from it. What cannot be read is counted and dropped."""
        try:
            message = decode(content)
            answers = islice(self._answers(peer, message), ANSWERS)
            return [encode(answer, self.version(peer)) for answer in answers]
        except NewerVersion as error:
            self.newer[peer] = str(error)
            return []
        except Malformed as error:
            self.malformed += 1
            self.blamed.append((peer, f"a message that cannot be read: {error}"))
            return []

    def _answers(self, peer: str, message: ExchangeMessage) -> Iterator[ExchangeMessage]:
        match message:
            case Compare(ranges, removed, heads):
                yield from self._compared(peer, ranges, removed, heads)
            case Heads(heads) if self._side.signs:
                if heads:  # both have seen the same dots, and not the same under them
                    self._gone.pop(peer, None)
                yield from self._side.compare_heads(peer, message)
            case Removed(ranges, answer):
                yield from self._removed(ranges, answer)
            case Same(told):
                if told == fingerprint(self._view(peer).within(FIRST, None)):
                    self._side.level_with(peer)
            case Want(runs):
                if peer in self._gone:
                    self._gone[peer] -= Dots(runs)
                yield from self._supplied(runs)
            case Supply() if self._side.signs:
                if self.heard is not None:
                    self.heard(peer, (dot for dot, _ in told_of(message.signed)))
                yield from self._side.accept(peer, message)
            case Supply(contents, signed):
                self._take(peer, [*contents, *(content for _, content in told_of(signed))])
            case Gone(runs):
                self._gone.setdefault(peer, Dots()).update(runs)

    def _removed(self, ranges: Iterable[Range], answer: bool) -> Iterator[ExchangeMessage]:
        """Strike what the other knows to be removed, and say what it does not know."""
        struck = self._side.ledger.struck
        parts: list[Range] = []
        lacking: list[Range] = []
        removed: list[DotRun] = []
        for each in ranges:
            mine = struck.within(each.low, each.high)
            if isinstance(each.seen, bytes):
                parts += _parts(each.low, each.high, mine) if fingerprint(mine) != each.seen else []
                continue
            removed += Dots(each.seen) - Dots(mine)
            if Dots(mine) - Dots(each.seen):
                lacking.append(Range(each.low, each.high, tuple(mine)))
        if removed:
            self._side.strike(removed)
        yield from (Removed(tuple(some)) for some in self._batches(parts, _size))
        if answer:
            yield from (Removed(tuple(some), answer=False) for some in self._batches(lacking, _size))

    def _compared(
        self, peer: str, ranges: Iterable[Range], removed: bytes, heads: bytes
    ) -> Iterator[ExchangeMessage]:
        view = self._view(peer)
        parts: list[Range] = []
        wanted: list[DotRun] = []
        lacking: list[DotRun] = []
        for each in ranges:
            mine = view.within(each.low, each.high)
            if isinstance(each.seen, bytes):
                if fingerprint(mine) != each.seen:
                    parts += _parts(each.low, each.high, mine)
                elif each.low == FIRST and each.high is None:
                    differing: list[ExchangeMessage] = []
                    if self._differ(peer, "removals", self._removals(), removed):
                        whole = self._side.ledger.struck.within(FIRST, None)
                        differing.append(Removed(tuple(_parts(FIRST, None, whole))))
                    mine_too = self._side.heads()
                    if heads and mine_too and self._differ(peer, "heads", mine_too, heads):
                        differing += self._side.newest_heads(answer=True)
                    if not differing:
                        self._side.level_with(peer)
                    yield from differing or (Same(each.seen),)
                continue
            here, theirs = Dots(mine), Dots(each.seen)
            fewer, missing = here - theirs, list(theirs - here)
            lacking += fewer
            if peer in self._gone:
                self._gone[peer] -= fewer
            beyond = [run for run in missing if run.stream == self._side.stream]
            if self._side.signs or self._mine(peer, [Dot(*run.stream, run.end - 1) for run in beyond]):
                wanted += missing
            else:
                wanted += [run for run in missing if run not in beyond]
        yield from (Want(tuple(some)) for some in self._batches(wanted, lambda run: RUN_BYTES))
        yield from self._supplied(lacking)
        yield from (Compare(tuple(some)) for some in self._batches(parts, _size))

    def _removals(self) -> bytes:
        """The fingerprint of all dots that are known to be removed."""
        struck = self._side.ledger.struck
        return fingerprint(struck) if struck else NONE_REMOVED

    def _differ(self, peer: str, what: str, mine: bytes, theirs: bytes) -> bool:
        """Whether what a peer knows to be removed, or of heads, is to be compared with what is known here.

        What one of them has never seen it does not strike: so what is different after some tries may stay so.
        """
        pair = (mine, theirs)
        before, tries = self._tried.get((peer, what), (pair, 0))
        tries = tries + 1 if before == pair else 1
        self._tried[peer, what] = (pair, tries)
        return mine != theirs and (tries <= TRIES or tries % AGAIN == 0)

    def _supplied(self, runs: Iterable[DotRun]) -> Iterator[ExchangeMessage]:
        wanted = Dots(runs)
        found = self._side.held_of(wanted)
        if self._side.signs:
            yield from self._side.supplies(found, self._largest, wanted)
        else:
            for some in self._batches([evolutions.encode(each) for each in found], len):
                yield Supply(tuple(some))
        if len(found) == wanted.count:
            return
        here = wanted - (wanted - self._side.seen())
        gone = here - Dots(e.dot.run for e in found)
        yield from (Gone(tuple(some)) for some in self._batches(list(gone), lambda run: RUN_BYTES))

    def _take(self, peer: str, contents: Iterable[bytes]) -> None:
        found = []
        own = self._side.stream[0]
        for evolution in self.readable(peer, contents):
            fault = self._side.ledger.fault_in(evolution)
            if fault is not None:
                self.blamed.append((peer, fault))
            elif not self.keeps(peer, evolution):
                continue
            elif (type(evolution) is Append and evolution.dot.replica != own) or self._mine(
                peer, self._side.unknown_own(evolution)
            ):
                found.append(evolution)
        if self.heard is not None:
            self.heard(peer, [evolution.dot for evolution in found])
        self._side.take(found)

    def _mine(self, peer: str, unknown: list[Dot]) -> bool:
        """Whether what a peer says can be taken, which knows dots of this replica that it does not know."""
        if not unknown or self._side.diverged(peer, max(unknown)):
            return True
        self.doubted.append((peer, f"knows {max(unknown)}, which this replica does not"))
        return False

    def _view(self, peer: str) -> Dots:
        """What counts as seen between this replica and a peer.

        What the peer does not hold any more is asked for all the same, with the first part behind it, where
        something waits to be linked to what is before: the hashes of it come with that part.
        """
        gone = self._gone.get(peer)
        proved = self._side.proved()
        if not gone:
            return proved
        view = proved | gone
        for between, behind in self._side.unlinked():
            view -= Dots([between] if Dots([between]) - gone else [between, behind])
        return view

    def _batches(self, members: list[Item], size: Callable[[Item], int]) -> Iterator[list[Item]]:
        some: list[Item] = []
        total = 0
        for member in members:
            if some and total + size(member) > self._largest:
                yield some
                some, total = [], 0
            some.append(member)
            total += size(member)
        if some:
            yield some


def _parts(low: Dot, high: Dot | None, mine: list[DotRun]) -> list[Range]:
    """A range as it is, or in parts that begin where runs do."""
    if len(mine) <= LEAF:
        return [Range(low, high, tuple(mine))]
    width = -(-len(mine) // PARTS)
    starts = [Dot(*mine[at][:3]) for at in range(width, len(mine), width)]
    bounds = [low, *starts, high]
    found = []
    for at, begin in enumerate(bounds[:-1]):
        assert begin is not None
        some = mine[at * width : (at + 1) * width]
        found.append(Range(begin, bounds[at + 1], fingerprint(some)))
    return found


def _size(part: Range) -> int:
    return RUN_BYTES * 2 + (0 if isinstance(part.seen, bytes) else RUN_BYTES * len(part.seen))
