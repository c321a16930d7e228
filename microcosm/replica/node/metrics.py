"""What a replica and its network are doing, as text in the OpenMetrics format (version 1.0)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from microcosm.replica.network.shared import BUCKETS, Commits
from microcosm.replica.questions import Replica

PREFIX = "microcosm_"

Sample = tuple[str, Mapping[str, object], float]
"""What stands behind the name of the family, labels, and a value."""


def exposition(replica: Replica, network: Mapping[str, Any] | None = None) -> str:
    """The text: what the replica holds, and what `Node.metrics` says if it is on the network.

    >>> from microcosm.replica.store import Memory
    >>> text = exposition(Replica(Memory(), "phone", incarnation=1))
    >>> text.splitlines()[-3:]
    ['# HELP microcosm_quarantined Correspondences that are set aside.', 'microcosm_quarantined 0', '# EOF']
    """
    return "".join(f"{line}\n" for line in (*_held(replica), *_network(network or {}), "# EOF"))


def _held(replica: Replica) -> Iterator[str]:
    counts = replica.counts()
    for name, said in (
        ("events", "Events that are known."),
        ("correspondences", "Correspondences that are given."),
        ("held", "Evolutions that are held."),
        ("seen", "Evolutions that have been seen."),
        ("removals", "Removals that not all members are known to have."),
        ("quarantined", "Correspondences that are set aside."),
    ):
        yield from _family(name, "gauge", said, [("", {}, counts[name])])


def _network(found: Mapping[str, Any]) -> Iterator[str]:
    if "members" not in found:
        return
    for name, key, said in (
        ("send_buffer", "send buffer", "Copies that wait to be acknowledged."),
        ("held_back", "held back", "Copies that wait for a permit before they may leave."),
    ):
        yield from _family(name, "gauge", said, [("", {}, found[key])])
    for name, key, said in (
        ("packets_in", "packets in", "Packets that came."),
        ("packets_out", "packets out", "Packets that left."),
        ("refused_for_space", "refused for space", "Messages refused because too much waits."),
        ("unfinished_dropped", "unfinished dropped", "Messages of exchanges in pieces that made room."),
        ("clock_jumps", "clock jumps", "Times that the time of day jumped."),
    ):
        yield from _family(name, "counter", said, [("_total", {}, found.get(key, 0))])
    drops = [("_total", {"reason": reason}, n) for reason, n in sorted(found["drops"].items())]
    yield from _family("drops", "counter", "Packets that were taken no notice of.", drops)
    members = sorted(found["members"].items())
    for name, key, kind, said in (
        ("unacknowledged", "unacknowledged", "gauge", "Copies that a peer has not acknowledged."),
        ("out_of_order", "held out of order", "gauge", "Messages of a peer that wait for an earlier one."),
        ("retransmissions", "retransmissions", "counter", "Copies sent again to a peer."),
        ("met", "met", "gauge", "Whether a peer is known to accept what is sent."),
    ):
        suffix = "_total" if kind == "counter" else ""
        values = [(suffix, {"peer": peer}, float(about[key])) for peer, about in members]
        yield from _family(name, kind, said, values)
    missing = [(peer, about["missing permits"]) for peer, about in members]
    values = [("", {"peer": peer}, float(len(ages))) for peer, ages in missing]
    yield from _family("missing_permits", "gauge", "Permits that a peer has not sent.", values)
    oldest = [("", {"peer": peer}, max(ages.values(), default=0.0)) for peer, ages in missing]
    yield from _family("oldest_missing_permit_seconds", "gauge", "How long the oldest is missing.", oldest)
    commits: Commits = found["commits"]
    times: list[Sample] = [
        ("_bucket", {"le": "+Inf" if bound == BUCKETS[-1] else bound}, commits.within[bound])
        for bound in BUCKETS
    ]
    times += [("_count", {}, commits.count), ("_sum", {}, commits.seconds)]
    yield from _family("commit_seconds", "histogram", "Times of commits, with their syncs.", times)


def _family(name: str, kind: str, said: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# TYPE {PREFIX}{name} {kind}"
    yield f"# HELP {PREFIX}{name} {said}"
    for suffix, labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(str(content))}"' for label, content in labels.items())
        yield f"{PREFIX}{name}{suffix}{f'{{{inside}}}' if inside else ''} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
