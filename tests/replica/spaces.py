"""Replicas in network namespaces of their own, each behind a cable that can be pulled out.

    unshare --map-root-user --net python -m tests.replica.spaces FOLDER

Each replica has a namespace with one link to this one, where a proxy between each two loses, doubles and
turns round what passes. A partition is a link that is down, at both ends: what is sent then is refused by
the system, or goes nowhere. Processes are killed meanwhile. Prints what came of it, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

from microcosm.replica.network.keys import new_ring, write_keys
from tests.cli.test_replica_serve import history, level
from tests.replica.network.causal import faults
from tests.replica.network.proxy import Proxy
from tests.replica.served import PATIENCE, Served

NAMES = "abc"
ROUNDS = 5
LOSS, DOUBLED = 0.3, 0.2


def ip(*what: str) -> None:
    subprocess.run(["ip", *what], check=True)


class Space:
    """A namespace, which lasts as long as a process that sleeps in it, and the link to it."""

    def __init__(self, at: int) -> None:
        self.host, self.gate = f"10.77.{at}.2", f"10.77.{at}.1"
        self.link, far = f"near{at}", f"far{at}"
        self._sleeper = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        self.inside = ("nsenter", "--target", str(self._sleeper.pid), "--net")
        self._wait()
        ip("link", "add", self.link, "type", "veth", "peer", "name", far, "netns", str(self._sleeper.pid))
        ip("address", "add", f"{self.gate}/24", "dev", self.link)
        ip("link", "set", self.link, "up")
        for what in (("address", "add", f"{self.host}/24", "dev", far), ("link", "set", far, "up")):
            subprocess.run([*self.inside, "ip", *what], check=True)

    def _wait(self) -> None:
        """Return when the process is in its namespace: it has another one than this."""
        here = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{self._sleeper.pid}/ns/net").readlink() == here:
            assert self._sleeper.poll() is None

    def cable(self, state: str) -> None:
        """Pull it out (`down`) or plug it in again (`up`)."""
        ip("link", "set", self.link, state)

    def close(self) -> None:
        self._sleeper.communicate()


async def scene(folder: Path, spaces: dict[str, Space]) -> dict[str, Any]:
    """Everybody sends to everybody, while links go down and processes are killed."""
    write_keys(folder / "keys", new_ring())
    proxies = {
        (one, other): Proxy(n, LOSS, DOUBLED, (spaces[one].gate, spaces[other].gate))
        for n, (one, other) in enumerate(combinations(NAMES, 2))
    }
    replicas = {}
    for name, space in spaces.items():
        ends = {}
        for pair, proxy in proxies.items():
            proxy.ends = [(spaces[each].host, 9) for each in pair]
            if name in pair:
                host, port = proxy.address(pair.index(name))
                ends[(set(pair) - {name}).pop()] = f"{host}:{port}"
        replicas[name] = Served(folder, name, ends, space.host, space.inside)
    await asyncio.gather(*(each.start() for each in replicas.values()))
    for (one, other), proxy in proxies.items():
        proxy.ends = [replicas[one].address, replicas[other].address]
    sent: dict[str, tuple[str, str]] = {}
    for n in range(ROUNDS):
        if n == 1:
            spaces["b"].cable("down")
        if n in (2, 4):
            killed = replicas["c" if n == 2 else "b"]
            await killed.kill()
            await killed.start()
        if n == 4:
            spaces["a"].cable("down")
            spaces["b"].cable("up")
        for name, each in replicas.items():
            await each.ask("local", event=f"{name}{n}")
            for other in NAMES.replace(name, ""):
                answer = await each.ask("send", to=other, payload=f"{n}" * (1 + 900 * (n % 3)))
                sent[answer["message"]] = (name, other)
    spaces["a"].cable("up")
    wanted = Counter(to for _, to in sent.values())
    async with asyncio.timeout(PATIENCE):
        for name, each in replicas.items():
            while True:
                events = (await each.ask("events"))["events"]
                if sum(event.startswith(f"d:{name}:") for event in events) == wanted[name]:
                    break
                await asyncio.sleep(0.02)
    await level(list(replicas.values()))
    digests = {(await each.ask("digest"))["digest"] for each in replicas.values()}
    codes = [await each.stop() for each in replicas.values()]
    told = {line["message"] for each in replicas.values() for line in each.told if "message" in line}
    for proxy in proxies.values():
        proxy.close()
    return {
        "messages": len(sent),
        "lost": sum(proxy.lost for proxy in proxies.values()),
        "digests": len(digests),
        "codes": codes,
        "told": told == set(sent),
        "faults": faults(history(folder, name, sent) for name in NAMES),
    }


def main(folder: Path) -> None:
    with ExitStack() as stack:
        spaces = {}
        for at, name in enumerate(NAMES):
            spaces[name] = Space(at)
            stack.callback(spaces[name].close)
        print(json.dumps(asyncio.run(scene(folder, spaces))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
