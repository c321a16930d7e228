"""What the words of a rule stand for while it is read, and what is wrong with them, at their place.

Events and relations of a rule are named by variables; a rule is well formed when its conclusion has
none that its premises lack, and every relation that it forms exists. A parser says which terminals it could
have read; the author of a rule is told what could stand there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NoReturn

from microcosm.errors import RuleError
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.logic.rule import ANY, Incompatible, Term
from microcosm.logic.rule_grammar import RuleToken, UnexpectedTokenError

DEFAULT_DOMAIN = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)
"""What a relation variable ranges over where no `where R in …` says otherwise."""

REFUTABLE = frozenset((Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED))
"""The relations R that have a refutation `!R`."""

POSSIBLE = frozenset(Relation) - {Relation.UNKNOWN, Relation.SILENT}
"""The relations that say something of the world, so that two of them may be incompatible."""


class Terms:
    """The events and relations of one rule, collected as its text is walked.

    Cost of each method: constant, of `domains` linear in the rule.
    """

    def __init__(self, source: RuleText, rule: str) -> None:
        self.source = source
        self.rule = cut(rule)
        self.events: dict[str, RuleToken] = {}
        """Event variables of the premises and of the evolution."""
        self.local: dict[str, RuleToken] = {}
        """Event variables of a `no e in M with …`."""
        self.within: dict[str, RuleToken] = {}
        """Event variables that stand inside a `no … with` and are not its own."""
        self.outside: set[str] = set()
        """Event variables that stand in a premise outside of any, or in a conclusion."""
        self._variables: dict[str, RuleToken] = {}
        """Relation variables outside `where`, in the order of appearance."""
        self._conditioned: dict[str, RuleToken] = {}
        """Relation variables of `where`."""
        self._stated: dict[str, tuple[Relation, ...]] = {}
        """The domains of `where R in …`."""
        self._refuted: list[RuleToken] = []
        self._excluding: list[RuleToken] = []

    def event(self, token: RuleToken) -> str:
        """An event variable of a premise."""
        self.events.setdefault(str(token), token)
        self.outside.add(str(token))
        return str(token)

    def term(self, token: RuleToken) -> Term:
        """A relation, a relation variable or `_`."""
        if token.type == "SIGN":
            return self.sign(token)
        if token.type == "WILDCARD":
            return ANY
        self._variables.setdefault(token.lstrip("!"), token)
        if token.startswith("!"):
            self._refuted.append(token)
        return str(token)

    def sign(self, token: RuleToken) -> Relation:
        """A concrete relation."""
        relation = SPELLINGS.get(token)
        if relation is None:
            hint = f"The relations are {' '.join(SPELLINGS)}."
            self.source.at(token, f"`{cut(token)}` is no relation", hint)
        return relation

    def triple(self, tokens: list[RuleToken], *, given: bool = False) -> tuple[str, Term, str]:
        """`a R b`; where it is `given` or supposed so, neither `_` nor `?` can stand in it."""
        left, term, right = tokens
        if given and (term.type == "WILDCARD" or term == "?"):
            self.source.at(term, f"`{term}` is never given", "Name a relation, or use a relation variable.")
        return self.event(left), self.term(term), self.event(right)

    def concluded(self, tokens: list[RuleToken]) -> tuple[str, Term, str]:
        """`a R b` of a conclusion: nothing in it is new. Call it after the premises and the evolution."""
        left, term, right = tokens
        if term.type == "WILDCARD":
            hint = "Write a relation, or a relation variable that a premise has."
            self.source.at(term, "a conclusion names its relation; `_` is for premises", hint)
        for event in (left, right):
            if event not in self.events:
                where = ", outside of `no … in M with`" if event in self.local else ""
                hint = f"Some premise must speak of it{where}."
                self.source.at(event, f"the event {cut(event)} of the conclusion is unbound", hint)
            self.outside.add(str(event))
        name = term.lstrip("!")
        if term.type == "VARIABLE" and name not in self._variables and name not in self._conditioned:
            hint = f"Use {name} in a premise, or say `where {name} in <, ||`."
            self.source.at(term, f"the relation {name} of the conclusion is unbound", hint)
        return str(left), self.term(term), str(right)

    def domain(self, token: RuleToken, first: RuleToken) -> str:
        """`R in S`, which `another` may continue; the name of R."""
        name = self.condition(token)
        if name in self._stated:
            hint = "Write one list of relations for it."
            self.source.at(token, f"`{name} in …` is said twice in rule {self.rule}", hint)
        self._stated[name] = (self.sign(first),)
        return name

    def another(self, name: str | None, token: RuleToken) -> None:
        """One relation more for the domain of `name`."""
        if name is None:
            self.source.at(token, f"`{cut(token)}` belongs to no variable", "Write e.g. `where R in <, ||`.")
        relation = self.sign(token)
        if relation in self._stated[name]:
            self.source.at(token, f"`{relation}` is listed twice for {name}", "Leave it out.")
        self._stated[name] += (relation,)

    def condition(self, token: RuleToken) -> str:
        """The relation variable that a condition speaks of."""
        if token.startswith("!"):
            self.source.at(token, f"a condition speaks of {token[1:]}, not of {token}", "Leave out the `!`.")
        self._conditioned.setdefault(str(token), token)
        return str(token)

    def incompatible(self, tokens: list[RuleToken]) -> Incompatible:
        """`S incompatible T`."""
        one, other = map(self._exclusive, tokens)
        return Incompatible(one, other)

    def _exclusive(self, token: RuleToken) -> Term:
        if token.type == "WILDCARD" or token == "?":
            hint = "Name another relation, or a relation variable."
            self.source.at(token, f"`{token}` is compatible with every relation", hint)
        if token.type == "SIGN":
            return self.sign(token)
        self._conditioned.setdefault(token.lstrip("!"), token)
        (self._refuted if token.startswith("!") else self._excluding).append(token)
        return str(token)

    def domains(self) -> dict[str, tuple[Relation, ...]]:
        """The domain of every relation variable, after the whole rule was read and found well formed."""
        for name, token in self.local.items():
            if name in self.events:
                message = f"{cut(name)} is also used outside its `no {cut(name)} in M with …`"
                self.source.at(token, message, "Choose another letter for one of the two.")
        for name, token in self.within.items():
            if name not in self.outside:
                message = f"{cut(name)} stands inside `no … in M with …` only"
                self.source.at(token, message, "Some other premise must speak of it, or the conclusion.")
        for name, token in self._conditioned.items():
            if name not in self._variables:
                hint = "Use it in a premise, or leave the condition out."
                self.source.at(token, f"the rule has no {name} but in this condition", hint)
        domains = {name: self._stated.get(name, DEFAULT_DOMAIN) for name in self._variables}
        for tokens, allowed, fault in (
            (self._refuted, REFUTABLE, "has no refutation"),
            (self._excluding, POSSIBLE, "is compatible with every relation"),
        ):
            for token in tokens:
                name = token.lstrip("!")
                wrong = next((relation for relation in domains[name] if relation not in allowed), None)
                if wrong is not None:
                    hint = f"Say what {name} ranges over, e.g. `where {name} in <, ||`."
                    self.source.at(token, f"{name} may be `{wrong}`, which {fault}", hint)
        return domains


_SIGNS = "< > || <> ? !< !> !|| !<>"
_WORDS = {
    "HEADER": "a line `rule NAME:`",
    "DASHES": "a line of at least three dashes",
    "TURNSTILE": "a judgement such as `|- a R b`",
    "NAME": "an event variable such as a or e1",
    "PREDICATE": "a predicate such as name(a, b)",
    "SIGN": f"a relation ({_SIGNS})",
    "VARIABLE": "a relation variable such as R",
    "WILDCARD": "`_`",
    "_NL": "the end of the line",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "PLUS": "`+`",
    "_ASSIGN": "`:=`",
    "M": "`M`",
}
"""Terminals of the grammar, said to the author of a rule; the others are keywords."""

_GROUPS = (
    (
        {"TURNSTILE", "NAME", "PREDICATE", "GIVEN", "ASSUME", "NOT", "NO"},
        "a premise (`|- a R b`, `given a R b`, `a in M`, `a not in M`, `name(a, b)`, `not name(a, b)`, "
        "`no e in M with …`, `assume a R b`)",
    ),
    (
        {"TURNSTILE", "NAME", "PREDICATE", "GIVEN"},
        "a premise that affirms (`|- a R b`, `given a R b`, `a in M`, `name(a, b)`)",
    ),
    (
        {"SIGN", "VARIABLE", "WILDCARD"},
        f"a relation ({_SIGNS}, or _ for any) or a relation variable (R, S, T1)",
    ),
)
"""Terminals that stand for one thing together."""

LONGEST_LINE = 10_000
"""A longer line, its comment apart, is no rule: it is refused at once, before it is taken to pieces."""

_LONGEST_WORD = 24


class RuleText:
    """The text of one rule file, which gives every fault its place.

    Cost of each method: linear in the text at most, and only where there is a fault; of `check_length`
    always. All but `lines` and `check_length` raise.
    """

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n") + "\n"
        self.file = file

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def check_length(self) -> None:
        """Refuse a line of more than `LONGEST_LINE` characters."""
        for number, line in enumerate(self.lines, 1):
            if len(line) > LONGEST_LINE and len(line.split("#", 1)[0].strip()) > LONGEST_LINE:
                message = f"the line has more than {LONGEST_LINE} characters"
                self.fail(number, 1, message, "A rule has one premise or conclusion a line.")

    def fail(self, line: int, column: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise the `RuleError` of a fault at a line and column."""
        text = self.lines[line - 1]
        raise RuleError(message, file=self.file, line=line, column=column, text=text, hint=hint)

    def at(self, token: RuleToken, message: str, hint: str | None = None) -> NoReturn:
        """Raise the `RuleError` of a fault at a token."""
        self.fail(token.line, token.column, message, hint)

    def unexpected(self, error: UnexpectedTokenError) -> NoReturn:
        """Raise what the grammar has no place for as a `RuleError` that says what could stand there."""
        hint: str | None = expectation(error.accepts)
        token, line, column = error.token, error.token.line, error.token.column
        if token.type == "_NL":
            self.fail(line, column, "the line ends too early", hint)
        if token.type == "HEADER":
            self.fail(line, column, "a rule begins on a line of its own", hint)
        text = self.lines[line - 1]
        word = _WORD.match(text, column - 1)
        found = word.group() if word else ""
        if not found.strip("-─") and not text[: column - 1].strip():
            hint = "The line between premises and conclusions has at least three dashes."
        elif found and not found.isprintable():
            found = f"U+{ord(found[0]):04X}"
        self.fail(line, column, f"`{cut(found)}` cannot stand here", hint)


_WORD = re.compile(r"[A-Za-z0-9_]+|[^\sA-Za-z0-9_(),:#]+|.")


def cut(text: str) -> str:
    """At most the beginning of a word that may be of any length. Cost: constant."""
    return text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 4] + "…"


def expectation(terminals: set[str]) -> str:
    """What could stand at a place where the parser accepts these terminals.

    Cost: linear in the terminals.

    >>> expectation({"_NL", "OR", "WHERE"})
    'Expected here: `or`, `where` or the end of the line.'
    """
    names = terminals - {"$END"}
    if "HEADER" in names:
        names.discard("_NL")  # an empty line is no news there
    parts: list[str] = []
    for group, words in _GROUPS:
        if group <= names:
            parts.append(words)
            names -= group
    parts += [_WORDS.get(name, f"`{name.lower()}`") for name in sorted(names, key=lambda n: (n == "_NL", n))]
    return f"Expected here: {either(parts)}."


def either(parts: Sequence[str]) -> str:
    """Alternatives as a phrase.

    Cost: linear.

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
