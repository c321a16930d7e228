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


SIMULATION = "test_simulation.py -k every_commit"
SECURITY = "test_security.py -k"
EXPLORE = "test_explore.py -k in_a_row"

MUTANTS = [
    Mutant(
        "waits for an evicted process are dropped before the others fence it",
        "replica/network/process.py",
        "return member is not None and len(member.confirmed) == len(self.fences)",
        "return member is not None",
        EXPLORE,
    ),
    Mutant(
        "acks leave before the commit",
        "replica/network/write_ahead.py",
        "        if self._sends or self._urgent:\n",
        "        if not self._sends:\n",
        SIMULATION,
    ),
    Mutant(
        "packets tell of a change of members while its commit is being written",
        "replica/network/endpoint.py",
        "        if self.durable.process.evicted or self.durable.changing:\n",
        "        if self.durable.process.evicted:\n",
        "test_late_commits.py -k fence",
    ),
    Mutant(
        "acks leave while their commit is being written",
        "replica/network/endpoint.py",
        "        batch = self.durable.cut()\n",
        "        batch = self.durable.cut()\n"
        "        for number, packet in batch.sends:\n"
        "            self._peers[number].post(packet)\n",
        "test_late_commits.py -k restarts",
    ),
    Mutant(
        "who is full refuses for ever",
        "replica/network/durable.py",
        "            durable.spare = True\n",
        "            pass\n",
        "test_back_pressure.py -k three_for_each",
    ),
    Mutant(
        "a lost permit is not asked for",
        "replica/network/peer.py",
        "            self._asking = True\n",
        "            pass\n",
        "test_simulation.py -k restarts_and_partitions",
    ),
    Mutant(
        "effects in a transaction of their own",
        "replica/network/write_ahead.py",
        "            last = store.commit(self.records)\n",
        "            begins = self.records[:1] and self.records[0][0] == 'network start'\n"
        "            effects = len(self.records) if begins else -1\n"
        "            store.commit(self.records[effects:])\n"
        "            last = store.commit(self.records[:effects])\n",
        SIMULATION,
    ),
    Mutant(
        "what a process heard is not written down",
        "replica/network/durable.py",
        "        self._pending.append(step)\n",
        "        if step[0] != MESSAGE:\n            self._pending.append(step)\n",
        SIMULATION,
    ),
    Mutant(
        "recordings of greetings are believed",
        "replica/network/handshake.py",
        "fresh = (greeting.echo_incarnation, greeting.echo_boot) == (me.incarnation, me.boot)",
        "fresh = True",
        f"{SECURITY} recording",
    ),
    Mutant(
        "the destination is not part of what is sealed",
        "replica/network/keys.py",
        "for name in (sender.encode(), to.name.encode()))",
        "for name in (sender.encode(),))",
        f"{SECURITY} redirected",
    ),
    Mutant(
        "every duplicate is answered",
        "replica/network/peer.py",
        "            if answer in self._answered:\n",
        "            if False:\n",
        f"{SECURITY} duplicate_in_a_tick",
    ),
    Mutant(
        "the group key opens what a pairwise key protects",
        "replica/network/keys.py",
        "in pairwise or possible if key.id == key_id",
        "in possible if key.id == key_id",
        "test_keys.py -k pairwise",
    ),
    Mutant(
        "the index of waiting copies is not kept up after an eviction",
        "protocol/hybrid/durable.py",
        "        if self._m2 < self._buffer.first:",
        "        if False:",
        "../../protocol/hybrid/test_durable.py -k go_last",
    ),
    Mutant(
        "what a delivery does is committed before the delivery",
        "replica/network/carrier.py",
        """        for kind, payload in records:
            endpoint.durable.include(kind, payload)
""",
        """        self._store.store.commit(records)
""",
        "../test_node.py -k every_commit",
    ),
    Mutant(
        "a message is handed to the network after the commit of its event",
        "replica/network/carrier.py",
        """        sends, self._sends = self._sends, []
        for message""",
        """        self._store.store.commit(records)
        sends, self._sends, records = self._sends, [], ()
        for message""",
        "../test_node.py -k every_commit",
    ),
]
