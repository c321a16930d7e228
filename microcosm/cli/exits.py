"""Exit codes, and what is said of whatever goes wrong: every failure ends here, once, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from microcosm.cli.output import complain, emit, for_machines, give_up_on, write_lines
from microcosm.errors import (
    Contradiction,
    JournalError,
    MicrocosmError,
    NotOneEvent,
    Stopped,
    TextError,
    installing,
)

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens

HOLDS = 0
"""Holds, found, decided."""
REFUTED = 1
"""Refuted, different, inconsistent."""
USAGE = 2
UNDECIDED = 3
"""Unknown, silent or undecided."""
BAD_INPUT = 4
FAULT = 70
"""A fault of this program: an exception that nobody foresaw."""
INTERRUPTED = 130
PIPE_CLOSED = 141
"""The reader of standard output went away (`| head`); what a shell reports for SIGPIPE."""

DEBUG = "MICROCOSM_DEBUG"
"""Set to anything but the empty string: unforeseen exceptions show their traceback."""


class UsageError(MicrocosmError):
    """The command line asks for what this program does not do; exit 2."""


def holding(holds: bool) -> int:
    """The code of what holds, or does not."""
    return HOLDS if holds else REFUTED


def worst(codes: Collection[int]) -> int:
    """The code of several answers: what could not be answered comes first, then what is refuted."""
    return next(code for code in (USAGE, BAD_INPUT, REFUTED, UNDECIDED, HOLDS) if code in codes)


EXPECTED = (MicrocosmError, OSError)
"""What goes wrong with one file of several; the others are still answered."""


class InconsistentGivens(Contradiction):
    """A contradiction among `givens`, which say where each side comes from."""

    def __init__(self, error: Contradiction, givens: Givens) -> None:
        super().__init__(str(error), error.derivations)
        self.givens = givens


def failure(error: BaseException, command: str) -> int:
    """Say what went wrong in `command`; the exit code it calls for.

    People are told on standard error, programs (--json) besides by an object on standard output.

    Bad text that stands in a long option (its `file` is the option) is a matter of usage; in a question, or
    in a file, bad input.
    """
    match error:
        case KeyboardInterrupt():
            complain("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            give_up_on(sys.stdout)
            return PIPE_CLOSED
        case UsageError() | NotOneEvent():
            return _usage(error, command)
        case TextError(file=str(file)) if file.startswith("--"):
            return _usage(error, command)
        case Contradiction():
            return refusal(error, *filter(None, [getattr(error, "givens", None)]))
        case MicrocosmError():
            return refusal(error, code=UNDECIDED if isinstance(error, Stopped) else BAD_INPUT)
        case ImportError(name=str(name)) if (lacking := _lacking(name)) is not None:
            return say_fault(f"error: {lacking}", fields={"error": lacking}, code=BAD_INPUT)
        case OSError(filename=None):
            complain(f"error: standard output: {error.strerror or error}")
            give_up_on(sys.stdout)
            return BAD_INPUT
        case OSError():
            fields = {"error": error.strerror or str(error), "file": str(error.filename)}
            message = f"error: {error.filename}: {error.strerror or error}"
            return say_fault(message, fields=fields, code=BAD_INPUT)
        case _:
            if os.environ.get(DEBUG):
                from traceback import print_exception

                print_exception(error)
            message = fault_line(error)
            return say_fault(message, fields={"error": message.removeprefix("error: ")}, code=FAULT)


def say_fault(*lines: str, fields: Mapping[str, object], code: int) -> int:
    """Lines on standard error; under --json an object of `fields` and the exit code, too. That code."""
    complain(*lines)
    if for_machines():
        emit({**fields, "exit": code})
    return code


def fault_fields(error: BaseException) -> dict[str, object]:
    """What programs are told of an error: what, where, what to do, and the sides of a contradiction."""
    found: dict[str, object] = {"error": str(error)}
    if isinstance(error, TextError | JournalError):
        found["error"] = error.message
        places = {name: getattr(error, name, None) for name in ("file", "line", "column", "hint")}
        found |= {name: value for name, value in places.items() if value is not None}
    if isinstance(error, Contradiction):
        from microcosm.logic.derivation import proof_object

        found["derivations"] = [proof_object(side) for side in error.derivations]
    return found


def _usage(error: BaseException, command: str) -> int:
    hint = f"Try `{command} --help`."
    return say_fault(f"error: {error}", hint, fields={"hint": hint, **fault_fields(error)}, code=USAGE)


def _lacking(module: str) -> str | None:
    """What to install for a library that could not be imported, if it is an optional one."""
    from microcosm.spark.installation import PACKAGES

    for name, package in PACKAGES.items():
        if module == package.module or module.startswith(f"{package.module}."):
            return f"this needs {name}: {installing(package.extra)}"
    return None


def refusal(
    error: MicrocosmError, *givens: Givens, about: str = "", code: int = BAD_INPUT, answered: bool = False
) -> int:
    """Say what was refused, and of a contradiction both sides, `givens` knowing the sources; the exit code.

    Where the command has an answer of its own for programs, it is `answered`.
    """
    complain(f"error: {about}: {error}" if about else f"error: {error}")
    if isinstance(error, Contradiction):
        sys.stdout.flush()
        write_lines(sys.stderr, side_lines(error, sys.stderr, *givens))
    if for_machines() and not answered:
        emit({**fault_fields(error), **({"file": about} if about else {}), "exit": code})
    return code


def side_lines(error: Contradiction, stream: TextIO, *givens: Givens) -> Iterator[str]:
    """The lines of the derivation of each side, as `stream` wants them."""
    from microcosm.cli.show.proofs import Provenance, Style, proof_lines

    provenance = Provenance(*givens, at_most=Style.of(stream).signs.at_most)
    for side in error.derivations:
        yield ""
        yield from (f"  {line}" for line in proof_lines(side, stream=stream, provenance=provenance))


def fault_line(error: BaseException) -> str:
    """What is said of an exception that nobody foresaw."""
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return f"error: a fault of this program, please report it ({message}); {DEBUG}=1 shows the traceback"
