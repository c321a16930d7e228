"""Real processes, `microcosm replica serve`, on a loopback that loses, doubles and turns round."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from microcosm.replica.keys import new_ring, write_keys
from microcosm.replica.opening import Opened
from microcosm.replica.replica import Replica
from tests.replica.causal import History, faults
from tests.replica.proxy import Proxy
from tests.replica.served import PATIENCE, Served

pytest.importorskip("cryptography")


def chain(folder: Path, name: str) -> list[str]:
    """The events of a replica in the order in which they happened, as its journal has them."""
    store = Opened(folder / f"{name}.journal")
    try:
        replica = Replica(store)
        return [event for stream, chain in replica.chains().items() if stream[0] == name for event in chain]
    finally:
        store.close()


def history(folder: Path, name: str, sent: dict[str, tuple[str, str]]) -> History:
    """What a replica sent and delivered, as its journal has it."""
    steps = []
    for event in chain(folder, name):
        kind, _, message = event.partition(":")
        if kind == "c":
            steps.append(("sent", f"{message} {sent[message][1]}"))
        elif kind == "d":
            steps.append(("delivered", message.partition(":")[2]))
    return History(f"{name}.1", steps)


async def level(replicas: list[Served]) -> None:
    """Wait until all have the same digest."""
    async with asyncio.timeout(PATIENCE):
        while len({(await each.ask("digest"))["digest"] for each in replicas}) > 1:
            await replicas[0].ask("events")


def meshed(names: str, loss: float) -> dict[tuple[str, str], Proxy]:
    """A bad network between each two."""
    return {pair: Proxy(n, loss, 0.2) for n, pair in enumerate(combinations(names, 2))}


async def opened(folder: Path, names: str, proxies: dict[tuple[str, str], Proxy]) -> dict[str, Served]:
    write_keys(folder / "keys", new_ring())
    replicas = {}
    for name in names:
        doors = {
            (set(pair) - {name}).pop(): proxy.door(pair.index(name))
            for pair, proxy in proxies.items()
            if name in pair
        }
        where = {other: f"{host}:{port}" for other, (host, port) in doors.items()}
        replicas[name] = Served(folder, name, where)
    await asyncio.gather(*(each.start() for each in replicas.values()))
    for (one, other), proxy in proxies.items():
        proxy.ends = [replicas[one].address, replicas[other].address]
    return replicas


def run_scene(folder: Path, names: str, loss: float, rounds: int, killed: str) -> None:
    """Everybody sends to everybody; some are killed and come back; the network is cut, and mended."""

    async def scene() -> None:
        proxies = meshed(names, loss)
        for proxy in proxies.values():
            proxy.ends = [("127.0.0.1", 9)] * 2  # nobody, until it is known who listens where
        replicas = await opened(folder, names, proxies)
        sent: dict[str, tuple[str, str]] = {}
        for round_ in range(rounds):
            for name, each in replicas.items():
                await each.ask("local", event=f"{name}{round_}")
                for other in names.replace(name, ""):
                    answer = await each.ask("send", to=other, payload=f"{round_}" * (1 + 400 * (round_ % 3)))
                    sent[answer["message"]] = (name, other)
            if round_ < len(killed):
                await replicas[killed[round_]].kill()
                cut = next(iter(proxies.values()))
                cut.loss = 1.0
                await replicas[killed[round_]].start()
                cut.loss = loss
        last = replicas[names[-1]]
        assert (await last.ask("query", left=f"{names[-1]}0", right=f"{names[-1]}1"))["verdict"] == "<"
        wanted = Counter(to for _, to in sent.values())
        async with asyncio.timeout(PATIENCE):
            for name, each in replicas.items():
                while True:
                    events = (await each.ask("events"))["events"]
                    if sum(event.startswith(f"d:{name}:") for event in events) == wanted[name]:
                        break
        await level(list(replicas.values()))
        digests = {(await each.ask("digest"))["digest"] for each in replicas.values()}
        assert len(digests) == 1
        codes = [await each.stop(number) for each, number in zip(replicas.values(), SIGNALS, strict=False)]
        assert codes == [0] * len(names)
        assert sum(proxy.lost for proxy in proxies.values()) > 5
        for proxy in proxies.values():
            proxy.close()
        assert faults(history(folder, name, sent) for name in names) == []
        told = {line["message"] for each in replicas.values() for line in each.told if "message" in line}
        assert told == set(sent)  # at least once, for what leaves the replica

    asyncio.run(scene())


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGTERM)


def test_two_processes_one_killed(tmp_path: Path) -> None:
    run_scene(tmp_path, "ab", loss=0.2, rounds=5, killed="b")


@pytest.mark.slow
def test_three_processes_on_a_worse_network(tmp_path: Path) -> None:
    run_scene(tmp_path, "abc", loss=0.3, rounds=12, killed="bacb")
