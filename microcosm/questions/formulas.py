"""How formulas of questions are read: the grammar and its nodes, conditions, comparisons, quantifiers and
uses of patterns; errors with their place and what was expected there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from microcosm.givens.exact import in_json, number
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.queries.events import read_regex
from microcosm.questions import language
from microcosm.questions.language import Binder, Formula, Place
from microcosm.text.statement import shown

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

    Node = Tree[Token]

SIGNS = {"before": Relation.BEFORE, "after": Relation.AFTER, "concurrent": Relation.CONCURRENT, "while": None}
REFUTED = {
    Relation.NOT_BEFORE: Relation.BEFORE,
    Relation.NOT_AFTER: Relation.AFTER,
    Relation.NOT_CONCURRENT: Relation.CONCURRENT,
    Relation.NOT_RELATED: Relation.RELATED,
}

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
_PART = re.compile(r"""("(?:[^"\\\n]|\\[\s\S])*+"|'(?:[^'\\\n]|\\[\s\S])*+')|(?:\s|#[^\n]*)+""")
"""A text in quotes, or what stands between words: blanks and comments."""

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
    """Where a node, or a token, begins."""
    begin = tree.meta if rule_of(tree) else tree
    return Place(begin.line, begin.column)


def offset(error: UnexpectedInput) -> int:
    at = error.pos_in_stream
    return at if at is not None and at >= 0 else 1 << 60


def unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(f"\\{quote}", quote).replace("\\\n", "\n").replace("\\\\", "\\")


Variables = dict[str, language.Reference]
"""The variables of a formula, and the pattern of each."""


