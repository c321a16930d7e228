"""Exit codes, and what is said of whatever goes wrong: every failure ends here, once, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from microcosm.cli.output import complain, give_up_on, write_lines
from microcosm.errors import Contradiction, MicrocosmError, NotOneEvent, TextError, installing

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


EXPECTED = (MicrocosmError, OSError)
"""What goes wrong with one file of several; the others are still answered."""


class InconsistentGivens(Contradiction):
    """A contradiction among `givens`, which say where each side comes from."""

    def __init__(self, error: Contradiction, givens: Givens) -> None:
        super().__init__(str(error), error.derivations)
        self.givens = givens


def failure(error: BaseException, command: str) -> int:
    """Say on standard error what went wrong in `command`; the exit code it calls for.

    Bad text that stands in an option (its `file` is the option) is a matter of usage, in a file bad input.
    """
    match error:
        case KeyboardInterrupt():
            complain("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            give_up_on(sys.stdout)
            return PIPE_CLOSED
        case UsageError() | NotOneEvent():
            complain(f"error: {error}", f"Try `{command} --help`.")
            return USAGE
        case TextError(file=str(file)) if file.startswith("--"):
            complain(f"error: {error}", f"Try `{command} --help`.")
            return USAGE
        case Contradiction():
            refusal(error, *filter(None, [getattr(error, "givens", None)]))
            return BAD_INPUT
        case MicrocosmError():
            refusal(error)
            return BAD_INPUT
        case ImportError(name=str(name)) if (lacking := _lacking(name)) is not None:
            complain(f"error: {lacking}")
            return BAD_INPUT
        case OSError():
            complain(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
            if error.filename is None:
                give_up_on(sys.stdout)
            return BAD_INPUT
        case _:
            _fault(error)
            return FAULT


def _lacking(module: str) -> str | None:
    """What to install for a library that could not be imported, if it is an optional one."""
    from microcosm.spark.installation import PACKAGES

    for name, package in PACKAGES.items():
        if module == package.module or module.startswith(f"{package.module}."):
            return f"this needs {name}: {installing(package.extra)}"
    return None


def refusal(error: MicrocosmError, *givens: Givens, about: str = "") -> None:
    """Say on standard error what was refused; of a contradiction both sides, `givens` knowing the sources."""
    complain(f"error: {about}: {error}" if about else f"error: {error}")
    if isinstance(error, Contradiction):
        show_sides(error, sys.stderr, *givens)


def show_sides(error: Contradiction, stream: TextIO, *givens: Givens) -> None:
    """The derivation of each side of a contradiction."""
    sys.stdout.flush()
    write_lines(stream, side_lines(error, stream, *givens))


def side_lines(error: Contradiction, stream: TextIO, *givens: Givens) -> Iterator[str]:
    """The lines of the derivation of each side, as `stream` wants them."""
    from microcosm.cli.show.proofs import Provenance, Style, proof_lines

    provenance = Provenance(*givens, at_most=Style.of(stream).signs.at_most)
    for side in error.derivations:
        yield ""
        yield from (f"  {line}" for line in proof_lines(side, stream=stream, provenance=provenance))


def _fault(error: BaseException) -> None:
    """Say that an exception is one that nobody foresaw."""
    if os.environ.get(DEBUG):
        from traceback import print_exception

        print_exception(error)
    complain(fault_line(error))


def fault_line(error: BaseException) -> str:
    """What is said of an exception that nobody foresaw."""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"error: a fault of this program, please report it ({said}); {DEBUG}=1 shows the traceback"
