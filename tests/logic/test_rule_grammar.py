"""The grammar of rules is that of `rules.lark` beside this file, which Lark reads by tables."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark import Token as LarkToken
from lark.exceptions import UnexpectedInput

from microcosm.files import shipped
from microcosm.logic.rule_grammar import RuleToken, Tree, UnexpectedTokenError, blocks
from tests.thorough import draws

SHIPPED = [path.read_text("utf-8") for path in sorted(shipped("rules").glob("*.rules"))]
PIECES = re.findall(r"\w+|\s|[^\w\s]+", "".join(SHIPPED))
ODD = [
    *"_:=+#(),?§\t\f",
    "rule x:",
    "---",
    "──── + a < b",
    ":=",
    "M",
    "not",
    "A1",
    "!R",
    "||-",
    "\n\n",
    "T1x",
]


@cache
def _table() -> Lark:
    grammar = Path(__file__).with_name("rules.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", maybe_placeholders=False)


def told(node: Any) -> object:
    """A tree of either, with its places."""
    if isinstance(node, RuleToken | LarkToken):
        return node.type, str(node), node.line, node.column
    return str(node.data), [told(child) for child in node.children]


def by_table(text: str) -> object:
    try:
        return told(_table().parse(text))
    except UnexpectedInput as error:
        cursor = error.interactive_parser
        return error.line, error.column, {"$END", *cursor.accepts()}


def by_hand(text: str) -> object:
    try:
        return told(Tree("start", [*blocks(text)]))
    except UnexpectedTokenError as error:
        return error.token.line, error.token.column, {"$END", *error.accepts}


@pytest.mark.parametrize("seed", range(draws(10, 400)))
def test_texts_are_read_as_by_the_table(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice(SHIPPED) if seed else "".join(SHIPPED)
    assert by_hand(text) == by_table(text)
    parts = re.findall(r"\w+|\s|[^\w\s]+", "".join(re.split(r"(?m)^(?=rule)", text)[:4]))
    for _ in range(60):
        changed = list(parts)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(changed))
            changed[at : at + chance.choice((0, 0, 1, 1, 2))] = chance.choices(
                chance.choice((PIECES, ODD)), k=chance.choice((0, 1, 1, 2))
            )
        mutant = "".join(changed) + "\n"
        assert by_hand(mutant) == by_table(mutant), mutant
