"""The README as the package index shows it: what it links to is in the repository, and not beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<before>\]\(|\b(?:src|srcset)=\")(?!https?:|#)(?P<path>[^)\"#]+)")


def absolute(text: str, source: str) -> str:
    """A text with its links into the repository `source`; its pictures as they are there."""

    def link(found: re.Match[str]) -> str:
        path = found["path"]
        kind = "raw" if path.endswith((".svg", ".png")) else "tree" if path.endswith("/") else "blob"
        return f"{found['before']}{source}/{kind}/main/{path}"

    return LINK.sub(link, text)


class Readme(MetadataHookInterface):
    """What hatchling asks for the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put it in."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        told = absolute(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": told}
