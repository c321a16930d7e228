"""What always holds of the parts of a replica: asserted of any of them, whatever was done to it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import pairwise

from microcosm.replica.journal import Journal
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import disagreement
from microcosm.replica.journal.files import DISK
from microcosm.replica.ledger.dots import Dots
from microcosm.replica.ledger.evolution import Add, Forget, NewerEvolution
from microcosm.replica.ledger.ledger import Ledger
from microcosm.replica.network.process import Fence, Membership, Process, _cost
from microcosm.replica.network.wire import Assembly, _size


def check(part: Journal | Ledger | Dots | Process | Assembly) -> None:
    """Assert every invariant of a part."""
    match part:
        case Journal():
            _check_journal(part)
        case Ledger():
            _check_ledger(part)
        case Dots():
            for bounds in part._bounds.values():
                assert bounds
                assert len(bounds) % 2 == 0
                assert all(a < b for a, b in pairwise(bounds))
        case Process():
            _check_membership(part.membership)
            part.machine._check()
            assert part._unfinished == {sender: _cost(begun) for sender, begun in part._parts.items()}
        case Assembly():
            assert part.size == sum(map(_size, part._unfinished.values())) <= part._most


def _check_journal(journal: Journal) -> None:
    """What is in memory, in the tables and in the head file is the same."""
    files, writer = journal._files, journal._writer
    with journal._turn, closing(DISK.connect(files.database, "ro")) as connection:
        about = journal_schema.identify(connection, files.database, None)
        state, head = journal_schema.look(connection, about), journal_files.read(files.head)
        assert state == writer.state
        assert head is not None
        assert disagreement(connection, state, head) is None
        assert head.mode != "full" or replace(head, turn=head.turn + 1) == writer.head()


def _check_membership(kept: Membership) -> None:
    named = {m.number: name for name, m in kept.named.items()}
    assert {m.number: m.name for m in kept.members.values()} == named
    assert all(number < kept.next for number in kept.members)
    for member in kept.members.values():
        assert member.confirmed <= kept.fences.keys()
        assert member.incarnation is None or Fence(member.name, member.incarnation) not in kept.fences


def _check_ledger(ledger: Ledger) -> None:
    check(ledger.seen)
    assert all(dot in ledger.seen for dot in ledger.held)
    newer = {dot for dot, held in ledger.held.items() if isinstance(held, NewerEvolution)}
    assert newer == {*ledger.newer}
    assert ledger.newer_bytes == sum(ledger.newer.values())
    given = {dot: key for key, dots in ledger.facts.items() for dot in dots}
    for dot, key in given.items():
        held = ledger.held[dot]
        assert isinstance(held, Add)
        assert held.fact.key() == key
    for dot, held in ledger.held.items():
        assert not isinstance(held, Add) or dot in given or dot in ledger.struck
        assert not isinstance(held, Forget) or ledger.theirs[dot.replica] is held
    assert all(ledger.held.get(forget.dot) is forget for forget in ledger.theirs.values())
    for stream, numbers in ledger.numbers.items():
        assert numbers == sorted(ledger.chains[stream]) != []
    for event, places in ledger.places.items():
        assert places
        assert all(ledger.chains[place.stream][place.number] == event for place in places)
    for event, keys in ledger.naming.items():
        assert keys == {key for key in ledger.facts if event in (key[0], key[2])}
