"""The parser of the command line in the manner of this program: texts as typed, complaints in its words.

Typer parses; what it is told here are the types that it need not ask pydantic about, what values can be
completed, and how help is coloured.
"""

from __future__ import annotations

import re
import sys
from math import isfinite
from typing import Any

import typer

from microcosm.cli import output
from microcosm.cli.completing import offered

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

COMPLAINT: type[Exception] = typer.BadParameter.__mro__[2]
"""What every complaint of the option parser is; typer keeps its name to itself."""

TEXTS_AND_FLAGS = (str, list[str], bool)


def misread(message: str, ctx: Any, param: Any) -> typer.BadParameter:
    """The fault of a value that an option cannot have, said in our words."""
    fault = typer.BadParameter(message, ctx=ctx, param=param)
    fault.format_message = lambda: message  # type: ignore[method-assign]
    return fault


class AsTyped:
    """Takes the texts and flags of the command line as they are.

    Typer would have pydantic check that each text is one, which doubles the time to start.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value itself; no value of an option that may be repeated is an empty tuple."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


class AsNumber:
    """Reads a number, `whole` or not, between bounds that the option declares."""

    def __init__(self, whole: bool) -> None:
        self._whole = whole

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number. Raises `BadParameter`, which says what the option takes."""
        if not isinstance(value, str):
            return value
        try:
            found = int(value) if self._whole else float(value)
        except ValueError:
            found = None
        least, most = param.min, param.max
        fits = found is not None and isfinite(found)
        if fits and (least is None or least <= found) and (most is None or found <= most):
            return found
        bounds = "" if least is None else f" from {least:,}"
        bounds += "" if most is None else f" to {most:,}"
        kind = "a whole number" if self._whole else "a number"
        what = "" if param.metavar in (None, "N") else f" of {param.metavar}"
        raise misread(f"{param.opts[-1]} is {kind}{what}{bounds}, not {value!r}", ctx, param)


def as_written(command: Any) -> None:
    """Let a command, and those of a group, take what is typed as their parameters are written."""
    for parameter in command.get_params(typer.Context(command, **SETTINGS)):
        if hasattr(parameter, "_runtime_param"):
            kind = parameter.type_descriptor.annotation
            if kind in TEXTS_AND_FLAGS:
                parameter._runtime_param = AsTyped()
            elif kind in (int, float):
                parameter._runtime_param = AsNumber(kind is int)
        words = (parameter.metavar or "").split()  # `A B` are two values, `A < B` is one
        if getattr(parameter, "multiple", False) and len(words) > 1 and all(map(str.isalnum, words)):
            parameter.nargs = len(words)  # a value for each word, again and again
        if parameter.param_type_name == "argument":
            parameter.get_usage_pieces = lambda ctx, argument=parameter: [_usage(argument)]
        if hasattr(parameter, "get_help_record"):
            parameter.get_help_record = lambda ctx, made=parameter.get_help_record: _untyped(made(ctx))
        parameter._custom_shell_complete = offered
    command.get_help = lambda ctx, made=command.get_help: coloured(made(ctx))
    for part in getattr(command, "commands", {}).values():
        as_written(part)


def _usage(argument: Any) -> str:
    """An argument as the usage shows it: what says itself how often what may stand, as it is."""
    written = argument.metavar or argument.name.upper()
    if "..." in written:
        return str(written)
    return f"{written if argument.required else f'[{written}]'}{'...' if argument.nargs == -1 else ''}"


_TYPE = re.compile(r" ?<(?:list\[)?(?:str|int|float|bool)\]?[^>]*>")


def _untyped(record: tuple[str, str] | None) -> tuple[str, str] | None:
    """What help says of a parameter, without its type in Python."""
    return record and (_TYPE.sub("", record[0]), record[1])


_HELP = re.compile(
    r"(?m)^(?P<title>Usage:|\S[^\n]*:)(?=$| )|^ {2}(?P<name>(?:-[\w-]+(?:, )?)+|[a-z][a-z-]+(?= {2}))"
)


def coloured(text: str) -> str:
    """Help as it is, or in a terminal with its titles bold and its options and commands in colour."""
    if not output.styled(sys.stdout):
        return text

    def styled(found: re.Match[str]) -> str:
        if found["title"]:
            alone = found["title"] == "Usage:" or text[found.end() : found.end() + 1] in ("", "\n")
            return f"\x1b[1m{found['title']}\x1b[0m" if alone else str(found[0])
        return f"  \x1b[36m{found['name']}\x1b[0m"

    return _HELP.sub(styled, text)


_EXTRA = re.compile(r"Got unexpected extra argument\(s\) \((.*)\)", re.DOTALL)


def complaint(error: Any) -> str:
    """A complaint of the parser in the words of this program."""
    match type(error).__name__:
        case "MissingParameter" if error.param is not None:
            param = error.param
            name = getattr(param, "metavar", None) or param.name.upper()
            if param.param_type_name == "option":
                name = f"{param.opts[-1]} {name}"
            told = (getattr(param, "help", None) or "").partition(". ")[0].rstrip(".")
            return f"missing {name}{f': {told}' if told and len(told) < 100 else ''}"
        case "NoSuchOption":
            near = " or ".join(sorted(error.possibilities or ()))
            return f"there is no option {error.option_name}{f'; did you mean {near}?' if near else ''}"
        case "BadOptionUsage" if "requires an argument" in str(error.message):
            return f"{error.option_name} needs a value"
        case "UsageError" if found := _EXTRA.fullmatch(str(error.message)):
            return f"{found[1]!r} is more than this command takes"
        case _:
            return str(error.format_message() if hasattr(error, "format_message") else error)
