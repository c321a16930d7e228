"""A set of rules as the engine and the kernel use it: `rules/*.rules`, or the folder of `--rules`.

Nothing of the calculus stands in Python: another folder of rule files is another calculus.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike

from microcosm import files
from microcosm.errors import RuleError, TextError
from microcosm.logic.rule import InProfile, Instance, Rule
from microcosm.logic.rule_reader import read_rule_text

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
    """Rules in the order of their files. Raises `RuleError` where two of them share a name."""

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
        """The same rules, read in a profile: the same book each time. Cost: a look-up."""
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
    asked = (premise.name for premise in instance.premises if isinstance(premise, InProfile))
    return profile is None or all(name == profile for name in asked)


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
