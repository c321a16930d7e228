"""CSight's logs of two-phase commit: a message a line, as sender, receiver, type, transaction.

    TM, 0, tx_prepare, 0

Such a line stands for the sending of a message and for its reception at the same place: that nothing
happened in between is assumed, and both events are marked so (attribute `assumed`). Of several files each
goes on where the one before it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines

_TWO_PHASE = "csight_2pc"

_MESSAGE = re.compile(r"\s*([^\s,]+),\s*([^\s,]+),\s*([^\s,]+),\s*([^\s,]+)\s*")
_NUMBERS = re.compile(r"[\d.\s,+-]*")


def detects_two_phase(head: str, path: str) -> int:
    """1 where each of the first lines has four words with commas, and some are no numbers."""
    lines = [line for line in head.split("\n")[:20] if line.strip()]
    fit = all(_MESSAGE.fullmatch(line) and not _NUMBERS.fullmatch(line) for line in lines)
    return int(fit and any("tx_" in line for line in lines)) * 2


def read_two_phase(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each line; lines that are none are reported as `bad-line`.

    A line that is there already is the same message told again. What a later file says of a process is a
    process of its own, for nothing orders the files. Memory: a number for each message.
    """
    known: dict[int, None] = options.shared(_TWO_PHASE, dict)
    home: dict[str, str] = options.shared(f"{_TWO_PHASE} files", dict)
    for number, text in stream:
        if not text or text.isspace():
            continue
        found = _MESSAGE.fullmatch(text)
        if found is None:
            message = "not a message: `sender, receiver, type, transaction` is expected"
            report.add("bad-line", message, file=file, line=number, lost=2, lines=1)
            continue
        sender, receiver, label, transaction = found.groups()
        if (said := hash(found.groups())) in known:
            message = f"{label} of transaction {transaction} from {sender} to {receiver} stands there already"
            report.add("duplicate-event", message, file=file, line=number, lost=2)
            continue
        known[said] = None
        message = Counted(f"m{len(known)}")
        more = {"assumed": True, "transaction": transaction}
        sender, receiver = (
            name if home.setdefault(name, file) == file else f"{name} ({file})" for name in (sender, receiver)
        )
        for process, kind, to in ((sender, "send", (receiver,)), (receiver, "receive", ())):
            taken = options.positions_of(None, process)
            taken.add(taken.top + 1)
            yield TraceEvent(
                process, taken.top, kind, message, to, label=label, attributes=more, file=file, line=number
            )
