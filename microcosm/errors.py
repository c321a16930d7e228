"""What can go wrong, said once: every error a user can see is one of these.

Expected negative answers (silence, `?`, "not bisimilar") are values, never exceptions.
An exception means that the request cannot go on; the state is then as it was before.
"""

from __future__ import annotations

from typing import Any

DISTRIBUTION = "causal-microcosm"
"""What `pip` knows this package by; `microcosm` there is another project."""


def installing(*extras: str) -> str:
    """The command that installs some extras, for hints.

    >>> print(installing("spark", "java"))
    pip install 'causal-microcosm[spark,java]'
    """
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"


def printable(text: str) -> str:
    r"""`text` on one line, with escapes for what a terminal would not show, or would obey.

    >>> print(printable("a\nb"))
    a\nb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class MicrocosmError(Exception):
    """Base of all errors raised on purpose by this package; a copy says and has what the error does."""

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__.__new__, (self.__class__, *self.args), self.__dict__


class TextError(MicrocosmError):
    """Bad input text, with the place where reading stopped.

    `file` is a path or a name such as `<stdin>`, `line` and `column` count from 1 (column in
    characters; None where unknown), `text` is the faulty line, `hint` says what to do.
    `str()` gives `file:line:column: message`, then the line with a caret, then the hint.
    """

    CONTEXT = 60
    """At most so many characters of the faulty line are shown on either side of the caret."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.text, self.hint = message, text, hint
        self.file, self.line, self.column = file, line, column

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = printable(f"{place}: {self.message}" if place else self.message)
        return "\n".join([text, *self._caret(), *filter(None, [self.hint])])

    def _caret(self) -> list[str]:
        if self.text is None or self.column is None:
            return []
        at = min(self.column - 1, len(self.text))
        start, end = max(0, at - self.CONTEXT), at + self.CONTEXT
        window = self.text[start:end].rstrip("\r\n")  # cut first: a line may be huge
        shown = "".join(c if c.isprintable() else " " for c in window)
        head, tail = "…" * (start > 0), "…" * (end < len(self.text))
        return [f"  {head}{shown}{tail}", f"  {' ' * (len(head) + at - start)}^"]


class RuleError(TextError):
    """A rule file that cannot be read, or rules that cannot be ordered into strata."""


class TraceError(TextError):
    """A trace that cannot be read, or an irregularity under `--strict`."""


class Undefined(MicrocosmError):
    """An evolution that is not defined: removing what is not given, or (strict) adding what is judged."""


class Stopped(MicrocosmError):
    """Told to stop before the search was through; what was found so far stands."""


class UnknownEvent(Undefined):
    """A question about events that nothing names, where they must exist.

    `events` are these, `near` some names that a mistyped one may stand for.
    """

    def __init__(self, events: tuple[str, ...], near: tuple[str, ...] = ()) -> None:
        named = " and ".join(map(repr, events))
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        super().__init__(printable(f"nothing names the event{'s' * (len(events) > 1)} {named}{meant}"))
        self.events, self.near = events, near


class NotOneEvent(MicrocosmError):
    """Words that were to say which event is meant, and do not; `events` are those that they may mean."""

    def __init__(self, message: str, events: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join(map(printable, message.split("\n"))))
        self.events = events


class NotComplete(MicrocosmError):
    """A log that is said to be complete, and something speaks against it: `signs`, a line each."""

    def __init__(self, signs: tuple[str, ...]) -> None:
        shown, more = signs[:10], len(signs) - 10
        rest = [f"and {more:,} more"] if more > 0 else []
        super().__init__("\n  ".join(["the log is not complete:", *map(printable, shown), *rest]))
        self.signs = signs


class Contradiction(MicrocosmError):
    """Facts that cannot hold together; nothing was changed.

    `derivations` holds a derivation of each side (`microcosm.logic.derivation.Derivation`), the
    refused one first where it is a single given.
    """

    def __init__(self, message: str, derivations: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.derivations = derivations


class MissingLibrary(MicrocosmError, ImportError):
    """An optional library is not installed: `packages` are to be installed, which the extra `extra` brings.

    >>> print(MissingLibrary("Spark jobs", ("pyspark", "numpy"), "spark"))
    Spark jobs need pyspark, numpy: pip install 'causal-microcosm[spark]'
    """

    def __init__(self, what: str, packages: tuple[str, ...], extra: str) -> None:
        super().__init__(f"{what} need {', '.join(packages)}: {installing(extra)}")
        self.packages, self.extra = packages, extra


class ProtocolError(MicrocosmError):
    """A causal send that a protocol cannot make: to nobody, to several by unicast, to a stranger."""


class ReplicaError(MicrocosmError):
    """A replica cannot do what it was asked to, now or at all; nothing was changed."""


class Malformed(MicrocosmError):
    """Bytes that are no evolution, message or snapshot of a version that this program reads."""


class NewerVersion(Malformed):
    """Bytes of a version that this program does not know yet: to be read by one that does."""


class WrongReplica(MicrocosmError):
    """A store that belongs to another replica, or another replica that uses this one's name."""


class Busy(ReplicaError):
    """Back-pressure: too much waits to be acknowledged. Try again after some has been."""


class KeyFileError(ReplicaError):
    """A key file that is missing, malformed, or open to others. The message never shows a key."""


class JournalError(MicrocosmError):
    """A journal that cannot be opened, read or written; nothing that was durable is lost by saying so.

    `file` is its path, `hint` says what to do.
    """

    def __init__(self, message: str, *, file: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.file, self.hint = message, file, hint

    def __str__(self) -> str:
        return f"{self.file}: {self.message}" + (f"; {self.hint}" if self.hint else "")


class LockedJournal(JournalError):
    """Another process, or another part of this one, has the journal open for writing."""


class LostJournal(JournalError):
    """The files of a journal that is open were deleted, or others put in their place."""


class DamagedJournal(JournalError):
    """What is found is not what was written: `faults` says where, `copy` is a folder that keeps it so."""

    def __init__(self, faults: tuple[str, ...], *, file: str, copy: str | None, hint: str) -> None:
        kept = f" (a copy is kept in {copy})" if copy else ""
        super().__init__(f"damaged: {'; '.join(faults)}{kept}", file=file, hint=hint)
        self.faults, self.copy = faults, copy
