"""Lines of JSON as columns, where they are plain microcosms: cut at their quotes, all lines at once.

What stands between two texts of a plain microcosm is one of a few pieces of punctuation, so that which texts
are fields, events or relations follows from the pieces, for all lines by a few array operations. Each
different piece and each different text is looked at once. A line that is not such is left to the reader of
JSON, and so is one with a quote or a backslash in a text. No Spark here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from microcosm.spark.bisim.digests import Relations
from microcosm.text.json_form import SCHEMA
from microcosm.text.words import unfit

_KEY, _VALUE, _MEMBER, _LEFT, _RELATION, _RIGHT, _BAD = range(7)
"""What a text can be: the name of a field, its value, an internal event, one of three of a fact."""

_STATES = np.array(
    (
        (_KEY, _BAD, _BAD, _BAD),
        (_VALUE, _KEY, _BAD, _BAD),
        (_MEMBER, _MEMBER, _MEMBER, _MEMBER),
        (_LEFT, _RELATION, _RIGHT, _BAD),
        *(((_BAD,) * 4,) * 3),
    )
)
"""What a text is, by what the last text was that no comma precedes, and by the number of commas since."""

_OPENINGS = (":", ": [", ": [ [", ": [ ]", ": { }", ": null", ": false")
"""What follows the name of a field; after the last four the next field."""
_TEXT, _LIST, _LISTS, _NO_LIST, _NO_TABLE, _NULL, _FALSE = range(len(_OPENINGS))
_NOTHING = len(_OPENINGS)

_CLOSINGS = {
    "": (_VALUE, _NOTHING),
    "]": (_MEMBER, _NOTHING),
    "] ]": (_RIGHT, _NOTHING),
    **{said: (_KEY, at) for at, said in enumerate(_OPENINGS) if at >= _NO_LIST},
}
_STEPS = {
    "] , [": (_RIGHT, _LEFT, _NOTHING),
    **{_OPENINGS[at]: (_KEY, to, at) for at, to in enumerate((_VALUE, _MEMBER, _LEFT))},
    **{f"{said} ,": (of, _KEY, at) for said, (of, at) in _CLOSINGS.items() if said},
}
_ENDS = {f"{said} }}".strip(): (of, _KEY, at) for said, (of, at) in _CLOSINGS.items()}
"""What stands between two texts, and at the end of a line: what the text before is, what the one after is,
and of a field what follows it. A comma alone is told by `_STATES`."""

_FIELDS = {
    "id": (_TEXT,),
    "name": (_TEXT, _NULL),
    "schema": (_TEXT,),
    "complete": (_FALSE,),
    "internal": (_LIST, _NO_LIST),
    "external": (_LISTS, _NO_LIST),
    **dict.fromkeys(("refuted", "messages", "orderings"), (_NO_LIST,)),
    **dict.fromkeys(("stamps", "clocks", "processes", "tokens"), (_NO_TABLE,)),
}
_NUMBERS = {name: number for number, name in enumerate(_FIELDS)}
_NONE = len(_FIELDS)
_FITS = np.zeros((_NONE + 1, _NOTHING + 1), dtype=bool)
for _name, _openings in _FIELDS.items():
    _FITS[_NUMBERS[_name], list(_openings)] = True

_tokens = re.compile(rb"null|false|[^ \t\r]").findall
_SPACE = b" \t\r\n"


def of_lines(lines: Sequence[bytes]) -> tuple[Relations, list[str]]:
    """The relations that lines give, of which those not read here are not fit, and the id of each line.

    >>> read, names = of_lines([b'{"id": "x", "external": [["a", "<", "b"]]}', b'{"id": "y"', b"[]"])
    >>> read.fit.tolist(), names[:1], [read.names[at] for at in (*read.left, *read.right)]
    ([True, False, False], ['x'], ['a', 'b'])
    """
    chosen, whole = [], []
    for at, line in enumerate(lines):
        quotes = line.count(b'"')
        if quotes and not quotes & 1 and (b"\\" not in line or _sound_escapes(line)):
            chosen.append(at)
            whole.append(line.strip(_SPACE))
    fit = np.zeros(len(lines), dtype=bool)
    ids = [""] * len(lines)
    none = np.zeros(0, dtype=np.int64)
    if not whole:
        return Relations(fit, [], none, none, none.astype(bool), none, none, none), ids
    texts = _Texts(b"\n".join(whole) + b"\n{", len(whole))
    places = np.array(chosen)
    fit[places] = texts.fit
    for at, name in texts.ids():
        ids[chosen[at]] = name
    return texts.relations(fit, places), ids


def _sound_escapes(line: bytes) -> bool:
    """Whether each quote begins or ends a text, escapes or not."""
    return b'\\"' not in line and b"\\\\" not in line


class _Texts:
    """The texts of a block of lines, each of which has texts; `line`, `state` and `code` of each text."""

    def __init__(self, block: bytes, lines: int) -> None:
        import pyarrow as pa

        quotes = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord('"'))
        offsets = np.concatenate((quotes, [len(block)])).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
        cut = pa.Array.from_buffers(pa.binary(), len(quotes), buffers).dictionary_encode()
        codes = cut.indices.to_numpy()
        self._parts = [part[1:] for part in cut.dictionary.to_pylist()]
        self.code, gap = (codes[at::2].astype(np.intp) for at in range(2))
        self.fit = np.ones(lines, dtype=bool)
        if block[: int(quotes[0])].strip(_SPACE) != b"{":
            self.fit[0] = False
        self._read_gaps(gap)
        self._read_texts()
        self._check_fields()

    def _read_gaps(self, gap: Any) -> None:
        """What each text is, by what stands before and after it; a gap with a newline ends a line."""
        size = len(self._parts)
        source, target, opening = (np.full(size, each) for each in (_BAD, _BAD, _NOTHING))
        ends, astray, comma = (np.zeros(size, dtype=bool) for _ in range(3))
        for at in _there(gap):
            told, newline, follows_it = self._parts[at].partition(b"\n")  # a torn line may end in a text
            said, begun = (b" ".join(_tokens(part)) for part in (told, follows_it))
            ends[at], astray[at] = bool(newline), newline and begun != b"{"
            comma[at] = said == b"," and not newline
            known = _ENDS if newline else _STEPS
            other = (_BAD, _KEY if newline else _BAD, _NOTHING)
            source[at], target[at], opening[at] = known.get(said.decode("ascii", "replace"), other)
        ended = ends[gap]
        self.line = np.cumsum(ended) - ended
        self.fit[self.line[astray[gap]] + 1] = False  # the last line is followed by what we put there
        follows = comma[gap]
        count = np.arange(len(gap))
        anchor = np.maximum.accumulate(np.where(np.concatenate(([False], follows[:-1])), 0, count))
        first = np.concatenate(([_KEY], target[gap[:-1]]))[anchor]
        self.state = _STATES[first, np.minimum(count - anchor, 3)]
        bad = (self.state == _BAD) | (~follows & (source[gap] != self.state))
        self.fit[self.line[bad]] = False
        self._opening = opening[gap]

    def _read_texts(self) -> None:
        """Spell the texts; `names` are sorted, and `rank` has the place of each code in it."""
        spelled: dict[int, str] = {}
        sound = np.ones(len(self._parts), dtype=bool)
        for at in _there(self.code):
            said = _spelled(self._parts[at])
            if said is None:
                sound[at] = False
            else:
                spelled[at] = said
        self.fit[self.line[~sound[self.code]]] = False
        self.names = sorted(set(spelled.values()))
        place = {name: at for at, name in enumerate(self.names)}
        self._rank = np.zeros(len(self._parts), dtype=np.int64)
        for at, name in spelled.items():
            self._rank[at] = place[name]
        self.text = self._rank[self.code]

    def _check_fields(self) -> None:
        """Each field is known, is there once and has a value that it may have here; an id is there."""
        number = np.array([_NUMBERS.get(name, _NONE) for name in self.names])
        keys = np.flatnonzero(self.state == _KEY)
        field, line = number[self.text[keys]], self.line[keys]
        self.fit[line[~_FITS[field, self._opening[keys]]]] = False
        there = np.bincount(line * (_NONE + 1) + field, minlength=len(self.fit) * (_NONE + 1))
        there = there.reshape(-1, _NONE + 1)
        self.fit &= (there <= 1).all(axis=1) & (there[:, _NUMBERS["id"]] == 1)
        value = np.minimum(keys + 1, len(self.text) - 1)
        of_id, of_schema = (field == _NUMBERS[name] for name in ("id", "schema"))
        said = np.array(self.names, dtype=object)[self.text[value]]
        self.fit[line[(of_id & (said == "")) | (of_schema & (said != SCHEMA))]] = False
        self._ids = line[of_id], said[of_id]

    def ids(self) -> Iterator[tuple[int, str]]:
        """The ids of lines; of those that fit these are theirs."""
        line, said = self._ids
        return zip(line.tolist(), said.tolist(), strict=True)

    def relations(self, fit: Any, places: Any) -> Relations:
        """What the lines that fit give; `places` are their rows."""
        of_fit = self.fit[self.line]
        left = np.flatnonzero(of_fit & (self.state == _LEFT))
        member = np.flatnonzero(of_fit & (self.state == _MEMBER))
        text, row = self.text, places[self.line]
        spelled = np.array(self.names, dtype=object)
        relation = text[left + 1]
        before, apart = spelled[relation] == "<", spelled[relation] == "||"
        fit[row[left[~(before | apart)]]] = False
        return Relations(
            fit, self.names, row[left], text[left], before, text[left + 2], row[member], text[member]
        )


def _there(codes: Any) -> list[int]:
    """The different members of an array of numbers that are not large."""
    found: list[int] = np.flatnonzero(np.bincount(codes)).tolist()
    return found


def _spelled(text: bytes) -> str | None:
    """What is written between two quotes; None where it is no text that a name or an id can be."""
    try:
        said = text.decode()
        if "\\" in said or (text and min(text) < 0x20):
            said = json.loads(f'"{said}"')
    except ValueError:
        return None
    return None if said and unfit(said) else said
