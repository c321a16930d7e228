"""A page as one HTML file: the template, its style and scripts, the head as JSON and the columns.

The file asks for nothing: what its scripts may do is said by a policy with their hashes, in the file itself.
The same input gives the same bytes. Of a small log the page has the lines as they stand: only files that it
is made of are read, for a log may say of its events that they come from any file.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as resources
from itertools import combinations
from pathlib import Path
from typing import Any

from microcosm.compare.verdict_rows import fingerprint
from microcosm.errors import DISTRIBUTION, MicrocosmError, TextError, printable
from microcosm.files import STDIN, AnyPath, display_name, expanded, write_text
from microcosm.givens.spelling import expect_text, pair_of
from microcosm.logic.derivation import proof_object
from microcosm.page.columns import PageModel
from microcosm.page.knowledge import LEFT, PROVED, TABLED, Knowledge, Replicas, TooLarge, replicas
from microcosm.page.packing import Column, lines
from microcosm.page.shorten import shortened
from microcosm.questions.language import Questions
from microcosm.state.microcosm import Microcosm
from microcosm.traces.report import Report
from microcosm.traces.text.lines import open_lines
from microcosm.tuning import gc_paused

SCHEMA = "microcosm-page/1"

SCRIPTS = (
    "app",
    "signs",
    "two",
    "draw",
    "arrows",
    "scale",
    "share",
    "model",
    "place",
    "pointer",
    "verdicts",
    "why",
    "keys",
    "alone",
    "list",
    "about",
    "live",
    "answers",
    "search",
    "panel",
    "proof",
    "main",
)
"""The scripts in the order in which they are joined: one scope, as if they were one file.

`app` is first and `main` last; else those that say much alike stand side by side, so that they pack well.
"""

EVENTS = 2_000_000
"""A page shows so many events at most."""

BYTES = 64 << 20
"""The columns of a page have so many bytes at most."""

LIVE, ALONE = "live", "alone"
"""The script that only a page with a session behind it needs; and that which only one without needs."""

_web = resources("microcosm.page").joinpath("web")


def scripts(*, live: bool = False) -> str:
    """All scripts of a page as one, made shorter: the sources are what to read. Cost: linear, once."""
    return f"(()=>{{'use strict';{shortened(sources(live=live))[0]}}})();\n"


def sources(*, live: bool = False) -> str:
    """All scripts of a page in their order, as they are to be read: of a session where it is `live`."""
    return "\n".join(_read(f"{name}.js") for name in SCRIPTS if name != (ALONE if live else LIVE))


def html(head: dict[str, Any], columns: Iterable[Column], *, live: bool = False) -> str:
    """The page of a head and its columns. Cost: linear."""
    packed = [*columns]
    head = {**head, "columns": described(packed)}
    script, style = scripts(live=live), _style()
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
    """What the page may do: run these scripts, use this style, start workers; ask its session if `live`."""
    parts = ["default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'"]
    parts += ["worker-src blob:", "img-src blob: data:"]
    parts += ["connect-src 'self'"] if live else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def shell() -> tuple[str, str]:
    """The page of a session without what the log says, which it asks for; and its policy. Cost: constant."""
    allowed = policy(scripts(live=True), _style(), live=True)
    return html({"title": "microcosm"}, (), live=True), allowed


def packed(head: dict[str, Any], columns: Iterable[Column]) -> dict[str, Any]:
    """What a page of a session asks for, as JSON: the head, and each column as it would stand in the file.

    Cost: linear.
    """
    found = [*columns]
    return {"head": {**head, "columns": described(found)}, "columns": {c.name: c.packed for c in found}}


def described(columns: Iterable[Column]) -> list[dict[str, object]]:
    """What the head of a page says of its columns."""
    return [{"name": column.name, "type": column.kind, "count": column.count} for column in columns]


def in_script(value: object) -> str:
    """JSON that can stand in an element `script`, whatever texts are in it: ASCII, and no `<`."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _style() -> str:
    return _read("page.css") + _read("panel.css")


def _read(name: str) -> str:
    return _web.joinpath(name).read_text(encoding="utf-8")


def page(known: Microcosm, **how: Any) -> str:
    """The page of a microcosm, as HTML; `how` are the options of `contents`, which see."""
    return html(*contents(known, **how))


def write(known: Microcosm, path: AnyPath, **how: Any) -> None:
    """Write the page of a microcosm, whole or not at all; `how` are the options of `contents`, which see."""
    write_text(path, page(known, **how))


