"""What an answer handed to `verify` claims: its derivations, and whether its other fields agree with them.

Only the answer itself is looked at here; what no derivation shows, `rederived` works out anew.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from microcosm.cli import output
from microcosm.errors import MicrocosmError, TextError

ONLINE = {"pair", "verdict", "derivation"}
OFFLINE = {"pair", "verdict", "refuted", "possible", "exact", "derivations"}
NONE_FITS = {*OFFLINE, "consistent", "derivation"}
CHECK = {"consistent", "derivation"}
POSSIBLE = {"pair", "possible", "worlds", "exact"}
"""The fields that an answer of each kind has."""

_MORE = {
    "online": {"events", "schema", "lemmas", "unknown_events", "concluded"},
    "offline": {"events", "schema", "certificate", "unknown_events"},
    "check": {"events", "schema", "lemmas", "conflict"},
    "possible": {"events", "schema", "conflict", "unknown_events", "ignored"},
}
"""The fields that it may have."""

SIGNS = ("<", ">", "||", "<>")

MEANS = {"<": ("<",), ">": (">",), "||": ("||",), "<>": ("<", ">")}
"""The relations of worlds that each relation stands for."""

NOTHING = "the answer has no derivation: there is nothing to verify"


@dataclass(frozen=True)
class Claims:
    """An answer of the kind `online`, `offline`, `check` or `possible`, or (`derivation`) one by itself.

    The kernel has to accept each of `derivations`; `fault` says where the answer contradicts itself.
    """

    kind: str
    derivations: list[object] = field(default_factory=list)
    fault: str | None = None


def claimed(stated: object) -> Claims:
    """What was handed in claims."""
    if not isinstance(stated, dict) or "rule" in stated or not _ANSWERS & stated.keys():
        return Claims("derivation", [stated])
    kind, fields = _kind(stated)
    fault = _unlike(stated, kind, fields)
    if fault is not None:
        return Claims(kind, fault=fault)
    if kind == "check":
        return _contradiction(stated)
    match stated["pair"]:
        case [str(left), str(right)] if left != right:
            return _READ[kind](stated, left, right)
    return Claims(kind, fault="the answer's pair is not two events")


_ANSWERS = {"derivation", "derivations", "worlds", "pairs", "bisimilar", "holds"}
"""Fields that answers have and derivations have not."""


def _kind(stated: dict[str, Any]) -> tuple[str, set[str]]:
    if "derivations" in stated:
        return "offline", NONE_FITS if "consistent" in stated else OFFLINE
    if "worlds" in stated:
        return "possible", POSSIBLE
    if "consistent" in stated:
        return "check", CHECK
    return ("online", ONLINE) if "derivation" in stated else ("", set())


def _unlike(stated: dict[str, Any], kind: str, fields: set[str]) -> str | None:
    """How the fields of an answer differ from those that it has to have, or can have."""
    if not kind:
        return "nothing in such an answer comes with a derivation or a world to verify"
    if unknown := sorted(set(stated) - fields - _MORE[kind]):
        return f"the answer has a field {unknown[0]!r} that no such answer has"
    if missing := sorted(fields - set(stated)):
        return f"the answer has no field {missing[0]!r}"
    if stated.get("schema", output.SCHEMA) != output.SCHEMA:
        return f"the answer's schema is not {output.SCHEMA}"
    return None


def _online(stated: dict[str, Any], left: str, right: str) -> Claims:
    derivation, verdict = _with_lemmas(stated), stated["verdict"]
    if derivation is None:
        return Claims("online", fault=NOTHING)
    if verdict not in (*SIGNS, "?"):
        return Claims(
            "online", fault="the answer's verdict is no relation that online decision making concludes"
        )
    told_by_complete = verdict == "||" and _concludes(derivation, "offline", left, verdict, right)
    if not told_by_complete and not _concludes(derivation, "online", left, verdict, right):
        return Claims("online", fault="the derivation does not conclude what the answer says of its pair")
    return Claims("online", [derivation])


def _offline(stated: dict[str, Any], left: str, right: str) -> Claims:
    if "consistent" in stated:
        return _none_fits(stated)
    derivations = stated["derivations"]
    fault = _disagreement(stated) or _uncovered(stated, left, right)
    if fault is not None:
        return Claims("offline", fault=fault)
    return Claims("offline", list(derivations.values()))


def _disagreement(stated: dict[str, Any]) -> str | None:
    """Where the verdict, what is refuted and what is possible do not go together."""
    derivations, verdict, refuted = stated["derivations"], stated["verdict"], stated["refuted"]
    if not isinstance(derivations, dict) or not derivations:
        return NOTHING
    if not isinstance(refuted, list) or any(sign not in SIGNS for sign in refuted):
        return "`refuted` lists relations among < > || <>"
    if verdict is not None and verdict not in SIGNS:
        return "the answer's verdict is no relation that offline decision making concludes"
    said = {f"!{sign}" for sign in refuted} | ({verdict} if verdict is not None else set())
    if said != derivations.keys() or len(set(refuted)) < len(refuted):
        return "the answer's derivations are not those of its verdict and of what it refutes"
    if stated["possible"] != [sign for sign in SIGNS[:3] if sign not in refuted]:
        return "`possible` is not what is left of < > || when `refuted` is taken away"
    return None if isinstance(stated["exact"], bool) else "`exact` is true or false"


def _uncovered(stated: dict[str, Any], left: str, right: str) -> str | None:
    """What of an offline answer has no derivation that concludes it."""
    for sign, derivation in stated["derivations"].items():
        if derivation is None:
            return f"there is no derivation of {sign} to verify: a solver decided it"
        if not _concludes(derivation, "offline", left, sign, right):
            return f"the derivation of {sign} does not conclude what the answer says of its pair"
    return "a certificate is of what has no derivation" if "certificate" in stated else None


def _none_fits(stated: dict[str, Any]) -> Claims:
    """An offline answer on a microcosm that no world fits: it says nothing of its pair."""
    told = [stated[key] for key in ("verdict", "refuted", "possible", "derivations")]
    if told != [None, [], [], {}] or stated["exact"] is not True:
        return Claims("offline", fault="where no world fits, there is no verdict on any pair")
    found = _contradiction(stated)
    return Claims("offline", found.derivations, found.fault)


def _possible(stated: dict[str, Any], left: str, right: str) -> Claims:
    worlds, possible = stated["worlds"], stated["possible"]
    fault = None
    if not isinstance(possible, list) or possible != [sign for sign in SIGNS[:3] if sign in possible]:
        fault = "`possible` lists relations among < > ||, in this order"
    elif not isinstance(worlds, dict) or not worlds.keys() <= set(possible):
        fault = "`worlds` has worlds of what is possible"
    elif not isinstance(stated["exact"], bool):
        fault = "`exact` is true or false"
    elif stated["exact"] and worlds.keys() != set(possible):
        fault = "`exact` is true, and something possible has no world"
    elif ("conflict" in stated) == bool(possible):
        fault = "a `conflict` is told where nothing is possible, and nowhere else"
    return Claims("possible", fault=fault)


def _contradiction(stated: dict[str, Any]) -> Claims:
    derivation = _with_lemmas(stated)
    if derivation is None:
        return Claims("check", fault=NOTHING)
    said = derivation.get("conclusion") if isinstance(derivation, dict) else None
    if stated["consistent"] is not False or not isinstance(said, dict):
        return Claims("check", fault="the answer does not say that the microcosm is inconsistent")
    if said.get("relation") != "contradiction":
        return Claims("check", fault="the derivation does not conclude a contradiction")
    return Claims("check", [derivation])


_READ = {"online": _online, "offline": _offline, "possible": _possible}


def _with_lemmas(stated: dict[str, Any]) -> object:
    """The derivation of an answer, with the lemmas that stand beside it."""
    derivation = stated["derivation"]
    if isinstance(derivation, dict) and "lemmas" in stated:
        return {**derivation, "lemmas": stated["lemmas"]}
    return derivation


def _concludes(derivation: object, judgement: str, left: str, sign: str, right: str) -> bool:
    """Whether a derivation concludes `left sign right`."""
    said = derivation.get("conclusion") if isinstance(derivation, dict) else None
    if sign in (">", "!>"):
        left, sign, right = right, sign.replace(">", "<"), left
    return said == {"judgement": judgement, "left": left, "relation": sign, "right": right}


LONGEST_INTEGER = 300
"""An integer of more digits than any count has is read as a float."""


class TwiceError(MicrocosmError, ValueError):
    """A key that stands twice in one object: well-formed JSON that says two things."""


def parse(text: str, file: str) -> object:
    """The value of a JSON text. Raises `TextError` where it is none, `TwiceError` for a duplicate key."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, strict=True
        )
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, error.msg, file)
    except _NoJSON as error:
        _refuse(text, max(text.find(str(error)), 0), f"{error} is no JSON value", file)
    except RecursionError:
        return _Stack(text, file).value()


