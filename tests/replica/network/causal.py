"""The judge of the tests of durable delivery: histories of processes, and what is wrong with them.

It knows nothing of endpoints. A history is what one incarnation did, in its order: messages sent, with their
receivers, and messages delivered. Happens-before is the order of the histories and of sends before
deliveries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple


class History(NamedTuple):
    """`steps`: ("sent", "ID RECEIVER …") and ("delivered", "ID").

    A process is NAME.INCARNATION; a receiver is one, or a name, which is any that bears it.
    """

    process: str
    steps: list[tuple[str, str]]


def faults(histories: Iterable[History], excused: Collection[str] = ()) -> list[str]:
    """What is wrong. `excused`: processes (name.incarnation) that were given up; what they sent or should
    have got may be missing, but is never doubled nor out of order.
    """
    histories = list(histories)
    names = {
        history.process.rpartition(".")[0]: history.process
        for history in histories
        if history.process not in excused
    }
    found: list[str] = []
    sender: dict[str, str] = {}
    to: dict[str, set[str]] = {}
    for history in histories:
        for kind, text in history.steps:
            if kind == "sent":
                message, *receivers = text.split(" ")
                if message in sender:
                    found.append(f"{message} is sent twice")
                sender[message], to[message] = history.process, set(receivers)
    delivered: dict[str, list[str]] = {}
    for history in histories:
        here = delivered[history.process] = [text for kind, text in history.steps if kind == "delivered"]
        for message in here:
            if message not in sender:
                found.append(f"{message} is delivered at {history.process}, and was never sent")
            elif not is_for(history.process, to[message]):
                found.append(f"{message} is delivered at {history.process}, and is not for it")
        found += [
            f"{message} is delivered {here.count(message)} times at {history.process}"
            for message in sorted(doubles(here))
        ]
    done = {process: set(messages) for process, messages in delivered.items()}
    for message, receivers in to.items():
        if sender[message] not in excused:
            wanted = {names.get(r, r) for r in receivers} - {*excused}
            missing = [r for r in wanted if r in done and message not in done[r]]
            found += [f"{message} is never delivered at {r}" for r in sorted(missing)]
    return found + disorder(histories, sender, to)


def is_for(process: str, receivers: set[str]) -> bool:
    return process in receivers or process.rpartition(".")[0] in receivers


def doubles(values: list[str]) -> set[str]:
    seen: set[str] = set()
    return {value for value in values if value in seen or seen.add(value)}  # type: ignore[func-returns-value]


def disorder(histories: list[History], sender: dict[str, str], to: dict[str, set[str]]) -> list[str]:
    """Messages delivered after one that they happened before."""
    bit = {message: 1 << at for at, message in enumerate(sender)}
    past: dict[str, int] = {}  # of each message: those that happened before it, as bits
    state = {history.process: (0, 0) for history in histories}  # place in the history, bits of the past
    moved = True
    while moved:
        moved = False
        for history in histories:
            at, before = state[history.process]
            while at < len(history.steps):
                kind, text = history.steps[at]
                message = text.split(" ")[0]
                if kind == "sent":
                    past[message] = before
                    before |= bit[message]
                elif message in past:
                    before |= past[message] | bit[message]
                elif message in sender:
                    break
                at, moved = at + 1, True
            state[history.process] = (at, before)
    found = [f"{h.process} is caught in a circle" for h in histories if state[h.process][0] < len(h.steps)]
    if found:
        return found
    for history in histories:
        mine = sum(bit[message] for message, receivers in to.items() if is_for(history.process, receivers))
        done = 0
        late = [text for kind, text in history.steps if kind == "delivered" and text in sender]
        will = sum(bit[message] for message in set(late))
        for message in late:
            if missing := past[message] & mine & will & ~done:
                first = next(other for other, b in bit.items() if missing & b)
                found.append(f"{message} is delivered at {history.process} before {first}")
            done |= bit[message]
    return found
