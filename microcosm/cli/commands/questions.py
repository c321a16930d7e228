"""Questions about a whole log: `find`, `assert`, `settle`; answers for people, as JSON, as CSV."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm import files as output_files
from microcosm.cli import exits, options, output, reading
from microcosm.logic.derivation import proof_object
from microcosm.questions.answers import PROVED, SHOWN
from microcosm.questions.ask import pair_questions
from microcosm.questions.language import Questions
from microcosm.questions.reader import known_together, read_questions, read_sought
from microcosm.text.names import quote
from microcosm.text.statement import readable

if TYPE_CHECKING:
    from microcosm.questions.answers import Answer, Witness
    from microcosm.questions.ask import Answered, Found
    from microcosm.questions.settle import Observation
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop

app = Typer()

ENDING = ".ask"
"""How the name of a file of questions ends."""

SETTLED_UP_TO = 20_000
"""Of a log of more events `assert` does not say what would settle an open question; `settle` does."""

Logs = Annotated[
    list[str],
    Argument(metavar="FILE... [QUESTIONS.ask]", help=f"What to read: {options.WHAT} And files of questions."),
]
Text = Annotated[
    list[str], Option("-e", "--expression", metavar="TEXT", help="Questions, on the command line.")
]


@app.command("assert")
def assert_that(
    files: Logs,
    text: Text = [],  # noqa: B006
    exact: Annotated[bool, Option("--exact", help="Search worlds for what stays open.")] = False,
    limit: options.Limit = None,
    proof: Annotated[int, Option(metavar="N", min=0, help="So many witnesses are proved.")] = PROVED,
    witnesses: Annotated[int, Option(metavar="N", min=0, help="So many of each kind are shown.")] = SHOWN,
    proofs: Annotated[str | None, Option(metavar="DIR", help="Write each proof into a file there.")] = None,
    junit: Annotated[
        str | None, Option(metavar="OUT.xml", help="Write a report for CI; as --no-vacuous.")
    ] = None,
    no_vacuous: Annotated[
        bool, Option("--no-vacuous", help="A question whose patterns match nothing fails (exit 1).")
    ] = False,
) -> int:
    """Do questions about all events hold? Each holds, is violated, or is open, with witnesses and proofs.

    What holds, holds in every world that fits what is known; what is violated, in none; what is open
    depends on what the log does not tell. docs/reference/questions.md has the language. Exit 0 if all hold, 1
    if some are violated, 3 if some are open and none is violated.

    \b
    Examples:
      microcosm assert alice.log bob.log lease.ask
      microcosm assert run.jsonl -e 'event w(key) where label ~ "write (?<key>\\w+)"; never w(k) || w(k)'
    """
    if junit == output_files.STDIN:
        raise exits.UsageError("--junit names a file: on standard output is the answer")
    questions, logs = _questions(files, text)
    known = reading.load(logs)
    stop = options.stop_after(limit)
    answered = [
        known.assert_(  # noqa: PT009
            one, exact=exact, stop=stop, shown=witnesses, proved=proof, settle=len(known) <= SETTLED_UP_TO
        )
        for one in questions
    ]
    for one in answered:
        for warning in one.warnings:
            output.warn(warning)
    answers = [answer for one in answered for answer in one]
    for answer in answers:
        if answer.vacuous:
            output.warn(f"line {answer.question.place.line}: `{answer.question.text}`: {answer.notes[0]}")
    if proofs is not None:
        _write_proofs(answers, proofs)
    if junit is not None:
        _write_junit(junit, questions, answered)
    code = verdict_exit(answers, no_vacuous or junit is not None)
    return output.answer(
        lambda: fields(questions, answered, min(proof, witnesses)), report(known, answered), code
    )


@app.command("find")
def find(
    files: Annotated[
        list[str],
        Argument(metavar="FILE... SOUGHT", help=f"What to read: {options.WHAT} Then what is sought."),
    ],
    definitions: Annotated[
        str | None, Option("--with", metavar="QUESTIONS.ask", help="Take its patterns, too.")
    ] = None,
    limit: Annotated[int | None, Option(metavar="N", min=0, help="Show so many of each kind.")] = None,
    csv: Annotated[bool, Option("--csv", help="Comma-separated values, a line for each.")] = False,
) -> int:
    """Find the events that match, or the tuples for which something is true; and those of which it is open.

    SOUGHT is a condition on one event, or a pattern, a pair or a question as in files of questions, with
    definitions before it if need be. --json: an object on a line for each. Exit 0 if something is found, 3
    if it is open, 1 if there is nothing.

    \b
    Examples:
      microcosm find run.jsonl 'process = "lock" and label ~ "lease"'
      microcosm find run.jsonl 'event w(key) where label ~ "write (?<key>\\w+)"; w(k) || w(k)'
    """
    logs, (sought,) = reading.split(files, "SOUGHT")
    patterns = None if definitions is None else reading.questions_in(definitions)
    with reading.said_in("SOUGHT"):  # before anything is opened
        read_sought(sought, patterns)
    known = reading.load(logs)
    found = known.find(sought, limit=limit, known=patterns)
    for warning in found.warnings:
        output.warn(warning)
    if csv:
        seen = output.is_terminal(sys.stdout)
        output.say_all(map(output.printable, csv_lines(found)) if seen else csv_lines(found))
    elif output.for_machines():
        output.say_all(output.json_line(row(known, one)) for one in (*found.true, *found.open))
    else:
        output.say_all(found_lines(known, found))
    return found_exit(found)


def found_exit(found: Found) -> int:
    """0 where something was found, 3 where it is open, 1 where there is nothing."""
    return exits.HOLDS if found.counts["true"] else exits.UNDECIDED if found.counts["open"] else exits.REFUTED


@app.command("settle")
def settle(
    files: Annotated[
        list[str],
        Argument(
            metavar="FILE... (A B | QUESTIONS.ask)",
            help=f"What to read: {options.WHAT} Then two events, or questions.",
        ),
    ],
    text: Text = [],  # noqa: B006
    limit: options.Limit = None,
) -> int:
    """What would settle what is open: the observations that decide most, best first.

    That the log is complete, where the lost end of a message lies, clocks, or whom to ask; each with how
    many of the open tuples it decides. Exit 0 if nothing is open, 3 if something would settle it or not.

    \b
    Examples:
      microcosm settle run.jsonl alice:6 bob:4
      microcosm settle run.jsonl -e 'event any; never any || any'
    """
    if text or any(name.endswith(ENDING) for name in files):
        questions, logs = _questions(files, text)
        known = reading.load(logs)
        sought: list[Questions | tuple[str, str]] = [*questions]
    else:
        logs, pair = reading.pair_asked(files)
        known = reading.load(logs)
        sought = [reading.pair_of(known, *pair)]
    stop = options.stop_after(limit)
    fields, lines, code = settlement([row for one in sought for row in settled(known, one, stop)])
    return output.answer(fields, lines, code)


def settlement(rows: Iterable[tuple[Answer, list[Observation]]]) -> tuple[dict[str, Any], list[str], int]:
    """Answers with what would settle what is open of them, as JSON and for people; 3 where anything is."""
    lines, questions, code = list[str](), list[dict[str, Any]](), exits.HOLDS
    for answer, observations in rows:
        still = answer.counts["open"]
        lines += [str(answer), *(f"  {seen}" for seen in (*answer.notes, *observations))]
        if answer.verdict == "open" or still:
            code = exits.UNDECIDED
            lines += [] if observations else ["  no observation that this program knows of decides it"]
        if any(seen.kind == "clock" for seen in observations):
            lines.append("  (clocks and peers are chosen greedily: about as few as can be found fast)")
        stated = [seen.to_json() for seen in observations]
        about = {"text": answer.question.text, "verdict": answer.verdict, "open": still}
        questions.append({**about, "settle": stated})
    return {"questions": questions}, lines, code


def settled(
    known: Microcosm, sought: Questions | tuple[str, str], stop: Stop | None = None
) -> list[tuple[Answer, list[Observation]]]:
    """What would settle some questions, or how two events are related. Raises `UnknownEvent`.

    Of two events that are known to be related, the direction may still be open.
    """
    if not isinstance(sought, tuple):
        return [*known.settle(sought, stop=stop)]
    table = known.givens.events
    known.require(*(event for event in sought if table is None or event not in table))
    found: list[tuple[Answer, list[Observation]]] = []
    for answer, observations in known.settle(read_questions(pair_questions(*sought)), stop=stop):
        if answer.verdict == "open":
            return [(answer, observations)]
        found = found or [(answer, observations)]
    return found


def fields(questions: Sequence[Questions], answered: Sequence[Answered], proved: int) -> dict[str, Any]:
    """The JSON of `assert`: answers, what they answer, how many witnesses are proved, to be verified."""
    return {
        "questions": [answer.to_json(proof_object) for one in answered for answer in one],
        "proved": proved,
        "asked": [{"file": one.file, "text": one.text} for one in questions],
        "warnings": [warning for one in answered for warning in one.warnings],
    }


def _questions(names: Sequence[str], text: Sequence[str]) -> tuple[list[Questions], list[str]]:
    """The questions asked, and the logs that they are asked about. Raises `TextError`, `UsageError`."""
    names_of_questions = [name for name in names if name.endswith(ENDING)]
    if not names_of_questions and not text:
        raise exits.UsageError(f"ask something: -e TEXT, or a file of questions (*{ENDING})")
    if len(names_of_questions) == len(names):
        raise exits.UsageError("missing FILE: name a log or a microcosm to ask about")
    read = [*map(reading.questions_in, names_of_questions)]
    if text:
        with reading.said_in("-e"):
            read.append(read_questions("\n".join(text), None, known_together(read)))
    return read, [name for name in names if not name.endswith(ENDING)]


def verdict_exit(answers: Sequence[Answer], no_vacuous: bool = False) -> int:
    """1 where a question is violated, or is vacuous and must not be, 3 where one is open, else 0."""
    verdicts = {answer.verdict for answer in answers}
    if "violated" in verdicts or (no_vacuous and any(answer.vacuous for answer in answers)):
        return exits.REFUTED
    return exits.UNDECIDED if "open" in verdicts else exits.HOLDS


def _write_proofs(answers: Sequence[Answer], folder: str) -> None:
    """A file for each proof: the line of its question, the number of the witness and that of the atom.

    Of several questions on one line, or on lines of one number in several texts, the second is `line1.2`.
    """
    output_files.make_folder(folder)
    on_line = Counter[int]()
    for answer in answers:
        line = answer.question.place.line
        on_line[line] += 1
        place = f"line{line}" if on_line[line] == 1 else f"line{line}.{on_line[line]}"
        for number, witness in enumerate(answer.witnesses, 1):
            proofs = [atom.derivation for atom in witness.atoms if atom.derivation is not None]
            for at, proof in enumerate(proofs, 1):
                name = f"{folder}/{place}-{witness.verdict}{number}-{at}.json"
                output_files.write_text(name, output.as_json(proof_object(proof)) + "\n")


def _write_junit(out: str, texts: Sequence[Questions], answered: Sequence[Answered]) -> None:
    """A report as CI reads it: a violated or vacuous question is a failure; an open one is skipped."""
    cases, failures, skipped = list[str](), 0, 0
    for questions, one in zip(texts, answered, strict=True):
        place = readable(questions.file or "-e")
        for answer in one:
            name = readable(answer.question.text)
            head = f'<testcase classname="{place}" name="{name}" line="{answer.question.place.line}"'
            verdict = readable(str(answer))
            shown = readable("; ".join(str(atom) for w in answer.witnesses[:1] for atom in w.atoms))
            if answer.verdict == "violated" or answer.vacuous:
                failures += 1
                kind = "vacuous" if answer.vacuous else "violated"
                cases.append(
                    f'{head}><failure type="{kind}" message="{verdict}">{shown}</failure></testcase>'
                )
            elif answer.verdict == "open":
                skipped += 1
                cases.append(f'{head}><skipped message="{verdict}"/></testcase>')
            else:
                cases.append(f"{head}/>")
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    text = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="microcosm" {counts}>', *cases]
    output_files.write_text(out, "\n".join([*text, "</testsuite>", ""]))


def report(known: Microcosm, answered: Sequence[Answered]) -> Iterator[str]:
    """The answers for people: verdicts, counts, witnesses in words of the log, proofs, what would settle."""
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
                yield f"  {witness.verdict}: {witness.described(known.givens.events)}"
                if witness.cut is not None:
                    cut = ", ".join(map(quote, witness.cut.values()))
                    yield f"    seen at once in the cut after {cut}"
                if witness.searched:
                    yield "    found by a search of the worlds that fit"
                for atom in witness.atoms if witness.verdict in (wanted, "open") else ():
                    yield f"    {atom}"
                    if atom.derivation is not None:
                        yield from (f"      {line}" for line in proof_tree(known, atom.derivation))
            if answer.settle:
                yield "  what would settle it:"
                yield from (f"    {seen}" for seen in answer.settle)


def found_lines(known: Microcosm, found: Found) -> Iterator[str]:
    """What was found, a line for each, in the words of the log."""
    table = known.givens.events
    yield from (one.described(table) for one in found.true)
    yield from (f"open: {one.described(table)}" for one in found.open)
    left = found.counts["true"] + found.counts["open"] - len(found.true) - len(found.open)
    if left:
        yield f"… and {left:,} more"


def row(known: Microcosm, witness: Witness) -> dict[str, Any]:
    """One of what was found, as JSON fields."""
    table, named = known.givens.events, witness.events.values()
    rows = [] if table is None else [row for row in map(table.row, named) if row is not None]
    labels = {row.name: row.label for row in rows if row.label}
    places = {row.name: row.place for row in rows if row.place}
    about = ("events", "intervals", "parameters", "verdict")
    kept = {name: value for name, value in witness.to_json().items() if name in about}
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
        csv.writer(line, lineterminator="\r\n").writerow(row)  # those within are quoted then
        yield line.getvalue()[:-2]
