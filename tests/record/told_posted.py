"""Runs one of `examples/lease/posted.py` and keeps the truth beside: what is sent and received, under a lock.

python told_posted.py NAME WHERE [DESCRIPTOR], with the file of the truth in LEASE_TRUTH. A client is a chain,
each request of a server is one. Headers of its own carry what the truth knows: nothing of it comes from what
is tested.
"""

from __future__ import annotations

import fcntl
import json
import os
import runpy
import sys
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

HEADER = "x-truth"


def main(name: str) -> None:
    """Put the truth's own hooks around client and server, and run the program."""
    truth = os.open(os.environ["LEASE_TRUTH"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def tell(chain: str, what: str, kind: str, message: str | None = None) -> str:
        """Add an event: what another one hears of it by, or what it hears."""
        label = f"{chain} {what}"
        fcntl.flock(truth, fcntl.LOCK_EX)
        os.write(truth, (json.dumps([chain, label, kind, message or label]) + "\n").encode())
        fcntl.flock(truth, fcntl.LOCK_UN)
        return label

    asked, requests = count(1), count(1)
    send, serve = httpx.AsyncClient.send, Starlette.__call__

    async def sent(self: httpx.AsyncClient, request: httpx.Request, **more: Any) -> httpx.Response:
        """A client asks and is answered."""
        at = next(asked)
        request.headers[HEADER] = tell(f"{name} 1", f"send {at}", "send")
        response = await send(self, request, **more)
        tell(f"{name} 1", f"receive {at}", "receive", response.headers[HEADER])
        return response

    async def served(self: Starlette, scope: Any, receive: Any, send: Any) -> None:
        """A server is asked and answers; a lock answers after it was asked before."""
        at = next(requests)
        chain = f"{name} {at}"
        heard = dict(scope["headers"])[HEADER.encode()].decode()
        tell(chain, "receive 1", "receive", heard)
        tell(chain, "lease", "send")

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                if name == "lock" and at > 1:
                    tell(chain, "lease of the last", "receive", f"{name} {at - 1} lease")
                label = tell(chain, "send 1", "send")
                message = {**message, "headers": [*message["headers"], (HEADER.encode(), label.encode())]}
            await send(message)

        await serve(self, scope, receive, answer)

    httpx.AsyncClient.send = sent  # type: ignore[method-assign]
    Starlette.__call__ = served  # type: ignore[method-assign]
    program = Path(__file__).parents[2] / "examples" / "lease" / "posted.py"
    sys.path.insert(0, str(program.parent))
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
