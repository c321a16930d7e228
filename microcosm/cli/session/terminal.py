"""A session in a terminal: history, completion, highlighting, and answers that can be interrupted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from microcosm.cli import exits, output
from microcosm.cli.session import pager
from microcosm.cli.session.editing import EventCompleter, SentenceLexer
from microcosm.cli.session.session import PROMPT, Session

STYLE = Style.from_dict(
    {"command": "bold", "sign": "ansicyan", "quoted": "ansigreen", "comment": "ansibrightblack"}
)


def run(session: Session) -> int:
    """Read and answer until the end; the exit code, which is 0 however the answers were."""
    ask = _prompt(session)
    ending = False  # whether the last thing said was the end of the input
    while True:
        try:
            text, ended = ask(PROMPT), False
        except KeyboardInterrupt:
            continue
        except EOFError:
            text, ended = "quit!" if ending else "quit", True
        ending = ended
        try:
            if _answered(session, text):
                return exits.HOLDS
        except KeyboardInterrupt:
            session.recover()
            output.say("", "interrupted")


def _answered(session: Session, text: str) -> bool:
    """Answer each line of what was typed or pasted; whether the session is over."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in lines:
        if len(lines) > 1:
            output.say(f"{PROMPT}{output.printable(line)}")
        with session.surviving():
            with pager.patience():
                answer = session.answer(line)
            if answer is not None and answer.ends:
                return True
            if answer is not None:
                pager.show(answer.lines)
    return False


def _prompt(session: Session) -> Callable[[str], str]:
    styled = output.styled(sys.stdout)
    prompt: PromptSession[str] = PromptSession(
        history=_history(),
        completer=EventCompleter(session),
        complete_while_typing=False,
        lexer=SentenceLexer() if styled else None,
        style=STYLE,
        color_depth=None if styled else ColorDepth.DEPTH_1_BIT,
    )
    return prompt.prompt


def state_folder() -> Path:
    """Where this program keeps what is not worth a backup (XDG). Raises `RuntimeError` without a home."""
    stated = os.environ.get("XDG_STATE_HOME", "")
    home = Path(stated) if os.path.isabs(stated) else Path.home() / ".local" / "state"
    return home / "microcosm"


def _history() -> History:
    try:
        return LastingHistory(state_folder() / "history")
    except RuntimeError:
        return InMemoryHistory()


class LastingHistory(FileHistory):
    """What was typed, kept in a file where that is possible; where it is not, the session does not mind."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)

    def load_history_strings(self) -> Iterable[str]:
        """What was typed before, the latest first."""
        try:
            return list(super().load_history_strings())
        except (OSError, ValueError):
            return []

    def store_string(self, string: str) -> None:
        """Keep what was typed."""
        with suppress(OSError, ValueError):
            super().store_string(string)
