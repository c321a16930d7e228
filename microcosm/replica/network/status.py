"""How a replica and its network stand: plain values, what messages wait for, OpenMetrics text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from microcosm.replica.ledger.dots import Dot
from microcosm.replica.network import wire
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.peer import Peer
from microcosm.replica.network.process import COUNT_BYTES, LAST, ME, Process
from microcosm.replica.replica import Replica
from microcosm.replica.store import BUCKETS, Commits


def status(durable: Durable, peers: Iterable[Peer], now: float) -> dict[str, Any]:
    """What is under way, and for each member what is waited for. Ages are in seconds."""
    process = durable.process
    return {
        "name": process.name,
        "incarnation": process.incarnation,
        "boot": process.boot,
        "evicted": process.evicted,
        "send buffer": process.machine.unacked,
        "held back": process.machine.unsent,
        "refused for space": durable.refused_for_space,
        "fences": [tuple(fence) for fence in process.membership.fences],
        "refused": dict(process.machine.refused),
        "members": {peer.member.name: _of_peer(durable, peer, now) for peer in peers},
    }


def _of_peer(durable: Durable, peer: Peer, now: float) -> dict[str, Any]:
    number = peer.member.number
    return {
        "address": peer.address,
        "incarnation": peer.member.incarnation,
        "met": peer.session is not None and peer.met,
        "source": peer.source,
        "unreadable": peer.unreadable if peer.session is None or not peer.met else 0,
        "diverged": peer.diverged,
        "stranger": peer.stranger,
        "silent for": None if peer.heard_at is None else now - peer.heard_at,
        "unacknowledged": peer.unacked,
        "held out of order": durable.process.machine.holds(number),
        "missing permits": {mid: now - since for mid, since in peer.missing.items()},
        "unconfirmed fences": [tuple(fence) for fence in durable.process.membership.unconfirmed(number)],
        "retransmissions": peer.retransmissions,
        "suppressed answers": peer.suppressed,
        "window": int(peer.congestion.window),
        "round trip": peer.congestion.rtt,
    }


def divergences(replica: Replica) -> list[dict[str, str]]:
    """With whom it is not agreed what happened: `member`, and `why`, with what to do."""
    return [{"member": found["member"], "why": _why(found, replica.name)} for found in replica.divergences]


def _why(found: dict[str, Any], own: str) -> str:
    member = found["member"]
    if "fork" in found and member == own:
        return (
            f"this replica has signed two things under {Dot(*found['fork'])}: its journal runs twice, or was"
            f" put back; `replica proof` shows it to anybody. Nothing of it counts from there on. End the"
            f" other process, `replica renew` this journal, and `replica member replace` {own} at the others"
        )
    if "fork" in found:
        return (
            f"{member} has signed two things under {Dot(*found['fork'])}: its journal runs twice, or was put"
            f" back, or it lies; `replica proof` shows it to anybody. Nothing of it counts from there on. End"
            f" the other process, `replica renew` there and `replica member replace` {member} here; or evict"
            " it, and change the keys"
        )
    if "unlike" in found:
        return (
            f"{member} held something else than this replica under {Dot(*found['unlike'])}: the journal of"
            f" {found['unlike'][0]} is an older copy, or runs twice. Nothing of it counts from there on but"
            " what is said again. `sign`: then it is proved who has said what"
        )
    if "dot" in found:
        return (
            f"{member} knows {Dot(*found['dot'])} of this replica, which had come to number {found['last']}"
            " only: its journal is an older copy, another process runs one, or somebody says what is not"
            " true. Its events are of a new incarnation since, so that nothing is mixed up; if the journal"
            " was put back, `replica renew` it, and `replica member replace` it at the others"
        )
    if found["mine"]:
        return (
            f"{found['why']}: this journal is an older copy, or another process runs one. No messages go to"
            f" and from {member}. End the other process; or `replica renew` this journal, and then"
            " `replica member replace` it at the others"
        )
    return (
        f"{found['why']}: its journal is an older copy, or runs twice. No messages go to and from it. If it"
        f" was put back: `replica renew` there, `replica member replace` {member} here"
    )


class Blocked(NamedTuple):
    """A message that cannot go on yet, and why, for people. `to` or `sender` is this replica itself."""

    message: str
    sender: str
    to: str
    why: str
    on: str
    """The member that can change it."""

    def __str__(self) -> str:
        return f"{self.message} from {self.sender} to {self.to} waits for {self.why}"


def blocked(process: Process) -> Iterator[Blocked]:
    """Each copy of a message that is held back, under way, or out of order. Cost: the buffers."""
    machine, me = process.machine, process.name
    held = {(mid, to): cause for mid, to, cause in machine.waiting()}
    for mid, receiver, sent in machine.unacknowledged():
        to, name = _named(process, receiver), _message(process, mid)
        cause = held.get((mid, receiver))
        if cause is not None and not sent:
            other = _named(process, cause[0])
            yield Blocked(name, me, to, f"the permit of {other} for its message {cause[1]}", other)
        else:
            yield Blocked(name, me, to, f"the ack of {to}", to)
    for sender, mid, pid in machine.early():
        other = _named(process, sender)
        yield Blocked(f"part {mid}", other, me, f"part {pid} of {other}, which comes before it", other)


def _named(process: Process, number: int) -> str:
    if number == ME:
        return process.name
    member = process.membership.members.get(number)
    return f"member {number}" if member is None else member.name


def _message(process: Process, mid: int) -> str:
    """What the application knows a message by, of which this is a part."""
    part = process.machine.payload(mid)
    while isinstance(part, bytes) and part[:1] != LAST:
        mid += 1
        part = process.machine.payload(mid)
    if not isinstance(part, bytes):
        return f"part {mid}"
    if len(part) < 1 + COUNT_BYTES + wire.ENVELOPE_BYTES:
        return f"message {int.from_bytes(part[1 : 1 + COUNT_BYTES], 'big')}"
    return f"{process.name}.{wire.envelope_number(part)}"


PREFIX = "microcosm_"

READY = ("ok", "suspects", "degraded")
"""How a node may be that takes changes."""

HEALTH = (*READY, "diverged", "read-only", "stopped")
"""How a node may be, the best first."""

SUFFIX = {"counter": "_total", "info": "_info"}
"""What stands behind the name of a family of a kind, in its samples; nothing behind that of others."""

Family = tuple[str, str, str, list[tuple[Any, ...]]]
"""Its name, kind and meaning, and its samples: labels, a value, and maybe another suffix."""


def exposition(replica: Replica, network: Mapping[str, Any] | None = None) -> str:
    """The text: what the replica holds, and what `ReplicaNode.metrics` says if it is on the network.

    >>> from microcosm.replica.store import Memory
    >>> text = exposition(Replica(Memory(), "phone", incarnation=1))
    >>> text.splitlines()[-3:]
    ['# HELP microcosm_quarantined Correspondences that are set aside.', 'microcosm_quarantined 0', '# EOF']
    """
    lines = []
    escaped = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}
    for name, kind, meaning, samples in (*_numbers(replica.counts(), HELD), *_network(network or {})):
        lines += [f"# TYPE {PREFIX}{name} {kind}", f"# HELP {PREFIX}{name} {meaning}"]
        for labels, value, *other in samples:
            suffix = other[0] if other else SUFFIX.get(kind, "")
            inside = ",".join(f'{label}="{str(text).translate(escaped)}"' for label, text in labels.items())
            number = int(value) if value == int(value) else repr(value)
            lines.append(f"{PREFIX}{name}{suffix}{f'{{{inside}}}' if inside else ''} {number}")
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


HELD = (
    ("events", "gauge", "Events that are known."),
    ("correspondences", "gauge", "Correspondences that are given."),
    ("held", "gauge", "Evolutions that are held."),
    ("seen", "gauge", "Evolutions that have been seen."),
    ("removals", "gauge", "Removals that not all members are known to have."),
    ("unread", "gauge", "Evolutions of a newer version, which count for nothing until they can be read."),
    ("divergences", "gauge", "Times that a member knew something else of what happened here."),
    ("quarantined", "gauge", "Correspondences that are set aside."),
)
CARRIED = (
    ("send_buffer", "gauge", "Copies that wait to be acknowledged."),
    ("held_back", "gauge", "Copies that wait for a permit before they may leave."),
    ("packets_in", "counter", "Packets that came."),
    ("packets_out", "counter", "Packets that left."),
    ("refused_for_space", "counter", "Messages refused because too much waits."),
    ("unfinished_dropped", "counter", "Messages of exchanges in pieces that made room."),
    ("clock_jumps", "counter", "Times that the time of day jumped."),
)
"""Of single numbers of a replica, and of its network: the name, the kind, and what it says. In what they are
read from, the name has spaces."""


def _numbers(found: Mapping[str, Any], families: Iterable[tuple[str, str, str]]) -> Iterator[Family]:
    for name, kind, meaning in families:
        yield name, kind, meaning, [({}, found.get(name.replace("_", " "), 0))]


def _network(found: Mapping[str, Any]) -> Iterator[Family]:
    """How it is, some of which `replica serve` adds to `ReplicaNode.metrics`, and what goes on."""
    if "health" in found:
        health = [({"health": each}, found["health"] == each) for each in HEALTH]
        yield "health", "gauge", "How it is: 1 for one of these.", health
    if found.get("fault"):
        yield "fault", "gauge", "What is wrong, where health is not ok.", [({"fault": found["fault"]}, 1)]
    if "digest" in found:
        meaning = "What stands for all that is known; equal after an exchange."
        yield "digest", "info", meaning, [({"digest": found["digest"]}, 1)]
    if "journal bytes" in found:
        yield "journal_bytes", "gauge", "Bytes of the journal's files.", [({}, found["journal bytes"])]
    if "members" not in found:
        return
    yield from _numbers(found, CARRIED)
    suspects = [({"peer": peer}, 1) for peer in sorted(found["suspects"])]
    yield "suspect", "gauge", "Members that say what no replica of this program says.", suspects
    over = [({"author": name}, 1) for name in sorted(found["over quota"])]
    yield "over_quota", "gauge", "Authors of whom more came than is taken.", over
    drops = [({"reason": reason}, n) for reason, n in sorted(found["drops"].items())]
    yield "drops", "counter", "Packets that were taken no notice of.", drops
    members = sorted(found["members"].items())
    for name, key, kind, meaning in (
        ("unacknowledged", "unacknowledged", "gauge", "Copies that a peer has not acknowledged."),
        ("out_of_order", "held out of order", "gauge", "Messages of a peer that wait for an earlier one."),
        ("retransmissions", "retransmissions", "counter", "Copies sent again to a peer."),
        ("met", "met", "gauge", "Whether a peer is known to accept what is sent."),
        ("silence_seconds", "silent for", "gauge", "How long nothing came of a peer that was heard."),
    ):
        said = [({"peer": peer}, about[key]) for peer, about in members if about[key] is not None]
        yield name, kind, meaning, said
    missing = [({"peer": peer}, about["missing permits"]) for peer, about in members]
    count = [(peer, len(ages)) for peer, ages in missing]
    yield "missing_permits", "gauge", "Permits that a peer has not sent.", count
    oldest = [(peer, max(ages.values(), default=0)) for peer, ages in missing]
    yield "oldest_missing_permit_seconds", "gauge", "How long the oldest is missing.", oldest
    commits: Commits = found["commits"]
    times: list[tuple[Any, ...]] = [
        ({"le": "+Inf" if bound == BUCKETS[-1] else bound}, commits.within[bound], "_bucket")
        for bound in BUCKETS
    ]
    times += [({}, commits.count, "_count"), ({}, commits.seconds, "_sum")]
    yield "commit_seconds", "histogram", "Times of commits, with their syncs.", times
