"""`help`: what a command does, in the terminal or, all of it together, as a manual page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()


@app.command("help")
def explain(
    command: Annotated[
        list[str],
        typer.Argument(metavar="[COMMAND]...", help="A command, and one of its own, such as rules show."),
    ] = [],  # noqa: B006
    man: Annotated[
        bool, typer.Option("--man", help="All commands as a manual page: microcosm help --man > microcosm.1")
    ] = False,
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """What a command does, and its options; without one, the overview.

    \b
    Examples:
      microcosm help why
      microcosm help --man | man -l -
    """
    if man:
        output.say(manual_page().rstrip("\n"))
        return exits.HOLDS
    context, found = _context(command)
    told = found.get_help(context)
    if json:
        output.emit({"command": " ".join(command) or None, "help": told})
    else:
        output.say(told)
    return exits.HOLDS


def _context(words: list[str]) -> tuple[Any, Any]:
    """The command that words name, in its context. Raises `UsageError`."""
    from difflib import get_close_matches

    from microcosm.cli.app import NAME, whole
    from microcosm.cli.parsing import SETTINGS

    found: Any = whole()
    context = typer.Context(found, info_name=NAME, **SETTINGS)
    for word in words:
        part = found.get_command(context, word) if hasattr(found, "get_command") else None
        if part is None:
            near = get_close_matches(
                word, found.list_commands(context) if hasattr(found, "list_commands") else ()
            )
            meant = f"; did you mean {' or '.join(near)}?" if near else ""
            raise exits.UsageError(f"there is no command {word!r}{meant}")
        context = typer.Context(part, parent=context, info_name=word, **SETTINGS)
        found = part
    return context, found


def every_command() -> Iterator[tuple[str, str, str, Any]]:
    """Of each command its group in the overview, its path, what that tells of it, and itself."""
    from microcosm.cli.app import OVERVIEW, loaded

    def parts(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield path, command
        for name, part in getattr(command, "commands", {}).items():
            yield from parts(f"{path} {name}", part)

    for title, entries in OVERVIEW.items():
        for name, entry in entries.items():
            for path, command in parts(name, loaded(name)):
                yield title, path, entry.told, command


def manual_page() -> str:
    """`microcosm.1`, from what the commands say of themselves. Cost: all of them are loaded.

    >>> manual_page().splitlines()[0]
    '.TH MICROCOSM 1'
    """
    from inspect import cleandoc

    from microcosm.cli.app import NAME, describe
    from microcosm.cli.parsing import SETTINGS

    about, _, more = cleandoc(describe.__doc__ or "").partition("\n\n")
    lines = [f".TH {NAME.upper()} 1", ".SH NAME", _roff(f"{NAME} - {about}"), ".SH SYNOPSIS"]
    lines += [f".B {NAME}", "[OPTIONS] COMMAND [ARGS]...", ".SH DESCRIPTION", *_paragraphs(more)]
    title = None
    for group, path, _told, command in every_command():
        if group != title:
            lines.append(f".SH {_roff(group.upper())}")
        title = group
        context = typer.Context(command, info_name=f"{NAME} {path}", **SETTINGS)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f'.SS "{NAME} {_roff(path)} {_quoted(usage)}"', *_paragraphs(cleandoc(command.help or ""))]
        for names, said in filter(
            None, (each.get_help_record(context) for each in command.get_params(context))
        ):
            lines += [".TP", f".B {_roff(names)}", _roff(" ".join(said.split())) or "\\&"]
    return "\n".join([*lines, ".SH SEE ALSO", "https://causal-microcosm.readthedocs.io/", ""])


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that begins with a backspace stands as it is."""
    for part in text.split("\n\n"):
        if part.startswith("\b"):
            yield from (".PP", ".nf", *map(_roff, part.lstrip("\b\n").splitlines()), ".fi")
        elif part.strip():
            yield from (".PP", _roff(" ".join(part.split())))


def _roff(text: str) -> str:
    """Text that roff shows as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def _quoted(text: str) -> str:
    return _roff(text).replace('"', "\\(dq")
