"""One line of a microcosm file word by word: to the statement on it, or the fault that a person can mend.

The grammar, in which blanks may stand between any two words and `#` begins a comment:

    name NAME                                                   internal NAME (RELATION NAME)*
    NAME (RELATION NAME)+ [from TEXT]                           token NAME = NAME (, NAME)*
    stamp NAME = NUMBER                                         stamp NAME = [NUMBER, NUMBER]
    clock NAME = NAME { [PROCESS : NUMBER (, PROCESS : NUMBER)*] } [unticked] [in NAME]
    send NAME = NAME NAME [-> NAME (, NAME)*]                   receive NAME = NAME NAME
    ordering NAME [interior]                                    complete [NAME (, NAME)*]
    event NAME …                                                (as `microcosm.text.event_line` says)

A word is looked for only where it may stand: `1.5` is a number in a stamp and a name elsewhere, and in a
clock the last colon ends the name of a process ({host:80:3} is host:80, 3). `_Words` reads word by word and
says what was expected where it stopped; no pattern gives anything back, so that the time is linear and lines
may be as long as memory allows. Correspondences and clocks that are right take a short cut before it
(`microcosm.text.short_cut`).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from functools import partial
from sys import intern
from typing import Literal, NoReturn

from microcosm.givens import exact
from microcosm.givens.columns import Message
from microcosm.givens.relation import Clock
from microcosm.text import statement as st
from microcosm.text.names import KEYWORDS, NAME

FORMS = (
    "A statement is a correspondence such as `a < b` (signs: <, >, ||, <>, !<), or begins with one of "
    "name, internal, stamp, clock, send, receive, process, ordering, complete, token, event."
)
SIGNS = "<, >, ||, <>, !<"
LEFT = "One statement a line; a name with spaces or signs in it stands in double quotes."


_KEYWORD = "|".join(sorted(KEYWORDS, key=len, reverse=True))
_PLAIN = rf"(?!(?:{_KEYWORD})(?!-*+[\w.:@/])){NAME}"
_NUMBER = r"[-+]?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
_RELATION = r"!?(?:<>|\|\||<|>)|[?≺≻→∥≬≮]"

_PATTERNS = {
    "a name": rf"{_PLAIN}|{st.STRING}",
    "a process": rf"{NAME}(?=\s*+:)|{st.STRING}",
    "a text in double quotes": st.STRING,
    "a number": _NUMBER,
    f"a relation ({SIGNS})": _RELATION,
    "in": r"in(?![\w.:@/-])",
}
"""The kinds of words by what they are called; any other word is expected as it is written."""

A_NAME, A_PROCESS, A_TEXT, A_NUMBER, A_RELATION, IN = _PATTERNS
A_BEGINNING = (A_NAME, "name")
END = ""

_match = {kind: re.compile(pattern).match for kind, pattern in _PATTERNS.items()}
_any = re.compile(rf"{_PLAIN}|{st.STRING}|{_NUMBER}|{_KEYWORD}|{_RELATION}|->|[={{}}\[\],:]").match
_blank = re.compile(r"(?:\s++|#.*+)*+").match
_quoted = re.compile(r'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+').match


class _Words:
    def __init__(self, line: str) -> None:
        self.line = line
        self._end = 0
        self._skip(0)

    @property
    def ended(self) -> bool:
        """Whether no word is left."""
        return self._at == len(self.line)

    def _skip(self, end: int) -> None:
        self._end = end  # of the last word
        found = _blank(self.line, end)
        assert found is not None
        self._at = found.end()

    def take(self, kind: str) -> st.Word | None:
        """The next word if it is of this kind."""
        if kind in _match:
            found = _match[kind](self.line, self._at)
            if found is None:
                return None
            word = found.group()
        elif self.line.startswith(kind, self._at):
            word = kind
        else:
            return None
        column = self._at + 1
        self._skip(self._at + len(word))
        return word, column

    def need(self, *kinds: str) -> st.Word:
        """The next word, which must be of one of these kinds. Raises `BadStatement`."""
        for kind in kinds:
            if (word := self.take(kind)) is not None:
                return word
        self.refuse(*kinds)

    def finish(self, *kinds: str) -> None:
        """Nothing may be left; words of these kinds could have been. Raises `BadStatement`."""
        if not self.ended:
            self.refuse(*kinds, END)

    def listed(self, kind: str, sign: str, *others: str) -> tuple[list[st.Word], list[st.Word]]:
        """Words of a kind with signs between them, and these; `others` or the end may follow."""
        words, signs = [self.need(kind)], list[st.Word]()
        while (found := self.take(sign)) is not None:
            signs.append(found)
            words.append(self.need(kind))
        if not self.ended and not any(self.line.startswith(other, self._at) for other in others):
            self.refuse(sign, *others, END)
        return words, signs

    def refuse(self, *kinds: str) -> NoReturn:
        """Raise the `BadStatement` of a line in which one of these kinds should come next."""
        line, ended = self.line, self.ended
        column = (self._end if ended else self._at) + 1
        _explain_text(line, column)
        wanted = " or ".join(kind if kind in _PATTERNS else f"`{kind}`" for kind in kinds)
        if ended:
            hint = FORMS if kinds == (A_RELATION,) else None
            raise st.BadStatement(f"the statement ends too early: expected {wanted}", hint, column=column)
        match = _any(line, self._at)
        found = line[self._at] if match is None else match.group()
        if found in KEYWORDS and not {A_NAME, A_PROCESS}.isdisjoint(kinds):
            raise st.keyword(found, column)
        if kinds == A_BEGINNING:
            raise st.BadStatement(
                f"no statement begins with {st.shown(found)}", _hint(found, FORMS), column=column
            )
        if kinds == (A_RELATION,):
            first = line[: self._at].strip()
            message = f"no relation ({SIGNS}) follows {st.shown(first)}, and no statement begins with it"
            near = difflib.get_close_matches(first[: st.SHOWN], sorted(KEYWORDS), 1)
            hint = f"Did you mean `{near[0]}`?" if near else _hint(found, FORMS)
            raise st.BadStatement(message, hint, column=column)
        if END in kinds:
            hint = _hint(found, LEFT) if A_RELATION in kinds else LEFT
            raise st.BadStatement(f"unexpected {st.shown(found)} after the statement", hint, column=column)
        raise st.BadStatement(f"expected {wanted}, not {st.shown(found)}", _hint(found, None), column=column)


def by_words(line: str, source: str | None = None) -> st.Statement:
    """The statement on a line that has one. Raises `BadStatement`. Cost: linear in the line.

    >>> by_words("token lock = a, b")
    Token(name='lock', events=('a', 'b'))
    """
    return _statement(_Words(line), source)


def _statement(words: _Words, source: str | None) -> st.Statement:
    if (name := words.take(A_NAME)) is not None:
        if name[0] == "process" and (process := words.take(A_NAME)) is not None:
            return _group(st.owned, words, process)
        return _correspondences(words, name, source)
    for first, read in _READERS.items():
        if words.take(first) is not None:
            return read(words)
    words.refuse(*A_BEGINNING)


def _correspondences(words: _Words, name: st.Word, source: str | None) -> st.Statement:
    sign = words.need(A_RELATION)
    names, signs = words.listed(A_NAME, A_RELATION, "from")
    if words.take("from") is not None:
        text = words.need(A_TEXT)
        words.finish()
        source = st.stated(st.text_at(text))
    events = [st.name_at(name), *map(st.name_at, names)]
    return st.correspondences(events, _signs([sign, *signs]), source)


def _internal(words: _Words) -> st.Statement:
    names, signs = words.listed(A_NAME, A_RELATION)
    return st.internal([*map(st.name_at, names)], _signs(signs))


def _group(
    make: Callable[[str, list[str]], st.Statement], words: _Words, name: st.Word | None = None
) -> st.Statement:
    name, _ = name or words.need(A_NAME), words.need("=")
    names, _ = words.listed(A_NAME, ",")
    return make(st.name_at(name), [*map(st.name_at, names)])


def _stamp(words: _Words) -> st.Statement:
    event, _ = words.need(A_NAME), words.need("=")
    numbers = [words.need("[", A_NUMBER)]
    if numbers[0][0] == "[":
        numbers = [words.need(A_NUMBER)]
        words.need(",")
        numbers.append(words.need(A_NUMBER))
        words.need("]")
    words.finish()
    name, (text, column), first = st.name_at(event), numbers[0], _number(numbers[0])
    if len(numbers) == 2:
        last = _number(numbers[1])
        if first > last:
            message = f"the interval ends ({st.shown(numbers[1][0])}) before it begins ({st.shown(text)})"
            raise st.BadStatement(message, "Write [earliest, latest].", column=column)
        return st.Stamped(name, (first, last))
    if not isinstance(first, int):
        hint = f"A physical time is an interval: [{text}, {text}]."
        raise st.BadStatement("a Lamport time is an integer", hint, column=column)
    return st.Stamped(name, first)


def _clock(words: _Words) -> st.Statement:
    event, _, process, _ = words.need(A_NAME), words.need("="), words.need(A_NAME), words.need("{")
    entries = list[tuple[st.Word, st.Word]]()
    last = words.take("}")
    while last is None or last[0] == ",":
        key = words.need(A_PROCESS) if entries else words.need(A_PROCESS, "}")
        words.need(":")
        entries.append((key, words.need(A_NUMBER)))
        last = words.need(",", "}")
    unticked = words.take("unticked")
    execution = words.need(A_NAME) if words.take(IN) is not None else None
    words.finish()
    name, owner = st.name_at(event), st.name_at(process)
    times: dict[str, int] = {}
    for key, number in entries:
        if key[0] in KEYWORDS:
            raise st.keyword(*key)
        of, count = st.name_at(key), _number(number)
        if of in times:
            raise st.twice(f"the entry of the clock for {st.shown(of)}", column=key[1])
        if not isinstance(count, int) or count < 0:
            raise st.BadStatement("a clock counts events, from 0 on", None, column=number[1])
        times[of] = count
    apart = None if execution is None else st.name_at(execution)
    return st.Clocked(name, Clock(owner, times, unticked is None, apart))


def _messaged(kind: Literal["send", "receive"], words: _Words) -> st.Statement:
    ends = [words.need(A_NAME), words.need("="), words.need(A_NAME), words.need(A_NAME)]
    to = ("->",) if kind == "send" else ()
    receivers = words.listed(A_NAME, ",")[0] if to and words.take(*to) is not None else []
    words.finish(*to)
    event, message, process = (st.name_at(ends[at]) for at in (0, 2, 3))
    return st.Messaged(Message(kind, event, message, intern(process), tuple(map(st.name_at, receivers))))


def _ordering(words: _Words) -> st.Statement:
    name, interior = words.need(A_NAME), words.take("interior")
    words.finish()
    return st.ordering(st.name_at(name), interior is not None)


def _complete(words: _Words) -> st.Statement:
    if words.ended:
        return st.Complete()
    names, _ = words.listed(A_NAME, ",")
    return st.Complete(tuple(dict.fromkeys(map(st.name_at, names))))


def _named(words: _Words) -> st.Statement:
    name = words.need(A_NAME)
    words.finish()
    return st.OwnName(st.text_at(name))


_READERS: dict[str, Callable[[_Words], st.Statement]] = {
    "name": _named,
    "internal": _internal,
    "stamp": _stamp,
    "clock": _clock,
    "send": partial(_messaged, "send"),
    "receive": partial(_messaged, "receive"),
    "ordering": _ordering,
    "complete": _complete,
    "token": partial(_group, st.token),
}


# -- what words say, and what is wrong with them ---------------------------------------------------


def _number(word: st.Word) -> exact.Number:
    try:
        return exact.number(word[0])
    except ValueError:
        raise st.BadStatement("the number has too many digits", None, column=word[1]) from None
    except OverflowError:
        raise st.BadStatement("the number is too large", None, column=word[1]) from None


def _signs(words: list[st.Word]) -> list[str]:
    for sign, column in words:
        if sign not in st.JOINS:
            raise st.BadStatement(f"`{sign}` cannot be given", _SIGN_HINTS.get(sign), column=column)
    return [sign for sign, _ in words]


_SIGN_HINTS = {
    "?": "`?` is a verdict: leave the pair out, and it is unknown.",
    "->": "Happens-before is written `<`.",
    "|": "Concurrency is written `||`.",
    "-": "A name neither begins nor ends with a hyphen; happens-before is written `<`.",
    "!": "Only `!<` can be given as refuted.",
    "!||": "What is not concurrent is causally related: write `a <> b`.",
    "!<>": "What is not causally related is concurrent: write `a || b`.",
}


def _explain_text(line: str, column: int) -> None:
    """Where no word fits a quotation mark: say what is wrong with the quoted text."""
    if line[column - 1 : column] != '"':
        return
    body = _quoted(line, column)
    end = body.end() if body else column
    if end < len(line) and line[end] < " ":
        code = json.dumps(line[end])[1:-1]
        raise st.BadStatement(
            "a control character stands in the quoted text", f"Write it as {code}.", column=end + 1
        )
    if end >= len(line) or line[end] == "\\":
        raise st.BadStatement("the quoted text does not end", 'Close it with ".', column=column)


def _hint(found: str, default: str | None) -> str | None:
    if found in _SIGN_HINTS:
        return _SIGN_HINTS[found]
    if re.match(r'[\w.:@/"#,=<>\[\]{}\x00-\x20]', found):
        return default
    return f"A name with {st.shown(found[0])} in it stands in double quotes."
