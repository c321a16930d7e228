"""A reader of pages in Python, from what guides/page.md says of the file: it shares no code with the page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

DELTAS = ("dst", "line", "file", "time", "seq", "messages.n")


def head_of(html: str) -> dict[str, Any]:
    """The head of a page."""
    (text,) = re.findall(r'<script type="application/json" id="head">(.*?)</script>', html, re.DOTALL)
    head = json.loads(text)
    assert isinstance(head, dict)
    return head


def columns_of(html: str) -> dict[str, Any]:
    """The columns of a page, each as a list, or as the JSON that it is."""
    found = {}
    for column in head_of(html)["columns"]:
        name, kind = column["name"], column["type"]
        (text,) = re.findall(f'id="col-{re.escape(name)}">([A-Za-z0-9+/=]*)</script>', html)
        data = gzip.decompress(base64.b64decode(text))
        if kind == "u8":
            found[name] = list(data)
        elif kind == "json":
            found[name] = json.loads(data)
        elif kind == "lines":
            found[name] = [*map(_text, data.decode().split("\n")[:-1])]
        else:
            numbers = [*_numbers(data)]
            found[name] = numbers if kind == "leb" else [-(n + 1) // 2 if n % 2 else n // 2 for n in numbers]
        if name in DELTAS:
            found[name] = [*accumulate(found[name])]
        if name != "table" and kind in ("lines", "leb", "zigzag"):
            assert len(found[name]) == column["count"]
    if "messages.n" in found:
        (word,), numbers = found["messages"], found["messages.n"]
        before = [0, *numbers]
        found["messages"] = [
            f"{word}{n - 1}" if n != last else "" for last, n in zip(before, numbers, strict=False)
        ]
    return found


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def _text(line: str) -> str:
    def meant(found: re.Match[str]) -> str:
        said = found[1]
        return {"n": "\n", "r": "\r", "\\": "\\"}.get(said) or chr(int(said[1:], 16))

    return re.sub(r"\\(u[0-9a-f]{4}|.)", meant, line)


def edges_of(head: dict[str, Any], columns: dict[str, Any]) -> list[tuple[int, int]]:
    """Every given pair that the page has, those along chains included."""
    offset = head["chains"]["offset"]
    chain = [c for c in range(len(offset) - 1) for _ in range(offset[c], offset[c + 1])]
    found = [(i - 1, i) for i in range(len(chain)) if i and chain[i] == chain[i - 1]]
    for e, b in enumerate(columns["dst"]):
        of = chain[b] + columns["src"][2 * e]
        found.append((offset[of] + b - offset[chain[b]] + columns["src"][2 * e + 1], b))
    return found


def names_of(head: dict[str, Any], columns: dict[str, Any]) -> list[str]:
    """The name of each event."""
    offset, lane = head["chains"]["offset"], head["chains"]["lane"]
    chain = [c for c in range(len(offset) - 1) for _ in range(offset[c], offset[c + 1])]
    seq = columns.get("seq", [0] * len(chain))
    said = columns.get("names", [""] * len(chain))
    lanes = [head["lanes"][lane[c]]["name"] for c in chain]
    return [name or f"{lanes[i]}:{seq[i]}" for i, name in enumerate(said)]
