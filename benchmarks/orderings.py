"""Claim: the eighteen verdicts on a log cost time that grows linearly with it.

Logs of 64 processes, made as a network would that keeps one queue for all, a mailbox for each receiver,
rendezvous, or nothing at all. "Slope" is the exponent between the smallest and the largest size: 1 is linear.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import log
from random import Random

from benchmarks.measure import Line, paired
from microcosm.orderings.computation import Computation, build
from microcosm.orderings.verdicts import classify

NAME = "orderings"
PEERS = 64


def run(quick: bool = False) -> list[Line]:
    """Sizes a factor of ten apart, of events."""
    sizes = (1_000, 5_000) if quick else (10_000, 100_000, 1_000_000)
    lines = []
    for network in ("queue", "mailbox", "rendezvous", "free"):
        seconds = []
        for size in sizes:
            computation, order = log_of(network, size)
            subjects = {"eighteen verdicts": lambda c=computation, o=order: classify(c, o)}
            found, _ = paired(
                NAME, f"{network}, {size:,} events", subjects, rounds=1 if quick or size > 20_000 else 3
            )
            lines += found
            seconds.append(found[0].seconds)
        slope = log(seconds[-1] / seconds[0]) / log(sizes[-1] / sizes[0])
        lines[-1] = replace(lines[-1], case=f"{lines[-1].case} (slope {slope:.2f})")
    return lines


def log_of(network: str, size: int, peers: int = PEERS, seed: int = 1) -> tuple[Computation, list[int]]:
    """A computation of `size` events and the execution that it was made as; some ten messages in flight."""
    rng = Random(seed)
    chains: dict[str, list[tuple[str, str]]] = {f"p{p}": [] for p in range(peers)}
    names = list(chains)
    order: list[tuple[str, int]] = []
    transit: deque[tuple[str, str]] = deque()

    def happen(process: str, kind: str, message: str) -> None:
        order.append((process, len(chains[process])))
        chains[process].append((kind, message))

    most = 1 if network == "rendezvous" else 20
    for number in range(size // 2):
        while len(transit) >= most or (transit and rng.random() < 0.45):
            if network == "mailbox":
                to = rng.choice(transit)[0]
                at = next(at for at, (receiver, _) in enumerate(transit) if receiver == to)
            else:
                at = rng.randrange(len(transit)) if network == "free" else 0
            receiver, message = transit[at]
            del transit[at]
            happen(receiver, "receive", message)
        sender, receiver = rng.sample(names, 2)
        happen(sender, "send", f"m{number}")
        transit.append((receiver, f"m{number}"))
    for receiver, message in transit:
        happen(receiver, "receive", message)
    computation = build(chains)
    first = {name: chain[0] if chain else 0 for name, chain in zip(names, computation.chains, strict=True)}
    return computation, [first[process] + at for process, at in order]
