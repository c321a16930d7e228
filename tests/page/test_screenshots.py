"""Six pictures look as they did: at most two of a hundred pixels differ, since fonts do.

`pytest -m browser --rewrite-goldens tests/page/test_screenshots.py` takes what is drawn for what should be.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")
PICTURES = Path(__file__).parent / "pictures"

DIFFERING = """async ([one, other]) => {
  const pixels = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
    pen.drawImage(image, 0, 0);
    return pen.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  let count = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    if ([0, 1, 2].some((channel) => Math.abs(a.data[at + channel] - b.data[at + channel]) > 32)) count++;
  }
  return count / (a.width * a.height);
}"""

SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "whole": ({}, "() => 0"),
    "unknown-dark": (
        {"scheme": "dark"},
        "() => { choose(model.find('acl-saved'), false); choose(model.find('ask'), true); }",
    ),
    "path-narrow": (
        {"size": (400, 800)},
        "() => { choose(model.find('unshare'), false); choose(model.find('upload'), true); }",
    ),
    "cut": ({}, "() => { choose(model.find('digest'), false); app.set({cut: true}); }"),
    "what-if-dark": (
        {"scheme": "dark"},
        "() => { const [a, b] = ['digest', 'acl-seen'].map((name) => model.find(name));"
        " choose(a, false); choose(b, true);"
        " app.set({whatif: {a, sign: '<', b}}); }",
    ),
    "dense": ({"size": (500, 380)}, "() => choose(model.find('p3:70'), false)"),
}


def busy(path: Path) -> Path:
    """A log of eight processes that talk, with gaps and lost messages: the same one every time."""
    chance, seqs, flying, lines = random.Random(3), [0] * 8, [], []
    for number in range(1200):
        process, what = chance.randrange(8), chance.random()
        if flying and what < 0.04:
            process, message = flying.pop(chance.randrange(len(flying)))
            event: dict[str, Any] = {"kind": "receive", "message": message}
        elif what < 0.09:
            to, message = (process + 1 + chance.randrange(2)) % 8, f"m{number}"
            event = {"kind": "send", "message": message, "to": [f"p{to}"]}
            flying += [(to, message)] if chance.random() < 0.97 else []
        else:
            event = {"kind": "internal"}
        seqs[process] += 3 if chance.random() < 0.003 else 1
        lines.append(json.dumps({"process": f"p{process}", "seq": seqs[process], **event}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SHOWN)
def test_the_picture_looks_as_it_did(
    page_of: Any, tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    options, change = SHOWN[name]
    source = busy(tmp_path / "busy.jsonl") if name == "dense" else ALBUM
    page = page_of(source, **{"size": (900, 560), **options})
    page.run("() => app.set({panel: false})")
    page.run(change)
    page.tab.evaluate("document.activeElement.blur()")
    page.tab.wait_for_timeout(300)
    taken: bytes = page.tab.locator("main").screenshot()
    golden = PICTURES / f"{name}.png"
    if request.config.getoption("--rewrite-goldens"):
        golden.write_bytes(taken)
    assert golden.stat().st_size < 60_000
    texts = [base64.b64encode(image).decode() for image in (golden.read_bytes(), taken)]
    assert page.tab.evaluate(DIFFERING, texts) <= 0.02
    if name == "whole":
        page.run("() => app.set({theme: 'dark'})")
        page.tab.wait_for_timeout(300)
        texts[1] = base64.b64encode(page.tab.locator("main").screenshot()).decode()
        assert page.tab.evaluate(DIFFERING, texts) > 0.5, "another picture is told from it"
