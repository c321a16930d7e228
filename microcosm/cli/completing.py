"""What a shell is offered for a word that is begun: commands and options, values, events of what is read.

The scripts are typer's (`--install-completion`); bash splits words at `:` and `=`, which names of events and
options have inside, so its words are joined again here, and its answers cut.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from typing import Any

from microcosm import files
from microcosm.cli import output

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
            found: Iterator[str] = iter(each for each in metavar.split("|") if each.islower())
        elif (value := metavar.removesuffix("...").strip("[]")) in _VALUES:
            found = _VALUES[value](ctx)
        elif metavar == "NAME" and param.name == "trace":
            found = _column("traces")
        elif metavar == "P" and param.name == "process":
            found = _column("processes")
        elif metavar.startswith(("FILE... A B", "FILE... (A B", "FILE... 'A", "FILE... PROOF")):
            already = [*(ctx.params.get(param.name) or ())]
            named = [each for each in already if files.GLOB(each) or os.path.exists(each)]
            found = _events(named, begun) if named and "PROOF" not in metavar else iter(())
        elif metavar in ("A", "B", "E", "EVENT"):
            found = _events(_files(), begun)
        else:
            return []
        return [each for each in found if _name(each).startswith(begun)]
    except Exception:  # a word is no place for complaints: the command itself makes them
        return []


def _name(item: Any) -> str:
    return str(item if isinstance(item, str) else item.value)


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


def _formats(ctx: Any) -> Iterator[str]:
    from microcosm.traces import reading

    return iter(reading.names())


def _orderings(ctx: Any) -> Iterator[str]:
    from microcosm.orderings.ordering import Ordering

    return iter([one.value for one in Ordering])


def _protocols(ctx: Any) -> Iterator[str]:
    from microcosm.protocol.catalogue import PROTOCOLS

    return iter([*PROTOCOLS])


def _rules(ctx: Any) -> Iterator[str]:
    from microcosm.logic.rulebook import read_rules

    return iter([rule.name for rule in read_rules().rules])


def _commands(ctx: Any) -> Iterator[str]:
    return iter(ctx.find_root().command.list_commands(ctx))


_VALUES: dict[str, Callable[[Any], Iterator[str]]] = {
    "F": _formats,
    "ORDERING": _orderings,
    "LEVEL": lambda ctx: iter(("application", "network")),
    "PROTOCOL": _protocols,
    "RULE": _rules,
    "N|exact": lambda ctx: iter(("exact",)),
    "COMMAND": _commands,
}
"""The values of options and arguments, by what these are called."""


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
    told = io.StringIO()
    with redirect_stdout(told):
        run()
    cut = 0 if quote else max((found.end() for found in _BREAKS.finditer(begun)), default=0)
    for line in filter(None, told.getvalue().splitlines()):
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