def contents(
    known: Microcosm,
    *,
    title: str | None = None,
    report: Report | None = None,
    proofs: str = "all",
    pairs: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
    limited: bool = True,
    other: Microcosm | Replicas | None = None,
    questions: Sequence[Questions] = (),
) -> tuple[dict[str, Any], list[Column]]:
    """The head of a page and its columns.

    `pairs` are of events whose verdict, possibilities and proof are in it, the first to begin with; `proofs`
    is `all` (of up to `PROVED` events every proof), `pairs` or `none`. `files` are what was read, `report` is
    what was odd about it. With `other`, another microcosm under the same rules, it shows what each of the two
    knows that the other does not; `files` are then one of each; of `Replicas` what is told stays, and `known`
    is what is shown. `questions` are answered in it. What is no file need not be `limited` in its size.

    Raises `UnknownEvent`, and `TooLarge` above `EVENTS` events or `BYTES` bytes. Cost: linear in the givens;
    of few events that of all verdicts and proofs.
    """
    with gc_paused():
        both = replicas(known, other) if isinstance(other, Microcosm) else other
        shown = both.given if both is not None and both is not other else known
        if (many := max(len(shown), len(shown.events_table or ()))) > EVENTS and limited:
            raise TooLarge(f"{many:,} events are more than a page shows (at most {EVENTS:,})")
        if title is not None:
            expect_text(title)
        model = PageModel(shown._engine, shown.givens, report)
        knowledge = Knowledge(model)
        if not (model.closed or knowledge.tabled):
            note = "under these rules `<` is no closure of what is given, so that a page shows"
            raise TooLarge(f"{note} {TABLED:,} events, and here are {len(model):,}")
        numbers = [(_number(model, shown, a), _number(model, shown, b)) for a, b in map(pair_of, pairs)]
        head = head_of(model, title=printable(title or shown.name or _named(files) or "microcosm"))
        head["from"] = [*map(display_name, files)]
        head["pairs"] = knowledge.shown_first(numbers)
        columns = [*model.columns(), *knowledge.columns(), *log_columns(model, files)]
        head["unsaid"] = knowledge.unsaid(columns)
        if len(model) <= LEFT:
            left = knowledge.left()
            head["consistent"] = left is not None
            columns += [left] if left is not None else []
        if proofs == "all" and len(model) <= PROVED:
            numbers += [pair for pair in combinations(range(len(model)), 2) if pair not in numbers]
        if proofs != "none" and numbers:
            columns.append(knowledge.proofs(numbers))
        if both is not None:
            head["other"] = both.described((str(files[0]), str(files[1])) if len(files) == 2 else ("1", "2"))
            columns += both.columns(model)
        answered = (shown.assert_(one, settle=True) for one in questions)  # noqa: PT009
        head["questions"] = [answer.to_json(proof_object) for one in answered for answer in one]
        head["digest"] = digest_of(head, columns)
        if (size := sum(len(column.packed) for column in columns)) > BYTES and limited:
            raise TooLarge(f"the page would have {size:,} bytes, more than {BYTES:,}")
        return head, columns


LINES = 5_000
"""So many lines of a log are in its page, and the attributes of so many events; of more, none."""

READ_AGAIN = 4 << 20
"""Files of more bytes are not read once more."""

LONGEST = 2_000
"""Of a longer line the beginning is shown."""


def log_columns(model: PageModel, files: Sequence[str]) -> Iterator[Column]:
    """The columns `attributes`, JSON of each event, and `log`, of each file its name and its lines.

    Cost: linear in the files, which are read once more if they are small.
    """
    if len(model) <= LINES:
        attributes = [dict(each) if each else {} for each in model.column("attributes", None)]
        if any(attributes):
            yield lines("attributes", [json.dumps(each, default=str) if each else "" for each in attributes])
    log: list[list[object]] = []
    room = LINES
    for file in expanded(files):
        text = _lines_of(file, room)
        if text:
            log.append([display_name(file), text])
            room -= len(text)
    if log:
        yield Column("log", "json", len(log), json.dumps(log, separators=(",", ":")).encode())


def _lines_of(file: str, room: int) -> list[str]:
    """The lines of a file; none if they are too many, or of what is no text or cannot be read again."""
    found: list[str] = []
    try:
        if file == STDIN or not Path(file).is_file() or Path(file).stat().st_size > READ_AGAIN:
            return found
        with open_lines(file, Report()) as stream:
            if "\0" in stream.head:
                return found
            for _, text in stream:
                if len(found) == room:
                    return []
                found.append(text if len(text) <= LONGEST else text[:LONGEST] + "…")
    except (TextError, OSError):
        return []
    return found


def _named(files: Sequence[str]) -> str:
    """What a page of some files is called: a single one by its own name, without where it is."""
    return Path(display_name(files[0])).name if len(files) == 1 else ", ".join(map(display_name, files))


def _number(model: PageModel, known: Microcosm, name: str) -> int:
    if name not in model.number:
        known.require(name)
    return model.number[name]


def head_of(model: PageModel, *, title: str) -> dict[str, Any]:
    """What the head of a page says of a model."""
    layout, givens = model.layout, model.givens
    shown = model.irregularities
    return {
        "schema": SCHEMA,
        "made_by": f"microcosm {_version()}",
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
        "executions": model.executions,
        "tokens": {name: [model.number[event] for event in group] for name, group in givens.tokens.items()},
    }


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "from a checkout"


def digest_of(head: Mapping[str, Any], columns: Sequence[Column]) -> str:
    """What tells one page from another: a digest of all that it says. Cost: linear."""
    digest = sha256(in_script(head).encode())
    for column in columns:
        digest.update(f"{column.name} {column.count} ".encode())
        digest.update(column.data)
    return digest.hexdigest()


EMBEDDED = 2_000
"""A microcosm of more events is drawn and not embedded."""

PROVED_INSIDE = 24
"""Of so many events all proofs are in the frame."""

HIGH = 480


def embedded(known: Microcosm) -> str | None:
    """The page as a sandboxed frame of a notebook; None where it would be large, or cannot be.

    The frame runs its scripts under an origin of its own, without access to the notebook, and its policy lets
    it ask for nothing. Cost: as that of `page`.
    """
    many = len(known)
    if not 0 < many <= EMBEDDED:
        return None
    title = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in known.name or "microcosm")
    try:
        text = page(known, title=title, proofs="all" if many <= PROVED_INSIDE else "none")
    except MicrocosmError:
        return None
    style = f"width: 100%; height: {HIGH}px; border: 1px solid #8B93A3"
    called = escape(f"Space-time page of {title}")
    return (
        f'<iframe sandbox="allow-scripts" title="{called}" style="{style}" srcdoc="{escape(text)}"></iframe>'
    )
