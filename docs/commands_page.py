"""What the page of the commands ends with: the help of every command, as the program prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from microcosm.cli.app import NAME, OVERVIEW, SETTINGS, _loaded


def every_command() -> str:
    """Markdown: a heading for each group and command of the overview, and its help. Cost: all are loaded."""
    lines: list[str] = []
    for title, entries in OVERVIEW.items():
        lines += ["", f"## {title}"]
        for name, entry in entries.items():
            lines += ["", f"### {NAME} {name}", "", entry.told]
            for path, command in _parts(name, _loaded(name)):
                if path != name:
                    lines += ["", f"#### {NAME} {path}"]
                context = typer.Context(command, info_name=f"{NAME} {path}", terminal_width=84, **SETTINGS)
                lines += ["", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def _parts(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, part in getattr(command, "commands", {}).items():
        yield from _parts(f"{path} {name}", part)
