"""`s1 r2|s2 r1` as the oracle's chains, and the oracle's chains as a computation."""

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
