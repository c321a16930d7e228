"""What helps to begin: `demo`, a first example; `doctor`, whether all that is optional is there; `help`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from difflib import get_close_matches
from inspect import cleandoc
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option, Typer

from microcosm import files
from microcosm.cli import exits, output
from microcosm.cli.app import NAME, OVERVIEW, describe, loaded, whole
from microcosm.cli.parsing import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from microcosm.givens.relation import Relation
    from microcosm.logic.derivation import Derivation
    from microcosm.state.microcosm import Microcosm
    from microcosm.traces.event import TraceEvent

app = Typer()


@app.command("help")
def explain(
    command: Annotated[
        list[str], Argument(metavar="[COMMAND]...", help="A command, and one of its own, such as rules show.")
    ] = [],  # noqa: B006
    man: Annotated[
        bool, Option("--man", help="All commands as a manual page: microcosm help --man > microcosm.1")
    ] = False,
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
    text = found.get_help(context)
    return output.answer({"command": " ".join(command) or None, "help": text}, text)


def _context(words: list[str]) -> tuple[Any, Any]:
    """The command that words name, in its context. Raises `UsageError`."""
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

    def parts(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield path, command
        for name, part in getattr(command, "commands", {}).items():
            yield from parts(f"{path} {name}", part)

    for title, entries in OVERVIEW.items():
        for name, entry in entries.items():
            for path, command in parts(name, loaded(name)):
                yield title, path, entry.summary, command


def manual_page() -> str:
    """`microcosm.1`, from what the commands say of themselves. Cost: all of them are loaded.

    >>> manual_page().splitlines()[0]
    '.TH MICROCOSM 1'
    """
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
        usage = _roff(usage).replace('"', "\\(dq")
        lines += [f'.SS "{NAME} {_roff(path)} {usage}"', *_paragraphs(cleandoc(command.help or ""))]
        for names, text in filter(
            None, (each.get_help_record(context) for each in command.get_params(context))
        ):
            lines += [".TP", f".B {_roff(names)}", _roff(" ".join(text.split())) or "\\&"]
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


LOG = "photo-album.jsonl"

MOST_LINKS = 6
"""The proof that is shown is that of the longest chain up to so many links."""

CHECKED = "A kernel that shares no code with the search has checked every proof, and accepts it."

Question = tuple[str, str]


@app.command("demo")
def demo() -> int:
    """A tour in one screen.

    A log, what it tells of some pairs of events, and a proof, which is checked.

    \b
    Example:
      microcosm demo
    """
    from microcosm.cli import reading
    from microcosm.cli.show.verdict import verdict_fields
    from microcosm.kernel import check as kernel
    from microcosm.traces import extract as correspondences
    from microcosm.traces import reading as formats

    log = files.shipped("examples") / LOG
    events = list(formats.read([log]))
    found = correspondences.extract(events)
    known = reading.microcosm_of(found.givens, reading.rulebook())
    answers = [(pair, known.online(*pair), known.why(*pair)) for pair in _questions(known)]
    fields = [verdict_fields(*pair, verdict, proof) for pair, verdict, proof in answers]
    proofs = [each["derivation"] for each in fields if each["derivation"] is not None]
    faults = [kernel.check(known.givens, known.rules, proof) for proof in proofs]
    valid = not any(faults)
    if output.for_machines():
        output.emit({"questions": fields, "valid": valid})
    else:
        _log(log, events)
        output.say("", f"It tells of {len(known.events)} events in {found.processes} processes. Ask it:", "")
        _show(known, answers)
        output.say("", CHECKED if valid else f"The kernel refuses a proof: {next(filter(None, faults))}")
        output.say("", "Try next:", f"  microcosm extract {join([str(log)])} -o album.mc")
        output.say(*(f"  microcosm why album.mc {join(answers[at][0])}" for at in (0, -1) if answers))
        output.say("  microcosm table album.mc")
    return exits.holding(valid)


def _questions(known: Microcosm) -> Iterator[Question]:
    """A pair for each kind of verdict that the microcosm has, in the order of what is known."""
    from microcosm.givens.relation import Relation

    found: dict[Relation, list[Question]] = {}
    for a, b, verdict in known.table():
        turned = verdict is Relation.AFTER
        found.setdefault(verdict.converse if turned else verdict, []).append((b, a) if turned else (a, b))
    if Relation.BEFORE in found:
        yield max(found[Relation.BEFORE], key=lambda pair: _length(known.why(*pair)))
    for kind in (Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN, Relation.SILENT):
        if kind in found:
            yield found[kind][0]


def _length(proof: Derivation | None) -> int:
    """How many links a proof shows; 0 for one that is too long to be shown."""
    from microcosm.logic.derivation import links

    if proof is None or not proof.premises:
        return 0
    count = len(links(proof.premises[0]))
    return count if count <= MOST_LINKS else 0


def _log(log: Path, events: list[TraceEvent]) -> None:
    output.say(f"A log ({log.name}):", "")
    rows = [(e.process, e.id, f"{e.kind} {e.message or ''}".rstrip(), e.label or "") for e in events]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        columns = [text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)]
        output.say(f"  {'  '.join(columns)}".rstrip())


def _show(known: Microcosm, answers: list[tuple[Question, Relation, Derivation | None]]) -> None:
    from microcosm.cli.show.verdict import proof_tree, verdict_lines

    for pair, verdict, _ in answers:
        output.say_all(verdict_lines(pair[0], verdict, pair[1]))
    shown = next((proof for _, _, proof in answers if proof is not None), None)
    if shown is not None:
        output.say("", "Every verdict but silence has a proof. That of the first:", "")
        output.say_all(proof_tree(known, shown))


@app.command("doctor")
def doctor() -> int:
    """What this installation can do: Python, SQLite, Java, Spark, the extras, and what is missing for what.

    Exit 0, whatever is missing: only what is named beside it does not work.

    \b
    Example:
      microcosm doctor
    """
    import sqlite3

    from microcosm.replica.journal.files import wal_reset_bug
    from microcosm.spark.installation import Part, parts

    python, *others = parts()
    found = [python, Part("SQLite", True, sqlite3.sqlite_version, ""), *others]
    if wal_reset_bug(sqlite3.sqlite_version_info):
        output.warn(
            f"SQLite {sqlite3.sqlite_version} can damage a database that two connections write or checkpoint"
            " at once (3.7.0 to 3.51.2); a journal is safe as long as no other program opens it"
        )
    unneeded = {"disables": None, "remedy": None}
    fields = [asdict(part) | (unneeded if part.present else {}) for part in found]
    width = max(len(part.name) for part in found)
    lines = (
        f"{part.name:{width}}  {part.version}  {output.printable(part.where)}".rstrip()
        if part.present
        else f"{part.name:{width}}  missing: {part.disables}\n{'':{width}}  {part.remedy}"
        for part in found
    )
    return output.answer({"parts": fields}, lines)
