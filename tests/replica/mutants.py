"""Small faults in durable delivery, one at a time: each must be noticed by the tests it names."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A name, a file below `microcosm`, what to replace by what there, and the tests that notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str


SIMULATION = "test_simulation.py"
SECURITY = "test_security.py"
EXPLORE = "test_explore.py"

MUTANTS = [
    Mutant(
        "waits for an evicted process are dropped before the others fence it",
        "replica/membership.py",
        "return member is not None and len(member.confirmed) == len(self.fences)",
        "return member is not None",
        EXPLORE,
    ),
    Mutant(
        "the evicted one is still listened to",
        "replica/process.py",
        "            membership.drop(member.number)\n",
        "",
        EXPLORE,
    ),
    Mutant(
        "acks leave before the commit",
        "replica/durable.py",
        "        if (self._pending or self._effects) and (self._sends or self._urgent):\n",
        "        leaving, self._sends = self._sends, []\n"
        "        if leaving:\n"
        "            return leaving\n"
        "        if self._pending or self._effects:\n",
        SIMULATION,
    ),
    Mutant(
        "effects in a transaction of their own",
        "replica/durable.py",
        "            self._store.commit(records)\n",
        "            self._store.commit(records[-1:])\n            self._store.commit(records[:-1])\n",
        SIMULATION,
    ),
    Mutant(
        "what a process heard is not written down",
        "replica/durable.py",
        "        self._pending.append(step)\n",
        "        if step[0] != MESSAGE:\n            self._pending.append(step)\n",
        SIMULATION,
    ),
    Mutant(
        "a restart is not counted",
        "replica/process.py",
        "            self.boot += 1\n",
        "            self.boot = 1\n",
        f"{SECURITY} {SIMULATION}",
    ),
    Mutant(
        "a counter is marked before the packet proved genuine",
        "replica/endpoint.py",
        "        content = unsealed(",
        "        if session is not None and current and not session.window.fresh(header.counter):\n"
        "            return REPLAYED\n"
        "        content = unsealed(",
        SECURITY,
    ),
    Mutant(
        "recordings of greetings are believed",
        "replica/endpoint.py",
        "fresh = (greeting.echo_incarnation, greeting.echo_boot) == (me.incarnation, me.boot)",
        "fresh = True",
        SECURITY,
    ),
    Mutant(
        "the destination is not part of what is sealed",
        "replica/sealing.py",
        "for name in (sender.encode(), to.name.encode()))",
        "for name in (sender.encode(),))",
        SECURITY,
    ),
    Mutant(
        "the boot of the destination is not part of what is sealed",
        "replica/sealing.py",
        'struct.pack(">QQ", to.incarnation, to.boot)',
        'struct.pack(">QQ", to.incarnation, 0)',
        SECURITY,
    ),
    Mutant(
        "every duplicate is answered",
        "replica/peer.py",
        "            if answer in self._answered:\n",
        "            if False:\n",
        SECURITY,
    ),
    Mutant(
        "duplicates are never answered again",
        "replica/peer.py",
        "        self._answered.clear()\n",
        "        pass\n",
        SIMULATION,
    ),
    Mutant(
        "the group key opens what a pairwise key protects",
        "replica/keys.py",
        "in pairwise or possible if key.id == key_id",
        "in possible if key.id == key_id",
        SECURITY,
    ),
    Mutant(
        "the index of waiting copies is not kept up after an eviction",
        "protocol/hybrid_durable.py",
        "        if self._m2 < self._buffer.first:",
        "        if False:",
        "../protocol/test_hybrid_durable.py",
    ),
]