def _refuse(text: str, at: int, message: str, file: str) -> NoReturn:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    raise TextError(
        f"is no JSON: {message}",
        file=file,
        line=text.count("\n", 0, at) + 1,
        column=at - begin + 1,
        text=text[begin : end if end >= 0 else None],
    )


class _NoJSON(MicrocosmError):
    pass


def _constant(word: str) -> NoReturn:
    raise _NoJSON(word)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise TwiceError(f"the key {json.dumps(key)} stands twice in one object")
            seen.add(key)
    return found


_TOKEN = re.compile(r"""[ \t\n\r]*(?:([][{},:])|("(?:[^"\\\x00-\x1f]|\\.)*+")|([-+.\w]+))""")


class _Stack:
    """A reader whose open arrays and objects stand on a list."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.at = 0

    def value(self) -> object:
        """The one value of the text."""
        opened: list[tuple[str, list[object]]] = []  # the bracket, and the members (keys and values in turn)
        while True:
            token = self._token()
            if token in ("[", "{"):
                opened.append((token, []))
                if self._peek() == ("]" if token == "[" else "}"):
                    self._token()
                    value = self._closed(*opened.pop())
                else:
                    self._key(opened[-1])
                    continue
            else:
                value = self._scalar(token)
            while opened:
                kind, members = opened[-1]
                members.append(value)
                token = self._token()
                if token == ",":
                    self._key(opened[-1])
                    break
                if token != ("]" if kind == "[" else "}"):
                    self._fail("',' or a closing bracket is expected")
                value = self._closed(*opened.pop())
            if not opened:
                if self.text[self.at :].strip(" \t\n\r"):
                    self._fail("more text after the value")
                return value

    def _key(self, frame: tuple[str, list[object]]) -> None:
        kind, members = frame
        if kind == "{":
            token = self._token()
            if not token.startswith('"'):
                self._fail("a key in double quotes is expected")
            members.append(self._scalar(token))
            if self._token() != ":":
                self._fail("':' is expected")

    @staticmethod
    def _closed(kind: str, members: list[object]) -> object:
        if kind == "[":
            return members
        return _object([(str(key), value) for key, value in zip(members[::2], members[1::2], strict=True)])

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group().lstrip(" \t\n\r") if match else ""

    def _token(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self._fail("a value is expected")
        self.at = match.end()
        return match.group().lstrip(" \t\n\r")

    def _scalar(self, token: str) -> object:
        try:
            return json.loads(token, parse_constant=_constant, parse_int=_integer)
        except (json.JSONDecodeError, _NoJSON):
            self._fail(f"{token[:20]} is no value")

    def _fail(self, message: str) -> NoReturn:
        _refuse(self.text, self.at, message, self.file)
