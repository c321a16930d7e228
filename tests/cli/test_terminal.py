"""The session in a real terminal: typing, completion, history, interrupts, resizing, pasting, paging."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from microcosm import Microcosm
from microcosm.cli import output
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import How, Opened, Session
from tests.cli.screen import Screen

pexpect = pytest.importorskip("pexpect", reason="pexpect drives the terminal")

_answered = pytest.importorskip("microcosm.cli.session.terminal", reason="prompt_toolkit")._answered
ROOT = Path(__file__).parents[2]
PATIENCE = 60
"""Seconds after which a test fails; none of them waits for time to pass."""

UP = "\x1b[A"


def _heed_interrupts() -> None:
    """Tests that a shell runs in the background ignore interrupts, and so would whatever they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A session in a terminal of its own. Everything here waits for what the screen shows, not for a time."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ}
        given = {
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "TERM": "xterm",
            "XDG_STATE_HOME": str(folder / "state"),
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "PAGER": "cat",
        }
        self.child = pexpect.spawn(
            sys.executable,
            ["-X", "faulthandler", "-m", "microcosm", "repl", *arguments],
            cwd=str(folder),
            env={**kept, **given, **environment},
            encoding="utf-8",
            timeout=PATIENCE,
            dimensions=(24, 80),
            preexec_fn=_heed_interrupts,
        )
        self.screen = Screen()
        self.written = ""
        self._until(lambda: self._asked(0))

    def type(self, keys: str, line: str) -> Terminal:
        """Press keys, and wait until this is the line that stands behind the prompt."""
        self.child.send(keys)
        self._until(lambda: self.screen.at_the_cursor == f"> {line}".rstrip())
        return self

    def enter(self, keys: str, *answer: str) -> list[str]:
        """Press keys that end the line, and wait for the next prompt; what was answered between."""
        row, asked = self.screen.row, self.screen.lines_asked_for
        self.child.send(keys)
        self._until(lambda: self._asked(asked))
        rows = self.screen.rows[row + 1 : self.screen.row]
        for piece in answer:
            assert any(piece in row for row in rows), (piece, rows)
        return rows

    def say(self, line: str, *answer: str) -> Terminal:
        """Type a line, end it, and wait for its answer."""
        self.enter(line + "\r", *answer)
        return self

    def wait_for(self, text: str) -> None:
        """Wait until the screen shows a text."""
        self._until(lambda: any(text in row for row in self.screen.rows))

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size, and wait until the editor has drawn its line anew."""
        asked = self.screen.lines_asked_for
        self.child.setwinsize(rows, columns)
        self._until(lambda: self._asked(asked))

    def leave(self, keys: str = "quit!\r") -> int:
        """End the session; its exit code."""
        self.child.send(keys)
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)

    def _asked(self, before: int) -> bool:
        return self.screen.lines_asked_for > before and self.screen.at_the_cursor == ">"

    def _until(self, shown: Callable[[], bool]) -> None:
        while not shown():
            try:
                read = self.child.read_nonblocking(4096, PATIENCE)
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                raise AssertionError("\n".join([*self.screen.rows, self._where_it_hangs()])) from error
            self.written += read
            self.screen.feed(read)

    def _where_it_hangs(self) -> str:
        """The stack of every thread, which `faulthandler` writes on this signal."""
        self.child.kill(signal.SIGABRT)
        return str(self.child.read())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "album.mc").write_text('unshare < upload < view\nupload || "log in"\n', encoding="utf-8")
    return tmp_path


def test_a_name_is_completed(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.type("unsh", "unsh").type("\t", "unshare").type(" < up", "unshare < up").type(
        "\t", "unshare < upload"
    )
    terminal.say("?", "yes: unshare < upload")


def test_what_the_language_expects_is_completed(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.type("bet", "bet").type("\t", "between").type(" unshare a", "between unshare a")
    terminal.type("\t", "between unshare and").type(' "lo', 'between unshare and "lo')
    terminal.type("\t", 'between unshare and "log in"')
    terminal.say("", "no event is known to lie between them")
    terminal.type("load al", "load al").type("\t", "load album.mc")
    terminal.say("", "album.mc: 4 events")
    terminal.type("help pa", "help pa").type("\t", "help past")
    terminal.say("", "the events before A")
    assert terminal.leave() == 0


def test_what_was_typed_can_be_had_again_also_in_the_next_session(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.say("past of view", "2 events before view").say("events", "4 events")
    terminal.type(UP, "events").type(UP, "past of view")
    terminal.say("", "2 events before view")
    assert terminal.leave() == 0
    terminal = Terminal(folder, "album.mc")
    terminal.type(UP, "quit!").type(UP, "past of view")
    terminal.say("", "2 events before view")
    assert terminal.leave() == 0
    history = folder / "state" / "microcosm" / "history"
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("state", ["file", "folder", "nonsense"])
def test_a_history_that_cannot_be_kept_breaks_nothing(folder: Path, state: str) -> None:
    home = folder / "state"
    if state == "file":
        home.write_text("in the way", encoding="utf-8")
    elif state == "folder":
        (home / "microcosm" / "history").mkdir(parents=True)
    else:
        (home / "microcosm").mkdir(parents=True)
        (home / "microcosm" / "history").write_bytes(b"\xff\xfe\n+\x00\xff\n")
    terminal = Terminal(folder, "album.mc")
    terminal.say("past of view", "2 events before view")
    terminal.type(UP, "past of view")
    terminal.say("", "2 events before view")
    assert terminal.leave() == 0


def test_an_interrupt_ends_the_answer_and_not_the_session(folder: Path) -> None:
    chain = " < ".join(f"e{k}" for k in range(20_000))
    (folder / "long.mc").write_text(f"internal {chain}\n", encoding="utf-8")
    terminal = Terminal(folder, "long.mc")
    terminal.say("e19999 < new", "added")
    terminal.child.send("what if other < e0\r")  # two hundred million pairs
    terminal.wait_for("Ctrl-C interrupts")
    terminal.enter("\x03", "interrupted")
    terminal.say("e0 < new?", "yes: e0 < new").say("undo", "undone: add e19999 < new")
    terminal.say("e0 < new?", "not known").say("diff", "no difference")
    assert terminal.leave() == 0


@pytest.mark.parametrize(
    "line", ["assume view || like", "concurrent", "check", "never w || w", "what if like < view"]
)
def test_what_may_take_long_counts_its_steps(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By them the terminal tells a rate."""
    begun = []

    @contextmanager
    def told(doing: str, units: str) -> Iterator[output.Progress]:
        begun.append(output.Progress(doing, None, units))
        yield begun[-1]

    monkeypatch.setattr(output, "progress", told)
    known = Microcosm.parse("a || b\nb <> c\nlike <> a\nview <> c\nlike || b\nsend w = m p")
    session = Session(Opened(known, None, None, ""), How(known.rules, False, False), COMMANDS)
    _answered(session, f'event w where kind = "send"\n{line}')
    assert {(each.doing, each.units) for each in begun} == {("working; Ctrl-C interrupts", "steps")}
    assert any(each.done for each in begun), capsys.readouterr().out


