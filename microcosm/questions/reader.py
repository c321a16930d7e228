"""The reader of questions: a text becomes patterns, what is known, and formulas.

What abbreviates a formula (never, every, possibly, definitely) becomes that formula here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

from microcosm.givens.relation import Relation
from microcosm.questions import formulas, language
from microcosm.questions.language import And, Binder, Field, Formula, Parameter, Quantified, Questions, within

if TYPE_CHECKING:
    from microcosm.questions.formulas import Node

_SYMMETRIC = (Relation.CONCURRENT, Relation.RELATED, None)


def read_questions(text: str, file: str | None = None, known: Questions | None = None) -> Questions:
    """The questions of a text. Raises `TextError`, with the place and what was expected. Cost: linear.

    `known` has patterns besides, which the text may use.

    >>> text = 'event write(key) where label ~ "write (?<key>.)"; never write(k) || write(k)'
    >>> read_questions(text).questions[0].text
    'never write(k) || write(k)'
    """
    return _Reader(text, file, known).questions()


def read_sought(text: str, known: Questions | None = None) -> Questions:
    """What `find` is to list: definitions, and last a pattern, a pair, a condition, or a question.

    Its one question has the formula that is to be true of what is listed. `known` has patterns besides.
    Raises `TextError`. Cost: linear.
    """
    return _Reader(text, None, known).sought()


def known_together(texts: Iterable[Questions]) -> Questions:
    """The patterns of some texts; a name that they define differently is left out, for it tells nothing."""
    found: dict[str, language.Pattern | None] = {}
    for name, pattern in chain.from_iterable(one.patterns.items() for one in texts):
        found[name] = pattern if found.get(name, pattern) == pattern else None
    return Questions(patterns={name: pattern for name, pattern in found.items() if pattern is not None})


class _Reader(formulas.FormulaReader):
    # -- texts ---------------------------------------------------------------------------------------------

    def questions(self) -> Questions:
        tree = self._parsed("start")
        for statement in tree.children:
            self._statement(statement.children[0])  # type: ignore[union-attr,arg-type]
        return self.found

    def sought(self) -> Questions:
        tree = self._parsed("find_tuples", "find_condition")
        *statements, last = tree.children
        for statement in statements:
            self._statement(statement.children[0])  # type: ignore[union-attr,arg-type]
        last = last.children[0] if formulas.rule_of(last) == "question" else last  # type: ignore[union-attr]
        match formulas.rule_of(last):
            case "condition" if formulas.rule_of(last.children[0]) == "quantified":  # type: ignore[union-attr]
                self._assertion(last)  # type: ignore[arg-type]
            case "condition":
                name = self._inline(last.children[0])  # type: ignore[union-attr]
                place = formulas.place_of(last)
                reference = language.Reference(name, (), place)
                formula: Formula = Quantified(False, (("event", reference),), None, And(()), place)
                self.found.questions.append(language.Question(self._source(last), formula, place))
            case "tuples" | "never":  # of what is never to be, that which is
                self._pair(last, "tuples")
            case "event" | "state" | "know" | "complete" as other:
                self._fail(f"`{other}` defines something; say what is to be found", last)
            case _:
                self._statement(last)  # type: ignore[arg-type]
        return self.found

    def _parsed(self, *starts: str) -> Node:
        """The tree by the first of some rules that fits; raises the fault of the one that came farthest."""
        from lark.exceptions import UnexpectedInput

        faults = []
        for start in starts:
            try:
                return formulas.grammar().parse(self.text, start=start)
            except UnexpectedInput as error:
                faults.append(error)
        self._explain(max(faults, key=formulas.offset))

    # -- statements ----------------------------------------------------------------------------------------

    def _statement(self, tree: Node) -> None:
        match str(tree.data):
            case "never" | "every" as rule:
                self._pair(tree, rule)
            case "possibly" | "definitely" as rule:
                self._states(tree, surely=rule == "definitely")
            case rule:
                getattr(self, f"_{rule}")(tree)

    def _event(self, tree: Node) -> None:
        name, parameters, bound = self._head(tree)
        conditions = formulas.trees(tree, *formulas.FORMULAS)
        condition = self._condition(conditions[0]) if conditions else None
        self._bind(tree, parameters, bound, [condition] if condition is not None else [])
        self.found.patterns[name] = language.EventPattern(
            name, parameters, bound, condition, formulas.place_of(tree)
        )

    def _state(self, tree: Node) -> None:
        name, parameters, bound = self._head(tree)
        process: language.Value | Parameter | None = None
        if places := formulas.trees(tree, "place"):
            token = formulas.token_of(places[0])
            if token.type == "STRING":
                process = language.Value(formulas.unquoted(token))
            elif str(token) in parameters:
                process = Parameter(str(token))
                bound[str(token)] = Field("process")
            else:
                listed = ", ".join((*parameters, str(token)))
                hint = f'Write "{token}" for the process of that name; {name}({listed}) binds it.'
                self._fail(f"{token} is no parameter of {name}", token, hint)
        begin, end = (self._condition(part) for part in formulas.trees(tree, *formulas.FORMULAS))
        self._bind(tree, parameters, bound, [begin])
        place = formulas.place_of(tree)
        self.found.patterns[name] = language.StatePattern(name, parameters, bound, process, begin, end, place)

    def _know(self, tree: Node) -> None:
        left, sign, right, where = self._sides(tree)
        relation, refuted = self._relation(sign)
        if relation is None:
            self._fail("`while` cannot be known; know how two events are related", sign)
        for _, reference in (left, right):
            self._expect_kind(reference, language.EventPattern, "known")
        if refuted:
            relation = next(r for r, of in formulas.REFUTED.items() if of is relation)
        place = formulas.place_of(tree)
        self.found.known.append(language.Known(left, relation, right, where, self._source(tree), place))

    def _complete(self, tree: Node) -> None:
        self.found.complete = formulas.place_of(tree)

    def _states(self, tree: Node, surely: bool) -> None:
        place = formulas.place_of(tree)
        binders = self._named([self._reference(part) for part in formulas.trees(tree, "reference")])
        for _, reference in binders:
            self._expect_kind(reference, language.StatePattern, "seen at once")
        names = [name for name, _ in binders]
        pairs = [language.Related(a, None, b, place, surely=surely) for a, b in combinations(names, 2)]
        self._ask(tree, Quantified(True, tuple(binders), None, And(tuple(pairs)), place))

    def _assertion(self, tree: Node) -> None:
        formula = self._formula(formulas.trees(tree, *formulas.FORMULAS)[0], {}, set())
        self._ask(tree, formula)

    def _pair(self, tree: Any, rule: str) -> None:
        """`never`, `every`, or what `find` is to list: one reference or two that are related."""
        place = formulas.place_of(tree)
        references = formulas.trees(tree, "reference")
        if len(references) == 1:
            binders = self._named([self._reference(references[0])])
            where = self._where(tree, binders)
            body: Formula = language.Or(()) if rule == "never" else And(())
            self._ask(tree, Quantified(False, tuple(binders), where, body, place))
            return
        left, sign, right, where = self._sides(tree)
        relation, _ = self._relation(sign)
        atom = self._atom(left, sign, right, place)
        amounts = formulas.trees(tree, "amount")
        if amounts and formulas.token_of(amounts[0]).type == "SOME":
            inner = Quantified(True, (right,), where, atom, place)
            self._ask(tree, Quantified(False, (left,), None, inner, place))
            return
        body = language.Not(atom) if rule == "never" else atom
        once = relation in _SYMMETRIC and _turns(left, right, where)
        self._ask(tree, Quantified(False, (left, right), where, body, place, once, distinct=True))

    def _ask(self, tree: Any, formula: Formula) -> None:
        self.found.questions.append(language.Question(self._source(tree), formula, formulas.place_of(tree)))

    # -- parts of statements -------------------------------------------------------------------------------

    def _head(self, tree: Node) -> tuple[str, tuple[str, ...], dict[str, Field]]:
        token = formulas.token_of(tree)
        if "." in token:
            self._fail("a pattern's name has no dot", token)
        if str(token) in self.found.patterns:
            self._fail(f"{token} is defined already", token)
        parameters, bound = list[str](), dict[str, Field]()
        for part in formulas.trees(tree, "parameter"):
            name = formulas.token_of(part)
            if "." in name or str(name) in parameters:
                fault = "has no dot" if "." in name else "is there twice"
                self._fail(f"the parameter {name} {fault}", name)
            parameters.append(str(name))
            if fields := formulas.trees(part, "field"):
                bound[str(name)] = self._field(formulas.token_of(fields[0]))
        return str(token), tuple(parameters), bound

    def _bind(
        self, tree: Node, parameters: Iterable[str], bound: dict[str, Field], conditions: list[Formula]
    ) -> None:
        """Find out what binds each parameter: its `= field`, a named group, or a field of its own name."""
        inside = [part for condition in conditions for part in within(condition)]
        groups = {
            name for part in inside if isinstance(part, language.Matches) for name in part.pattern.groupindex
        }
        fields = {one.name for part in inside for one in language.operands(part) if isinstance(one, Field)}
        for part, name in zip(formulas.trees(tree, "parameter"), parameters, strict=True):
            if name in bound or name in groups:
                continue
            if name not in language.COLUMNS and name not in fields:
                hint = (
                    f'A named group binds it, as in label ~ "…(?<{name}>\\w+)", '
                    f"or a field of the event, as in ({name} = process)."
                )
                self._fail(f"nothing binds the parameter {name}", formulas.token_of(part), hint)
            bound[name] = Field(name)

    def _named(self, references: list[tuple[str | None, language.Reference]]) -> list[Binder]:
        """A name for each: as said, or after its pattern, numbered where there are several of one."""
        short = ["event" if r.name.startswith("[") else r.name for _, r in references]
        names = [
            given_name or (one if short.count(one) == 1 else f"{one}.{short[: at + 1].count(one)}")
            for at, ((given_name, _), one) in enumerate(zip(references, short, strict=True))
        ]
        for at, name in enumerate(names):
            if name in names[:at]:
                self._fail(f"two are called {name}", references[at][1].place)
        return [(name, reference) for name, (_, reference) in zip(names, references, strict=True)]

    def _sides(self, tree: Any) -> tuple[Binder, Node, Binder, Formula | None]:
        left, right = self._named([self._reference(part) for part in formulas.trees(tree, "reference")])
        return left, formulas.trees(tree, "sign")[0], right, self._where(tree, [left, right])

    def _where(self, tree: Any, binders: list[Binder]) -> Formula | None:
        conditions = formulas.trees(tree, *formulas.FORMULAS)
        if not conditions:
            return None
        variables = dict(binders)
        return self._plain(
            self._formula(conditions[0], variables, formulas.parameters_of(variables.values()))
        )


def _turns(left: Binder, right: Binder, where: Formula | None) -> bool:
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

    def turn(operand: language.Operand) -> language.Operand:
        if isinstance(operand, Field):
            return Field(operand.name, turned.get(operand.variable, operand.variable))
        found: language.Operand = turned.get(operand, operand)
        return found

    stack = [] if where is None else [where]
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack += language.children(part)
        elif (
            not isinstance(part, language.Compared)
            or part.sign not in ("=", "!=")
            or {turn(part.left), turn(part.right)} != {part.left, part.right}
        ):
            return False
    return True
