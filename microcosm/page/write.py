"""A page as one HTML file: the template, its style and scripts, the head as JSON and the columns.

The file asks for nothing: what its scripts may do is said by a policy with their hashes, in the file itself.
The same input gives the same bytes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import microcosm
from microcosm.compare.verdict_rows import fingerprint
from microcosm.page.columns import PageModel
from microcosm.page.packing import Column
from microcosm.state.microcosm import Microcosm
from microcosm.traces.report import Report

SCHEMA = "microcosm-page/1"

SCRIPTS = (
    "app",
    "model",
    "verdicts",
    "signs",
    "place",
    "draw",
    "list",
    "panel",
    "keys",
    "share",
    "live",
    "main",
)
"""The scripts in the order in which they are joined: one scope, as if they were one file."""

LIVE = "live"
"""The script that only a page with a session behind it needs."""

_web = files("microcosm.page").joinpath("web")


def scripts(*, live: bool = False) -> str:
    """All scripts of a page as one."""
    parts = [part for name in SCRIPTS if (live or name != LIVE) and (part := _read(f"{name}.js"))]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


def html(head: dict[str, Any], columns: Iterable[Column], *, live: bool = False) -> str:
    """The page of a head and its columns. Cost: linear."""
    packed = [*columns]
    head = {**head, "columns": [{"name": c.name, "type": c.kind, "count": c.count} for c in packed]}
    script, style = scripts(live=live), _read("page.css")
    data = [f'<script type="application/json" id="head">{in_script(head)}</script>']
    data += [
        f'<script type="application/x-gzip-base64" id="col-{c.name}">{c.packed}</script>' for c in packed
    ]
    fields = {
        "title": escape(str(head["title"])),
        "policy": escape(policy(script, style, live=live)),
        "style": style,
        "data": "\n".join(data),
        "script": script,
    }
    return re.sub(r"\$(\w+)", lambda found: fields[found[1]], _read("page.html"))


def policy(script: str, style: str, *, live: bool = False) -> str:
    """What the page may do: run these scripts, use this style, start workers; ask its own session if `live`."""
    parts = ["default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'"]
    parts += ["worker-src blob:", "img-src blob: data:"]
    parts += ["connect-src 'self'"] if live else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def in_script(value: object) -> str:
    """JSON that can stand in an element `script`, whatever texts are in it: ASCII, and no `<`."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    file = _web.joinpath(name)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def page(
    known: Microcosm,
    *,
    title: str | None = None,
    report: Report | None = None,
    proofs: str = "all",
    pairs: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
    live: bool = False,
) -> str:
    """The page of a microcosm. Raises `Undefined` where it would be too large. Cost: see `PageModel`."""
    model = PageModel(known._engine, known.givens, report)
    head = head_of(model, title=title or known.name or ", ".join(files) or "microcosm")
    head["from"] = list(files)
    columns = [*model.columns()]
    head["digest"] = digest_of(head, columns)
    return html(head, columns, live=live)


def head_of(model: PageModel, *, title: str) -> dict[str, Any]:
    """What the head of a page says of a model."""
    layout, givens = model.layout, model.givens
    shown = model.irregularities
    return {
        "schema": SCHEMA,
        "made_by": f"microcosm {microcosm.__version__}",
        "title": title,
        "rules": "shipped" if model.shortcuts else fingerprint(model.engine.rules),
        "shortcuts": model.shortcuts,
        "closed": model.closed,
        "counts": {
            "events": len(model),
            "chains": len(layout.chains),
            "edges": len(model.edges),
            "reported": dict(model.report.counts) if model.report is not None else {},
        },
        "lanes": [{"name": lane.name, "known": lane.known} for lane in layout.lanes],
        "chains": {"offset": model.offset, "lane": layout.lane},
        "order": layout.order,
        "files": model.files,
        "gaps": [[event, count] for event, count in model.gaps],
        "lost": [[event, to] for event, to in model.lost.items() if to],
        "irregularities": [[one.kind, event, one.file, one.line, one.message] for one, event in shown],
        "given": [*model.given()],
        "tokens": {name: [model.number[event] for event in group] for name, group in givens.tokens.items()},
    }


def digest_of(head: Mapping[str, Any], columns: Sequence[Column]) -> str:
    """What tells one page from another: a digest of all that it says. Cost: linear."""
    digest = sha256(in_script(head).encode())
    for column in columns:
        digest.update(f"{column.name} {column.count} ".encode())
        digest.update(column.data)
    return digest.hexdigest()
