"""The syntax of questions: the grammar, its nodes, errors with their place and what was expected there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from microcosm.errors import TextError
from microcosm.questions.language import Place
from microcosm.text.statement import shown

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

    Node = Tree[Token]

_WORDS = {
    "NAME": "a name",
    "FIELD": '@"a field"',
    "STRING": "a quoted text",
    "NUMBER": "a number",
    "SIGN": "a relation (< > || <>)",
    "COMPARE": "a comparison (= != <= >= ~)",
    "ALL": "`every`",
    "SOME": "`some`",
    "FORALL": "`for all`",
    "EXISTS": "`exists`",
    "$END": "the end",
}
_UNSAID = {"RELATION", "COMMENT", "FIELD", "SEMICOLON", "__ANON_0"}


@cache
def grammar() -> Lark:
    from lark import Lark

    return Lark.open(
        "ask.lark",
        rel_to=__file__,
        start=["start", "find_tuples", "find_condition"],
        parser="lalr",
        lexer="contextual",
        maybe_placeholders=False,
        propagate_positions=True,
    )


class QuestionText:
    """A text of questions, as far as errors in it are concerned."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text, self.file = text, file
        self.lines = text.split("\n")

    # -- errors --------------------------------------------------------------------------------------------

    def _source(self, tree: Any) -> str:
        """The text of a statement, on one line."""
        said = self.text[tree.meta.start_pos : tree.meta.end_pos]
        return " ".join(
            line.split("#")[0].strip() if '"' not in line else line.strip() for line in said.split("\n")
        )

    def _fail(self, message: str, place: Place, hint: str | None = None) -> NoReturn:
        text = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        raise TextError(
            message, file=self.file, line=place.line, column=place.column, text=text, hint=hint
        ) from None

    def _explain(self, error: UnexpectedInput, start: str) -> NoReturn:
        """Raise the `TextError` that says what was expected where the grammar stopped."""
        from lark.exceptions import UnexpectedToken

        accepts: Callable[[], set[str]] = error.interactive_parser.accepts
        written = {terminal.name: str(terminal.pattern.value) for terminal in grammar().terminals}
        names = sorted(accepts() - _UNSAID, key=lambda name: (name == "$END", written.get(name, name)))
        wanted = [_WORDS.get(name) or f"`{written[name]}`" for name in names if name != "ALL"]
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        line, column = (len(self.lines), len(self.lines[-1]) + 1) if ended else (error.line, error.column)
        rest = self.lines[line - 1][column - 1 :].split(maxsplit=1)
        if rest and rest[0][0] in "\"'" and {"STRING"} & accepts():
            self._fail(f"expected the {rest[0][0]} that ends the quoted text", Place(line, column))
        but = f", not {shown(rest[0])}" if rest else ""
        self._fail(f"expected {' or '.join(wanted)}{but}", Place(line, column))


FORMULAS = ("implies", "either", "both", "no", "quantified", "comparison", "membership", "pattern", "bare")


def rule_of(tree: Any) -> str:
    """The rule that a node is of; nothing of a token."""
    return str(getattr(tree, "data", ""))


def trees(tree: Any, *rules: str) -> list[Any]:
    return [part for part in tree.children if rule_of(part) in rules]


def token_of(tree: Any) -> Token:
    """The first token of a node."""
    while rule_of(tree):
        tree = next((part for part in tree.children if not rule_of(part)), tree.children[0])
    token: Token = tree
    return token


def place_of(tree: Any) -> Place:
    return Place(tree.meta.line, tree.meta.column) if rule_of(tree) else place_at(tree)


def place_at(token: Any) -> Place:
    return Place(token.line, token.column)


def offset(error: UnexpectedInput) -> int:
    at = error.pos_in_stream
    return at if at is not None and at >= 0 else 1 << 60


def numeric(token: str) -> float:
    return float(token) if any(sign in token for sign in ".eE") else int(token)


def unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(f"\\{quote}", quote).replace("\\\\", "\\")
