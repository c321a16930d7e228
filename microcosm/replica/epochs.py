"""When a replica may be an older copy of itself: its dots are of another incarnation from then on.

No dot may name two things. Who hears that a member knows more of this replica than itself, or something else,
cannot tell whether its journal was put back, another process runs one, or somebody invents; so it goes on in
a way that is right in each case, and notes that it did.
"""

from __future__ import annotations

import json
from dataclasses import replace
from secrets import randbits
from typing import Any

from msgpack import packb

from microcosm.replica.core import DIVERGED, Core
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dot, DotRun
from microcosm.replica.view import LedgerView

DISPUTED = "disputed"
"""Of the note that has evolutions of a replica that were taken out, until they are said again."""

AFTER = "after"
"""Of the note that has the last event before dots were of another incarnation, until the next one."""

MOST_DIVERGENCES = 16


class Epochs(Core):
    """A replica that may begin anew."""

    def begin_anew(self, peer: str, dot: Dot) -> None:
        """Give dots another incarnation from now on, because a peer knows one that this replica does not.

        The members know it as before: only `renew` makes it another one for them.
        """
        last = self._state.ledger.seen.last(self.stream)
        with self.transaction():
            self._new_epoch()
            self._note_divergence({"member": peer, "dot": list(dot), "last": last})
        self._view = LedgerView(self._state.ledger, self.stream, self._rules)

    def _new_epoch(self) -> None:
        """Dots are of another incarnation from now on.

        Those that no member is known to have may name two things. So these are taken out, and said again
        under the new one once a member has brought what it knows of the old one (`_say_again`), if it did not
        bring the same.
        """
        ledger, (name, incarnation) = self._state.ledger, self.stream
        first = self._state.confirmed.get(incarnation, 0) + 1
        run = DotRun(name, incarnation, first, ledger.seen.last(self.stream) + 1)
        if run.first < run.end:
            own = [ledger.held[dot] for dot in sorted(ledger.held) if dot.stream == self.stream]
            said = [evolutions.encode(each) for each in own if each.dot.number >= first]
            self._write(DISPUTED, packb([*self._disputed(), *said]))
            self._write("disown", packb(list(run)))
        last = ledger.chain((name, incarnation))
        if last:
            self._write(AFTER, last[-1].encode())
        self._begin(replace(self.identity, incarnation=randbits(32) | 1, known_as=self.known_as))

    def _disputed(self) -> list[bytes]:
        found = self.noted(DISPUTED)
        return list(evolutions.read(found)) if found else []

    def _confirm(self) -> None:
        """A member has all that is held here: so its dots are these. Kept with the next commit."""
        own = self.stream
        self._confirmed = (own[1], self._state.ledger.seen.last(own))

    def keep_confirmed(self) -> None:
        """Remember now, and not with the next commit, what a member is known to have of this replica."""
        confirmed, self._confirmed = self._confirmed, None
        if confirmed is not None and self._state.confirmed.get(confirmed[0]) != confirmed[1]:
            with self.transaction():
                self._write("confirmed", packb(confirmed))

    def note_divergence(self, peer: str, why: str, mine: bool) -> None:
        """A member and this replica do not agree on what they told each other; `mine`: this one forgot."""
        said = {"member": peer, "why": why, "mine": mine}
        if said not in self.divergences:
            with self.transaction():
                if mine:
                    self._new_epoch()
                self._note_divergence(said)
            self._view = LedgerView(self._state.ledger, self.stream, self._rules)

    def settle_divergences(self, peer: str, *, mine: bool = True) -> None:
        """What there was to do about a member has been done.

        `mine`: also what says that this replica has forgotten something. Who replaces a member has not done
        anything about that; who evicts one that says so does not believe it.
        """
        left = [
            found
            for found in self.divergences
            if found["member"] != peer or (not mine and (found.get("mine") or "dot" in found))
        ]
        if left != self.divergences:
            self.note(DIVERGED, json.dumps(left).encode())

    def _note_divergence(self, said: dict[str, Any]) -> None:
        found = self.divergences
        if "fork" in said:  # one that is known better now
            found = [each for each in found if each.get("fork", [])[:2] != said["fork"][:2]]
        self._write(DIVERGED, json.dumps([*found, said][-MOST_DIVERGENCES:]).encode())

    @property
    def divergences(self) -> list[dict[str, Any]]:
        """When a member and this replica did not agree what had happened, the latest last.

        `member`, and `dot` and `last` where it knew a dot of this replica, which was not so far; or `why` and
        `mine` where they do not remember the same of their messages.
        """
        found: list[dict[str, Any]] = json.loads(self.noted(DIVERGED) or b"[]")
        return found
