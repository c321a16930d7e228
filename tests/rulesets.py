"""Variants of the shipped rules, made as a user would make them: by editing the text of the rule files."""

from __future__ import annotations

import re
from functools import cache

from microcosm.files import shipped
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules

TEN = ("Init", "In-Tr", "Co-Sym", "CR-Sym", "In-OK", "Un-Sym", "Un-1", "Un-2", "Un-3", "Un-4")
"""The rules of ⊢₀ and ⊢ (Worlds of Events, Figures 1 and 3)."""

ADDED = {
    # Three premises in a row against the arrow, a negative one, and recursion through the last.
    "Far": """
rule Far:
    |/-0 a _ b
    |-0 a || e
    |-0 f < e
    |- f ? b
    ------------
    |- a ? b
""",
    # Recursion through both premises.
    "Chain": """
rule Chain:
    |/-0 a _ b
    |- a ? e
    |- e ? b
    a in M
    b in M
    ------------
    |- a ? b
""",
    # A closed pattern, which no order of the premises makes a chain; two conclusions.
    "Triangle": """
rule Triangle:
    |-0 e < a
    |-0 f < a
    |-0 e || f
    |- f ? b
    |/-0 a _ b
    |/- e <> b
    no g in M with |-0 a < g
    ------------
    |- a ? b
    |- b ? a
""",
    # A longer way to <: recursion beside that of In-Tr, with a symmetric link.
    "Bridge": """
rule Bridge:
    |-0 a < b
    |-0 b <> c
    |-0 c < d
    a in M
    ------------
    |-0 a < d
""",
}
"""Blocks to be added, by the name of their rule."""


@cache
def ten() -> str:
    """The text of the ten rules, one block each, in their order."""
    return "\n".join(_blocks()[name] for name in TEN)


@cache
def not_offline() -> RuleBook:
    """The shipped rules but those that conclude offline, on which no online verdict rests."""
    rules = read_rules().rules
    return RuleBook(
        tuple(r for r in rules if all(c.judgement is not Judgement.OFFLINE for c in r.conclusions))
    )


@cache
def without(name: str) -> RuleBook:
    """The ten rules but `name`."""
    return parse_rules("\n".join(_blocks()[other] for other in TEN if other != name))


@cache
def edited(old: str, new: str, *, rule: str) -> RuleBook:
    """The ten rules with `old` replaced by `new` in the block of `rule`."""
    block = _blocks()[rule]
    assert old in block
    return parse_rules(ten().replace(block, block.replace(old, new)))


@cache
def extended(name: str) -> RuleBook:
    """The ten rules and one of `ADDED`."""
    return parse_rules(ten() + ADDED[name])


def _blocks() -> dict[str, str]:
    return blocks("initial.rules", "online.rules")


@cache
def blocks(*files: str) -> dict[str, str]:
    """Each rule's lines: from its `rule NAME:` to before the next, or to the end of the file."""
    found: dict[str, str] = {}
    for file in files:
        text = (shipped("rules") / file).read_text(encoding="utf-8")
        for block in re.split(r"(?m)^(?=rule )", text)[1:]:
            name = re.match(r"rule ([^\s:]+):", block)
            assert name is not None
            found[name[1]] = block
    return found
