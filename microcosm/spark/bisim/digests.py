"""The digests of many plain microcosms at once, column by column.

Most of a table are plain and small, and then objects for events and facts take longer than all the rest. Here
the names of a batch are numbers, the pasts of all its events are one array of 64-bit rows, and one round of
array operations closes all microcosms a step further. What has more than 64 events or may be a fault has no
digest here, and is left to the code for one row. No Spark here.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.compare.digest import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDEST = 64
"""Events of a microcosm, at most: a row of bits is one number."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What microcosms give: facts and internal chains, in arrays over all of them.

    `names` are sorted by code points; `fit` are the rows that are given here as a whole. A fact has its row
    (`owner`), two names and whether it is `before`, else `||`; a member of a chain has its row (`inner`) and
    name, and the members of a chain are together and in its order.
    """

    fit: Any
    names: Sequence[str]
    owner: Any
    left: Any
    before: Any
    right: Any
    inner: Any
    member: Any


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of a batch, those of a row together and by name: row, name and place in its row of each."""

    row: Any
    name: Any
    place: Any
    first: Any
    count: Any


def digests(given: Relations) -> list[str | None]:
    """The digest of each row; None where none is known here.

    Cost: some sorting, and a few array operations for each step of the longest chain.
    """
    fit, width, rows = given.fit.copy(), max(1, len(given.names)), len(given.fit)
    owner, a, b, before = given.owner, given.left, given.right, given.before
    row, member = given.inner, given.member
    if given.names and not given.names[0]:  # no event is nameless
        for places, used in ((owner, a), (owner, b), (row, member)):
            fit[places[used == 0]] = False
    fit[owner[a == b]] = False  # nothing is related to itself
    # The internal chain: consecutive ones are ordered; one that is alone is in no relation.
    next_ = row[1:] == row[:-1]
    together = np.zeros(len(row), dtype=bool)
    together[1:] |= next_
    together[:-1] |= next_
    keys = [owner * width + a, owner * width + b, (row * width + member)[together]]
    chained = np.sort(keys[2])
    fit[chained[1:][chained[1:] == chained[:-1]] // width] = False
    events, place_of = _numbered(np.concatenate(keys), rows, width)
    fit &= events.count <= WIDEST
    facts = len(a)
    one, other = place_of[:facts], place_of[facts : 2 * facts]
    inner = place_of[2 * facts :]
    of_inner = row[together]
    follows = of_inner[1:] == of_inner[:-1]
    source = np.concatenate((one[before], inner[:-1][follows]))
    target = np.concatenate((other[before], inner[1:][follows]))
    bit = np.left_shift(np.uint64(1), np.minimum(events.place, WIDEST - 1).astype(np.uint64))
    fit_edge = fit[events.row[source]]
    past = _closed(source[fit_edge], target[fit_edge], bit, events.row)
    apart = ~before
    sides = (np.concatenate((one[apart], other[apart])), np.concatenate((other[apart], one[apart])))
    concurrent = np.zeros(len(bit), dtype=np.uint64)
    np.bitwise_or.at(concurrent, sides[0], bit[sides[1]])
    clash = (past & (bit | concurrent)) != 0
    fit[events.row[clash]] = False
    return _hashed(fit, events, given.names, past, concurrent)


def _numbered(keys: Any, rows: int, width: int) -> tuple[_Events, Any]:
    """The events that keys `row * width + name` mean; and which one each key is."""
    if rows * width <= 8 * len(keys) + 1024:  # a table of all that could be
        there = np.zeros(rows * width, dtype=bool)
        there[keys] = True
        found = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        which = number[keys]
    else:
        found, which = np.unique(keys, return_inverse=True)
    row, name = np.divmod(found, width)
    count = np.bincount(row, minlength=rows)
    first = np.cumsum(count) - count
    return _Events(row, name, np.arange(len(found)) - first[row], first, count), which


def _closed(source: Any, target: Any, bit: Any, row: Any) -> Any:
    """The events before each, as bits; those on cycles are before themselves."""
    past = np.zeros(len(bit), dtype=np.uint64)
    order = np.argsort(target, kind="stable")
    source, target, of = source[order], target[order], row[target[order]]
    while len(source):
        starts = np.flatnonzero(np.concatenate(([True], target[1:] != target[:-1])))
        ends = target[starts]
        known = past[ends]
        found = np.bitwise_or.reduceat(past[source] | bit[source], starts) | known
        past[ends] = found
        changed = np.zeros(int(row[-1]) + 1, dtype=bool)
        changed[of[starts][found != known]] = True
        left = np.flatnonzero(changed[of])
        source, target, of = source[left], target[left], of[left]
    return past


def _hashed(fit: Any, events: _Events, names: Sequence[str], past: Any, concurrent: Any) -> list[str | None]:
    """SHA-256 of what `microcosm.compare.digest.analogy_digest` says."""
    written = [len(name.encode()).to_bytes(8, "little") + name.encode() for name in names]
    spelled = list(map(written.__getitem__, events.name.tolist()))
    found: list[str | None] = [None] * len(fit)
    chosen = np.flatnonzero(fit)
    widths = events.count[chosen] + 7 >> 3
    for width in np.unique(widths).tolist():
        before, apart = (
            np.ascontiguousarray(rows).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()
            for rows in (past, concurrent)
        )
        some = chosen[widths == width]
        firsts, counts = events.first[some].tolist(), events.count[some].tolist()
        for at, first, count in zip(some.tolist(), firsts, counts, strict=True):
            end = first + count
            part = slice(first * width, end * width)
            parts = (VERSION, count.to_bytes(8, "little"), *spelled[first:end])
            known = (before[part], apart[part], bytes(count * width))
            found[at] = sha256(b"".join(parts + known)).hexdigest()
    return found