def test_an_interrupt_at_the_prompt_drops_the_line(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.type("forget upload", "forget upload")
    terminal.enter("\x03")
    terminal.say("diff", "no difference")
    assert terminal.leave() == 0


def test_the_end_of_the_input_leaves_but_asks_once_where_changes_would_be_lost(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.say("view < like", "added")
    terminal.enter("\x04", "unsaved changes")
    assert terminal.leave("\x04") == 0


def test_lines_are_as_wide_as_the_terminal_is_now(folder: Path) -> None:
    names = " < ".join(f"event-{k}" for k in range(12))
    (folder / "many.mc").write_text(f"internal {names}\n", encoding="utf-8")
    terminal = Terminal(folder, "many.mc")
    assert len(terminal.enter("events\r", "12 events")) == 3
    terminal.resize(24, 44)
    rows = terminal.enter("events\r", "12 events")
    assert len(rows) == 4
    assert max(map(len, rows)) <= 44
    assert terminal.leave() == 0


def test_a_paste_of_several_lines_is_answered_line_by_line(folder: Path) -> None:
    terminal = Terminal(folder, "album.mc")
    terminal.child.send("\x1b[200~view < like\nlike < view\nunshare < like?\x1b[201~")
    answers = terminal.enter("\r", "> view < like", "added", "would close a cycle", "yes: unshare < like")
    assert answers.index("added: view < like") < answers.index("yes: unshare < like   (happens before)")
    terminal.say("\x1b[200~a\x02 < c?\x1b[201~", "the control character U+0002")
    terminal.say("unshare < like?", "yes")
    assert terminal.leave() == 0


def test_a_long_answer_goes_through_the_pager(folder: Path) -> None:
    (folder / "many.mc").write_text("\n".join(f"a{k} || b{k}" for k in range(100)), encoding="utf-8")
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; head -n 3; echo LEFT\n", encoding="utf-8")
    pager.chmod(0o755)
    terminal = Terminal(folder, "many.mc", PAGER=str(pager))
    terminal.say("givens", "PAGED", "a2 || b2", "LEFT").say("a1 || b1?", "yes")
    assert terminal.leave() == 0


def test_a_pager_that_is_not_there_is_not_missed(folder: Path) -> None:
    (folder / "many.mc").write_text("\n".join(f"a{k} || b{k}" for k in range(100)), encoding="utf-8")
    terminal = Terminal(folder, "many.mc", PAGER="no-such-pager")
    assert len(terminal.enter("givens\r", "a0 || b0", "a99 || b99")) == 100
    assert terminal.leave() == 0


@pytest.mark.parametrize("wanted", [True, False])
def test_colour_only_where_it_is_wanted(folder: Path, wanted: bool) -> None:
    terminal = Terminal(folder, "album.mc", NO_COLOR="" if wanted else "1")
    terminal.say("why unshare < view", "(In-Tr)")
    assert ("\x1b[2m" in terminal.written) is wanted
    assert ("\x1b[0;1m" in terminal.written) is wanted
    assert terminal.leave() == 0
