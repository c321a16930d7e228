"""What the page of the commands ends with: the help of every command, as the program prints it."""

from __future__ import annotations

import typer

from microcosm.cli.app import NAME
from microcosm.cli.commands.help import every_command as commands
from microcosm.cli.parsing import SETTINGS


def every_command() -> str:
    """Markdown: a heading for each group and command of the overview, and its help. Cost: all are loaded."""
    lines: list[str] = []
    title = None
    for group, path, told, command in commands():
        if group != title:
            lines += ["", f"## {group}"]
        title = group
        own = " " not in path
        lines += ["", f"### {NAME} {path}", "", told] if own else ["", f"#### {NAME} {path}"]
        context = typer.Context(command, info_name=f"{NAME} {path}", terminal_width=84, **SETTINGS)
        lines += ["", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"
