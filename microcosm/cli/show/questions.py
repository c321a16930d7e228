"""Answers to questions about a whole log, and what was found: for people, as JSON, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microcosm.questions.answers import Witness
    from microcosm.questions.ask import Answered, Found
    from microcosm.state.microcosm import Microcosm


def report(known: Microcosm, answered: Sequence[Answered]) -> Iterator[str]:
    """The answers for people: verdicts, counts, witnesses in the words of the log, proofs, what would
    settle.
    """
    from microcosm.cli.show.verdict import proof_tree

    for one in answered:
        for answer in one:
            yield f"{answer}"
            for note in answer.notes:
                yield f"  {note}"
            wanted = "true" if answer.verdict == "holds" else "false"
            for witness in answer.witnesses:
                if witness.verdict == "open" and answer.verdict == "violated":
                    continue
                yield f"  {witness.verdict}: {described(known, witness)}"
                if witness.cut is not None:
                    cut = ", ".join(witness.cut.values())
                    yield f"    seen at once in the cut after {cut}"
                if witness.searched:
                    yield "    found by a search of the worlds that fit"
                for said in witness.atoms if witness.verdict in (wanted, "open") else ():
                    yield f"    {said}"
                    if said.derivation is not None:
                        yield from (f"      {line}" for line in proof_tree(known, said.derivation))
            if answer.settle:
                yield "  what would settle it:"
                yield from (f"    {seen}" for seen in answer.settle)


def described(known: Microcosm, witness: Witness) -> str:
    """A tuple in the words of the log: its events with labels and lines, its intervals, its parameters."""
    events = [f"{name} = {_event(known, event)}" for name, event in witness.events.items()]
    states = [
        f"{name} from {_event(known, a)} {'on' if b is None else f'until {_event(known, b)}'}"
        for name, (a, b) in witness.intervals.items()
    ]
    given = ", ".join(f"{name}: {value}" for name, value in witness.parameters.items())
    return ", ".join(events + states) + (f"; {given}" if given else "")


def _event(known: Microcosm, event: str) -> str:
    table = known.givens.events
    row = None if table is None else table.row(event)
    if row is None:
        return event
    label = f' "{row.label}"' if row.label else ""
    return f"{event}{label}" + (f" ({row.place})" if row.place else "")


def found_lines(known: Microcosm, found: Found) -> Iterator[str]:
    """What was found, a line for each, in the words of the log."""
    for one in found.true:
        yield described(known, one)
    for one in found.open:
        yield f"open: {described(known, one)}"
    left = found.counts["true"] + found.counts["open"] - len(found.true) - len(found.open)
    if left:
        yield f"… and {left:,} more"


def row(known: Microcosm, witness: Witness) -> dict[str, Any]:
    """One of what was found, as JSON fields."""
    told = witness.to_json()
    table = known.givens.events
    rows = {} if table is None else {event: table.row(event) for event in witness.events.values()}
    labels = {event: row.label for event, row in rows.items() if row is not None and row.label}
    places = {event: row.place for event, row in rows.items() if row is not None and row.place}
    kept: dict[str, Any] = {
        key: told[key] for key in ("events", "intervals", "parameters", "verdict") if key in told
    }
    return {**kept, **({"labels": labels} if labels else {}), **({"places": places} if places else {})}


def csv_lines(found: Found) -> Iterator[str]:
    """What was found as comma-separated values, the names of the columns first."""
    rows = [*found.true, *found.open]
    if not rows:
        return
    names, states, given = [*rows[0].events], [*rows[0].intervals], [*rows[0].parameters]
    heads = [*names, *(f"{name} {end}" for name in states for end in ("from", "until")), *given, "verdict"]
    cells = (
        [
            *one.events.values(),
            *(end or "" for ends in one.intervals.values() for end in ends),
            *one.parameters.values(),
            one.verdict,
        ]
        for one in rows
    )
    for row in (heads, *cells):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(row)
        yield line.getvalue()
