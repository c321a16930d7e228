"""Lives: programs of one name, one after the other or at a time, whose events are no chain together.

A recorder draws a name for each life of a process, `life`, and writes it in every line, for nothing else
tells two lives apart whatever lines are lost. The first life of a name is called by it, another by both,
`alice~pZ8_k3f9`, and reported. Where a line names what another has done, in `after` or in its clock, it
says of which life: `alice~pZ8_k3f9:5`.
"""

from __future__ import annotations

import re

from microcosm.traces.options import Options
from microcosm.traces.report import Report

SHARED = "lives"
"""Under this name `Options.state` has the lives of a log."""

_a_life = re.compile(r"[A-Za-z0-9_-]{8}", re.ASCII).fullmatch
_of_a_life = re.compile(r"(.+)~([A-Za-z0-9_-]{8})(:[0-9]+)?", re.ASCII | re.DOTALL).fullmatch


class Lives:
    """The lives of each process in a log. Memory: a few words for each."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._first: dict[str, str] = {}
        self._told: set[str] = set()

    @classmethod
    def of(cls, options: Options, report: Report) -> Lives:
        """Those of all files of a log; of some files, each is called by both names."""
        return options.shared(SHARED, lambda: cls(report) if options.whole else EachByItsLife(report))

    def settle(self, record: dict[str, object], file: str, line: int) -> None:
        """Call the process of a line, and those that it names, by names that no other life has.

        A field `life` that is none, for it is no name of eight letters, is an attribute as any other.
        """
        life, process = record["life"], record.get("process")
        if type(life) is not str or type(process) is not str or not process or not _a_life(life):
            return
        del record["life"]
        name = self.named(process, life)
        if name != process:
            record["process"] = name
            if name not in self._told:
                self._told.add(name)
                said = f"another life of {process}, not ordered with the first: what it does is {name}"
                self.report.add("another-life", said, file=file, line=line)
        after, clock = record.get("after"), record.get("clock")
        if type(after) is list:
            record["after"] = [self._resolved(each) for each in after]
        if type(clock) is dict:
            record["clock"] = {self._resolved(each): count for each, count in clock.items()}

    def named(self, process: str, life: str) -> str:
        """What a life of a process is called."""
        return process if self._first.setdefault(process, life) == life else f"{process}~{life}"

    def _resolved(self, name: object) -> object:
        found = _of_a_life(name) if type(name) is str else None
        return self.named(found[1], found[2]) + (found[3] or "") if found else name


class EachByItsLife(Lives):
    """Where lines are read without those before them, the first life is called by both names, too."""

    def named(self, process: str, life: str) -> str:
        """What a life of a process is called."""
        self._told.add(name := f"{process}~{life}")  # nothing is odd about it
        return name
