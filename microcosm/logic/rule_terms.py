"""The variables of one rule while it is read: where each appears and what it ranges over.

Events and relations of a rule are named by variables; a rule is well formed when its conclusion has
none that its premises lack, and every relation that it forms exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.givens.relation import SPELLINGS, Relation
from microcosm.logic.rule import ANY, Incompatible, Term
from microcosm.logic.rule_faults import Source, cut

if TYPE_CHECKING:
    from lark import Token

DEFAULT_DOMAIN = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)
"""What a relation variable ranges over where no `where R in …` says otherwise."""

REFUTABLE = frozenset((Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED))
"""The relations R that have a refutation `!R`."""

POSSIBLE = frozenset(Relation) - {Relation.UNKNOWN, Relation.SILENT}
"""The relations that say something of the world, so that two of them may be incompatible."""


class Terms:
    """The events and relations of one rule, collected as its text is walked."""

    def __init__(self, source: Source, rule: str) -> None:
        self.source = source
        self.rule = cut(rule)
        self.events: dict[str, Token] = {}
        """Event variables of the premises and of the evolution."""
        self.local: dict[str, Token] = {}
        """Event variables of a `no e in M with …`."""
        self.within: dict[str, Token] = {}
        """Event variables that stand inside a `no … with` and are not its own."""
        self.outside: set[str] = set()
        """Event variables that stand in a premise outside of any, or in a conclusion."""
        self._variables: dict[str, Token] = {}
        """Relation variables outside `where`, in the order of appearance."""
        self._conditioned: dict[str, Token] = {}
        """Relation variables of `where`."""
        self._stated: dict[str, tuple[Relation, ...]] = {}
        """The domains of `where R in …`."""
        self._refuted: list[Token] = []
        self._excluding: list[Token] = []

    def event(self, token: Token) -> str:
        """An event variable of a premise."""
        self.events.setdefault(str(token), token)
        self.outside.add(str(token))
        return str(token)

    def term(self, token: Token) -> Term:
        """A relation, a relation variable or `_`."""
        if token.type == "SIGN":
            return self.sign(token)
        if token.type == "WILDCARD":
            return ANY
        self._variables.setdefault(token.lstrip("!"), token)
        if token.startswith("!"):
            self._refuted.append(token)
        return str(token)

    def sign(self, token: Token) -> Relation:
        """A concrete relation."""
        relation = SPELLINGS.get(token)
        if relation is None:
            hint = f"The relations are {' '.join(SPELLINGS)}."
            self.source.at(token, f"`{cut(token)}` is no relation", hint)
        return relation

    def triple(self, tokens: list[Token], *, given: bool = False) -> tuple[str, Term, str]:
        """`a R b`; where it is `given` or supposed so, neither `_` nor `?` can stand in it."""
        left, term, right = tokens
        if given and (term.type == "WILDCARD" or term == "?"):
            self.source.at(term, f"`{term}` is never given", "Name a relation, or use a relation variable.")
        return self.event(left), self.term(term), self.event(right)

    def concluded(self, tokens: list[Token]) -> tuple[str, Term, str]:
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

    def domain(self, token: Token, first: Token) -> str:
        """`R in S`, which `another` may continue; the name of R."""
        name = self.condition(token)
        if name in self._stated:
            hint = "Write one list of relations for it."
            self.source.at(token, f"`{name} in …` is said twice in rule {self.rule}", hint)
        self._stated[name] = (self.sign(first),)
        return name

    def another(self, name: str | None, token: Token) -> None:
        """One relation more for the domain of `name`."""
        if name is None:
            self.source.at(token, f"`{cut(token)}` belongs to no variable", "Write e.g. `where R in <, ||`.")
        relation = self.sign(token)
        if relation in self._stated[name]:
            self.source.at(token, f"`{relation}` is listed twice for {name}", "Leave it out.")
        self._stated[name] += (relation,)

    def condition(self, token: Token) -> str:
        """The relation variable that a condition speaks of."""
        if token.startswith("!"):
            self.source.at(token, f"a condition speaks of {token[1:]}, not of {token}", "Leave out the `!`.")
        self._conditioned.setdefault(str(token), token)
        return str(token)

    def incompatible(self, tokens: list[Token]) -> Incompatible:
        """`S incompatible T`."""
        one, other = map(self._exclusive, tokens)
        return Incompatible(one, other)

    def _exclusive(self, token: Token) -> Term:
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
