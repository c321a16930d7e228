r"""What a text that is in no known format might be, and the pattern that would read its first line.

2024-05-01 12:00:01,250 INFO [store] wrote x    (?<time>\S+ \S+) (?<level>\w+) \[(?<host>[^\]]+)\]
(?<event>.*)
"""

from __future__ import annotations

import json
import re

from microcosm.traces.formats.jsonl import why_no_event

_PIECES = (
    (
        "time",
        re.compile(
            r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?( ?(Z|[+-]\d\d:?\d\d))?\]?(?=\s|$)"
        ),
    ),
    ("time", re.compile(r"\[?\d\d:\d\d:\d\d([.,]\d+)?\]?(?=\s|$)")),
    ("time", re.compile(r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(\.\d+)?(?=\s|$)")),
    ("time", re.compile(r"\[?\d{9,19}(\.\d+)?\]?(?=\s|$)")),
    ("time", re.compile(r"\[\s*\d+\.\d+\](?=\s|$)")),
    (
        "level",
        re.compile(
            r"[\[(<]?(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|SEVERE)[\])>]?:?(?=\s|$)",
            re.IGNORECASE,
        ),
    ),
    ("thread", re.compile(r"\((Thread-\S*|MainThread|main)\)(?=\s|$)")),
    ("host", re.compile(r"\[[A-Za-z][\w.@/#:-]*\]:?(?=\s|$)")),
    ("host", re.compile(r"[A-Za-z][\w.@/#-]*(\[\d+\])?[:>|](?=\s|$)")),
)
"""What the beginnings of lines of logs are made of, each once."""
_BRACKETS = {"[": "]", "(": ")", "<": ">"}


def guessed(head: str) -> str:
    r"""A pattern that reads the first line that is not blank: its time, level and process, and the rest.

    >>> guessed("12:00:01 alice: got the lease\n"), guessed("alice got the lease\n"), guessed("\n")
    ('(?<time>\\S+) (?<host>[^:\\s]+): (?<event>.*)', '(?<host>\\S+) (?<event>.*)', '(?<event>.*)')
    """
    line = next((line for line in head.split("\n") if line.strip()), "")
    rest, found, known = line.strip(), list[str](), set[str]()
    indent = r"\s*" if line[:1].isspace() else ""
    while True:
        for name, piece in _PIECES:
            shown = piece.match(rest) if name not in known else None
            if shown is not None:
                found.append(_group(name, shown[0]))
                known.add(name)
                gap = re.match(r"\s*", rest[shown.end() :])
                assert gap is not None
                found.append(" " if gap[0] in (" ", "") else r"\s+")
                rest = rest[shown.end() + gap.end() :]
                break
        else:
            break
    if "host" not in known and re.match(r"[A-Za-z][\w.@/#-]*\s+\S", rest):
        found += [r"(?<host>\S+)", " " if re.match(r"\S+ \S", rest) else r"\s+"]
    return "".join((indent, *found, "(?<event>.*)"))


def _group(name: str, text: str) -> str:
    """A group that matches a text, and such as have other words."""
    if (close := _BRACKETS.get(text[0])) is not None and close in text:
        end = text[text.rindex(close) + 1 :]
        return rf"\{text[0]}(?<{name}>[^{re.escape(close)}]+)\{close}{re.escape(end)}"
    if name == "host":
        return rf"(?<host>[^{re.escape(text[-1])}\s]+){re.escape(text[-1])}"
    if name == "level":
        return rf"(?<level>\w+){':' if text.endswith(':') else ''}"
    words = len(text.split())
    gaps = r"\s+" if re.search(r"\s\s", text) else " "
    return f"(?<{name}>{gaps.join([chr(92) + 'S+'] * words)})"


def might_be(head: str) -> str:
    """What a text may be, in a few words, and what to do with it."""
    start = head.lstrip("\ufeff \t\r\n")
    if "\0" in head[:1000] or head[:1000].count("\ufffd") > 20:
        return "It looks like binary data."
    if re.match(r"\{|\[\s*[\[{\"]", start):
        return _of_json(start)
    if start.startswith("<"):
        return "It looks like XML, which is read by nothing here."
    return f"If it is a plain log, --pattern '{guessed(head)}' reads its first line."


def _of_json(start: str) -> str:
    line = start.split("\n", 1)[0]
    try:
        record, _ = json.JSONDecoder().raw_decode(line.removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return "It looks like JSON; docs/reference/log-format.md says what a log of one's own is."
    fields, wrong = ", ".join(map(str, list(record)[:8])), why_no_event(record)
    if start.startswith("[") and wrong == "nothing is wrong":
        return "It looks like an array of events; the own format has one a line: `jq -c '.[]'` makes them so."
    return (
        f"It looks like JSON lines with the fields {fields[:200]}; as an event of the own format "
        f"(docs/reference/log-format.md): {wrong}"
    )
