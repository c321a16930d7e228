"""What was sent and received: one message by one, or many at once, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Literal, NamedTuple


class Message(NamedTuple):
    """`send event = message process -> receivers`, or `receive event = message process`."""

    kind: Literal["send", "receive"]
    event: str
    message: str
    process: str
    receivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """The columns of a log, and the order in which its rows are told; none of its messages has receivers.

    A row without a kind is no message. `apart` are the messages whose events no link of the same log names.

    >>> told = Told([1, 0, 2], ["send", "", "receive"], ["a", "b", "c"], ["m", "", "m"], ["p", "p", "q"], [])
    >>> told.messages()[1]
    Message(kind='receive', event='c', message='m', process='q', receivers=())
    >>> [*told.events()]
    ['a', 'c']
    """

    order: Sequence[int]
    kind: Sequence[Literal["send", "receive", ""]]
    event: Sequence[str]
    message: Sequence[str]
    process: Sequence[str]
    apart: Sequence[int]

    def events(self) -> Iterator[str]:
        """The events that sent or received, once for each time."""
        return map(self.event.__getitem__, self._rows())

    def processes(self) -> Iterator[str]:
        """Whose these are."""
        return map(self.process.__getitem__, self._rows())

    def messages(self) -> list[Message]:
        """One by one. Cost: linear, in one pass over each column."""
        rows, columns = [*self._rows()], (self.kind, self.event, self.message, self.process)
        fields = zip(*(map(column.__getitem__, rows) for column in columns), repeat(()), strict=False)
        return [*map(tuple.__new__, repeat(Message), fields)]

    def _rows(self) -> Iterator[int]:
        return compress(self.order, map(self.kind.__getitem__, self.order))
