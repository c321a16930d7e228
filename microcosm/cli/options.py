"""The arguments and options that several commands share, each explained once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer import Argument, Option

from microcosm import files
from microcosm.cli import exits, output

if TYPE_CHECKING:
    from microcosm.givens.exact import Number
    from microcosm.worlds.search import Stop

COMPLETE, SYNCHRONOUS = "--complete", "--synchronous"
VALUED = (COMPLETE, SYNCHRONOUS)
"""Options that may have a value (`--complete=P,Q`); without one the parser is told `--complete=`."""

WHAT = (
    ".mc text, its JSON form, or a log of any format (several files, a folder: one log); - is standard input."
)

Files = Annotated[list[str], Argument(metavar="FILE", help=f"What to read: {WHAT}")]
File = Annotated[str, Argument(metavar="FILE", help=f"What to read: {WHAT}")]
Pair = Annotated[
    list[str],
    Argument(
        metavar="FILE... A B",
        help=f"What to read: {WHAT} Then two events: a name as it is (no quotes needed), FILE:LINE of a log, "
        "or /regex/ that one event matches. Also as one word: 'A < B'.",
    ),
]
First = Annotated[str, Argument(metavar="A", help="An event, its name as it is (no quotes needed).")]
Second = Annotated[str, Argument(metavar="B", help="Another event.")]
Traces = Annotated[
    list[str],
    Argument(metavar="TRACE", help="Logs of executions, or folders of them; - is standard input."),
]
Journal = Annotated[str, Argument(metavar="PATH", help="The journal of a replica.")]
Strict = Annotated[
    bool,
    Option(
        "--strict",
        help="Refuse a <> on a pair that < orders (condition 4 of Worlds of Events), and an odd log.",
    ),
]
Edit = Annotated[bool, Option("--edit", help="Statements change what a log told; else only `suppose` does.")]
MustExist = Annotated[bool, Option("--must-exist", help="An event that nothing names is an error (exit 4).")]
Out = Annotated[str | None, Option("-o", "--out", metavar="OUT", help="Write there, whole or not at all.")]
Limit = Annotated[
    float | None,
    Option("--limit", metavar="SECONDS", min=0, help="Stop searching after so long; exit 3 if undecided."),
]


Format = Annotated[
    str | None, Option("--format", metavar="F", help="The format, where the log does not tell.")
]
Pattern = Annotated[
    str | None,
    Option("--pattern", metavar="REGEX", help="Records of a text log: groups event, host and clock."),
]
StrictLog = Annotated[bool, Option("--strict", help="An irregularity of the log is an error.")]


Word = TypeVar("Word")


def natural(option: str, text: str, words: Mapping[str, Word]) -> int | Word:
    """The whole number that an option gives, or what one of some words means there. Raises `UsageError`."""
    if text in words:
        return words[text]
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise exits.UsageError(f"{option} is a whole number or {' or '.join(words)}, not {text!r}")
    return int(text)


def endpoint_of(address: str, *, listens: bool = False) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT` with an address of IPv6. Raises `UsageError`.

    Who listens may say 0: any port that is free. Nobody is reached there.
    """
    host, _, port = address.rpartition(":")
    bracketed = host[:1] == "[" and host[-1:] == "]"
    host = host[1:-1] if bracketed else host
    unclear = not host or (":" in host and not bracketed)
    if unclear or not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
        raise exits.UsageError(f"{address!r} is no HOST:PORT, such as 192.0.2.7:7001 or [2001:db8::7]:7001")
    if not int(port) and not listens:
        raise exits.UsageError(f"{address!r}: port 0 is no port of a member; say the one that it listens on")
    return host, int(port)


def stop_after(seconds: float | None) -> Stop | None:
    """For `--limit`: whether so many seconds have gone by since now."""
    if seconds is None:
        return None
    from time import monotonic

    end = monotonic() + seconds
    return lambda: monotonic() >= end


SHOWN = 5
"""So many irregularities of a kind are told one by one unless another number is said."""

_given: dict[str, Any] = {}
"""What the command line at hand says that is handed to no command: values by the names of their options."""


def of_logs() -> dict[str, Any]:
    """How logs are to be read: keywords of `microcosm_of_logs`, those that were given."""
    return {name: value for name, value in _given.items() if name not in ("rules", "warnings")}


def most_warnings() -> float:
    """So many irregularities of a kind are told one by one; the rest are counted."""
    return float(_given.get("warnings", SHOWN))


def rules() -> str | None:
    """The folder of other rule files, in place of the shipped ones, where one is named."""
    return _given.get("rules")


def forget() -> None:
    """Begin anew: nothing is said of how logs are to be read, and by which rules."""
    _given.clear()
    files.aside.clear()


def _complete(value: str) -> tuple[str, ...] | bool:
    return tuple(filter(None, value.split(","))) or True


def _synchronous(value: str) -> Number:
    from microcosm.givens.exact import number

    try:
        within = number(value or "0")
    except ValueError:
        within = -1
    if within < 0:
        raise exits.UsageError(
            f"{SYNCHRONOUS}=E: E is by how much clocks may differ, 0 or more, not {value!r}"
        )
    return within


_READ: dict[str, Callable[[str], object]] = {
    "complete": _complete,
    "synchronous": _synchronous,
    "warnings": lambda value: natural("--warnings", value, {"all": inf, "none": 0.0}),
}
"""How the texts of some options are read; those of others stay as they are."""


def _keep(param: typer.CallbackParam, value: str | None) -> None:
    name = str(param.name)
    if value is not None:
        _given[name] = _READ.get(name, str)(value)


def _want(param: typer.CallbackParam, value: bool) -> None:
    output.wanted[str(param.name)] = value


def _shared(*names: str, help: str, metavar: str | None = None) -> Any:
    """An option that commands share; its value is kept here, that of a flag where answers are written."""
    kind, kept = (str | None, _keep) if metavar else (bool, _want)
    return Annotated[kind, Option(*names, metavar=metavar, help=help, callback=kept, expose_value=False)]


COMMON = {
    "quiet": _shared("-q", "--quiet", help="No notes and no warnings; errors are said."),
    "json": _shared("--json", help="One JSON object on standard output."),
    "rules": _shared("--rules", metavar="DIR", help="Other rule files, in place of the shipped ones."),
}
"""What every command takes beside what is its own."""

READERS_OF_LOGS = {
    "format": _shared("--format", metavar="F", help="The format of a log that does not tell."),
    "pattern": _shared("--pattern", metavar="REGEX", help="Records of a text log: groups host, event, ..."),
    "delimiter": _shared("--delimiter", metavar="REGEX", help="Lines between executions of a text log."),
    "trace": _shared("--trace", metavar="NAME", help="One execution of several in a log."),
    "warnings": _shared(
        "--warnings",
        metavar="all|N|none",
        help=f"How many irregularities of a kind are told; {SHOWN} unless said.",
    ),
}
"""What every command takes that reads logs."""

READERS_OF_MICROCOSMS = {
    "process": _shared("--process", metavar="P", help="Of a log: what process P could know."),
    "token": _shared(
        "--token", metavar="ATTR", help="Of a log: events with one value of ATTR exclude each other."
    ),
    "complete": _shared(
        COMPLETE,
        metavar="[=P,Q]",
        help="Every event and message of the log (or of P and Q) is in it; refused where one is not.",
    ),
    "synchronous": _shared(
        SYNCHRONOUS,
        metavar="[=E]",
        help="Of intervals of clocks: what was over (E before) another began is before it.",
    ),
    "full": _shared("--full", help="Proofs whole, however long their chains."),
}
"""What besides them every command takes that makes a microcosm of a log."""
