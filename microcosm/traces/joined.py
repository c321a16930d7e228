"""Which of several files are parts of one log: told by what they hold.

Files that have an event of the same process and position are separate runs. Others are parts of one log
where a message was sent in one and received in the other, where a process goes on from one to the other, or
where both name the same execution. Nothing else joins them: not even that their processes differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from microcosm.traces.event import SENDS, TraceEvent

Events = list[TraceEvent]


def parts_of_logs(
    files: Sequence[str], alone: Sequence[Events], together: Callable[[Sequence[str]], Iterable[TraceEvent]]
) -> list[list[int]]:
    """The files, by number, that are one log each, in the order of their first files.

    `alone[i]` are the events of file i read by itself; `together` reads some files as one log, for the names
    that a reader gives to messages hold within one reading. Cost: a reading of what may belong together.
    """
    first = [*range(len(files))]

    def join(one: int, other: int) -> None:
        low, high = sorted((first[one], first[other]))
        first[:] = [low if at == high else at for at in first]

    number = {file: at for at, file in enumerate(files)}
    for run in _runs(alone):
        if len(run) > 1:
            events = together([files[at] for at in run])
            for one, other in _links(events):
                join(number[one], number[other])
    return [[at for at, one in enumerate(first) if one == low] for low in dict.fromkeys(first)]


def _runs(alone: Sequence[Events]) -> list[list[int]]:
    """The files in runs without an event that is in two of a run, each file in the first that has room."""
    runs: list[tuple[list[int], set[tuple[str | None, str, int]]]] = []
    for at, events in enumerate(alone):
        own = {(event.trace, event.process, event.seq) for event in events}
        for files, taken in runs:
            if taken.isdisjoint(own):
                files.append(at)
                taken.update(own)
                break
        else:
            runs.append(([at], own))
    return [files for files, _ in runs]


def _links(events: Iterable[TraceEvent]) -> set[tuple[str, str]]:
    """Pairs of files that are parts of one log."""
    links: set[tuple[str, str]] = set()
    places: dict[tuple[str | None, str], str] = {}
    executions: dict[str, str] = {}
    senders: dict[tuple[str | None, str, str], set[str]] = {}
    receivers: list[tuple[tuple[str | None, str, str], str]] = []
    for event in events:
        before = places.setdefault((event.trace, event.process), event.file)
        links.add((before, event.file))
        if event.trace is not None:
            links.add((executions.setdefault(event.trace, event.file), event.file))
        if event.message is None:
            continue
        if event.kind in SENDS:
            key = event.trace, SENDS[event.kind], event.message
            senders.setdefault(key, set()).add(event.file)
        elif event.kind != "internal":
            receivers.append(((event.trace, event.kind, event.message), event.file))
    received = {(key, file) for key, file in receivers}
    for key, file in received:
        sent = senders.get(key, {file})
        if file in sent:
            continue
        if len(sent) > 1:  # a file that has both ends has a message of its own, which is called the same
            sent = {one for one in sent if (key, one) not in received} or sent
        links.update((one, file) for one in sent)
    return {(one, other) for one, other in links if one != other}
