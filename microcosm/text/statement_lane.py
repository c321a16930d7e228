"""The fast lane: statements recognised by linear-time regular expressions, without the grammar.

It recognises nearly every statement that is right and none that is wrong in shape; it answers None
for the rest, which then goes to the grammar. A property test keeps both of one mind.
"""

from __future__ import annotations

import re

from microcosm.givens.clock import Clock
from microcosm.givens.exact import Number, number
from microcosm.givens.message import Message
from microcosm.text import statement as build
from microcosm.text.long_lines import LONG, shape
from microcosm.text.provenance import stated
from microcosm.text.statement import JOINS, Statement
from microcosm.text.statement_tokens import (
    COUNT,
    ENTRY,
    LINE_END,
    OPERAND,
    PROCESS,
    TOKEN,
    WORD_END,
    Declined,
    Names,
    text_of,
)

_HEAD = rf"\s*clock{WORD_END}({OPERAND})\s*=\s*({OPERAND})\s*\{{"
_REST = rf"\}}\s*(unticked{WORD_END})?(?:in{WORD_END}({OPERAND}))?{LINE_END}"
_PLAIN = r"\s*+[\w.@/-]++\s*+:\s*+[0-9]++\s*+"
_plain_clock = re.compile(rf"{_HEAD}((?:{_PLAIN},){{0,1000}}{_PLAIN}){_REST}").match
_clock = re.compile(rf"{_HEAD}\s*((?:{ENTRY}(?:\s*,\s*{ENTRY})*)?)\s*{_REST}").match
_entries = re.compile(rf"({PROCESS})\s*:\s*({COUNT})").finditer

_REAL = rf"-?{COUNT}(?:\.{COUNT})?(?:[eE][-+]?{COUNT})?"
_stamp = re.compile(
    rf"\s*stamp{WORD_END}({OPERAND})\s*=\s*(?:(-?{COUNT})|\[\s*({_REAL})\s*,\s*({_REAL})\s*\]){LINE_END}"
).match


def recognise(line: str, source: str | None, names: Names) -> Statement | None:
    """The statement on `line`, or None. Raises `Fault` for chains and groups that repeat an event."""
    if len(line) > LONG and not shape(line).whole:
        return None
    try:
        return _recognise(line, source, names)
    except (Declined, ValueError):
        return None  # ValueError: a number of thousands of digits


def _recognise(line: str, source: str | None, names: Names) -> Statement | None:
    if "{" in line:
        clocked = _clocked(line, names)
        if clocked is not None:
            return clocked
    tokens = TOKEN.findall(line)
    if tokens and tokens[-1].startswith("#"):
        tokens.pop()
    if not tokens:
        return None
    match tokens[0]:
        case "stamp":
            return _stamped(line, names)
        case "internal":
            events, signs = _alternate(tokens[1:], names)
            return build.internal(events, signs)
        case "token":
            if tokens[2:3] != ["="]:
                return None
            return build.token(names[tokens[1]], _listed(tokens[3:], names))
        case "send" | "receive":
            return _messaged(tokens, names)
        case "ordering":
            if tokens[2:] not in ([], ["interior"]):
                return None
            return build.ordering(names[tokens[1]], len(tokens) > 2) if len(tokens) > 1 else None
        case "complete":
            return build.Complete() if len(tokens) == 1 else None
        case "name":
            return build.Named(names[tokens[1]]) if len(tokens) == 2 else None
        case _:
            if len(tokens) > 2 and tokens[-2] == "from":
                source = stated(text_of(tokens[-1]))
                del tokens[-2:]
            events, signs = _alternate(tokens, names)
            return build.correspondences(events, signs, source) if signs else None


def _alternate(tokens: list[str], names: Names) -> tuple[list[str], list[str]]:
    """Names joined by signs."""
    signs = tokens[1::2]
    if len(tokens) % 2 == 0 or not JOINS.keys() >= set(signs):
        raise Declined
    return names.of_all(tokens[0::2]), signs


def _listed(tokens: list[str], names: Names) -> list[str]:
    """Names separated by commas."""
    commas = tokens[1::2]
    if len(tokens) % 2 == 0 or commas.count(",") != len(commas):
        raise Declined
    return names.of_all(tokens[0::2])


def _messaged(tokens: list[str], names: Names) -> Statement | None:
    if tokens[2:3] != ["="] or len(tokens) < 5:
        return None
    event, message, process = names[tokens[1]], names[tokens[3]], names[tokens[4]]
    if tokens[0] == "receive":
        return build.Messaged(Message("receive", event, message, process)) if len(tokens) == 5 else None
    if len(tokens) == 5:
        return build.Messaged(Message("send", event, message, process))
    if tokens[5] != "->":
        return None
    return build.Messaged(Message("send", event, message, process, tuple(_listed(tokens[6:], names))))


def _clocked(line: str, names: Names) -> Statement | None:
    """A clock, which is no sequence of tokens: the last colon of an entry is no part of a name."""
    match = _plain_clock(line)
    times = _plain_times(match[3], names) if match else None
    if match is None or times is None:
        match = _clock(line)
        if match is None:
            return None
        times = {}
        for entry in _entries(line, match.start(3), match.end(3)):
            process = names[entry[1]]
            if process in times:
                raise build.clocked_twice(process, entry.start() + 1)
            times[process] = int(entry[2])
    event, process, _, unticked, execution = match.groups()
    apart = None if execution is None else names[execution]
    return build.Clocked(names[event], Clock(names[process], times, not unticked, apart))


def _plain_times(body: str, names: Names) -> dict[str, int] | None:
    """The entries of a clock, no process of which has a colon in its name; None if one comes twice."""
    parts = "".join(body.split()).replace(",", ":").split(":")
    times = dict(zip(map(names.__getitem__, parts[0::2]), map(int, parts[1::2]), strict=True))
    return times if 2 * len(times) == len(parts) else None


def _stamped(line: str, names: Names) -> Statement | None:
    match = _stamp(line)
    if match is None:
        return None
    event, time, earliest, latest = match.groups()
    if time is not None:
        return build.Stamped(names[event], int(time))
    interval = (_real(earliest), _real(latest))
    return build.Stamped(names[event], interval) if interval[0] <= interval[1] else None


def _real(text: str) -> Number:
    try:
        return number(text)
    except OverflowError:
        raise Declined from None
