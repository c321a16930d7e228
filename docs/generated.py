"""What the site takes from the program: the help of every command, and every JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

import microcosm
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


def every_schema() -> str:
    """Markdown: a heading for each JSON Schema of the package, what its members are, and its text."""
    lines: list[str] = []
    for file in sorted((Path(microcosm.__file__).parent / "schemas").glob("*.json")):
        text = file.read_text(encoding="utf-8")
        schema = json.loads(text)
        lines += ["", f"## {file.name}", "", schema.get("title", ""), "", schema.get("description", "")]
        members = schema.get("properties", {})
        if members:
            lines += ["", "| member | what |", "|---|---|"]
        lines += [f"| `{name}` | {_said(member)} |" for name, member in members.items()]
        for name, part in schema.get("$defs", {}).items() if not members else ():
            inner = part.get("properties", {})
            lines += ["", f"### {name}", "", f"`{file.name}#/$defs/{name}`: {part.get('title', '')}"]
            lines += ["", "| member | what |", "|---|---|"] if inner else []
            lines += [f"| `{each}` | {_said(member)} |" for each, member in inner.items()]
        lines += ["", "::::{dropdown} The whole schema", "```json", text.rstrip(), "```", "::::"]
    return "\n".join(lines) + "\n"


def _said(member: Any) -> str:
    """What a schema says of one member, in a cell of a table."""
    if not isinstance(member, dict):
        return ""
    if "const" in member:
        return f"`{json.dumps(member['const'])}`"
    kinds = member.get("type", [])
    shown = [kinds] if isinstance(kinds, str) else list(kinds)
    shown += [f"`{json.dumps(value)}`" for value in member.get("enum", ())]
    said = [member.get("description", ""), f"({', '.join(shown)})" if shown else ""]
    return " ".join(filter(None, said)).replace("|", r"\|").replace("\n", " ")
