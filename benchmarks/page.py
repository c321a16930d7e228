"""Claim: a page of a million events of 64 processes takes half a minute to write, and opens in seconds.

Logs of 64 processes that send to one another. What is measured is to read one, to write the page of what
was read, and, where there are Playwright and a Chromium, the time to the first picture; of the smaller log
also how soon `view` answers a page, and what it costs to renew the page of a log that is followed. Beside the
case stand the bytes of the file, and the heap of the page. "Slope" is the exponent between the two sizes, of
writing.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPConnection
from math import log
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from benchmarks.measure import Line
from microcosm import Microcosm
from microcosm.cli.session.page_session import Following, SessionBackend, reread
from microcosm.cli.session.session import How
from microcosm.logic.rulebook import read_rules
from microcosm.page.server import Turns
from microcosm.page.write import page

NAME = "page"
PROCESSES = 64

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-precise-memory-info"]


def run(quick: bool = False) -> list[Line]:
    """Two sizes a factor of ten apart, of events; each page is opened three times."""
    sizes = (1_000, 10_000) if quick else (100_000, 1_000_000)
    lines: list[Line] = []
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path, out = Path(folder) / "log.jsonl", Path(folder) / "page.html"
            path.write_text("".join(written(size)), encoding="utf-8")
            began = process_time()
            known = Microcosm.read(path)
            read = process_time()
            out.write_text(page(known, files=[str(path)]), encoding="utf-8")
            seconds.append(process_time() - read)
            case = f"{size:,} events, {PROCESSES} processes, {out.stat().st_size / 1e6:.2f} MB"
            lines.append(Line(NAME, case, "read the log", read - began, (read - began) / seconds[-1], 1))
            lines.append(Line(NAME, case, "write the page", seconds[-1], 1.0, 1))
            lines += opened(out, case, 1 if quick else 3)
            if size == sizes[0]:
                lines += viewed(path, case, 40 if quick else 400)
                lines += followed(path, case)
            del known
    slope = log(seconds[1] / seconds[0]) / log(sizes[1] / sizes[0])
    return [*lines[:-1], replace(lines[-1], case=f"{lines[-1].case} (slope {slope:.2f})")]


def opened(file: Path, case: str, rounds: int) -> Iterator[Line]:
    """How long a browser takes until the picture is there, by the median; nothing where there is none."""
    program = os.environ.get("MICROCOSM_CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if program is None:
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        found = sorted(_once(browser, file) for _ in range(rounds))
        browser.close()
    ready, heap = found[len(found) // 2]
    yield Line(NAME, f"{case}, heap {heap / 1e6:.0f} MB", "first picture in Chromium", ready, 1.0, rounds)


def _once(browser: Any, file: Path) -> tuple[float, float]:
    """Seconds from the beginning of the navigation to the first picture, and the bytes of the heap then."""
    tab = browser.new_page(viewport={"width": 1600, "height": 900})
    tab.goto(file.as_uri())
    tab.locator("#counts", has_text="events").wait_for(timeout=60_000)
    ready, heap = tab.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => done("
        "[(performance.getEntriesByName('draw')[0]?.startTime ?? performance.now()) / 1000,"
        " performance.memory.usedJSHeapSize])))"
    )
    tab.close()
    return ready, heap


def viewed(log: Path, case: str, asked: int) -> Iterator[Line]:
    """How long `view` takes to answer a page, over its connection: the median, and of 95 in a hundred.

    Asked for are verdicts of any two events, and proofs of those that are ordered; no pair is asked twice.
    """
    try:
        from microcosm.page.server import served
    except ImportError:
        return
    how = How(read_rules())
    backend, turns = SessionBackend(reread([str(log)], how), how), Turns()
    names, random = sorted(backend.session.known.events), Random(2)
    pairs = [random.sample(names, 2) for _ in range(asked)]
    backend.answer(f"{names[0]} ? {names[-1]}")  # the first answer orders the log
    with served(backend, turns) as address, ThreadPoolExecutor(1) as page:
        done = page.submit(_answered, address, pairs)
        done.add_done_callback(lambda _: turns.close())
        turns.run()
    for subject, seconds in zip(("a verdict in `view`", "a proof in `view`"), done.result(), strict=True):
        seconds.sort()
        for share in (50, 95):
            spent = seconds[len(seconds) * share // 100]
            yield Line(
                NAME, case, f"{subject}, p{share}", spent, spent / seconds[len(seconds) // 2], len(seconds)
            )


def followed(log: Path, case: str, rounds: int = 5) -> Iterator[Line]:
    """What it costs `view` that a log has grown, until the page could be sent it, by the median."""
    how = How(read_rules())
    backend, following = SessionBackend(reread([str(log)], how), how), Following([str(log)], how)
    spent = list[float]()
    for _ in range(rounds):
        began = process_time()
        following.look(backend, lambda work: work())
        backend.contents()
        spent.append(process_time() - began)
    yield Line(NAME, case, "renewed where the log has grown", sorted(spent)[rounds // 2], 1.0, rounds)


def _answered(address: str, pairs: list[list[str]]) -> tuple[list[float], list[float]]:
    """The seconds of each verdict, and of each proof of a pair that has one."""
    url, _, token = address.partition("/#token=")
    server = HTTPConnection(url.removeprefix("http://"))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def said(line: str) -> tuple[dict[str, Any], float]:
        began = perf_counter()
        server.request("POST", "/line", json.dumps({"line": line}), headers)
        return json.loads(server.getresponse().read()), perf_counter() - began

    verdicts, proofs = [], []
    for a, b in pairs:
        answer, seconds = said(f"{a} ? {b}")
        verdicts.append(seconds)
        if answer["verdict"] in ("<", ">"):
            answer, seconds = said(f"why {a} {answer['verdict']} {b}")
            assert "error" not in answer, answer
            proofs.append(seconds)
    server.close()
    return verdicts, proofs


def written(size: int) -> Iterator[str]:
    """A log of `size` events: a fifth internal, and of what is sent one in 500 lost."""
    random = Random(1)
    seqs = [0] * PROCESSES
    flying: list[tuple[str, int]] = []
    for at in range(size):
        process, extra = random.randrange(PROCESSES), {}
        if flying and random.random() < 0.42:
            message, process = flying.pop(random.randrange(max(0, len(flying) - 50), len(flying)))
            kind, extra = "receive", {"message": message}
        elif random.random() < 0.6:
            message, peer = f"m{at}", (process + random.choice((1, 2, 3, -1, 5, 17))) % PROCESSES
            kind, extra = "send", {"message": message}
            if random.random() > 0.002:
                flying.append((message, peer))
        else:
            kind = "internal"
        seqs[process] += 1
        label = f"step {random.randrange(200)} of work"
        event = {"process": f"n{process:02}", "seq": seqs[process], "kind": kind, **extra, "label": label}
        yield json.dumps(event) + "\n"
