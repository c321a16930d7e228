"""As much of a terminal's screen as a line editor needs: rows of text, a cursor, and moves of it."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"\x1b\[(?P<how>[?0-9;]*)(?P<move>[A-Za-z])|(?P<begun>\x1b(?:\[[?0-9;]*)?\Z)|(?P<one>.)", re.DOTALL
)
_ASKS_FOR_A_LINE = "?2004h"  # the editor asks to have pastes marked


class Screen:
    """Rows that nothing scrolls away; `lines_asked_for` counts how often the editor began to read one."""

    def __init__(self) -> None:
        self.rows = [""]
        self.row = self.column = 0
        self.lines_asked_for = 0
        self._begun = ""

    @property
    def at_the_cursor(self) -> str:
        """The row that the cursor is in."""
        return self.rows[self.row].rstrip()

    def feed(self, text: str) -> None:
        """Take what a program wrote."""
        pieces = list(_PIECE.finditer(self._begun + text))
        self._begun = ""
        for piece in pieces:
            if piece["begun"]:
                self._begun = piece["begun"]
            elif piece["move"]:
                self._move(piece["how"], piece["move"])
            else:
                self._put(piece["one"])

    def _put(self, one: str) -> None:
        if one == "\n":
            self._to(self.row + 1)
        elif one == "\r":
            self.column = 0
        elif one == "\b":
            self.column = max(0, self.column - 1)
        elif one >= " ":
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[: self.column] + one + row[self.column + 1 :]
            self.column += 1

    def _move(self, how: str, move: str) -> None:
        if how + move == _ASKS_FOR_A_LINE:
            self.lines_asked_for += 1
        count = int(how) if how.isdigit() else 1
        match move:
            case "A" | "B":
                self._to(max(0, self.row + (count if move == "B" else -count)))
            case "C" | "D":
                self.column = max(0, self.column + (count if move == "C" else -count))
            case "J" | "K":
                self.rows[self.row] = self.rows[self.row][: self.column]
                if move == "J":
                    del self.rows[self.row + 1 :]

    def _to(self, row: int) -> None:
        self.row = row
        self.rows += [""] * (row + 1 - len(self.rows))
