"""One trace as its rows arrive: edges as soon as both ends are known, what each process knows. No Spark here.

The rows of a process are taken in the order of their positions; one that comes early waits for those
before it, and a hole that stays open is given up by `give_up`. Everything said is true for good, whatever
comes later: a late delivery adds edges, and what it disclosed is passed on to whom it has reached since.
Only where another process turns out, batches later, to have sent a message too, or the sending on the level
of the reception comes, for which that no longer waited, what was told stays, and is reported as ambiguous.
A `TraceState` keeps what is remembered of each process and of each message.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from math import inf
from operator import itemgetter

from microcosm.spark.io.events import Row
from microcosm.spark.stream.state import MessageState, ProcessState, Sent, TraceState
from microcosm.traces.event import ANSWERED, OTHER_LEVEL, SENDS, in_trace
from microcosm.traces.execution import missing

_SAYING = (
    "kind",
    "message",
    "to",
    "clock",
    "lamport",
    "earliest",
    "latest",
    "label",
    "attributes",
    "name",
    "after",
)
"""Columns in which two rows of one event agree."""

ARRIVED = "arrived"
"""What a row may say of when it came, in milliseconds."""

KEEP = 10_000
"""How many positions of a process are remembered, for what comes late."""

_NOWHERE = {"file": None, "line": None}
"""In the place of a row, where no one row says it."""


class StreamKernel:
    """The kernel of one trace. `emitted` are the rows to be told since it was last emptied.

    `stopped` are the processes that wait for rows that have not come, `doubtful` the messages received
    whose sending is there only on the other level, network or application, each with the time at which the
    first row arrived that waits for it; `ended` says that a process has begun again.

    Cost of a row: its process's vector, and for one that comes late those of the positions remembered.
    """

    def __init__(self, trace: str | None, store: TraceState, keep: int = KEEP) -> None:
        self._trace = trace
        self._store = store
        self._keep = keep
        self.emitted: list[Row] = []
        self.stopped: dict[str, int] = {}
        self.doubtful: dict[str, int] = {}
        self.ended = False
        self._grown: dict[str, None] = {}
        self._unused: dict[str, tuple[Row, int]] = {}
        self._at_hand: dict[str, list[Sent]] = {}  # by message: sendings that have not had their turn
        self._ambiguous: set[tuple[str, str, str]] = set()  # as said of receptions

    def take(self, rows: Iterable[Row]) -> None:
        """Take rows in any order."""
        fresh: dict[str, None] = {}
        for row in sorted(self._of_one_run(rows), key=itemgetter("process", "seq")):
            if self._enters(row):
                fresh.setdefault(row["process"])
        self._run(fresh)
        for process in fresh:
            self._forget(process)
        self._tell_frontiers()

    def _of_one_run(self, rows: Iterable[Row]) -> list[Row]:
        """The rows before the first, in the order of the log, by which a process begins again.

        That and all later ones of the trace are of another execution, which the log does not name: joined
        with this one they would order what nothing orders.
        """
        taken: list[Row] = []
        every = sorted(rows, key=lambda row: (row["file"] or "", row["line"] or 0))
        for row in every:
            if not self.ended:
                own = self._store.process(row["process"])
                self.ended = own.begins_again(row["seq"], [row[name] for name in _SAYING])
                if self.ended:
                    detail = f"{row['process']} begins again with another event {row['seq']}"
                    self._odd("restart", row, f"{detail}; `trace` names executions")
            if not self.ended:
                taken.append(row)
        if lost := len(every) - len(taken):
            detail = "what follows is of another execution, and not followed"
            self._odd("restart", _NOWHERE, detail, lost, lost)
        return taken

    def give_up(self, since: float = inf) -> None:
        """No longer wait where that has lasted since some time: take what stands behind holes, and match what
        was sent on another level.
        """
        while due := sorted(process for process, first in self.stopped.items() if first <= since):
            for process in due:
                self._skip(process, self._store.process(process))
            self._run(dict.fromkeys(due))
        for message in sorted(message for message, first in self.doubtful.items() if first <= since):
            del self.doubtful[message]
            ends = self._store.message(message)
            for entry in list(ends.waits):
                kind, process, seq, name = entry
                level = ANSWERED[kind]
                if any(sent.kind == level for sent in ends.sent):
                    continue
                senders = ends.senders(OTHER_LEVEL[level], process)
                if len(senders) == 1:
                    ends.waits.remove(entry)
                    [sent] = senders.values()
                    ends.taken[entry] = sent
                    self._message(sent, process, seq, name, message)
                elif senders:
                    self._say_ambiguous(_NOWHERE, message, (kind, process), senders)
        self._tell_frontiers()

    def _enters(self, row: Row) -> bool:
        """Whether a row is new and waits for its turn; late ones are taken at once."""
        own = self._store.process(row["process"])
        seq = row["seq"]
        if seq > own.reached and seq not in own.waiting:
            own.waiting[seq] = row
            return True
        hole = next((hole for hole in own.holes if hole.first <= seq <= hole.last), None)
        if hole is None:
            self._odd("duplicate-event", row, f"{row['process']} has an event {seq} already", lost=1)
            return False
        self._odd("late-event", row, f"{row['process']}: event {seq} comes after it was given up")
        name = self._event(row)
        if hole.before is not None:
            self._process(row["process"], hole.before, name)
        self._process(row["process"], name, hole.after)
        own.split(hole, seq, name)
        self._grown.setdefault(row["process"])
        self._exchange(row, name)
        return False

    def _run(self, processes: dict[str, None]) -> None:
        """Take what has its turn, a reception after its sending where that is at hand."""
        self._at_hand.clear()
        for process in processes:
            for waiting in self._store.process(process).waiting.values():
                if waiting["kind"] in SENDS and waiting["message"] is not None:
                    self._at_hand.setdefault(waiting["message"], []).append(self._sent(waiting))
        going = list(processes)
        while going:
            moved = False
            held = []
            for process in going:
                own = self._store.process(process)
                while (row := own.waiting.get(own.reached + 1)) is not None:
                    message = row["message"]
                    if row["kind"] in ANSWERED and message is not None and self._awaited(row):
                        held.append(process)
                        break
                    self._next(own, row)
                    moved = True
            if not moved and held:  # messages in a circle: one has to go first
                first = self._store.process(held[0])
                self._next(first, first.waiting[first.reached + 1])
            going = held
        for process in processes:
            if rows := self._store.process(process).waiting.values():
                self.stopped[process] = min(row.get(ARRIVED, 0) for row in rows)
            else:
                self.stopped.pop(process, None)

    def _awaited(self, row: Row) -> bool:
        if not self._at_hand.get(row["message"]):
            return False
        return not self._store.message(row["message"]).senders(ANSWERED[row["kind"]], row["process"])

    def _next(self, own: ProcessState, row: Row) -> None:
        process, seq = row["process"], row["seq"]
        del own.waiting[seq]
        name = self._event(row)
        if own.name is not None:
            self._process(process, own.name, name)
        own.close(name)
        own.reached, own.name = seq, name
        self._grown.setdefault(process)
        if row["kind"] in SENDS and row["message"] is not None:
            self._at_hand[row["message"]].remove(self._sent(row))
        self._exchange(row, name)

    def _skip(self, process: str, own: ProcessState) -> None:
        """Give up the positions before the first row that waits."""
        first = min(own.waiting)
        row = own.waiting[first]
        self._odd("seq-gap", row, f"{process}: events {missing(own.reached, first)} are missing")
        own.skip(first - 1)

    def _exchange(self, row: Row, name: str) -> None:
        """Match an event that sends or receives."""
        kind, message, process, seq = row["kind"], row["message"], row["process"], row["seq"]
        if kind == "internal":
            return
        if message is None:
            self._odd("no-message", row, f"{name}: a {kind} that does not name its message")
            return
        ends = self._store.message(message)
        if kind in SENDS:
            sent = self._sent(row)
            if ends.covers(sent):
                self._odd("repeated-send", row, f"{name}: {process} sends {message} again")
                return
            ends.sent.append(sent)
            insort(self._store.process(process).sent, (seq, message))
            for entry in list(ends.waits):
                receiving, receiver, at, event = entry
                if ANSWERED[receiving] != kind:
                    self.doubtful.setdefault(message, row.get(ARRIVED, 0))
                    continue
                if senders := ends.senders(kind, receiver):
                    ends.waits.remove(entry)
                    self._meet(row, senders, (receiving, receiver, at, event), message)
            for entry, taken in [*ends.taken.items()]:
                receiving, receiver, *_ = entry
                if ANSWERED[receiving] == kind and (senders := ends.senders(kind, receiver)):
                    del ends.taken[entry]
                    if taken.process != process or taken.seq > seq:  # else what was told of it is true
                        self._say_ambiguous(row, message, (receiving, receiver), (taken.name, sent.name))
                    self._meet(row, senders, entry, message)
            for receiving, receiver in sorted(ends.met) if len(ends.sent) > 1 else ():
                senders = ends.senders(kind, receiver)
                if ANSWERED[receiving] == kind and len(senders) > 1 and sent in senders.values():
                    self._say_ambiguous(row, message, (receiving, receiver), senders)
            return
        if (kind, process) in ends.met:
            self._odd("duplicate-receive", row, f"{name}: {process} receives {message} again")
            return
        ends.met.add((kind, process))
        senders = ends.senders(ANSWERED[kind], process)
        if senders:
            self._meet(row, senders, (kind, process, seq, name), message)
        else:
            ends.waits.append((kind, process, seq, name))
            if ends.sent:
                self.doubtful.setdefault(message, row.get(ARRIVED, 0))
            insort(self._store.process(process).open, (seq, message))

    def _meet(
        self, row: Row, senders: dict[str, Sent], reception: tuple[str, str, int, str], message: str
    ) -> None:
        """Tell what a reception says of the one who sent its message, where no other is at hand."""
        kind, receiver, seq, name = reception
        others = MessageState(self._at_hand.get(message, [])).senders(ANSWERED[kind], receiver)
        if len(every := others | senders) > 1:
            self._say_ambiguous(row, message, (kind, receiver), every)
        else:
            self._message(next(iter(senders.values())), receiver, seq, name, message)

    def _say_ambiguous(self, row: Row, message: str, met: tuple[str, str], senders: Iterable[str]) -> None:
        if (message, *met) not in self._ambiguous:
            self._ambiguous.add((message, *met))
            fault = f"{met[1]} receives {message}, which was sent by {', '.join(sorted(senders))}"
            self._odd("ambiguous-message", row, fault)

    def _sent(self, row: Row) -> Sent:
        """The sending that a row tells of."""
        name = row["name"] or self._full(f"{row['process']}:{row['seq']}")
        return Sent(row["kind"], row["process"], row["seq"], name, tuple(row["to"] or ()))

    def _message(self, sent: Sent, process: str, seq: int, name: str, message: str) -> None:
        """Tell that a sending comes before its reception, and pass on what that discloses."""
        source = self._store.process(sent.process)
        known = source.known_at(sent.process, sent.seq)
        if known.get(process, 0) >= seq:
            self._odd("message-cycle", _NOWHERE, f"{name}: receives {message} before {sent.name} sends it")
            return
        own = sent.process == process
        if not (own and source.next_to(sent.seq, seq)):
            self._edge(sent.name, name, f"message {self._full(message)}")
        if own:
            return
        insort(source.out, (sent.seq, process, seq))
        self._hear(process, seq, known)

    def _hear(self, process: str, seq: int, known: dict[str, int]) -> None:
        """A process learns something at a position, and so do all that it has told something since."""
        waiting = [(process, seq, known)]
        while waiting:
            process, seq, known = waiting.pop()
            own = self._store.process(process)
            if own.hear(process, seq, known):
                self._grown.setdefault(process)
                first = bisect_left(own.out, (seq, "", 0))
                for at, target, place in own.out[first:]:
                    waiting.append((target, place, own.known_at(process, at)))

    def _forget(self, process: str) -> None:
        """Give up what lies more than `keep` positions back."""
        own = self._store.process(process)
        oldest = own.reached - self._keep
        if oldest <= 0:
            return
        sent, received = ("unreceived-send", "reception"), ("unmatched-receive", "sending")
        for entries, (kind, other) in ((own.sent, sent), (own.open, received)):
            gone = slice(bisect_right(entries, (oldest, "\U0010ffff")))
            for seq, message in entries[gone]:
                ends = self._store.message(message)
                if ends.forget(process, seq):
                    self._odd(kind, _NOWHERE, f"{process}:{seq}: the {other} of {message} has not come")
                if ends.empty():
                    self._store.drop(message)
            del entries[gone]
        own.forget(oldest)

    def _event(self, row: Row) -> str:
        name: str = row["name"] or self._full(f"{row['process']}:{row['seq']}")
        self.emitted.append({**row, "id": name})
        for column, kind in (("clock", "unused-clock"), ("after", "unused-link")):
            if row[column] is not None:
                first, count = self._unused.get(kind, (row, 0))
                self._unused[kind] = (first, count + 1)
        return name

    def _process(self, process: str, before: str, after: str) -> None:
        self._edge(before, after, f"process {self._full(process)}")

    def _edge(self, left: str, right: str, source: str) -> None:
        edge = {"left": left, "relation": "<", "right": right, "source": source}
        self.emitted.append({"trace": self._trace, **edge})

    def _tell_frontiers(self) -> None:
        """Say what each process knows; and once in a batch of how many events something is not used."""
        for kind, (row, count) in self._unused.items():
            unused = kind.removeprefix("unused-")
            fault = f"{row['process']}:{row['seq']}: its {unused} is not used, for this is a stream"
            self._odd(kind, row, fault, count=count)
        self._unused.clear()
        for process in self._grown:
            own = self._store.process(process)
            if own.name is not None:
                knows = dict(sorted(own.known_at(process, own.reached).items()))
                frontier = {"process": process, "last": own.name, "knows": knows}
                self.emitted.append({"trace": self._trace, **frontier})
        self._grown.clear()

    def _full(self, name: str) -> str:
        return in_trace(self._trace, name)

    def _odd(self, kind: str, row: Row, fault: str, lost: int = 0, count: int = 1) -> None:
        place = {"file": row["file"], "line": row["line"]}
        irregular = {"reported": kind, "fault": fault, "count": count, "lost": lost}
        self.emitted.append({"trace": self._trace, **place, **irregular})
