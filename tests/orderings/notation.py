"""`s1 r2|s2 r1` as the oracle's chains, these as a computation, and what crowns and knots are."""

from __future__ import annotations

from microcosm.orderings.computation import Computation, build
from tests.orderings.oracle import Chains


def chains_of(text: str) -> Chains:
    return tuple(
        tuple(("s" if word[0] == "s" else "r", int(word[1:])) for word in part.split())
        for part in text.split("|")
    )


def computation_of(chains: Chains) -> Computation:
    kinds = {"s": "send", "r": "receive"}
    return build({f"p{p}": [(kinds[kind], f"m{m}") for kind, m in chain] for p, chain in enumerate(chains)})


def is_crown(computation: Computation, messages: tuple[int, ...]) -> bool:
    """Definition 12 with n ≥ 2: each message is sent causally before the next one is received."""
    futures = [computation.future(computation.send[m]) for m in messages]
    after = (*messages[1:], *messages[:1])
    return len(set(messages)) == len(messages) >= 2 and all(
        not future.isdisjoint(computation.receptions[m]) for future, m in zip(futures, after, strict=True)
    )


def is_knot(computation: Computation, messages: tuple[int, ...]) -> bool:
    """Definition 14: sends are ordered within each couple, receptions from one couple to the next.

    The messages of a couple may be the same where a message has several receivers. Cost: linear in the
    computation, for each couple.
    """
    if not messages or len(messages) % 2:
        return False
    for at in range(0, len(messages), 2):
        first, second, third = messages[at], messages[at + 1], messages[(at + 2) % len(messages)]
        if first != second and computation.send[second] not in computation.future(computation.send[first]):
            return False
        reached = set(computation.receptions[third])
        if all(computation.future(r).isdisjoint(reached) for r in computation.receptions[second]):
            return False
    return True
