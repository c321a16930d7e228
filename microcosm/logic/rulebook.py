"""A set of rules as the engine and the kernel use it: `rules/*.rules`, or the folder of `--rules`.

Nothing of the calculus stands in Python: another folder of rule files is another calculus.
`rules/README.md` shows their language on one screen. The grammar (`rule_grammar`) knows lines and tokens;
what a line may say where is checked here, so that every fault is reported in words, at its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike
from typing import cast

from microcosm import files
from microcosm.errors import RuleError, TextError
from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    ABSENT,
    ASSUME,
    CLASH,
    Assume,
    BasePredicate,
    Given,
    In,
    InProfile,
    Instance,
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

FULL = "full"
"""The profile in which rules are read when nothing else is said."""

FILE_ORDER = ("initial", "online", "offline", "orderings")
"""Rule files are read in this order, the others after them by name."""


def refused(rule: Rule, message: str, hint: str) -> RuleError:
    """What is wrong with a rule that could be read, at its place. Cost: constant."""
    column, text = rule.text.find("rule") + 1, rule.text.split("\n", 1)[0]
    return RuleError(message, file=rule.file, line=rule.line, column=column, text=text, hint=hint)


@dataclass(frozen=True)
class RuleBook:
    """Rules in the order of their files.

    Raises `RuleError` where two of them share a name, or one has a name that proofs need.
    """

    rules: tuple[Rule, ...]
    profile: str | None = FULL
    """Which premises `profile NAME` hold; None: all of them, as for the kernel."""

    def __post_init__(self) -> None:
        first: dict[str, Rule] = {}
        for rule in self.rules:
            other = first.setdefault(rule.name, rule)
            if other is not rule:
                hint = "Remove one of the two, or give it another name."
                raise refused(rule, f"rule {rule.name} stands already in {_place(other)}", hint)
            if rule.name in (ABSENT, ASSUME, CLASH):
                raise refused(rule, f"no rule is called {rule.name}", "Proofs call another step so.")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.rules, self.profile))

    def __reduce__(self) -> tuple[type[RuleBook], tuple[tuple[Rule, ...], str | None]]:
        """What is kept beside the fields stays behind: texts have other hashes in another process."""
        return RuleBook, (self.rules, self.profile)

    def named(self, name: str) -> list[Rule]:
        """The rules of that name: one, or none. Cost: a look-up."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Rule]]:
        return {rule.name: [rule] for rule in self.rules}

    def in_profile(self, profile: str | None) -> RuleBook:
        """These rules read in a profile: one book each time. Cost: a look-up."""
        if profile == self.profile:
            return self
        return self._others.setdefault(profile, RuleBook(self.rules, profile))

    @cached_property
    def _others(self) -> dict[str | None, RuleBook]:
        return {}

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """Every instance of the rules about one microcosm, in the order of the rules."""
        return self._instances(evolving=False)

    @cached_property
    def evolutions(self) -> tuple[Instance, ...]:
        """Every instance of the rules between a microcosm and its evolution."""
        return self._instances(evolving=True)

    def _instances(self, *, evolving: bool) -> tuple[Instance, ...]:
        rules = (rule for rule in self.rules if (rule.evolution is not None) is evolving)
        every = (instance for rule in rules for instance in rule.instances())
        return tuple(instance.in_its_profile() for instance in every if _holds(self.profile, instance))


def _holds(profile: str | None, instance: Instance) -> bool:
    profiles = (premise.name for premise in instance.premises if isinstance(premise, InProfile))
    return profile is None or all(name == profile for name in profiles)


def _place(rule: Rule) -> str:
    if rule.line is None:
        return rule.file or "this rule set"
    return f"{rule.file}:{rule.line}" if rule.file else f"line {rule.line}"


def parse_rules(text: str, file: str | None = None) -> RuleBook:
    """The rules of a text. Raises `RuleError`.

    Cost: linear in the text.

    >>> book = parse_rules("rule Init:\\n given a R b\\n ---\\n |-0 a R b")
    >>> [str(instance.conclusion.relation) for instance in book.instances]
    ['<', '||', '<>']
    """
    return RuleBook(tuple(read_rule_text(text, file)))


def read_rules(directory: str | PathLike[str] | None = None) -> RuleBook:
    """All `*.rules` files of a directory (None: the shipped ones, read once).

    Raises `RuleError` where the directory or a file cannot be read, or holds no rule file. Cost: linear in
    the files; the shipped ones are read once.
    """
    return _shipped() if directory is None else _read(directory)


@cache
def _shipped() -> RuleBook:
    return _read(files.shipped("rules"))


def _read(directory: str | PathLike[str]) -> RuleBook:
    hint = "Name a folder of rule files (their names end in `.rules`), e.g. a copy of the shipped `rules`."
    try:
        found = files.listing(directory)
    except TextError as error:
        raise RuleError(error.message, file=error.file, hint=hint) from None
    rule_files = {p.name: p for p in found if p.suffix == ".rules" and p.name[0] != "." and not p.is_dir()}
    if not rule_files:
        raise RuleError("holds no rule files", file=str(directory), hint=hint)
    rules: list[Rule] = []
    for name in sorted(rule_files, key=_file_order):
        path = rule_files[name]
        rules.extend(read_rule_text(files.read_text(path), files.display_name(path)))
    return RuleBook(tuple(rules))


def _file_order(name: str) -> tuple[int, str]:
    stem = name.removesuffix(".rules")
    return (FILE_ORDER.index(stem) if stem in FILE_ORDER else len(FILE_ORDER), name)


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
