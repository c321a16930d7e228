"""A server of a page for one test: it runs in the main thread, while somebody talks to it in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import ClassVar, TypeVar

import httpx

from microcosm.cli.session.page_session import SessionBackend
from microcosm.cli.session.session import How, opened
from microcosm.logic.rulebook import read_rules
from microcosm.page.server import Backend, Turns, served

Result = TypeVar("Result")


def behind(*paths: str | Path, edit: bool = False, read_only: bool = False) -> SessionBackend:
    """A session with what some files give."""
    how = How(read_rules(), edit=edit)
    return SessionBackend(opened([*map(str, paths)], how), how, read_only=read_only)


def talked(
    who: Backend, talk: Callable[[str], Result], limit: float = 10.0, turns: Turns | None = None
) -> Result:
    """What somebody has who is told the address, and talks in a thread of their own."""
    turns = Turns(limit) if turns is None else turns
    with served(who, turns) as address, ThreadPoolExecutor(1) as other:
        found = other.submit(talk, address)
        found.add_done_callback(lambda _: turns.close())
        turns.run()
        for client in Client.made:
            client.close()
        Client.made.clear()
        return found.result()


def at_once(work: Callable[[], object]) -> object:
    """The turn of somebody who is alone."""
    return work()


def written(size: int, processes: int, seed: int = 1) -> Iterator[str]:
    """The lines of a log in which some processes send to one another; most is received."""
    random = Random(seed)
    seqs = [0] * processes
    flying: list[str] = []
    senders: dict[str, int] = {}
    for at in range(size):
        process, kind, rest = random.randrange(processes), "internal", ""
        message = flying[0] if flying else ""
        if message and senders[message] != process and random.random() < 0.6:
            kind, rest = "receive", f', "message": "{flying.pop(0)}"'
        elif random.random() < 0.5:
            kind, rest = "send", f', "message": "m{at}"'
            if random.random() < 0.9:
                flying.append(f"m{at}")
                senders[f"m{at}"] = process
        seqs[process] += 1
        event = f'{{"process": "p{process}", "seq": {seqs[process]}, "kind": "{kind}"{rest}'
        yield f'{event}, "label": "step {random.randrange(9)}"}}\n'


class Client:
    """Somebody who has the token; `talked` closes its connections."""

    made: ClassVar[list[httpx.Client]] = []

    def __init__(self, address: str) -> None:
        self.url, _, self.token = address.partition("/#token=")
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=20)
        self.http.headers["Authorization"] = f"Bearer {self.token}"
        self.made.append(self.http)

    def close(self) -> None:
        """Let go of the connection."""
        self.http.close()

    def line(self, line: str) -> dict[str, object]:
        """What is answered to a line."""
        answer = self.http.post("/line", json={"line": line})
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found
