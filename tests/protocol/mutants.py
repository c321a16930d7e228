"""Small faults, one at a time, in the protocols: each must be noticed by the tests.

A mutant is a file and replacements in it. What is left out of an algorithm, or put back as the paper prints
it, carries the number of its erratum.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A name, files (of `microcosm/protocol`, or models beside the tests), what to replace by what there, and
    the tests that notice.

    Each replacement is for the one of the files that has that text.
    """

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    tests: str = "hybrid/test_hybrid.py test_delivery.py"


def m(
    name: str, file: str, *changes: tuple[str, str], tests: str = "hybrid/test_hybrid.py test_delivery.py"
) -> Mutant:
    return Mutant(name, file, changes, tests)


DEPENDENCIES = "hybrid/test_dependencies.py"
COMPARATORS = "test_comparators.py test_delivery.py"

MUTANTS = [
    m(
        "E1 ids from 0",
        "hybrid/unicast.py",
        ("self._clock = 1 ", "self._clock = 0 "),
        ("SlidingArray[M](1)", "SlidingArray[M]()"),
    ),
    m("E2 the wrong id in an ack", "hybrid/common.py", ("Ack(message.mid)", "Ack(last)")),
    m(
        "E3 u2 not maintained",
        "hybrid/unicast.py",
        ("if self._u2 == at and buffer.peek.receiver == copy.receiver:", "if False:"),
    ),
    m(
        "E4 m2 not maintained",
        "hybrid/unicast.py",
        ("if self._m2 == at and copy.waits <= self._p2:", "if False:"),
    ),
    m(
        "E4 m2 only clamped",
        "hybrid/unicast.py",
        ("if self._m2 == at and copy.waits <= self._p2:", "if False:"),
        ("start = self._m2\n", "start = self._m2 = max(self._m2, self._buffer.first)\n"),
    ),
    m(
        "E5 the first permit twice",
        "hybrid/unicast.py",
        (
            "            mid = buffer.first\n",
            "            mid = buffer.first\n"
            "            if len(buffer) and buffer.peek.permit and buffer.peek.receiver != sender:\n"
            "                self._emit(buffer.peek.receiver, Permit(mid))\n",
        ),
    ),
    m("E6 messages to oneself travel", "machine.py", ("mine = self.me in receivers", "mine = False")),
    m(
        "E7 an early permit is dropped",
        "hybrid/common.py",
        ("if next_one.permit and last > self._permitted.get(sender, 0):", "if next_one.permit:"),
    ),
    m(
        "E8 an empty payload counts as acknowledged",
        "hybrid/common.py",
        (
            "        if self.sent and not self.acked:\n",
            "        if self.sent and self.payload is not None:\n",
        ),
    ),
    m(
        "E9 one field for index and flag",
        "hybrid/unicast.py",
        ("        copy.permit = self._u2", "        copy.permit = copy.waits = self._u2"),
    ),
    m(
        "E10 one predecessor for all",
        "hybrid/common.py",
        (
            "pids = [self._last_sent.get(j, 0) for j in to]",
            "pids = [max(self._last_sent.get(j, 0) for j in to)] * len(to)",
        ),
    ),
    m("E11 nobody is a receiver", "machine.py", ("if not receivers:", "if False:")),
    m("E12 an ack of a stranger", "hybrid/unicast.py", ("if message.receiver != sender:", "if False:")),
    m(
        "E12 an ack of what was not sent",
        "hybrid/unicast.py",
        ("if message.receiver != sender or not message.sent:", "if message.receiver != sender:"),
    ),
    m(
        "E13 absurd permits",
        "hybrid/common.py",
        ("if mid > self._delivered.get(sender, 0) + self.window:", "if False:"),
    ),
    m("E13 absurd acks", "hybrid/common.py", ("if mid >= window.next:", "if False:")),
    m("E14 no window", "hybrid/common.py", ("if len(held) >= self.window and", "if False and")),
    m(
        "the window refuses what all wait for",
        "hybrid/common.py",
        ("and message.pid != last and message.pid not in held", "and message.pid not in held"),
    ),
    m(
        "flag after add",
        "hybrid/unicast.py",
        ("            message.permit = unacked.first < unacked.next  # before it is added itself\n", ""),
        (
            "            unacked.add(message)\n",
            "            unacked.add(message)\n            message.permit = len(unacked) > 0\n",
        ),
    ),
    m(
        "loops not nested",
        "hybrid/unicast.py",
        (
            "            unacked.remove()\n            while unacked.first < unacked.next:",
            "            unacked.remove()\n        if True:\n            while unacked.first < unacked.next:",
        ),
    ),
    m(
        "never flag",
        "hybrid/unicast.py",
        ("message.permit = unacked.first < unacked.next ", "message.permit = False "),
    ),
    m(
        "permit after deliver",
        "hybrid/common.py",
        (
            "            if next_one.permit and last > self._permitted.get(sender, 0):\n"
            "                self._await_permit(sender, next_one)\n",
            "",
        ),
        (
            "            self._emit(sender, Ack(last))  # after",
            "            if next_one.permit and last > self._permitted.get(sender, 0):\n"
            "                self._await_permit(sender, next_one)\n"
            "            self._emit(sender, Ack(last))  # after",
        ),
    ),
    m(
        "ack on receive",
        "hybrid/common.py",
        (
            "        held[message.pid] = message\n",
            "        held[message.pid] = message\n        self._emit(sender, Ack(message.mid))\n",
        ),
    ),
    m(
        "line 31 strict",
        "hybrid/unicast.py",
        ("self._missing.first >= waiting[0].waits", "self._missing.first > waiting[0].waits"),
    ),
    m("line 45 strict", "hybrid/common.py", ("if message.mid <= last:", "if message.mid < last:")),
    m("line 58 not strict", "hybrid/common.py", ("if mid < window.first:", "if mid <= window.first:")),
    m(
        "A3 without |J| > 1",
        "hybrid/multicast.py",
        ("len(self._unacked) > 0 or len(message.pids) > 1", "len(self._unacked) > 0"),
    ),
    m(
        "section 5.7: two missing acks are enough",
        "hybrid/multicast.py",
        ("message.permit and len(left) <= 1:", "message.permit and len(left) <= 2:"),
    ),
    m(
        "section 5.7: a single missing ack makes no difference",
        "hybrid/multicast.py",
        ("message.permit and len(left) <= 1:", "message.permit and not left:"),
    ),
    m(
        "section 5.7: the permit comes twice",
        "hybrid/multicast.py",
        ("if receiver != permitted:", "if True:"),
    ),
    m(
        "permits that count twice",
        "hybrid/unicast.py",
        (
            "self._missing.remove((sender, mid))",
            "self._missing.remove(next(iter(self._missing), (sender, mid)))",
        ),
    ),
    m(
        "SPS multicast: own copies not in the flag",
        "hybrid/multicast.py",
        (
            "self._u2 >= copy.group.end and",
            "self._u2 >= copy.group.start and",
        ),
    ),
    m(
        "SPS multicast: own copies not in the permit",
        "hybrid/multicast.py",
        ("groups.peek.end <= buffer.first:", "groups.peek.start < buffer.first:"),
    ),
    m(
        "SPS: p2 not maintained",
        "hybrid/unicast.py",
        ("if self._p2 == at and self._sender_of(missing.first) == sender:", "if False:"),
    ),
    m(
        "SPS: waits for nothing of the first sender's",
        "hybrid/unicast.py",
        (
            "(copy.waits <= first or copy.receiver == asker)",
            "(copy.waits <= first + 1 or copy.receiver == asker)",
        ),
    ),
    m(
        "SPS: looks beyond the second asker's permit",
        "hybrid/unicast.py",
        ("buffer[at].waits <= end", "True"),
        tests="hybrid/test_hybrid.py",
    ),
    m(
        "SPS: looks one permit too far",
        "hybrid/unicast.py",
        ("buffer[at].waits <= end", "buffer[at].waits <= end + 1"),
        tests="hybrid/test_hybrid.py",
    ),
    m(
        "SPS: stops one permit too early",
        "hybrid/unicast.py",
        ("buffer[at].waits <= end", "buffer[at].waits < end"),
        tests="hybrid/test_hybrid.py",
    ),
    m(
        "E13 a predecessor older than the last delivery",
        "hybrid/common.py",
        ("if message.pid < last:", "if False:"),
        tests="hybrid/test_hybrid.py",
    ),
    m(
        "a predecessor that was delivered last is refused",
        "hybrid/common.py",
        ("if message.pid < last:", "if message.pid <= last:"),
        tests="hybrid/test_hybrid.py",
    ),
    m(
        "a multicast's own copies are not disclosed",
        "disclosure.py",
        ("            if self._machine.MULTICAST:\n", "            if False:\n"),
        tests="test_disclosure.py",
    ),
    m(
        "a unicast has other copies",
        "disclosure.py",
        ("            if self._machine.MULTICAST:\n", "            if True:\n"),
        tests="test_disclosure.py",
    ),
    m(
        "Newtop: equal clocks refute nothing",
        "disclosure.py",
        ("if _clock(earlier) <= _clock(packet):", "if _clock(earlier) < _clock(packet):"),
        tests="test_disclosure.py",
    ),
    m(
        "dependencies: the receiver does not wait",
        "hybrid/dependencies.py",
        ("if d == self.me and self._delivered.get(s, 0) < n:", "if False:"),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: a permit waits for acks only",
        "hybrid/dependencies.py",
        (
            "            if self._missing.first < message.waits:\n                return\n",
            "",
        ),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: what was not said is nothing",
        "hybrid/dependencies.py",
        (
            "            if carried is None:\n                return None\n"
            "            for s, d, mid in carried:",
            "            for s, d, mid in carried or ():",
        ),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: none of one's own",
        "hybrid/dependencies.py",
        ("for d, mid in self._open.items() if d != message.receiver}", "for d, mid in ()}"),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: of what came after the causal send too",
        "hybrid/dependencies.py",
        ("(self._missing.index(key) or 0) >= message.waits", "False"),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: one more than the budget",
        "hybrid/dependencies.py",
        ("return None if len(needs) > budget else", "return None if len(needs) > budget + 1 else"),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: nobody tries again after an ack",
        "hybrid/dependencies.py",
        ("        self._try_send()  # there is less to be named\n", ""),
        tests=DEPENDENCIES,
    ),
    m(
        "dependencies: nobody tries again what was held back for another sender",
        "hybrid/dependencies.py",
        ("ready += sorted(self._blocked.pop(sender, ()))", "self._blocked.pop(sender, ())"),
        tests=DEPENDENCIES,
    ),
    m(
        "KS without purge",
        "comparators.py",
        ("if left or key[1] == newest[key[0]]}", "if left or newest}"),
        tests=COMPARATORS,
    ),
    m(
        "KS without merge",
        "comparators.py",
        ("self._log = _purged(_merged(mine, carried))", "self._log = _purged(carried)"),
        tests=COMPARATORS,
    ),
    m(
        "RST increments before it copies",
        "comparators.py",
        (
            "        packet = MatrixStamped(tuple(self._sent), to, payload)  # before the increment\n",
            "        self._sent[self.me] = self._raised(self._sent[self.me], to)\n"
            "        packet = MatrixStamped(tuple(self._sent), to, payload)\n",
        ),
        tests=COMPARATORS,
    ),
    m(
        "Newtop without nulls",
        "comparators.py",
        ("if self._announced < self._wanted:", "if False:"),
        tests=COMPARATORS,
    ),
    m(
        "Cykas as described",
        "comparators.py",
        ("self._untold[0][0] < oldest:", "self._untold[0][0] <= oldest:"),
        tests=COMPARATORS,
    ),
    m(
        "P1 without the past of what is received",
        "monitor_model.py",
        ("self.g[j.receiver] |= {j} | self.c[j]", "self.g[j.receiver] |= {j}"),
        tests="test_monitor_model.py",
    ),
    m(
        "P3 counts what does not go to the monitor",
        "monitor_model.py",
        (
            "        if j.receiver == self.monitor:\n            self.f[j.sender] |= {j}",
            "        self.f[j.sender] |= {j}",
        ),
        tests="test_monitor_model.py",
    ),
    m(
        "section 6 adds instead of taking the maximum",
        "monitor_model.py",
        ("list(map(max, self.f[p], self.e[j]))", "list(map(int.__add__, self.f[p], self.e[j]))"),
        tests="test_monitor_model.py",
    ),
    m(
        "the monitor's guard is strict",
        "monitor_model.py",
        ("all(map(int.__le__, self.e[j], self.k))", "all(map(int.__lt__, self.e[j], self.k))"),
        tests="test_monitor_model.py",
    ),
    m(
        "migration: nothing is held",
        "tree_dynamic.py",
        (
            "elif arrived is not None and sender != arrived.behind and packet.origin != packet.to:",
            "elif False:",
        ),
        tests="tree/test_migration.py",
    ),
    m(
        "migration: what comes from behind is held too",
        "tree_dynamic.py",
        ("sender != arrived.behind and packet.origin", "packet.origin"),
        tests="tree/test_migration.py",
    ),
    m(
        "migration: it goes on before the way behind it is empty",
        "tree_dynamic.py",
        (
            "            self._emit(sender, Migration(_FLUSH, actor, goal))",
            "            self._rest(actor, self._arrived[actor])",
        ),
        tests="tree/test_migration.py",
    ),
    m(
        "migration: what was held comes in the wrong order",
        "tree_dynamic.py",
        ("arrived.held.pop(0)", "arrived.held.pop()"),
        tests="tree/test_migration.py",
    ),
    m(
        "snapshot: the link of the first marker stays open",
        "tree_static.py",
        (
            "            part = self._record(marker)\n        if",
            "            self._record(marker)\n            return None\n        if",
        ),
        tests="tree/test_snapshot.py",
    ),
    m(
        "snapshot: links are not recorded",
        "tree_static.py",
        ("part.links[sender].append(packet)", "pass"),
        tests="tree/test_snapshot.py",
    ),
    m(
        "snapshot: links are recorded beyond the marker",
        "tree_static.py",
        ("            if sender in part.open:\n", "            if True:\n"),
        tests="tree/test_snapshot.py",
    ),
    m(
        "snapshot: only who begins records its state",
        "tree_static.py",
        (
            "        part = Snapshot(state,",
            "        state = state if marker.origin == self.me else -1\n        part = Snapshot(state,",
        ),
        tests="tree/test_snapshot.py",
    ),
    m(
        "M-Route without its premise",
        "tree/model.py",
        ("if mail.to != a or (not premise and way in edge):", "if way in edge:"),
        tests="tree/test_model.py",
    ),
]
