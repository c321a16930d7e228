"""Random rule sets: stratified, small and mostly odd, as no author of a calculus would write them."""

from __future__ import annotations

import re
from random import Random

from microcosm.engine.strata import strata
from microcosm.errors import RuleError
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook, parse_rules
from tests.rulesets import blocks

GIVEN = ("<", "||", "<>")
JUDGED = {"0": GIVEN, "": ("<", "||", "<>", "?"), "off": ("<", "||", "<>", "!<", "!||", "!<>")}
TURNSTILE = {"0": "|-0", "": "|-", "off": "||-"}
ABSENT = {"0": "|/-0", "": "|/-"}
BELOW = {"0": ("0", "0", "0", "0", ""), "": ("0", ""), "off": ("0", "", "off")}
VARIABLES = "abef"
TRIES = 50


def random_rules(rng: Random, *, offline: bool = False) -> RuleBook:
    """A rule set that can be read and stratified: some shipped rules, a few of them edited, and new ones."""
    for _ in range(TRIES):
        files = ("initial.rules", "online.rules", *(("offline.rules",) if offline else ()))
        kept = [text for text in blocks(*files).values() if rng.random() < 0.85]
        kept = [_edited(text, rng) if rng.random() < 0.1 else text for text in kept]
        levels = ("0", "", "off") if offline else ("0", "")
        new = [_rule(f"New-{at}", rng.choice(levels), rng) for at in range(rng.randint(0, 3))]
        try:
            rules = parse_rules("\n".join([*kept, *new]))
            strata(rules)
        except RuleError:
            continue
        return rules
    raise AssertionError("no rule set could be stratified")


def random_givens(rng: Random, events: str = "abcd") -> Givens:
    """Some correspondences among a few events, maybe a chain and a refutation; contradictory or not."""
    pairs = [(a, b) for at, a in enumerate(events) for b in events[at + 1 :]]
    givens = Givens(internal=list(events[: rng.choice((0, 0, 2, 3))]))
    for a, b in rng.sample(pairs, rng.randint(1, len(pairs) - 1)):
        relation = rng.choice((Relation.BEFORE, Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED))
        left, right = (a, b) if rng.random() < 0.8 else (b, a)
        givens.add(Correspondence(left, relation, right))
    if rng.random() < 0.3:
        left, right = rng.sample(events, 2)
        givens.add(Correspondence(left, Relation.NOT_BEFORE, right))
    return givens


def _edited(block: str, rng: Random) -> str:
    """A rule with a premise dropped, a relation changed, or two variables exchanged."""
    lines = block.rstrip().split("\n")
    dashes = next(at for at, line in enumerate(lines) if line.strip().startswith("---"))
    match rng.randrange(3):
        case 0 if dashes > 2:
            del lines[rng.randrange(1, dashes)]
        case 1:
            at = rng.choice([at for at in range(1, len(lines)) if at != dashes])
            lines[at] = re.sub(r" (<|\|\||<>) ", f" {rng.choice(GIVEN)} ", lines[at], count=1)
        case _:
            one, other = rng.sample("abe", 2)
            swap = {one: other, other: one}
            at = rng.choice([at for at in range(1, len(lines)) if at != dashes])
            lines[at] = re.sub(r"\b[abe]\b", lambda found: swap.get(found[0], found[0]), lines[at])
    return "\n".join(lines) + "\n"


def _rule(name: str, level: str, rng: Random) -> str:
    used = VARIABLES[: rng.choice((2, 3, 3, 4))]
    premises = [_premise(level, used, rng) for _ in range(rng.randint(1, 3))]
    relation = rng.choice(JUDGED[level])
    a, b = rng.sample(used, 2) if rng.random() < 0.3 else ("a", "b")
    return (
        f"rule {name}:\n    "
        + "\n    ".join(premises)
        + f"\n    -----\n    {TURNSTILE[level]} {a} {relation} {b}\n"
    )


def _premise(level: str, used: str, rng: Random) -> str:
    a, b = rng.sample(used, 2)
    of = rng.choice(BELOW[level])
    kind = rng.random()
    if kind < 0.5:
        return f"{TURNSTILE[of]} {a} {rng.choice((*JUDGED[of], '_'))} {b}"
    if kind < 0.65:
        lower = rng.choice([each for each in BELOW[level] if each in ABSENT])
        return f"{ABSENT[lower]} {a} {rng.choice((*JUDGED[lower], '_'))} {b}"
    if kind < 0.75:
        return f"given {a} {rng.choice((*GIVEN, '!<'))} {b}"
    if kind < 0.85:
        return rng.choice((f"{a} in M", f"{a} not in M"))
    lower = rng.choice([each for each in BELOW[level] if each in ABSENT])
    both = f", {TURNSTILE[lower]} {b} _ g" if rng.random() < 0.5 else ""
    return f"no g in M with {TURNSTILE[lower]} {a} {rng.choice((*JUDGED[lower], '_'))} g{both}"
