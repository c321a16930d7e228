"""The rules as people meet them: `rules list`, `rules show`, `rules check`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Typer

from microcosm import files
from microcosm.cli import exits, output
from microcosm.cli.reading import rulebook
from microcosm.errors import RuleError

if TYPE_CHECKING:
    from microcosm.logic.rule import Rule

app = Typer(help="The rules of the calculus: list them, show one, check them.", no_args_is_help=True)

_PLACE = r"(?:Definition|Figure|Section|Theorem|Lemma|Example)s?"
_PAPER = r"(?:Worlds\s+of\s+Events|Orderings\s+Beyond\s+Causality)"
_CITATION = re.compile(rf"{_PAPER}(?:,\s*{_PLACE}\s*\w+(?:\.\w+)*)*")


@app.command("list")
def list_rules() -> int:
    """All rules, with what they conclude and where they come from.

    \b
    Example:
      microcosm rules list
    """
    rules = rulebook().rules
    return output.answer(lambda: {"rules": [_fields(rule) for rule in rules]}, _table(rules))


@app.command("show")
def show(name: Annotated[str, Argument(metavar="RULE", help="The rule's name, e.g. In-Tr.")]) -> int:
    """One rule, as its file has it.

    \b
    Example:
      microcosm rules show Un-2
    """
    book = rulebook()
    found = book.named(name)
    if not found:
        names = {rule.name.casefold(): rule.name for rule in book.rules}
        near = [names[one] for one in get_close_matches(name.casefold(), names)]
        meant = f"did you mean {' or '.join(near)}?" if near else "`microcosm rules list` has all names."
        raise exits.UsageError(f"there is no rule {name}; {meant}")
    for rule in found:
        if not output.for_machines():
            output.note(_place(rule) + (f", {citation(rule)}" if citation(rule) else ""))
        output.answer({**_fields(rule), "text": rule.text}, rule.text.rstrip())
    return exits.HOLDS


@app.command("check")
def check() -> int:
    """Whether the rules are well-formed.

    They must be readable, negation must be stratified, and each rule should be able to fire at all. Exit
    0 if all is well, 1 if some rule can never fire, 4 if they are in error.

    \b
    Example:
      microcosm rules check --rules my-rules
    """
    from microcosm.engine.strata import never_fire, strata

    try:
        book = rulebook()
        found = strata(book)
    except RuleError as error:
        if output.for_machines():
            fault = {name: getattr(error, name) for name in ("file", "line", "column", "message")}
            output.emit({"valid": False, "errors": [fault], "never_fire": [], "strata": None})
        return exits.refusal(error, answered=True)
    idle = never_fire(book)
    for rule, reason in idle:
        output.warn(f"{_place(rule)}: {rule.name} can never fire: {reason}")
    never = [{"rule": rule.name, "reason": reason} for rule, reason in idle]
    fields = {"valid": True, "errors": [], "never_fire": never, "strata": len(found)}
    summary = f"{output.counted(len(book.rules), 'rule')}, {len(found)} strata, negation is stratified"
    return output.answer(fields, summary, exits.holding(not idle))


def citation(rule: Rule) -> str:
    """Where a rule comes from, as its comments say, or those at the top of its file; or nothing."""
    head = "" if rule.file is None else files.read_text(rule.file).partition("\nrule ")[0]
    for text in (rule.text, head):
        comments = " ".join(line.partition("#")[2].strip() for line in text.splitlines() if "#" in line)
        found = _CITATION.search(comments)
        if found:
            return " ".join(found.group().split())
    return ""


def _table(rules: Sequence[Rule]) -> Iterator[str]:
    from rich.text import Text

    from microcosm.cli.show.tables import lines_of, new_table
    from microcosm.logic.rule_grammar import premise_text

    drawn = new_table("rule", "file", "concludes", "source")
    for rule in rules:
        concludes = ", ".join(premise_text(judged, {}) for judged in rule.conclusions)
        cells = (rule.name, _place(rule), concludes, citation(rule))
        drawn.add_row(*map(Text, cells))
    yield from lines_of(drawn)


def _place(rule: Rule) -> str:
    name = Path(rule.file).name if rule.file else "?"
    return f"{name}:{rule.line}"


def _fields(rule: Rule) -> dict[str, object]:
    from microcosm.logic.rule_grammar import premise_text

    return {
        "name": rule.name,
        "file": rule.file,
        "line": rule.line,
        "conclusions": [premise_text(judged, {}) for judged in rule.conclusions],
        "source": citation(rule) or None,
    }
