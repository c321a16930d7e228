"""Judgements: what a derivation concludes.  ⊢₀ (initial), ⊢ (online), ⊩ (offline)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from microcosm.errors import Undefined
from microcosm.givens.relation import Relation


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


def read_judgement(said: Judgement | str) -> Judgement:
    """The judgement that a name or a member of the enum stands for. Raises `Undefined` for anything else.

    Cost: constant.

    >>> read_judgement("online"), read_judgement(Judgement.INITIAL)
    (<Judgement.ONLINE: 'online'>, <Judgement.INITIAL: 'initial'>)
    """
    if isinstance(said, Judgement):
        return said
    found = _NAMES.get(said.strip().lower()) if isinstance(said, str) else None
    if found is None:
        raise Undefined(f"{said!r} is no judgement: it is one of {', '.join(_NAMES)}")
    return found


_NAMES = {judgement.value: judgement for judgement in Judgement}


class Fact(NamedTuple):
    """A judged relation between two events: `judgement left relation right`."""

    judgement: Judgement
    left: str
    relation: Relation
    right: str

    def __str__(self) -> str:
        return f"{self.judgement.turnstile} {self.left} {self.relation} {self.right}"
