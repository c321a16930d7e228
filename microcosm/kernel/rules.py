"""The rules as the kernel holds proofs against them, made once for each rule book.  (trusted)"""

from __future__ import annotations

from functools import lru_cache

from microcosm.givens.relation import Relation
from microcosm.kernel.node import JUDGEMENTS, Line
from microcosm.kernel.pattern import Pattern, patterns
from microcosm.kernel.plan import Program
from microcosm.logic.rule import Rule
from microcosm.logic.rulebook import RuleBook


class KernelRules:
    """A rule book as patterns of steps and as a program for the search; nothing here is of any one proof."""

    def __init__(self, rules: RuleBook) -> None:
        self.program = Program(rules.instances)
        self._rules = rules
        self._patterns: dict[tuple[str, str, str | None], list[Pattern]] = {}

    def named(self, name: str) -> list[Rule]:
        """The rules of that name: one, or none."""
        return self._rules.named(name)

    def patterns(self, name: str, line: Line) -> list[Pattern]:
        """The patterns of a rule that can conclude a line of this judgement and relation."""
        key = (name, line.judgement, line.relation)
        if key not in self._patterns:
            judgement, relation = JUDGEMENTS[line.judgement], Relation(line.relation)
            instances = (*self._rules.instances, *self._rules.evolutions)
            self._patterns[key] = [
                pattern
                for instance in instances
                if instance.name == name
                and (instance.conclusion.judgement, instance.conclusion.relation) == (judgement, relation)
                for pattern in patterns(instance)
            ]
        return self._patterns[key]


@lru_cache(maxsize=16)
def kernel_rules(rules: RuleBook) -> KernelRules:
    """All premises of all rules of a book, whatever its profile: the same each time. May raise `RuleError`.

    Cost: linear in the instances, once; afterwards a lookup.
    """
    return KernelRules(rules.in_profile(None))
