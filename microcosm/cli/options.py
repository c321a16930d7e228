"""The arguments and options that several commands share, each explained once."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from microcosm.cli import exits, output

if TYPE_CHECKING:
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
MustExist = Annotated[bool, Option("--must-exist", help="An event that nothing names is an error (exit 4).")]
Out = Annotated[
    str | None,
    Option("-o", "--out", metavar="OUT", help="Write there, whole or not at all."),
]
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


def natural(option: str, text: str, least: int = 0, most: int = 10**9) -> int:
    """The whole number that an option gives. Raises `UsageError` outside `least` to `most`."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise exits.UsageError(f"{option} is a whole number from {least:,} to {most:,}, not {text!r}")
    return int(text)


def endpoint_of(address: str, *, listens: bool = False) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT` with an address of IPv6. Raises `UsageError`.

    Who listens may say 0: any port that is free. Nobody is reached there.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
        raise exits.UsageError(f"{address!r} is no HOST:PORT, such as 192.0.2.7:7001")
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


_asked: dict[str, object] = {}
"""How logs are to be read, as the command line at hand says it: options of `microcosm_of_logs`."""


TOLD = 5
_warnings: list[float] = [TOLD]
_rules: list[str | None] = [None]


def of_logs() -> dict[str, Any]:
    """How logs are to be read: keywords of `microcosm_of_logs`, those that were given."""
    return dict(_asked)


def warnings_told() -> float:
    """So many irregularities of a kind are told one by one; the rest are counted."""
    return _warnings[0]


def rules() -> str | None:
    """The folder of other rule files, in place of the shipped ones, where one is named."""
    return _rules[0]


def forget() -> None:
    """Begin anew: nothing is said of how logs are to be read, and by which rules."""
    _asked.clear()
    _warnings[0], _rules[0] = TOLD, None


def _keep(param: typer.CallbackParam, value: str | None) -> None:
    if value is not None:
        _asked[str(param.name)] = value


def _keep_complete(value: str | None) -> None:
    if value is not None:
        named = tuple(filter(None, value.split(",")))
        _asked["complete"] = named or True


def _keep_synchronous(value: str | None) -> None:
    if value is None:
        return
    from microcosm.givens.exact import number

    try:
        within = number(value or "0")
    except ValueError:
        within = -1
    if within < 0:
        raise exits.UsageError(
            f"{SYNCHRONOUS}=E: E is by how much clocks may differ, 0 or more, not {value!r}"
        )
    _asked["synchronous"] = within


def _keep_warnings(value: str | None) -> None:
    if value is not None:
        named = {"all": inf, "none": 0.0}
        _warnings[0] = named[value] if value in named else natural("--warnings", value)


def _keep_rules(value: str | None) -> None:
    _rules[0] = value


def common(
    quiet: Annotated[
        bool,
        Option(
            "-q",
            "--quiet",
            callback=output.hush,
            expose_value=False,
            help="No notes and no warnings; errors are said.",
        ),
    ] = False,
    json: Annotated[
        bool,
        Option(
            "--json",
            callback=output.answer_machines,
            expose_value=False,
            help="One JSON object on standard output.",
        ),
    ] = False,
    rules: Annotated[
        str | None,
        Option(
            metavar="DIR",
            callback=_keep_rules,
            expose_value=False,
            help="Other rule files, in place of the shipped ones.",
        ),
    ] = None,
) -> None:
    """What every command takes beside what is its own."""


def _log_option(*names: str, metavar: str, help: str, keep: Callable[..., None] = _keep) -> Any:
    return Option(
        *names, metavar=metavar, help=help, callback=keep, expose_value=False, rich_help_panel="Logs"
    )


def readers_of_logs(
    format: Annotated[
        str | None, _log_option("--format", metavar="F", help="The format of a log that does not tell.")
    ] = None,
    pattern: Annotated[
        str | None,
        _log_option("--pattern", metavar="REGEX", help="Records of a text log: groups host, event, ..."),
    ] = None,
    delimiter: Annotated[
        str | None,
        _log_option("--delimiter", metavar="REGEX", help="Lines between executions of a text log."),
    ] = None,
    trace: Annotated[
        str | None, _log_option("--trace", metavar="NAME", help="One execution of several in a log.")
    ] = None,
    warnings: Annotated[
        str | None,
        _log_option(
            "--warnings",
            metavar="all|N|none",
            help=f"How many irregularities of a kind are told; {TOLD} unless said.",
            keep=_keep_warnings,
        ),
    ] = None,
) -> None:
    """What every command takes that reads logs."""


def readers_of_microcosms(
    process: Annotated[
        str | None, _log_option("--process", metavar="P", help="Of a log: what process P could know.")
    ] = None,
    token: Annotated[
        str | None,
        _log_option(
            "--token", metavar="ATTR", help="Of a log: events with one value of ATTR exclude each other."
        ),
    ] = None,
    complete: Annotated[
        str | None,
        _log_option(
            COMPLETE,
            metavar="[=P,Q]",
            help="Every event and message of the log (or of P and Q) is in it; refused where one is not.",
            keep=_keep_complete,
        ),
    ] = None,
    synchronous: Annotated[
        str | None,
        _log_option(
            SYNCHRONOUS,
            metavar="[=E]",
            help="Of intervals of clocks: what was over (E before) another began is before it.",
            keep=_keep_synchronous,
        ),
    ] = None,
    full: Annotated[
        bool,
        Option(
            "--full",
            callback=output.show_whole,
            expose_value=False,
            help="Proofs whole, however long their chains.",
        ),
    ] = False,
) -> None:
    """What besides them every command takes that makes a microcosm of a log."""
