"""Two ways to tell what a process does: by `logging`, and by a recorder of microcosm.

Each has three methods: what happened, what is about to be sent (what it returns goes with the message), and
what was received with it.
"""

from __future__ import annotations

import logging
from pathlib import Path


class Logged:
    """By `logging`: a line about a message names the message."""

    def __init__(self, name: str, folder: Path) -> None:
        logging.basicConfig(
            filename=folder / f"{name}.log",
            filemode="w",
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
            level=logging.INFO,
        )
        logging.getLogger("asyncio").setLevel(logging.WARNING)
        self.log = logging.getLogger(name)
        self.name = name
        self.sent = 0

    def event(self, text: str) -> None:
        self.log.info(text)

    def send(self, text: str, to: str) -> str:
        self.sent += 1
        message = f"{self.name}-{self.sent}"
        self.log.info("send %s to %s: %s", message, to, text)
        return message

    def receive(self, message: str, text: str) -> None:
        self.log.info("receive %s: %s", message, text)


class Recorded:
    """By a recorder: its own three methods."""

    def __init__(self, name: str, folder: Path) -> None:
        from microcosm.record import Recorder

        causality = Recorder(name, folder / f"{name}.jsonl")
        self.event, self.send, self.receive = causality.event, causality.send, causality.receive


WITNESSES = {"logging": Logged, "recorder": Recorded}
