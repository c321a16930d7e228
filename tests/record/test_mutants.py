"""Recorders that are wrong in one way each: the check of `test_soundness.py` finds every one of them."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from microcosm.errors import MicrocosmError
from microcosm.record import header, lines, recorder, strands
from tests.record.test_soundness import happens, thin

Mutate = Callable[[pytest.MonkeyPatch], None]


def names_are_guessed(patch: pytest.MonkeyPatch) -> None:
    """Messages are named by process and position: nothing in them is drawn."""
    patch.setattr(header.Names, "draw", lambda names: "AAAAAAAAAAA")


def two_lives_are_one(patch: pytest.MonkeyPatch) -> None:
    """Each life of a process has the same name, in a file and beside it."""
    begin = strands.Strand.__init__
    patch.setattr(lines.AppendedLines, "lives", lambda *_: {})
    patch.setattr(
        strands.Strand,
        "__init__",
        lambda strand, process, life, *more: begin(strand, process, "A" * 8, *more),
    )


def no_header_is_foreign(patch: pytest.MonkeyPatch) -> None:
    """A header is believed but for its last letter, as one that is cut off."""
    read = header.read

    def lenient(said: object) -> Any:
        message, clock = read(said)
        return (message[:-1] + "A" if message else None), clock

    patch.setattr(recorder, "read", lenient)


def clocks_outlive_strangers(patch: pytest.MonkeyPatch) -> None:
    """What came without a clock leaves the clock of the receiver as it was."""
    learn = strands.Strand.learn
    patch.setattr(strands.Strand, "learn", lambda strand, clock: clock and learn(strand, clock))


def clocks_are_not_merged(patch: pytest.MonkeyPatch) -> None:
    """A reception counts, and learns nothing."""
    patch.setattr(strands.Strand, "learn", lambda strand, clock: None)


def positions_are_those_of_lines_written(patch: pytest.MonkeyPatch) -> None:
    """The order within a process is lost: later events count down."""
    record = recorder.Recorder._record

    def backwards(self: Any, *arguments: Any) -> str:
        if self._strand is not None:
            self._strand.seq = (
                max(10**6, self._strand.seq) - 2 if self._strand.seq < 10 else self._strand.seq - 2
            )
        return record(self, *arguments)

    patch.setattr(recorder.Recorder, "_record", backwards)


def receptions_are_events(patch: pytest.MonkeyPatch) -> None:
    """A reception does not say what was received."""
    patch.setattr(recorder, "read", lambda said: (None, None))


MUTANTS = (
    names_are_guessed,
    two_lives_are_one,
    clocks_outlive_strangers,
    clocks_are_not_merged,
    positions_are_those_of_lines_written,
    receptions_are_events,
    no_header_is_foreign,
)


def is_found(seed: int) -> bool:
    """Whether a random run is read to say something false, or too little; thinned or whole."""
    chosen = random.Random(seed)
    kinds = ("esssrrrrrr", "esssrrrRRx")[seed // 4 % 2]
    steps = [(chosen.choice(kinds), chosen.randrange(4), chosen.randrange(40)) for _ in range(40)]
    with tempfile.TemporaryDirectory() as name:
        truth = happens(steps, Path(name), bool(seed % 2), bool(seed // 2 % 2))
        logs = [log for log in sorted(Path(name).iterdir()) if log.stat().st_size]
        try:
            found, true, _ = truth.check(*logs)
            if found < true:
                return True
            for out in logs[1:]:
                truth.check(*[log for log in logs if log != out])
            thin(logs, 0.3, chosen)
            truth.check(*[log for log in logs if log.stat().st_size])
        except (
            AssertionError,
            KeyError,
            MicrocosmError,
        ):  # false, unheard of, or in contradiction with itself
            return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_recorder_that_is_wrong_is_found(mutant: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    assert any(map(is_found, range(40)))


def test_one_that_is_right_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(map(is_found, range(12)))
