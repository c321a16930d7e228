"""A session in a terminal: history, completion, colours, a pager, and answers that can be interrupted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from shutil import get_terminal_size

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from microcosm.cli import exits, output
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import PROMPT, Session
from microcosm.text.names import NAME, quote, string
from microcosm.text.sentences import ASK, complete_command, expected_after
from microcosm.text.statement import STRING

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
            with output.progress(WORKING, units="steps") as session.work:
                answer = session.answer(line)
            if answer is not None and answer.ends:
                return True
            if answer is not None:
                show(answer.lines, session)
    return False


def _prompt(session: Session) -> Callable[[str], str]:
    styled = output.styled(sys.stdout)
    prompt: PromptSession[str] = PromptSession(
        history=_history(),
        completer=EventCompleter(session),
        auto_suggest=AutoSuggestFromHistory(),
        complete_while_typing=False,
        lexer=SentenceLexer() if styled else None,
        style=STYLE,
        color_depth=None if styled else ColorDepth.DEPTH_1_BIT,
    )
    return prompt.prompt


def _history() -> History:
    """That of earlier sessions, where programs keep what is not worth a backup (XDG)."""
    stated = os.environ.get("XDG_STATE_HOME", "")
    try:
        home = Path(stated) if os.path.isabs(stated) else Path.home() / ".local" / "state"
    except RuntimeError:  # there is no home
        return InMemoryHistory()
    return LastingHistory(home / "microcosm" / "history")


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


PAGER = "less"
"""What is run where PAGER does not say."""

LESS = "FRX"
"""Its options where LESS does not say: leave at once what fits, show colours, do not clear the screen."""

WORKING = "working; Ctrl-C interrupts"


def show(lines: Iterable[str], session: Session) -> None:
    """Print `lines`, through the pager where they are more than the terminal has rows."""
    rest = iter(lines)
    with output.progress(WORKING, units="steps") as session.work:
        first = _screenful(rest)
        more = next(rest, None)
    if more is None:
        output.say(*first)
        return
    every = chain(first, [more], rest)
    if not _paged(every):
        output.say_all(every)


def _screenful(lines: Iterator[str]) -> list[str]:
    """As many lines as leave room for the prompt."""
    size = get_terminal_size()
    left, found = size.lines - 2, []
    for line in lines:
        found.append(line)
        left -= max(1, -(-len(line) // max(1, size.columns)))
        if left <= 0:
            break
    return found


def _paged(lines: Iterable[str]) -> bool:
    """Send lines through the pager until it is left; whether there is one."""
    command = os.environ.get("PAGER", PAGER)
    try:
        pager = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.PIPE,
            text=True,
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            env={**os.environ, "LESS": os.environ.get("LESS", LESS)},
        )
    except (OSError, ValueError, IndexError):  # none of this name, or a command that cannot be read
        return False
    stream = pager.stdin
    assert stream is not None
    try:
        with suppress(BrokenPipeError):  # left before the end, which is what it is for
            stream.writelines(f"{line}\n" for line in lines)
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        _wait(pager)
    return True


def _wait(pager: subprocess.Popen[str]) -> None:
    """Wait for the pager, which has the terminal: an interrupt is its own affair."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return


MOST = 50
"""So many completions are offered."""

_BEGUN = re.compile(r'(?:"(?:[^"\\]|\\.)*|[\w.:@/-]*)\Z')


class EventCompleter(Completer):
    """Completes commands, the words of the grammar, names of events, and of files where one is expected."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=False)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What the word before the cursor may become."""
        line = document.current_line_before_cursor
        found = _BEGUN.search(line)
        word = found[0] if found else ""
        before = line[: len(line) - len(word)]
        expected = expected_after(before, tuple(COMMANDS))
        if expected is None:  # the first word
            yield from _words(complete_command(word, tuple(COMMANDS)) if word else [], word)
        elif "FILE" in expected:
            path = re.sub(r"^\s*\w+!?\s+", "", line)
            yield from self._paths.get_completions(Document(path, len(path)), complete_event)
            return
        elif "WORD" in expected:
            yield from _words((name for name in COMMANDS if name != ASK and name.startswith(word)), word)
            return
        else:
            yield from _words((text for text in sorted(expected) if word and text.startswith(word)), word)
        if expected is None or expected & {"EVENT", "STATEMENT"}:
            names = self._session.beginning(word.removeprefix('"'), MOST)
            table = self._session.known.givens.events
            for name in names:
                written = f'"{name}"' if word.startswith('"') and quote(name) == name else quote(name)
                meta = (None if table is None else table.label(name)) or ""
                yield Completion(written, start_position=-len(word), display_meta=meta)
            yield from self._by_words(word.strip('"'), -len(word), {*names})

    def _by_words(self, word: str, at: int, already: set[str]) -> Iterator[Completion]:
        """The events whose words have a word in them that begins so."""
        table = self._session.known.givens.events
        if table is None or not word:
            return
        begins = re.compile(rf"\b{re.escape(word)}", re.IGNORECASE).search
        found = (
            (name, label)
            for name, label in zip(table.names, table.labels, strict=True)
            if label and name not in already and begins(label)
        )
        for name, label in islice(found, MOST):
            yield Completion(quote(name), start_position=at, display=f"{quote(name)} {string(label)}")


def _words(texts: Iterable[str], word: str) -> Iterator[Completion]:
    return (Completion(text, start_position=-len(word)) for text in texts)


_TOKEN = re.compile(
    rf"(?P<comment>^\s*#.*)|(?P<quoted>{STRING})|(?P<sign>!?(?:<>|\|\||<|>)|[?≺≻→∥≬≮])|(?P<name>{NAME})|."
)


class SentenceLexer(Lexer):
    """Highlights the command, relations, quoted names and comments."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled pieces of each line."""
        return lambda number: list(_pieces(document.lines[number]))


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    first = True
    for found in _TOKEN.finditer(line):
        kind = found.lastgroup
        if kind == "name":
            kind = "command" if first and complete_command(found[0], tuple(COMMANDS)) else None
        first = first and found[0].isspace()
        yield (f"class:{kind}" if kind else "", found[0])
