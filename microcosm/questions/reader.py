"""The reader of questions: a text becomes patterns, what is known, and formulas; errors have a place and a
caret.

What abbreviates a formula (never, every, possibly) becomes that formula here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from microcosm.errors import TextError
from microcosm.givens.relation import SPELLINGS, Relation
from microcosm.questions.language import (
    COLUMNS,
    And,
    Compared,
    EventPattern,
    Field,
    Formula,
    Is,
    Known,
    Matches,
    Not,
    OneOf,
    Operand,
    Or,
    Parameter,
    Pattern,
    Place,
    Present,
    Quantified,
    Question,
    Questions,
    Reference,
    Related,
    StatePattern,
    Value,
    children,
    operands,
    within,
)
from microcosm.questions.regexes import read_regex
from microcosm.text.names import shown

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

    Node = Tree[Token]

_SIGNS = {
    "before": Relation.BEFORE,
    "after": Relation.AFTER,
    "concurrent": Relation.CONCURRENT,
    "while": None,
}
_REFUTED = {
    Relation.NOT_BEFORE: Relation.BEFORE,
    Relation.NOT_AFTER: Relation.AFTER,
    Relation.NOT_CONCURRENT: Relation.CONCURRENT,
    Relation.NOT_RELATED: Relation.RELATED,
}
_SYMMETRIC = (Relation.CONCURRENT, Relation.RELATED, None)

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


def read_questions(text: str, file: str | None = None, known: Questions | None = None) -> Questions:
    """The questions of a text. Raises `TextError`, with the place and what was expected. Cost: linear.

    `known` has patterns besides, which the text may use.

    >>> text = 'event write(key) where label ~ "write (?<key>.)"; never write(k) || write(k)'
    >>> read_questions(text).questions[0].text
    'never write(k) || write(k)'
    """
    return _Reader(text, file, known).questions()


def read_sought(text: str, known: Questions | None = None, file: str | None = None) -> Questions:
    """What `find` is to list: definitions, and last a pattern, a pair, a condition, or a question.

    Its one question has the formula that is to be true of what is listed. `known` has patterns besides.
    Raises `TextError`. Cost: linear.
    """
    return _Reader(text, file, known).sought()


@cache
def _grammar() -> Lark:
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


class _Reader:
    def __init__(self, text: str, file: str | None, known: Questions | None = None) -> None:
        self.text, self.file = text, file
        self.lines = text.split("\n")
        self.found = Questions(text, file)
        if known is not None:
            self.found.patterns.update(known.patterns)
        self._anonymous = 0

    # -- texts ---------------------------------------------------------------------------------------------

    def questions(self) -> Questions:
        tree = self._parsed("start")
        for statement in tree.children:
            self._statement(statement.children[0])  # type: ignore[union-attr,arg-type]
        return self.found

    def sought(self) -> Questions:
        from lark.exceptions import UnexpectedInput

        try:
            tree = _grammar().parse(self.text, start="find_tuples")
        except UnexpectedInput as first:
            try:
                tree = _grammar().parse(self.text, start="find_condition")
            except UnexpectedInput as second:
                late = second if _offset(second) > _offset(first) else first
                self._explain(late, "find_condition" if late is second else "find_tuples")
        *statements, last = tree.children
        for statement in statements:
            self._statement(statement.children[0])  # type: ignore[union-attr,arg-type]
        last = last.children[0] if _rule(last) == "question" else last  # type: ignore[union-attr]
        match _rule(last):
            case "condition":
                name = self._inline(last.children[0])  # type: ignore[union-attr]
                place = _place(last)
                reference = Reference(name, (), place)
                formula: Formula = Quantified(False, (("event", reference),), None, And(()), place)
                self.found.questions.append(Question(self._source(last), formula, place))
            case "tuples":
                self._pair(last, str_of="tuples")
            case "event" | "state" | "know" | "complete" as other:
                self._fail(f"`{other}` defines something; say what is to be found", _place(last))
            case _:
                self._statement(last)  # type: ignore[arg-type]
        return self.found

    def _parsed(self, start: str) -> Node:
        from lark.exceptions import UnexpectedInput

        try:
            return _grammar().parse(self.text, start=start)
        except UnexpectedInput as error:
            self._explain(error, start)

    # -- statements ----------------------------------------------------------------------------------------

    def _statement(self, tree: Node) -> None:
        getattr(self, f"_{tree.data}")(tree)

    def _event(self, tree: Node) -> None:
        name, parameters, bound = self._head(tree)
        conditions = _trees(tree, *_FORMULAS)
        condition = self._condition(conditions[0]) if conditions else None
        self._bind(tree, parameters, bound, [condition] if condition is not None else [])
        self._define(EventPattern(name, parameters, bound, condition, _place(tree)))

    def _state(self, tree: Node) -> None:
        name, parameters, bound = self._head(tree)
        process: Value | Parameter | None = None
        if places := _trees(tree, "place"):
            token = _token(places[0])
            if token.type == "STRING":
                process = Value(self._string(token))
            elif str(token) in parameters:
                process = Parameter(str(token))
                bound[str(token)] = Field("process")
            else:
                hint = f'Write "{token}" for the process of that name.'
                self._fail(f"{token} is no parameter of {name}", _of(token), hint)
        begin, end = (self._condition(part) for part in _trees(tree, *_FORMULAS))
        self._bind(tree, parameters, bound, [begin])
        self._define(StatePattern(name, parameters, bound, process, begin, end, _place(tree)))

    def _know(self, tree: Node) -> None:
        left, sign, right, where = self._sides(tree)
        relation, refuted = self._relation(sign)
        if relation is None:
            self._fail("`while` cannot be known; know how two events are related", _place(sign))
        for _, reference in (left, right):
            self._expect_kind(reference, EventPattern, "known")
        if refuted:
            relation = next(r for r, of in _REFUTED.items() if of is relation)
        place = _place(tree)
        self.found.known.append(Known(left, relation, right, where, self._source(tree), place))

    def _complete(self, tree: Node) -> None:
        self.found.complete = _place(tree)

    def _never(self, tree: Node) -> None:
        self._pair(tree, str_of="never")

    def _every(self, tree: Node) -> None:
        self._pair(tree, str_of="every")

    def _possibly(self, tree: Node) -> None:
        place = _place(tree)
        binders = self._named([self._reference(part) for part in _trees(tree, "reference")])
        for _, reference in binders:
            self._expect_kind(reference, StatePattern, "possible at once")
        names = [name for name, _ in binders]
        pairs = [Related(a, None, b, place) for i, a in enumerate(names) for b in names[i + 1 :]]
        self._ask(tree, Quantified(True, tuple(binders), None, And(tuple(pairs)), place))

    def _assertion(self, tree: Node) -> None:
        formula = self._formula(_trees(tree, *_FORMULAS)[0], {}, set())
        self._ask(tree, formula)

    def _pair(self, tree: Any, str_of: str) -> None:
        """`never`, `every`, or what `find` is to list: one reference or two that are related."""
        place = _place(tree)
        references = _trees(tree, "reference")
        if len(references) == 1:
            binders = self._named([self._reference(references[0])])
            where = self._where(tree, binders)
            body: Formula = Or(()) if str_of == "never" else And(())
            self._ask(tree, Quantified(False, tuple(binders), where, body, place))
            return
        left, sign, right, where = self._sides(tree)
        relation, refuted = self._relation(sign)
        for _, reference in (left, right):
            what = "compared by `while`" if relation is None else f"related by {_token(sign)}"
            self._expect_kind(reference, StatePattern if relation is None else EventPattern, what)
        atom: Formula = Related(left[0], relation, right[0], place)
        atom = Not(atom) if refuted else atom
        amounts = _trees(tree, "amount")
        if amounts and _token(amounts[0]).type == "SOME":
            inner = Quantified(True, (right,), where, atom, place)
            self._ask(tree, Quantified(False, (left,), None, inner, place))
            return
        body = Not(atom) if str_of == "never" else atom
        once = relation in _SYMMETRIC and _turns(left, right, where)
        self._ask(tree, Quantified(False, (left, right), where, body, place, once, distinct=True))

    def _ask(self, tree: Any, formula: Formula) -> None:
        self.found.questions.append(Question(self._source(tree), formula, _place(tree)))

    # -- parts of statements -------------------------------------------------------------------------------

    def _head(self, tree: Node) -> tuple[str, tuple[str, ...], dict[str, Field]]:
        token = _token(tree)
        if "." in token:
            self._fail("a pattern's name has no dot", _of(token))
        if str(token) in self.found.patterns:
            self._fail(f"{token} is defined already", _of(token))
        parameters, bound = list[str](), dict[str, Field]()
        for part in _trees(tree, "parameter"):
            name = _token(part)
            if "." in name or str(name) in parameters:
                fault = "has no dot" if "." in name else "is there twice"
                self._fail(f"the parameter {name} {fault}", _of(name))
            parameters.append(str(name))
            if fields := _trees(part, "field"):
                bound[str(name)] = self._field(_token(fields[0]))
        return str(token), tuple(parameters), bound

    def _bind(
        self, tree: Node, parameters: Iterable[str], bound: dict[str, Field], conditions: list[Formula]
    ) -> None:
        """Find out what binds each parameter: its `= field`, a named group, or a field of its own name."""
        inside = [part for condition in conditions for part in within(condition)]
        groups = {name for part in inside if isinstance(part, Matches) for name in part.pattern.groupindex}
        fields = {one.name for part in inside for one in operands(part) if isinstance(one, Field)}
        for part, name in zip(_trees(tree, "parameter"), parameters, strict=True):
            if name in bound or name in groups:
                continue
            if name not in COLUMNS and name not in fields:
                hint = (
                    f'A named group binds it, as in label ~ "…(?<{name}>\\w+)", '
                    f"or a field of the event, as in ({name} = process)."
                )
                self._fail(f"nothing binds the parameter {name}", _of(_token(part)), hint)
            bound[name] = Field(name)

    def _define(self, pattern: Pattern) -> None:
        self.found.patterns[pattern.name] = pattern

    def _inline(self, tree: Any) -> str:
        """The name of a pattern that stands in the question itself."""
        condition = self._condition(tree)
        name = f"[{self._source(tree)}]"
        self.found.patterns[name] = EventPattern(name, (), {}, condition, _place(tree))
        return name

    def _reference(self, tree: Node) -> tuple[str | None, Reference]:
        """What a reference calls its event, None where it says nothing, and the pattern it names."""
        tokens = [part for part in tree.children if not _rule(part)]
        conditions = _trees(tree, *_FORMULAS)
        if conditions:
            reference = Reference(self._inline(conditions[0]), (), _place(tree))
            return (str(tokens[0]) if tokens else None), reference
        return (str(tokens[0]) if len(tokens) > 1 else None), self._use(tokens[-1], _trees(tree, "arguments"))

    def _use(self, token: Any, arguments: list[Node]) -> Reference:
        name = str(token)
        pattern = self.found.patterns.get(name)
        if pattern is None:
            near = get_close_matches(name, self.found.patterns, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Define it above: event {name} where …"
            self._fail(f"nothing above defines {name}", _of(token), hint)
        given = [self._argument(_token(one)) for part in arguments for one in part.children]
        if len(given) != len(pattern.parameters) and (given or arguments):
            wanted = ", ".join(pattern.parameters) or "none"
            self._fail(
                f"{name} has {len(pattern.parameters)} parameters ({wanted}), not {len(given)}", _of(token)
            )
        if not given:
            given = [None] * len(pattern.parameters)
        return Reference(name, tuple(given), _of(token))

    def _argument(self, token: Token) -> Parameter | Value | None:
        if token.type == "STRING":
            return Value(self._string(token))
        if token.type == "NUMBER":
            return Value(_numeric(token))
        if "." in token:
            self._fail("an argument is a name without a dot, a text, a number or _", _of(token))
        return None if token == "_" else Parameter(str(token))

    def _named(self, references: list[tuple[str | None, Reference]]) -> list[tuple[str, Reference]]:
        """A name for each: as said, or after its pattern, numbered where there are several of one."""
        short = ["event" if r.name.startswith("[") else r.name for _, r in references]
        names = [
            said or (one if short.count(one) == 1 else f"{one}.{short[: at + 1].count(one)}")
            for at, ((said, _), one) in enumerate(zip(references, short, strict=True))
        ]
        for at, name in enumerate(names):
            if name in names[:at]:
                self._fail(f"two are called {name}", references[at][1].place)
        return [(name, reference) for name, (_, reference) in zip(names, references, strict=True)]

    def _sides(self, tree: Any) -> tuple[tuple[str, Reference], Node, tuple[str, Reference], Formula | None]:
        left, right = self._named([self._reference(part) for part in _trees(tree, "reference")])
        return left, _trees(tree, "sign")[0], right, self._where(tree, [left, right])

    def _where(self, tree: Any, binders: list[tuple[str, Reference]]) -> Formula | None:
        conditions = _trees(tree, *_FORMULAS)
        if not conditions:
            return None
        variables = dict(binders)
        return self._plain(
            self._formula(conditions[0], variables, _parameters(variables.values())), conditions[0]
        )

    def _plain(self, formula: Formula, tree: Any) -> Formula:
        """A condition of `where`: it compares values, so that it is the same in all worlds."""
        for part in within(formula):
            if isinstance(part, Related | Quantified):
                self._fail("`where` compares values; relations of events belong before it", part.place)
        return formula

    def _relation(self, tree: Node) -> tuple[Relation | None, bool]:
        """The relation of a sign (None: `while`), and whether it is refuted."""
        token = str(_token(tree))
        if token in _SIGNS:
            return _SIGNS[token], False
        relation = SPELLINGS[token]
        return _REFUTED.get(relation, relation), relation in _REFUTED

    def _expect_kind(self, reference: Reference, kind: type, what: str) -> None:
        if not isinstance(self.found.patterns[reference.name], kind):
            wanted, other = ("events", "a state") if kind is EventPattern else ("states", "an event")
            self._fail(f"{wanted} are {what}, and {reference.name} is {other}", reference.place)

    # -- formulas ------------------------------------------------------------------------------------------

    def _condition(self, tree: Any) -> Formula:
        """A condition on one event: its names are fields."""
        return self._formula(tree, None, set())

    def _formula(self, tree: Any, variables: dict[str, Reference] | None, bound: set[str]) -> Formula:
        """A formula; `variables` None: a condition on one event. `bound` are the parameters in scope."""
        match _rule(tree):
            case "either" | "both" as rule:
                parts = tuple(self._formula(part, variables, bound) for part in tree.children)
                return Or(parts) if rule == "either" else And(parts)
            case "no":
                return Not(self._formula(tree.children[0], variables, bound))
            case "implies":
                left, right = (self._formula(part, variables, bound) for part in tree.children)
                return Or((Not(left), right))
            case "quantified":
                return self._quantified(tree, variables, bound)
            case "comparison":
                return self._comparison(tree, variables, bound)
            case "membership":
                operand, *among = (self._operand(_token(part), variables, bound) for part in tree.children)
                return OneOf(operand, tuple(among), _place(tree))
            case "pattern":
                return self._is(tree, variables)
            case "bare":
                operand = self._operand(_token(tree), variables, bound)
                if not isinstance(operand, Field):
                    self._fail(f"{_token(tree)} is no condition; compare it with something", _place(tree))
                return Present(operand, _place(tree))
        raise AssertionError(_rule(tree))

    def _quantified(self, tree: Node, variables: dict[str, Reference] | None, bound: set[str]) -> Formula:
        place = _place(tree)
        if variables is None:
            self._fail("a condition on one event has no `for all` and no `exists`", place)
        binders: list[tuple[str, Reference]] = []
        for part in _trees(tree, "binder"):
            name, *used = [one for one in part.children if not _rule(one)]
            if "." in name or str(name) in variables or str(name) in dict(binders):
                fault = "has no dot" if "." in name else "is bound already"
                self._fail(f"the variable {name} {fault}", _of(name))
            conditions = _trees(part, *_FORMULAS)
            reference = (
                Reference(self._inline(conditions[0]), (), _place(part))
                if conditions
                else self._use(used[0], _trees(part, "arguments"))
            )
            binders.append((str(name), reference))
        inner = {**variables, **dict(binders)}
        known = bound | _parameters(reference for _, reference in binders)
        parts = _trees(tree, *_FORMULAS)
        where = self._plain(self._formula(parts[0], inner, known), parts[0]) if len(parts) > 1 else None
        body = self._formula(parts[-1], inner, known)
        some = _token(_trees(tree, "quantifier")[0]).type == "EXISTS"
        return Quantified(some, tuple(binders), where, body, place)

    def _comparison(self, tree: Node, variables: dict[str, Reference] | None, bound: set[str]) -> Formula:
        first, second, third = tree.children
        left, sign, right = _token(first), _token(second), _token(third)
        place = _place(tree)
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
                    self._fail(f"no variable is called {other}", _of(other))
        if sign == "~":
            if right.type != "STRING":
                self._fail("a regular expression stands in quotes", _of(right))
            return Matches(self._operand(left, variables, bound), self._regex(right), place)
        if sign not in ("=", "!=", "<", "<=", ">", ">="):
            for token in (left, right):
                if str(token) not in (variables or {}):
                    self._fail(f"{sign} relates two events, and {token} is none", _of(token))
        sides = [self._operand(token, variables, bound) for token in (left, right)]
        return Compared(sides[0], str(sign), sides[1], place)

    def _related(
        self, names: list[str], sign: Token, variables: dict[str, Reference], place: Place
    ) -> Formula:
        left, right = names
        if sign in ("=", "!="):
            for name in names:
                self._expect_kind(variables[name], EventPattern, "the same or not")
            same = Related(left, None, right, place, same=True)
            return same if sign == "=" else Not(same)
        if str(sign) not in _SIGNS and str(sign) not in SPELLINGS:
            self._fail(f"{sign} is no relation of two events", _of(sign))
        relation = _SIGNS[str(sign)] if str(sign) in _SIGNS else SPELLINGS[str(sign)]
        for name in names:
            kind = StatePattern if relation is None else EventPattern
            what = "compared by `while`" if relation is None else f"related by {sign}"
            self._expect_kind(variables[name], kind, what)
        if relation in _REFUTED:
            return Not(Related(left, _REFUTED[relation], right, place))
        return Related(left, relation, right, place)

    def _is(self, tree: Node, variables: dict[str, Reference] | None) -> Formula:
        """`r is seen(k)`, or `seen(r)` of a pattern without parameters."""
        place = _place(tree)
        tokens = [part for part in tree.children if not _rule(part)]
        if variables is None:
            self._fail("a condition on one event names fields, no patterns", place)
        if len(tokens) == 2:
            variable, reference = str(tokens[0]), self._use(tokens[1], _trees(tree, "arguments"))
        else:
            given = [_token(one) for part in _trees(tree, "arguments") for one in part.children]
            variable = str(given[0]) if len(given) == 1 else ""
            if variable not in variables:
                self._fail(f"{tokens[0]}(…) is asked of one variable, as in seen(r)", place)
            reference = self._use(tokens[0], [])
        if variable not in variables:
            self._fail(f"no variable is called {variable}", _of(tokens[0]))
        self._expect_kind(reference, EventPattern, "asked about so")
        self._expect_kind(variables[variable], EventPattern, "asked about so")
        return Is(variable, reference, place)

    def _operand(self, token: Token, variables: dict[str, Reference] | None, bound: set[str]) -> Operand:
        if token.type == "STRING":
            return Value(self._string(token))
        if token.type == "NUMBER":
            return Value(_numeric(token))
        if token.type == "FIELD" or variables is None:
            return self._field(token)
        name = str(token)
        for at, letter in enumerate(name):
            if letter == "." and name[:at] in variables:
                return Field(name[at + 1 :].removeprefix("attributes."), name[:at])
        if name in bound:
            return Parameter(name)
        if name in variables:
            self._fail(f"{name} is an event; compare one of its fields, such as {name}.process", _of(token))
        near = get_close_matches(name, [*bound, *variables], 1)
        hint = f"Did you mean {near[0]}?" if near else "The arguments of patterns bind parameters."
        self._fail(f"nothing binds {name}", _of(token), hint)

    def _field(self, token: Token) -> Field:
        if token.type == "FIELD":
            return Field(_unquoted(str(token)[1:]))
        return Field(str(token).removeprefix("attributes."))

    def _string(self, token: Token) -> str:
        return _unquoted(str(token))

    def _regex(self, token: Token) -> Any:
        quote = token[0]
        try:
            return read_regex(str(token)[1:-1].replace(f"\\{quote}", quote))
        except ValueError as error:
            self._fail(str(error), _of(token))

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
        written = {terminal.name: str(terminal.pattern.value) for terminal in _grammar().terminals}
        names = sorted(accepts() - _UNSAID, key=lambda name: (name == "$END", written.get(name, name)))
        wanted = [_WORDS.get(name) or f"`{written[name]}`" for name in names if name != "ALL"]
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        line, column = (len(self.lines), len(self.lines[-1]) + 1) if ended else (error.line, error.column)
        rest = self.lines[line - 1][column - 1 :].split(maxsplit=1)
        if rest and rest[0][0] in "\"'" and {"STRING"} & accepts():
            self._fail(f"expected the {rest[0][0]} that ends the quoted text", Place(line, column))
        but = f", not {shown(rest[0])}" if rest else ""
        self._fail(f"expected {' or '.join(wanted)}{but}", Place(line, column))


_FORMULAS = ("implies", "either", "both", "no", "quantified", "comparison", "membership", "pattern", "bare")


def _rule(tree: Any) -> str:
    """The rule that a node is of; nothing of a token."""
    return str(getattr(tree, "data", ""))


def _trees(tree: Any, *rules: str) -> list[Any]:
    return [part for part in tree.children if _rule(part) in rules]


def _token(tree: Any) -> Token:
    """The first token of a node."""
    while _rule(tree):
        tree = next((part for part in tree.children if not _rule(part)), tree.children[0])
    token: Token = tree
    return token


def _place(tree: Any) -> Place:
    return Place(tree.meta.line, tree.meta.column) if _rule(tree) else _of(tree)


def _of(token: Any) -> Place:
    return Place(token.line, token.column)


def _offset(error: UnexpectedInput) -> int:
    at = error.pos_in_stream
    return at if at is not None and at >= 0 else 1 << 60


def _numeric(token: str) -> float:
    return float(token) if any(sign in token for sign in ".eE") else int(token)


def _unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(f"\\{quote}", quote).replace("\\\\", "\\")


def _parameters(references: Iterable[Reference]) -> set[str]:
    return {one.name for r in references for one in r.arguments if isinstance(one, Parameter)}


def _turns(left: tuple[str, Reference], right: tuple[str, Reference], where: Formula | None) -> bool:
    """Whether a pair the other way round is the same pair: the same pattern and a condition that reads so."""
    one, other = left[1], right[1]
    if one.name != other.name or not all(
        a is b is None or (isinstance(a, Parameter) and isinstance(b, Parameter))
        for a, b in zip(one.arguments, other.arguments, strict=True)
    ):
        return False
    turned: dict[Any, Any] = {left[0]: right[0], right[0]: left[0]}
    for a, b in zip(one.arguments, other.arguments, strict=True):
        if turned.get(a, b) != b or turned.get(b, a) != a:
            return False
        turned |= {a: b, b: a}

    def turn(operand: Operand) -> Operand:
        if isinstance(operand, Field):
            return Field(operand.name, turned.get(operand.variable, operand.variable))
        found: Operand = turned.get(operand, operand)
        return found

    stack = [] if where is None else [where]
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack += children(part)
        elif (
            not isinstance(part, Compared)
            or part.sign not in ("=", "!=")
            or {turn(part.left), turn(part.right)} != {part.left, part.right}
        ):
            return False
    return True
