"""The arguments and options that several commands share, each explained once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits

if TYPE_CHECKING:
    from microcosm.worlds.search import Stop

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A microcosm: .mc text or its JSON form; - is standard input.")
]
Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Microcosms: .mc text or JSON; - is standard input.")
]
Traces = Annotated[
    list[str], typer.Argument(metavar="TRACE", help="Logs of executions; - is standard input.")
]
First = Annotated[str, typer.Argument(metavar="A", help="An event, its name as it is (no quotes needed).")]
Second = Annotated[str, typer.Argument(metavar="B", help="Another event.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Rules = Annotated[
    str | None, typer.Option("--rules", metavar="DIR", help="Other rule files, in place of the shipped ones.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a <> on a pair that < orders (condition 4 of the paper).")
]
MustExist = Annotated[
    bool, typer.Option("--must-exist", help="An event that nothing names is an error (exit 4).")
]
Out = Annotated[
    str | None,
    typer.Option("-o", "--out", metavar="OUT", help="Write there, whole or not at all."),
]
Limit = Annotated[
    float | None,
    typer.Option(
        "--limit", metavar="SECONDS", min=0, help="Stop searching after so long; exit 3 if undecided."
    ),
]


def natural(option: str, text: str, least: int, most: int) -> int:
    """The whole number that an option gives. Raises `UsageError` outside `least` to `most`."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise exits.UsageError(f"{option} is a whole number from {least:,} to {most:,}, not {text!r}")
    return int(text)


def stop_after(seconds: float | None) -> Stop | None:
    """For `--limit`: whether so many seconds have gone by since now."""
    if seconds is None:
        return None
    from time import monotonic

    end = monotonic() + seconds
    return lambda: monotonic() >= end
