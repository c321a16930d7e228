"""`statements.lark` at work: one line in, one statement out, or the error that a person needs.

The grammar defines what a statement is. It is slow (some hundred microseconds a line) and is asked
only for lines that the fast lane does not recognise.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from functools import cache
from typing import NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from microcosm.givens import exact
from microcosm.givens.clock import Clock
from microcosm.givens.message import Message
from microcosm.text import statement as build
from microcosm.text.names import KEYWORDS, SHOWN, shown, unfit, unquote
from microcosm.text.provenance import stated
from microcosm.text.statement import Fault, Statement

FORMS = (
    "A statement is a correspondence such as `a < b` (signs: <, >, ||, <>, !<), or begins with one of "
    "name, internal, stamp, clock, send, receive, ordering, complete, token."
)

SIGNS = "<, >, ||, <>, !<"

_WORDS = {
    "NAME": "a name",
    "PROCESS": "a process",
    "TEXT": "a text in double quotes",
    "NUMBER": "a number",
    "RELATION": f"a relation ({SIGNS})",
    "_IN": "in",
}
"""What the named terminals are called; the others are shown as they are written."""


@cache
def _grammar() -> Lark:
    return Lark.open(
        "statements.lark",
        rel_to=__file__,
        start="statement",
        parser="lalr",
        lexer="contextual",
        maybe_placeholders=False,
    )


def parse(line: str, source: str | None = None) -> Statement:
    """The statement on `line`; `source` is the provenance of correspondences that state none.

    Raises `Fault`. The line must hold a statement: blank lines and comments are for the caller.
    """
    try:
        tree = _grammar().parse(line)
    except UnexpectedInput as error:
        _explain(line, error)
    return _statement(tree, source)


def _statement(tree: Tree[Token], source: str | None) -> Statement:
    tokens = [child for child in tree.children if isinstance(child, Token)]
    match str(tree.data):
        case "correspondences":
            return _correspondences(tokens, source)
        case "internal":
            return build.internal(_names(tokens[0::2]), _signs(tokens[1::2]))
        case "clock":
            return _clock(tokens, [child for child in tree.children if isinstance(child, Tree)])
        case "stamp":
            return _stamp(tokens)
        case "send":
            event, message, process, *receivers = _names(tokens)
            return build.Messaged(Message("send", event, message, process, tuple(receivers)))
        case "receive":
            event, message, process = _names(tokens)
            return build.Messaged(Message("receive", event, message, process))
        case "ordering":
            return build.ordering(_name(tokens[0]), interior=len(tokens) > 1)
        case "complete":
            return build.Complete()
        case "token":
            name, *events = _names(tokens)
            return build.token(name, events)
        case _:
            return build.Named(_text(tokens[0]))


def _correspondences(tokens: list[Token], source: str | None) -> build.Correspondences:
    signs = [token for token in tokens if token.type == "RELATION"]
    count = 2 * len(signs) + 1
    if len(tokens) > count:
        source = stated(_text(tokens[count]))
    return build.correspondences(_names(tokens[0:count:2]), _signs(signs), source)


def _clock(tokens: list[Token], entries: list[Tree[Token]]) -> build.Clocked:
    event, process = _names(tokens[:2])
    times: dict[str, int] = {}
    execution = None
    for entry in entries:
        if str(entry.data) == "execution":
            (execution,) = _names([child for child in entry.children if isinstance(child, Token)])
            continue
        key, number = (child for child in entry.children if isinstance(child, Token))
        if str(key) in KEYWORDS:
            raise Fault(f"`{key}` is a keyword", f'Quote it to use it as a name: "{key}".', column=key.column)
        name, count = _name(key), _number(number)
        if name in times:
            raise build.clocked_twice(name, key.column)
        if not isinstance(count, int):
            raise Fault("a clock counts events: its entries are integers", None, column=number.column)
        if count < 0:
            raise Fault("a clock counts events: its entries are not negative", None, column=number.column)
        times[name] = count
    return build.Clocked(event, Clock(process, times, len(tokens) == 2, execution))


def _stamp(tokens: list[Token]) -> build.Stamped:
    event, numbers = _name(tokens[0]), tokens[1:]
    first = _number(numbers[0])
    if len(numbers) == 2:
        last = _number(numbers[1])
        if first > last:
            raise Fault(
                f"the interval ends ({shown(numbers[1])}) before it begins ({shown(numbers[0])})",
                "Write [earliest, latest].",
                column=numbers[0].column,
            )
        return build.Stamped(event, (first, last))
    if not isinstance(first, int):
        raise Fault(
            "a Lamport time is an integer",
            f"A physical time is an interval: [{numbers[0]}, {numbers[0]}].",
            column=numbers[0].column,
        )
    return build.Stamped(event, first)


def _number(token: Token) -> exact.Number:
    try:
        return exact.number(str(token))
    except ValueError:
        raise Fault("the number has too many digits", None, column=token.column) from None
    except OverflowError:
        raise Fault("the number is too large", None, column=token.column) from None


def _signs(tokens: list[Token]) -> list[str]:
    for token in tokens:
        if token not in build.JOINS:
            raise Fault(f"`{token}` cannot be given", _SIGN_HINTS.get(token), column=token.column)
    return [str(token) for token in tokens]


_SIGN_HINTS = {
    "?": "`?` is a verdict: leave the pair out, and it is unknown.",
    "->": "Happens-before is written `<`.",
    "|": "Concurrency is written `||`.",
    "-": "A name neither begins nor ends with a hyphen; happens-before is written `<`.",
    "!": "Only `!<` can be given as refuted.",
    "!||": "What is not concurrent is causally related: write `a <> b`.",
    "!<>": "What is not causally related is concurrent: write `a || b`.",
}


def _names(tokens: list[Token]) -> list[str]:
    return [_name(token) for token in tokens]


def _name(token: Token) -> str:
    name = _text(token)
    if fault := unfit(name):
        raise Fault(fault, None, column=token.column)
    return name


def _text(token: Token) -> str:
    if not token.startswith('"'):
        return str(token)
    try:
        text = unquote(str(token))
    except json.JSONDecodeError as error:
        column = (token.column or 1) + error.pos
        raise Fault(
            "not an escape", r"Escapes are those of JSON: \" \\ \n \t \u0041 …", column=column
        ) from None
    if text and (fault := unfit(text)):
        raise Fault(fault, None, column=token.column)
    return text


def _explain(line: str, error: UnexpectedInput) -> NoReturn:
    """Raise the `Fault` that says what was expected in the place where the grammar stopped."""
    accepts: Callable[[], set[str]] = error.interactive_parser.accepts
    expected = accepts()
    if isinstance(error, UnexpectedToken):
        ended = error.token.type == "$END"
        found = str(error.token)
        column = int((error.token.end_column if ended else error.token.column) or 1)
    else:
        assert isinstance(error, UnexpectedCharacters)
        ended, column = False, error.column
        found = line[column - 1]
    _explain_text(line, column)
    if ended:
        hint = FORMS if expected == {"RELATION"} else None
        raise Fault(f"the statement ends too early: expected {_wanted(expected)}", hint, column=column)
    if found in KEYWORDS and expected & {"NAME", "PROCESS"}:
        raise Fault(f"`{found}` is a keyword", f'Quote it to use it as a name: "{found}".', column=column)
    if "COMPLETE" in expected:
        raise Fault(f"no statement begins with {shown(found)}", _hint(found, FORMS), column=column)
    if "$END" in expected:
        hint = _hint(found, LEFT) if "RELATION" in expected else LEFT
        raise Fault(f"unexpected {shown(found)} after the statement", hint, column=column)
    if expected == {"RELATION"}:
        first = line[: column - 1].strip()
        message = f"no relation ({SIGNS}) follows {shown(first)}, and no statement begins with it"
        raise Fault(message, _nearest(first) or _hint(found, FORMS), column=column)
    raise Fault(f"expected {_wanted(expected)}, not {shown(found)}", _hint(found, None), column=column)


LEFT = "One statement a line; a name with spaces or signs in it stands in double quotes."


def _explain_text(line: str, column: int) -> None:
    """Where the grammar stopped at a quotation mark: say what is wrong with the quoted text."""
    if line[column - 1 : column] != '"':
        return
    body = _quoted_body(line, column)
    end = body.end() if body else column
    if end < len(line) and line[end] < " ":
        code = json.dumps(line[end])[1:-1]
        raise Fault("a control character stands in the quoted text", f"Write it as {code}.", column=end + 1)
    if end >= len(line) or line[end] == "\\":
        raise Fault("the quoted text does not end", 'Close it with ".', column=column)


_quoted_body = re.compile(r'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+').match


def _wanted(expected: set[str]) -> str:
    written = {terminal.name: terminal.pattern.value for terminal in _grammar().terminals}
    words = (_WORDS.get(name, f"`{written.get(name, name)}`") for name in sorted(expected - {"$END"}))
    return " or ".join(words) or "the end of the statement"


def _hint(found: str, default: str | None) -> str | None:
    if found in _SIGN_HINTS:
        return _SIGN_HINTS[found]
    if re.match(r'[\w.:@/"#,=<>\[\]{}\x00-\x20]', found):
        return default
    return f"A name with {shown(found[0])} in it stands in double quotes."


def _nearest(word: str) -> str | None:
    near = difflib.get_close_matches(word[:SHOWN], sorted(KEYWORDS), 1)
    return f"Did you mean `{near[0]}`?" if near else None
