"""The parser of the command line in the manner of this program: texts as typed, complaints in its words.

Typer parses; what it is told here are the types that it need not ask pydantic about, how help is coloured,
and what a shell is offered for a word that is begun: commands and options, values, events of what is read.
The scripts for shells are typer's (`--install-completion`); bash splits words at `:` and `=`, which names of
events and options have inside, so its words are joined again here, and its answers cut.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from math import isfinite
from typing import Any

import typer

from microcosm import files
from microcosm.cli import output

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

COMPLAINT: type[Exception] = typer.BadParameter.__mro__[2]
"""What every complaint of the option parser is; typer keeps its name to itself."""

TEXTS_AND_FLAGS = (str, list[str], bool)


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
        message = f"{param.opts[-1]} is {kind}{what}{bounds}, not {value!r}"
        fault = typer.BadParameter(message, ctx=ctx, param=param)
        fault.format_message = lambda: message  # type: ignore[method-assign]
        raise fault


ASKED = f"{__name__}.asked"
"""In the `meta` that all contexts of a command line share: the words of the command, as far as it is read."""


class Named(typer.Context):
    """A context that says which command it is of to the contexts around it; the innermost comes last."""

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.meta[ASKED] = self.command_path


def as_written(command: Any) -> None:
    """Let a command, and those of a group, take what is typed as their parameters are written."""
    command.context_class = Named
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
        part.short_help = " ".join((part.help or "").partition("\n\n")[0].split())  # or it would be cut
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
            meaning = (getattr(param, "help", None) or "").partition(". ")[0].rstrip(".")
            return f"missing {name}{f': {meaning}' if meaning and len(meaning) < 100 else ''}"
        case "NoSuchOption":
            near = " or ".join(sorted(error.possibilities or ()))
            return f"there is no option {error.option_name}{f'; did you mean {near}?' if near else ''}"
        case "BadOptionUsage" if "requires an argument" in str(error.message):
            return f"{error.option_name} needs a value"
        case "UsageError" if found := _EXTRA.fullmatch(str(error.message)):
            return f"{found[1]!r} is more than this command takes"
        case _:
            return str(error.format_message() if hasattr(error, "format_message") else error)


VARIABLE = "_MICROCOSM_COMPLETE"
"""Set where a shell asks how a word may go on."""

LARGEST = 16 << 20
"""Of files that are larger together no events are offered: nobody waits that long for a word."""

MOST = 200
"""So many events are offered."""

_BREAKS = re.compile(r"[:=]+")


def offered(ctx: Any, param: Any, begun: str) -> list[Any]:
    """What the word for a parameter may become; nothing means files, which shells know themselves."""
    metavar = param.metavar or ""
    try:
        if "|" in metavar and re.fullmatch(r"[a-zA-Z|]+", metavar):
            found: Iterable[str] = [each for each in metavar.split("|") if each.islower()]
        elif (values := _values(ctx, metavar.removesuffix("...").strip("[]"))) is not None:
            found = values
        elif metavar == "NAME" and param.name == "trace":
            found = _column("traces")
        elif metavar == "P" and param.name == "process":
            found = _column("processes")
        elif metavar.startswith(("FILE... A B", "FILE... (A B", "FILE... 'A", "FILE... PROOF")):
            already = [*(ctx.params.get(param.name) or ())]
            named = [each for each in already if files.GLOB(each) or os.path.exists(each)]
            found = _events(named, begun) if named and "PROOF" not in metavar else ()
        elif metavar in ("A", "B", "E", "EVENT"):
            found = _events(_files(), begun)
        else:
            return []
        return [each for each in found if str(getattr(each, "value", each)).startswith(begun)]
    except Exception:  # a word is no place for complaints: the command itself makes them
        return []


def _files() -> list[str]:
    """The files that the command line names; the parser has none before an option that has no value."""
    words = _split(os.environ.get("COMP_WORDS", "")) or _unquoted_words(
        os.environ.get("_TYPER_COMPLETE_ARGS", "")
    )
    words = [*map(_unquoted, words)]
    return [word for word in words[1:-1] if files.GLOB(word) or os.path.exists(word)]


def _events(paths: list[str], begun: str) -> Iterator[Any]:
    """The events of some files whose names begin so, with their words."""
    from typer._click.shell_completion import CompletionItem

    from microcosm.files import natural

    givens = _read(paths)
    table = givens.events
    names = {*givens.named(), *(table.names if table else ())}
    for name in islice(sorted((n for n in names if n.startswith(begun)), key=natural), MOST):
        yield CompletionItem(name, help=(table.label(name) if table else None) or None)


def _column(name: str) -> Iterator[str]:
    table = _read(_files()).events
    yield from sorted({each for each in getattr(table, name, ()) if each})


def _read(paths: list[str]) -> Any:
    from microcosm.cli import options
    from microcosm.state import opening

    if sum(map(os.path.getsize, files.expanded(paths))) > LARGEST:
        raise OSError("too large to be read for a word")
    how = {name: value for name, value in options.of_logs().items() if name not in ("complete", "process")}
    return opening.read(*paths, **how)


def _values(ctx: Any, called: str) -> Iterable[str] | None:
    """The values of an option or an argument, by what that is called; None where they are not known."""
    match called:
        case "F":
            from microcosm.traces import reading

            return reading.names()
        case "ORDERING":
            from microcosm.orderings.ordering import Ordering

            return [one.value for one in Ordering]
        case "PROTOCOL":
            from microcosm.protocol.catalogue import PROTOCOLS

            return PROTOCOLS
        case "RULE":
            from microcosm.logic.rulebook import read_rules

            return [rule.name for rule in read_rules().rules]
        case "COMMAND":
            names: list[str] = ctx.find_root().command.list_commands(ctx)
            return names
    return {"LEVEL": ("application", "network"), "N|exact": ("exact",)}.get(called)


def answered(run: Callable[[], object]) -> bool:
    """Whether bash asked how a word goes on, and was told what `run` prints: its words are joined before,
    and what is offered is cut to what it replaces.
    """
    if os.environ.get(VARIABLE) != "complete_bash":
        return False
    words, at, quote = _whole(_split(os.environ.get("COMP_WORDS", "")), os.environ.get("COMP_CWORD", "0"))
    begun = words[at] if at < len(words) else ""
    os.environ["COMP_WORDS"] = "\n".join(map(shlex.quote, (*words[:at], begun)))
    os.environ["COMP_CWORD"] = str(at)
    captured = io.StringIO()
    with redirect_stdout(captured):
        run()
    cut = 0 if quote else max((found.end() for found in _BREAKS.finditer(begun)), default=0)
    for line in filter(None, captured.getvalue().splitlines()):
        rest = line.removeprefix(begun[:cut])
        output.say(rest if quote else re.sub(r"([^\w@%+=:,./-])", r"\\\1", rest))
    return True


def _split(words: str) -> list[str]:
    """The words that bash tells, one a line; or (by hand) with spaces between them."""
    return words.split("\n") if "\n" in words else words.split()


def _unquoted_words(line: str) -> list[str]:
    """The words that zsh and fish tell, the one at hand last."""
    try:
        return [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    except ValueError:  # a quote is open
        return line.split()


def _whole(words: list[str], number: str) -> tuple[list[str], int, str]:
    """The words of a line joined where bash split them, the place of the one at hand, its open quote."""
    at = int(number) if number.isdigit() else 0
    whole: list[str] = []
    place = 0
    for index, word in enumerate(words):
        joins = bool(whole) and (
            _BREAKS.fullmatch(word)
            or (index > 1 and _BREAKS.fullmatch(words[index - 1]) is not None and word != "")
        )
        if joins:
            whole[-1] += word
        else:
            whole.append(word)
        if index == at:
            place = len(whole) - 1
    last = whole[place] if place < len(whole) else ""
    quote = last[:1] if last[:1] in ("'", '"') and last.count(last[0]) == 1 else ""
    plain = [_unquoted(word) for word in whole]
    return plain, place, quote


def _unquoted(word: str) -> str:
    if word[:1] in ("'", '"') and word.count(word[0]) == 1:
        return word[1:]
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word
