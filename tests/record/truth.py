"""What truly came before what: kept by a test beside the recorders, and closed without the package."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm
from microcosm.traces.reading import read
from microcosm.traces.report import Report


class Truth:
    """Events in the order in which they truly happened, each with the chain it is of and what it is told by.

    An event is a label. It comes after the one before it in its chain, and after those it `hears`.
    """

    def __init__(self) -> None:
        self.before: dict[str, set[str]] = {}
        self._last: dict[str, str] = {}

    def add(self, chain: str, label: str, hears: Iterable[str] = ()) -> None:
        """One more event."""
        direct = [*hears, *([self._last[chain]] if chain in self._last else [])]
        self.before[label] = set(direct).union(*(self.before[each] for each in direct if each in self.before))
        self._last[chain] = label

    def check(self, *logs: Path) -> tuple[int, int, int]:
        """Assert that nothing false is read from logs; how many orders were read, are true, are in the logs.

        Events that are not in the logs may be missing in what is read, and in nothing else.
        """
        names = labels(logs)
        known = Microcosm.from_trace(*logs)
        found = true = 0
        present = set(known.events)
        named = {label: name for label, name in names.items() if name in present}
        for left, right in combinations(sorted(names), 2):
            verdict = known.online(names[left], names[right]) if {left, right} <= named.keys() else None
            if verdict is Relation.BEFORE:
                assert left in self.before[right], (left, right)
            elif verdict is Relation.AFTER:
                assert right in self.before[left], (left, right)
            ordered = left in self.before[right] or right in self.before[left]
            assert not (ordered and verdict is Relation.CONCURRENT), (left, right)
            found += verdict in (Relation.BEFORE, Relation.AFTER)
            true += ordered
        return found, true, len(names)


def labels(logs: Iterable[Path]) -> dict[str, str]:
    """By their labels, what the events in logs are called when all are read together."""
    return {str(each.label): each.id for each in read(logs, report=Report())}


def truth_of(path: Path) -> Truth:
    """What several processes wrote under a lock: a line an event, with its chain and the message it hears."""
    truth, sent = Truth(), defaultdict[str, str](str)
    for line in path.read_text(encoding="utf-8").splitlines():
        chain, label, kind, message = json.loads(line)
        truth.add(chain, label, [sent[message]] if kind == "receive" and message in sent else [])
        if kind == "send":
            sent[message] = label
    return truth