class FormulaReader:
    """Reads formulas that use the patterns of `found`."""

    def __init__(self, text: str, file: str | None, known: language.Questions | None = None) -> None:
        self.text, self.file = text, file
        self.lines = text.split("\n")
        self.found = language.Questions(text, file)
        if known is not None:
            self.found.patterns.update(known.patterns)

    def _condition(self, tree: Any) -> Formula:
        """A condition on one event: its names are fields."""
        return self._formula(tree, None, set())

    def _formula(self, tree: Any, variables: Variables | None, bound: set[str]) -> Formula:
        """A formula; `variables` None: a condition on one event. `bound` are the parameters in scope."""
        match rule_of(tree):
            case "either" | "both" as rule:
                parts = tuple(self._formula(part, variables, bound) for part in tree.children)
                return language.Or(parts) if rule == "either" else language.And(parts)
            case "no":
                return language.Not(self._formula(tree.children[0], variables, bound))
            case "implies":
                left, right = (self._formula(part, variables, bound) for part in tree.children)
                return language.Or((language.Not(left), right))
            case "quantified":
                return self._quantified(tree, variables, bound)
            case "comparison":
                return self._comparison(tree, variables, bound)
            case "membership":
                operand, *among = (self._operand(token_of(part), variables, bound) for part in tree.children)
                return language.OneOf(operand, tuple(among), place_of(tree))
            case "pattern":
                return self._is(tree, variables)
            case "bare":
                operand = self._operand(token_of(tree), variables, bound)
                if not isinstance(operand, language.Field):
                    self._fail(f"{token_of(tree)} is no condition; compare it with something", tree)
                return language.Present(operand, place_of(tree))
        raise AssertionError(rule_of(tree))

    def _quantified(self, tree: Node, variables: Variables | None, bound: set[str]) -> Formula:
        place = place_of(tree)
        if variables is None:
            self._fail("a condition on one event has no `for all` and no `exists`", place)
        binders: list[Binder] = []
        for part in trees(tree, "binder"):
            name, *used = [one for one in part.children if not rule_of(one)]
            if "." in name or str(name) in variables or str(name) in dict(binders):
                fault = "has no dot" if "." in name else "is bound already"
                self._fail(f"the variable {name} {fault}", name)
            conditions = trees(part, *FORMULAS)
            reference = (
                language.Reference(self._inline(conditions[0]), (), place_of(part))
                if conditions
                else self._use(used[0], trees(part, "arguments"))
            )
            binders.append((str(name), reference))
        inner = {**variables, **dict(binders)}
        known = bound | parameters_of(reference for _, reference in binders)
        parts = trees(tree, *FORMULAS)
        where = self._plain(self._formula(parts[0], inner, known)) if len(parts) > 1 else None
        body = self._formula(parts[-1], inner, known)
        some = token_of(trees(tree, "quantifier")[0]).type == "EXISTS"
        return language.Quantified(some, tuple(binders), where, body, place)

    def _comparison(self, tree: Node, variables: Variables | None, bound: set[str]) -> Formula:
        first, second, third = tree.children
        left, sign, right = token_of(first), token_of(second), token_of(third)
        place = place_of(tree)
        names = [str(one) for one in (left, right)]
        if variables is not None and all(name in variables for name in names):
            return self._related(names, sign, variables, place)
        if variables is not None and sign in ("<", ">", "||", "<>", "while", "before", "after", "concurrent"):
            for token, other in ((left, right), (right, left)):
                if (
                    str(token) in variables
                    and other.type == "NAME"
                    and "." not in other
                    and other not in bound
                ):
                    self._fail(f"no variable is called {other}", other)
        if sign == "~":
            if right.type != "STRING":
                self._fail("a regular expression stands in quotes", right)
            return language.Matches(self._operand(left, variables, bound), self._regex(right), place)
        if sign in ("<", ">") and left.type == right.type == "STRING":  # it is so of every event, or of none
            self._fail(f"{left} is a text: the event of that name is [name = {left}]", left)
        if sign not in ("=", "!=", "<", "<=", ">", ">="):
            for token in (left, right):
                if str(token) not in (variables or {}):
                    self._fail(f"{sign} relates two events, and {token} is none", token)
        sides = [self._operand(token, variables, bound) for token in (left, right)]
        return language.Compared(sides[0], str(sign), sides[1], place)

    def _related(self, names: list[str], sign: Token, variables: Variables, place: Place) -> Formula:
        left, right = names
        if sign in ("=", "!="):
            for name in names:
                self._expect_kind(variables[name], language.EventPattern, "the same or not")
            same = language.Related(left, None, right, place, same=True)
            return same if sign == "=" else language.Not(same)
        if str(sign) not in SIGNS and str(sign) not in SPELLINGS:
            self._fail(f"{sign} is no relation of two events", sign)
        return self._atom((left, variables[left]), sign, (right, variables[right]), place)

    def _atom(self, left: Binder, sign: Any, right: Binder, place: Place) -> Formula:
        """That two events are related as a sign says, or two states at once."""
        relation, refuted = self._relation(sign)
        for _, reference in (left, right):
            what = "compared by `while`" if relation is None else f"related by {token_of(sign)}"
            self._expect_kind(
                reference, language.StatePattern if relation is None else language.EventPattern, what
            )
        atom = language.Related(left[0], relation, right[0], place)
        return language.Not(atom) if refuted else atom

    def _relation(self, sign: Any) -> tuple[Relation | None, bool]:
        """The relation of a sign (None: `while`), and whether it is refuted."""
        token = str(token_of(sign))
        relation = SIGNS[token] if token in SIGNS else SPELLINGS[token]
        return (None, False) if relation is None else (REFUTED.get(relation, relation), relation in REFUTED)

    def _is(self, tree: Node, variables: Variables | None) -> Formula:
        """`r is seen(k)`, or `seen(r)` of a pattern without parameters."""
        place = place_of(tree)
        tokens = [part for part in tree.children if not rule_of(part)]
        if variables is None:
            self._fail("a condition on one event names fields, no patterns", place)
        if len(tokens) == 2:
            variable, reference = str(tokens[0]), self._use(tokens[1], trees(tree, "arguments"))
        else:
            given = [token_of(one) for part in trees(tree, "arguments") for one in part.children]
            variable = str(given[0]) if len(given) == 1 else ""
            if variable not in variables:
                self._fail(f"{tokens[0]}(…) is asked of one variable, as in seen(r)", place)
            reference = self._use(tokens[0], [])
        if variable not in variables:
            self._fail(f"no variable is called {variable}", tokens[0])
        self._expect_kind(reference, language.EventPattern, "asked about so")
        self._expect_kind(variables[variable], language.EventPattern, "asked about so")
        return language.Is(variable, reference, place)

    def _operand(self, token: Token, variables: Variables | None, bound: set[str]) -> language.Operand:
        if (value := self._value(token)) is not None:
            return value
        if token.type == "FIELD" or variables is None:
            return self._field(token)
        name = str(token)
        for at, letter in enumerate(name):
            if letter == "." and name[:at] in variables:
                return language.Field(name[at + 1 :].removeprefix("attributes."), name[:at])
        if name in bound:
            return language.Parameter(name)
        if name in variables:
            self._fail(f"{name} is an event; compare one of its fields, such as {name}.process", token)
        near = get_close_matches(name, [*bound, *variables], 1)
        hint = f"Did you mean {near[0]}?" if near else "The arguments of patterns bind parameters."
        self._fail(f"nothing binds {name}", token, hint)

    def _field(self, token: Token) -> language.Field:
        if token.type == "FIELD":
            return language.Field(unquoted(str(token)[1:]))
        return language.Field(str(token).removeprefix("attributes."))

    def _regex(self, token: Token) -> Any:
        quote = token[0]
        try:
            return read_regex(str(token)[1:-1].replace(f"\\{quote}", quote))
        except ValueError as error:
            self._fail(str(error), token)

    def _plain(self, formula: Formula) -> Formula:
        """A condition of `where`: it compares values, so that it is the same in all worlds."""
        for part in language.within(formula):
            if isinstance(part, language.Related | language.Quantified):
                self._fail("`where` compares values; relations of events belong before it", part.place)
        return formula

    def _inline(self, tree: Any) -> str:
        """The name of a pattern that stands in the question itself."""
        condition = self._condition(tree)
        name = f"[{self._source(tree)}]"
        self.found.patterns[name] = language.EventPattern(name, (), {}, condition, place_of(tree))
        return name

    def _reference(self, tree: Node) -> tuple[str | None, language.Reference]:
        """What a reference calls its event, None where it says nothing, and the pattern it names."""
        tokens = [part for part in tree.children if not rule_of(part)]
        conditions = trees(tree, *FORMULAS)
        if conditions:
            reference = language.Reference(self._inline(conditions[0]), (), place_of(tree))
            return (str(tokens[0]) if tokens else None), reference
        return (str(tokens[0]) if len(tokens) > 1 else None), self._use(tokens[-1], trees(tree, "arguments"))

    def _use(self, token: Any, arguments: list[Node]) -> language.Reference:
        name = str(token)
        pattern = self.found.patterns.get(name)
        if pattern is None:
            near = get_close_matches(name, self.found.patterns, 1)
            hint = f"Define it above: event {name} where …; [{name}] is an event that has such a field."
            hint = f"Did you mean {near[0]}?" if near else hint
            self._fail(f"nothing above defines {name}", token, hint)
        given = [self._argument(token_of(one)) for part in arguments for one in part.children]
        if len(given) != len(pattern.parameters) and (given or arguments):
            wanted = ", ".join(pattern.parameters) or "none"
            self._fail(f"{name} has {len(pattern.parameters)} parameters ({wanted}), not {len(given)}", token)
        if not given:
            given = [None] * len(pattern.parameters)
        return language.Reference(name, tuple(given), place_of(token))

    def _value(self, token: Token) -> language.Value | None:
        """A text or a number; None for what is neither."""
        if token.type == "STRING":
            return language.Value(unquoted(token))
        try:
            return language.Value(in_json(number(token))) if token.type == "NUMBER" else None
        except (ValueError, OverflowError):
            self._fail("the number has too many digits, or is too large", token)

    def _argument(self, token: Token) -> language.Parameter | language.Value | None:
        if (value := self._value(token)) is not None:
            return value
        if "." in token:
            self._fail("an argument is a name without a dot, a text, a number or _", token)
        return None if token == "_" else language.Parameter(str(token))

    def _expect_kind(self, reference: language.Reference, kind: type, what: str) -> None:
        if not isinstance(self.found.patterns[reference.name], kind):
            wanted, other = ("events", "a state") if kind is language.EventPattern else ("states", "an event")
            self._fail(f"{wanted} are {what}, and {reference.name} is {other}", reference.place)

    # -- errors --------------------------------------------------------------------------------------------

    def _source(self, tree: Any) -> str:
        """The text of a statement on one line, without comments; of statements that differ it differs."""

        def on_one_line(part: re.Match[str]) -> str:
            text = part[0]
            if part[1]:  # a line end in a text, which a quote and its like cannot be in
                return text.replace("\\\n", f"{text[0]}\N{SYMBOL FOR NEWLINE}{text[0]}")
            return " " if "\n" in text else text

        return _PART.sub(on_one_line, self.text[tree.meta.start_pos : tree.meta.end_pos])

    def _fail(self, message: str, at: Any, hint: str | None = None) -> NoReturn:
        """Raise a `TextError` at a place, or where a node or a token begins."""
        place = at if isinstance(at, Place) else place_of(at)
        raise self.found.fault(message, place, hint) from None

    def _explain(self, error: UnexpectedInput) -> NoReturn:
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


def parameters_of(references: Iterable[language.Reference]) -> set[str]:
    return {one.name for r in references for one in r.arguments if isinstance(one, language.Parameter)}
