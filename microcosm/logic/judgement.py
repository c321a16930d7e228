"""Judgements: what a derivation concludes.  ⊢₀ (initial), ⊢ (online), ⊩ (offline)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from microcosm.relations.relation import Relation


class Judgement(Enum):
    """The three judgements of seed 003: Definitions 2.5, 3.1 and 4.1; strata in this order."""

    INITIAL = "initial"
    ONLINE = "online"
    OFFLINE = "offline"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is slow

    @property
    def turnstile(self) -> str:
        """The sign of the papers: ⊢₀, ⊢ or ⊩."""
        return {"initial": "⊢₀", "online": "⊢", "offline": "⊩"}[self.value]


class Fact(NamedTuple):
    """A judged relation between two events: `judgement left relation right`."""

    judgement: Judgement
    left: str
    relation: Relation
    right: str

    def __str__(self) -> str:
        return f"{self.judgement.turnstile} {self.left} {self.relation} {self.right}"
