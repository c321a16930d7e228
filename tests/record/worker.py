"""A process of `test_soundness.py`: it talks with others over UDP until it is killed, and tells the truth.

Its truth is appended to one file under a lock, before each event is recorded and before a message is sent.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import socket
import sys
import time
from types import FrameType

from microcosm.record import Recorder


def main() -> None:
    """Do something again and again."""
    name, log, policy, path, descriptor, others, seed = sys.argv[1:]
    chosen, ports = random.Random(seed), json.loads(others)
    me = socket.socket(fileno=int(descriptor))
    me.settimeout(0.005)
    truth = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    recorder = Recorder(name, log, flush=policy)
    chain, number = f"{name} {os.getpid()}", 0

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit

    signal.signal(signal.SIGTERM, end)

    def tell(kind: str, message: str = "") -> str:
        nonlocal number
        number += 1
        label = f"{chain} {number}"
        fcntl.flock(truth, fcntl.LOCK_EX)
        os.write(truth, (json.dumps([chain, label, kind, message]) + "\n").encode())
        fcntl.flock(truth, fcntl.LOCK_UN)
        return label

    while True:
        time.sleep(0.02)
        what = chosen.random()
        if what < 0.2:
            recorder.event(tell("event"))
        elif what < 0.5:
            message = f"{chain} m{number}"
            header = recorder.send(tell("send", message))
            me.sendto(json.dumps([header, message]).encode(), ("127.0.0.1", chosen.choice(ports)))
        else:
            try:
                header, message = json.loads(me.recv(4096))
            except TimeoutError:
                continue
            recorder.receive(header, tell("receive", message))


if __name__ == "__main__":
    main()
