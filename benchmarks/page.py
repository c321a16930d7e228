"""Claim: a page of a million events of 64 processes takes half a minute to write, and opens in seconds.

Logs of 64 processes that send to one another. What is measured is to read one, to write the page of what was
read, and, where there are Playwright and a Chromium, the time to the first picture. Beside the case stand the
bytes of the file, and the heap of the page. "Slope" is the exponent between the two sizes, of writing.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from benchmarks.measure import Line
from microcosm import Microcosm
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
