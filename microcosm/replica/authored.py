"""A replica that signs what it says, and tells others what it and they have signed.

Each replica on the network has an Ed25519 key of its own. The key of another is that which its operator was
given (`trust`), or else the first one that is heard of: of the member itself before that of a third party.
What a stream says stands in segments with a signed head (`ledger.chain`), which anybody can relay and nobody
can make up. What of it is taken, and what where two heads cannot be of one chain: `admission`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from msgpack import packb

from microcosm.errors import Undefined, installing
from microcosm.replica.changes import RETURNED, Changes
from microcosm.replica.core import DIVERGED, fit
from microcosm.replica.exchange import AntiEntropy, Heads, Supply
from microcosm.replica.ledger import chain
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.chain import ForkProof, Segment
from microcosm.replica.ledger.dots import Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import Evolution
from microcosm.replica.ledger.records import PINNED

MOST_PROOFS = 32
"""So many proofs are told at most where heads are compared; another one to who has what it excludes."""

MOST_HEADS = 200
"""So many heads are in a message, which has to fit into what packets carry of one."""

RELAYED = 8
"""What is relayed ends where it was signed: so a message of it is as much larger as one's own at most."""


class Authored(Changes):
    """A replica with an author."""

    exchange: AntiEntropy

    # -- keys ----------------------------------------------------------------------------------------

    def sign(self, seed: bytes | None = None, *, unsigned: bool | None = None) -> bytes:
        """Sign from now on, with a new key or that of a seed; the public key. A second call changes nothing.

        `unsigned`: also take what nobody signed in names of which no key is known; by itself so where there
        is such in the store already, which was made before evolutions were signed. Raises `Undefined` where
        the extra `replica` is not installed. Cost: what the replica has said.
        """
        if self._state.author is None:
            if not chain.can_sign():
                raise Undefined(f"evolutions are signed by `cryptography`; `{installing('replica')}`")
            if unsigned is None:
                unsigned = any(name != self.name for name, _ in self.ledger.seen.streams())
            author = chain.author_of(seed)
            with self.transaction():
                self._write("author", packb([author.seed, author.key, unsigned]))
        assert self._state.author is not None
        return self._state.author.key

    @property
    def signs(self) -> bool:
        """Whether it signs, and takes only what is signed."""
        return self._state.author is not None

    @property
    def author_keys(self) -> dict[str, list[str]]:
        """By name: the public keys of the authors, as hexadecimal digits; its own first, then former ones."""
        found = {name: [key.hex() for key in keys] for name, keys in self._state.authors.items()}
        if self._state.author is not None:
            found[self.name] = [self._state.author.key.hex(), *found.get(self.name, ())]
        return dict(sorted(found.items()))

    def trust(self, name: str, key: str) -> None:
        """A member has this public key (hexadecimal digits), whatever others say. Raises `Undefined`.

        Several may be stated, one after another: for a member that lost its journal and has another key.
        """
        found = _key_of(key)
        if fit(name) == self.name:
            raise Undefined(f"{name} is this replica itself; its key is in its journal")
        with self.transaction():
            self._know_key(name, found, PINNED)
        self.exchange.ask_again()  # for what was not taken for want of the key

    def _know_key(self, name: str, key: bytes, rank: int) -> None:
        """An author has a key: what was proved by another one, which somebody else had told, is not."""
        state, proved = self._state, {*self._state.forks, *self.ledger.closed}
        self._write("key", packb([name, key, rank]))
        untrue = proved - {*state.forks, *self.ledger.closed}
        if untrue:
            left = [each for each in self.divergences if tuple(each.get("fork", ())[:2]) not in untrue]
            self._write(DIVERGED, json.dumps(left).encode())

    def had_key(self, key: str) -> None:
        """Before its own key this replica had this one: what it signed with it is taken. Raises `Undefined`.

        For a journal that was lost, or put back to before it had its key.
        """
        found = _key_of(key)
        if found != self._own_key:
            with self.transaction():
                self._write("key", packb([self.name, found, PINNED]))

    def is_forged(self, evolution: Evolution) -> bool:
        """Whether its author has signed something else under its dot. Cost: constant."""
        return self._state.chains.vouches(evolution.dot, evolutions.encode(evolution)) is False

    # -- proofs --------------------------------------------------------------------------------------

    @property
    def proofs(self) -> list[ForkProof]:
        """The proofs that authors have said two things, the latest last. Cost: 0.1 ms each."""
        return [chain.read_proof(content) for content in self._state.forks.values()]

    def _keep_proof(self, proof: ForkProof, *, cut: bool) -> bool:
        """Keep a proof, and say so; with `cut`, take out what is in doubt. Whether it is news."""
        stream, number, name = proof.stream, proof.number, proof.stream[0]
        ledger, known = self.ledger, self._state.forks
        if number >= ledger.closed.get(stream, number + 1) or (stream in known and not cut):
            return False
        with self.transaction():
            self._write("fork", proof.written())
            if cut:
                self._dispute(DotRun(*stream, number, ledger.seen.last(stream) + 1))
                self._write("cut", packb([*stream, number]))
            self._note_divergence({"member": name, "fork": [*stream, number]})
        return True

    def settle_divergences(self, peer: str, *, mine: bool = True) -> None:
        """What there was to do about a member has been done; what it said in two ways is taken out.

        Until then that is left as it is, for the member says it again under other dots; one that is replaced
        may never have heard that it has to. `mine`: also what says that this replica has forgotten something.
        Who replaces a member has not done anything about that; who evicts one does not believe it.
        """
        for stream, content in [*self._state.forks.items()]:
            if stream[0] == peer != self.name:
                self._keep_proof(chain.read_proof(content), cut=True)
        left = [
            found
            for found in self.divergences
            if found["member"] != peer or (not mine and (found.get("mine") or "dot" in found))
        ]
        if left != self.divergences:
            self.note(DIVERGED, json.dumps(left).encode())

    def _dispute(self, run: DotRun) -> None:
        """What this replica itself has said in doubtful numbers is said again under others.

        Not so what it has of another copy of its journal, which signed it: that may have come after or
        before, and may say it itself.
        """
        if run.replica == self.name and run.first < run.end:
            held = self.ledger.held
            returned = self._disputed(RETURNED)
            said = [held[dot] for dot in sorted(held) if dot.stream == run.stream]
            own = [each for each in said if self._is_own(each.dot) or evolutions.encode(each) in returned]
            self._keep_in_doubt(own, run.first)

    def _is_own(self, dot: Dot) -> bool:
        """Whether this journal itself has said what a dot of its name is."""
        segment = self._state.chains.of(dot)
        return segment is None or segment.signature == chain.UNSIGNED

    # -- the side of an exchange -----------------------------------------------------------------------

    def not_given_up(self, names: Collection[str]) -> set[str]:
        """Those of some names of which no incarnation was given up so far."""
        return {*names} - self._state.given_up if self.signs else set()

    def heads(self) -> bytes:
        """What stands for the newest head of each stream, and for those that are cut; empty if unsigned."""
        if not self.signs:
            return b""
        closed, chains = self.ledger.closed, self._state.chains
        ends = [[*s.stream, s.last, s.end] for s in chains.ends() if s.stream not in closed]
        cuts = []
        for stream, number in sorted(closed.items()):
            segment = chains.of(Dot(*stream, number - 1))
            cuts.append([*stream, number, None if segment is None else segment.head(number - 1)])
        return blake2b(packb([ends, cuts]), digest_size=16).digest()

    def newest_heads(self, *, answer: bool) -> Iterator[Heads]:
        """The newest head of each stream, and of those that are cut the last segment and the proofs.

        The first message has the proofs, and asks for an `answer`.
        """
        closed, chains = self.ledger.closed, self._state.chains
        newest = [
            self._part(each, each.last + 1, each.last).written()
            for each in chains.ends()
            if each.stream not in closed
        ]
        left = (chains.of(Dot(*stream, number - 1)) for stream, number in closed.items())
        newest += [self._whole(each).written() for each in left if each is not None]
        proofs = [content for stream, content in self._state.forks.items() if stream in closed]
        yield Heads(tuple(newest[:MOST_HEADS]), tuple(proofs[-MOST_PROOFS:]), answer)
        for at in range(MOST_HEADS, len(newest), MOST_HEADS):
            yield Heads(tuple(newest[at : at + MOST_HEADS]), (), answer=False)

    def supplies(
        self, found: Iterable[Evolution], largest: int, wanted: Dots | None = None
    ) -> Iterator[Supply]:
        """Evolutions that are held, in the order of their dots, with the heads that vouch for them.

        `wanted` are these and others, which are not held any more: their hashes come along, so that who has
        what was before them sees that all is of one chain.
        """
        signed: list[list[Any]] = []
        loose: list[bytes] = []
        linked: list[DotRun] = []
        size = 0
        done: dict[Stream, int] = {}
        for segment, contents in self._parts(found, largest):
            if segment is None:
                loose += contents.values()
                size += sum(map(len, contents.values()))
            else:
                last = max(contents)
                begun = self._begun(wanted, Dot(*segment.stream, min(contents)))
                first = max(begun, done.get(segment.stream, 0) + 1)
                done[segment.stream] = last
                parts = [*self._linked(segment, first, last)]
                for part in parts:
                    some = contents if part is parts[-1] else {}
                    signed.append(part.written(some))
                    size += sum(map(len, some.values())) + 26 * (part.last - part.first - len(some)) + 176
                    if first < part.first and self._state.chains.connected(segment.stream) >= part.first - 1:
                        linked.append(DotRun(*segment.stream, first, part.first))
                    first = part.last + 1
            if size > largest:
                yield self._supply(signed, loose, linked)
                signed, loose, linked, size = [], [], [], 0
        if signed or loose:
            yield self._supply(signed, loose, linked)

    def _begun(self, wanted: Dots | None, dot: Dot) -> int:
        """From where on it is to be shown that a dot is of one chain with what was before."""
        if wanted is None:
            return dot.number
        first, seen = wanted.run_at(dot).first, self.ledger.seen
        before = Dot(*dot.stream, first - 1)
        return first if before in seen else seen.end_before(before)

    def _linked(self, segment: Segment, first: int, last: int) -> Iterator[Segment]:
        """What proves the numbers up to `last` that are in a segment, and before it, as far as it is known,
        what is from `first` on; of several blocks in which nothing is held the first one only."""
        chains, number = self._state.chains, first
        while number < segment.first:
            other = chains.of(Dot(*segment.stream, number))
            if other is not None:
                yield self._part(other, number, other.last)
                number = other.last
            number += 1
            if chain.block_of(number) != chain.block_of(first):
                number = max(number, chain.block_of(segment.first) * chain.BLOCK + 1)
        yield self._part(segment, number, last)

    def _supply(self, signed: list[list[Any]], loose: list[bytes], linked: list[DotRun]) -> Supply:
        struck = self.ledger.struck
        dots = (Dot(part[0], part[1], n) for part in signed for n in range(part[2], part[2] + len(part[4])))
        removed = Dots(dot.run for dot in dots if dot in struck) if struck else ()
        return Supply(tuple(loose), tuple(signed), tuple(removed), tuple(linked))

    def _parts(
        self, found: Iterable[Evolution], largest: int
    ) -> Iterator[tuple[Segment | None, dict[int, bytes]]]:
        """Evolutions by the segments that they are in, not too many at a time."""
        chains = self._state.chains
        segment: Segment | None = None
        contents: dict[int, bytes] = {}
        size = 0
        for evolution in found:
            dot, content = evolution.dot, evolutions.encode(evolution)
            if (
                segment is None
                or segment.stream != dot.stream
                or not segment.first <= dot.number <= segment.last
            ):
                if contents:
                    yield segment, contents
                segment, contents, size = chains.of(dot), {}, 0
            if segment is None and dot in self._state.unproved:
                continue  # its author tells it with a head
            if segment is not None and segment.leaf(dot.number) != chain.leaf(content):
                continue  # somebody else has what was signed
            bound = largest if segment is None or segment.key == self._own_key else RELAYED * largest
            if contents and size + len(content) > bound:
                yield segment, contents
                contents, size = {}, 0
            contents[dot.number] = content
            size += len(content)
        if contents:
            yield segment, contents

    def _part(self, segment: Segment, first: int, last: int) -> Segment:
        author = self._state.author
        assert author is not None
        return segment.part(first, last, author.signed, author.key)

    @property
    def _own_key(self) -> bytes:
        return b"" if self._state.author is None else self._state.author.key

    def _whole(self, segment: Segment) -> Segment:
        return self._part(segment, segment.first, segment.last)


def _key_of(text: str) -> bytes:
    """A public key from its hexadecimal digits."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != chain.KEY_BYTES:
        raise Undefined(f"{text!r} is no key of an author: {2 * chain.KEY_BYTES} hexadecimal digits")
    return found
