"""What the line editor of a session knows of its language: how a line may go on, and what to highlight."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import Session
from microcosm.text.names import NAME, STRING, quote
from microcosm.text.questions import ASK, complete_command, expected_after

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
            written = (
                f'"{name}"' if word.startswith('"') and quote(name) == name else quote(name) for name in names
            )
            yield from _words(written, word)


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
