"""Rule text in, rules out: the language of `rules/*.rules` (`rules/README.md` shows it on one screen).

The grammar (`rule_grammar`) knows lines and tokens; what a line may say where is checked here, so that
every fault is reported in words, at its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import cast

from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    Assume,
    BasePredicate,
    Given,
    In,
    InProfile,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Positive,
    Premise,
    Rule,
    RuleChange,
)
from microcosm.logic.rule_grammar import RuleToken, Tree, UnexpectedTokenError, blocks
from microcosm.logic.rule_terms import RuleText, Terms, cut

MOST_INSTANCES = 10_000
"""A rule that stands for more instances than this is a mistake, and would only exhaust memory."""

TURNSTILES: dict[str, tuple[Judgement, bool]] = {
    **dict.fromkeys(("|-0", "⊢₀"), (Judgement.INITIAL, True)),
    **dict.fromkeys(("|-", "⊢"), (Judgement.ONLINE, True)),
    **dict.fromkeys(("||-", "⊩"), (Judgement.OFFLINE, True)),
    **dict.fromkeys(("|/-0", "⊬₀"), (Judgement.INITIAL, False)),
    **dict.fromkeys(("|/-", "⊬"), (Judgement.ONLINE, False)),
    **dict.fromkeys(("||/-", "⊮"), (Judgement.OFFLINE, False)),
}
"""Every spelling of a turnstile: its judgement, and whether it is affirmed."""


def read_rule_text(text: str, file: str | None = None) -> list[Rule]:
    """The rules of one rule file, in order. Cost: linear in the text.

    Raises `RuleError` at the first fault. That names differ is checked by `RuleBook`.

    >>> [rule] = read_rule_text('''rule In-Tr:
    ...     |-0 a < b
    ...     |-0 b < c
    ...     ---------
    ...     |-0 a < c''')
    >>> rule.name, rule.line, len(rule.premises)
    ('In-Tr', 1, 2)
    """
    source = RuleText(text, file)
    source.check_length()
    try:
        found = blocks(source.text)
    except UnexpectedTokenError as error:
        source.unexpected(error)
    return [_Block(source, block).read() for block in found]


def _trees(tree: Tree) -> Iterator[Tree]:
    yield from cast(list[Tree], tree.children)


def _tokens(tree: Tree) -> list[RuleToken]:
    return cast(list[RuleToken], tree.children)


def _first(tree: Tree) -> RuleToken:
    node: Tree | RuleToken = tree
    while not isinstance(node, str):
        node = node.children[0]
    return node


class _Block:
    """One rule while it is read, from its line `rule NAME:` to its last conclusion."""

    def __init__(self, source: RuleText, tree: Tree) -> None:
        self.source = source
        self.header: RuleToken = _first(tree)
        self.name = self._name()
        self.terms = Terms(source, self.name)
        self.premises: list[tuple[Premise, ...]] = []
        self.lines = list(_trees(tree))[1:]

    def _name(self) -> str:
        match = re.fullmatch(r"rule[ \t\f]+([^\s:]+)[ \t\f]*:\s*", str(self.header))
        if match is None:
            hint = "A rule begins with a line `rule NAME:`; the name has no spaces, colons or #."
            self.source.at(self.header, f"`{cut(self.header.strip())}` does not begin a rule", hint)
        return match.group(1)

    def read(self) -> Rule:
        """The rule. Raises `RuleError` at its first fault."""
        above, dashes, under = self._parts()
        for line in above:
            self._premise_line(line)
        evolution = self._evolution(dashes)
        conclusions = tuple(self._conclusion(line) for line in under)
        premises = tuple(self.premises)
        domains = self.terms.domains()
        if math.prod(map(len, (*premises, *domains.values(), conclusions))) > MOST_INSTANCES:
            message = f"rule {cut(self.name)} stands for more than {MOST_INSTANCES} instances"
            self.source.at(self.header, message, "Split it, or list fewer relations and alternatives.")
        first, last = self.header.line, _first(under[-1]).line
        text = "\n".join(self.source.lines[first - 1 : last])
        return Rule(self.name, premises, conclusions, domains, evolution, self.source.file, first, text)

    def _parts(self) -> tuple[list[Tree], Tree, list[Tree]]:
        """The lines above the dashes, the line of dashes, and those under it; none is empty."""
        name, lines = cut(self.name), self.lines
        at = next((i for i, line in enumerate(lines) if line.data == "dashes"), None)
        if at is None:
            hint = "Premises stand above a line of at least three dashes, conclusions under it."
            self.source.at(self.header, f"rule {name} has no line of dashes", hint)
        above, dashes, under = lines[:at], lines[at], lines[at + 1 :]
        if not above:
            hint = "A rule concludes from something, if only from `a in M`."
            self.source.at(_first(dashes), f"rule {name} has no premise above the dashes", hint)
        if not under:
            hint = "Write one judgement a line, such as `|- a R b`."
            self.source.at(_first(dashes), f"rule {name} has no conclusion under the dashes", hint)
        return above, dashes, under

    def _premise_line(self, line: Tree) -> None:
        trees = list(_trees(line))
        where = trees.pop() if trees[-1].data == "where" else None
        alternatives = tuple(self._premise(tree) for tree in trees)
        self.premises.append(alternatives)
        if where is not None:
            self._where(where, alternatives)

    def _premise(self, tree: Tree) -> Premise:
        match tree.data:
            case "assume":
                return Assume(*self.terms.triple(_tokens(tree), given=True))
            case "profile":
                return InProfile(str(_first(tree)))
            case "outside":
                return Not(In(self.terms.event(_first(tree))))
            case "negated":
                return Not(self._positive(next(_trees(tree))))
            case "none":
                return self._none(tree)
            case "judged" if not TURNSTILES[_first(tree)][1]:
                return Not(self._positive(tree))
        return self._positive(tree)

    def _positive(self, tree: Tree) -> Positive:
        first, *others = tokens = _tokens(tree)
        match tree.data:
            case "judged":
                return Judged(TURNSTILES[first][0], *self.terms.triple(others))
            case "given":
                return Given(*self.terms.triple(tokens, given=True))
            case "member":
                return In(self.terms.event(first))
        if len(others) > 2:
            hint = "A predicate has one event or two: name(a) or name(a, b)."
            self.source.at(others[2], f"{cut(first)} is said of more than two events", hint)
        return BasePredicate(str(first), tuple(map(self.terms.event, others)))

    def _none(self, tree: Tree) -> NoneWith:
        local = _first(tree)
        outer, self.terms.events = self.terms.events, {}
        outside = set(self.terms.outside)
        body = []
        for premise in list(_trees(tree))[1:]:
            first = _first(premise)
            if first.type == "TURNSTILE" and not TURNSTILES[first][1]:
                hint = "Only premises that affirm stand there."
                self.source.at(first, "a negated judgement inside `no … with`", hint)
            body.append(self._positive(premise))
        inner, self.terms.events = self.terms.events, outer
        self.terms.outside = outside
        for name, token in inner.items():
            if name != local:
                outer.setdefault(name, token)
                self.terms.within.setdefault(name, token)
        self.terms.local[str(local)] = local
        return NoneWith(str(local), tuple(body))

    def _where(self, where: Tree, alternatives: tuple[Premise, ...]) -> None:
        listing: str | None = None
        for condition in _trees(where):
            tokens = _tokens(condition)
            if condition.data == "another":
                self.terms.another(listing, tokens[0])
                continue
            listing = self.terms.domain(*tokens) if condition.data == "domain" else None
            if condition.data == "accurate":
                self.premises.append((self._most_accurate(tokens[0], alternatives),))
            elif condition.data == "incompatible":
                self.premises.append((self.terms.incompatible(tokens),))

    def _most_accurate(self, token: RuleToken, alternatives: tuple[Premise, ...]) -> MostAccurate:
        name = self.terms.condition(token)
        match alternatives:
            case [Judged() as judged] if judged.relation == name:
                return MostAccurate(judged)
        hint = f"Write `|- a {name} b  where {name} is most accurate`."
        self.source.at(token, f"no judgement with {name} stands alone on this line", hint)

    def _evolution(self, dashes: Tree) -> RuleChange | None:
        if not dashes.children[1:]:
            return None
        [change] = list(_trees(dashes))[1:]
        tokens = _tokens(change)
        left, term, right = self.terms.triple(tokens[:3], given=True)
        if change.data == "addition":
            return RuleChange(left, term, right)
        if term is not Relation.RELATED:
            self.source.at(tokens[1], "only a `<>` is updated", "Write e.g. `a <> b := a < b`.")
        new = RuleChange(*self.terms.triple(tokens[3:], given=True), update=True)
        if {new.left, new.right} != {left, right}:
            hint = "Write e.g. `a <> b := a < b`."
            self.source.at(tokens[3], "an update speaks of one pair of events", hint)
        return new

    def _conclusion(self, line: Tree) -> Judged:
        first = _first(line)
        if line.data == "dashes":
            hint = "Is the line `rule NAME:` of the next rule missing?"
            self.source.at(first, f"rule {cut(self.name)} has a second line of dashes", hint)
        tree, *others = list(_trees(line))
        if tree.data != "judged" or not TURNSTILES[first][1]:
            hint = "Under the dashes stand lines such as `|- a R b`."
            self.source.at(first, "a conclusion is a judgement that affirms", hint)
        if others:
            hint = "Alternatives (`or`) and `where` belong to the premises."
            self.source.at(_first(others[0]), "a conclusion stands alone on its line", hint)
        return Judged(TURNSTILES[first][0], *self.terms.concluded(_tokens(tree)[1:]))
