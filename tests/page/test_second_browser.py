"""The page in a browser of another make, Firefox, over WebDriver BiDi: that it begins, draws and answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm

pytestmark = pytest.mark.browser

Say = Callable[..., dict[str, Any]]
ALBUM = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Say]:
    """Sends a command of WebDriver BiDi and waits for its result."""
    program = os.environ.get("MICROCOSM_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox: install firefox-esr, or set MICROCOSM_FIREFOX")
    client = pytest.importorskip("websockets.sync.client")
    (tmp_path / "profile").mkdir()
    command = [program, "--headless", "--no-remote", "--profile", str(tmp_path / "profile")]
    with subprocess.Popen(
        [*command, "--remote-debugging-port=0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    ) as browser:
        assert browser.stderr is not None
        where = next(
            m[1] for m in map(re.compile(r"BiDi listening on (ws://\S+)").search, browser.stderr) if m
        )
        numbers = count(1)
        with client.connect(f"{where}/session", max_size=None, open_timeout=60) as line:

            def say(method: str, **params: Any) -> dict[str, Any]:
                number = next(numbers)
                line.send(json.dumps({"id": number, "method": method, "params": params}))
                while (said := json.loads(line.recv(timeout=60))).get("id") != number:
                    pass
                assert said["type"] == "success", said
                result: dict[str, Any] = said["result"]
                return result

            say("session.new", capabilities={})
            yield say
        browser.kill()


def test_the_page_begins_and_answers_in_firefox(firefox: Say, tmp_path: Path) -> None:
    page = tmp_path / "album.html"
    Microcosm.from_trace(ALBUM).page(page)
    tab = firefox("browsingContext.getTree")["contexts"][0]["context"]
    address = f"{page.as_uri()}#a=acl-saved&b=ask"
    firefox("browsingContext.navigate", context=tab, url=address, wait="complete")
    code = """new Promise((done) => {
        const said = () => [
            document.querySelector('#panel .badge').textContent,
            document.querySelectorAll('#lanes span').length,
            new Set(document.querySelector('#picture').getContext('2d').getImageData(0, 0, 900, 99).data).size
                > 9,
        ].join();
        let looks = 0;
        const look = () => document.body.dataset.ready && (said().endsWith('true') || looks > 400)
            ? done(said()) : setTimeout(look, 50, looks += 1);
        look();
    })"""
    said = firefox("script.evaluate", expression=code, target={"context": tab}, awaitPromise=True)
    assert said["result"]["value"] == "?unknown,4,true"
