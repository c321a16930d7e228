"""Derivations checked by the kernel, against a microcosm, some givens, or a file.

Nothing is deduced: the kernel shares no code with the search that finds proofs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

from microcosm import files
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.kernel.check import check
from microcosm.logic.derivation import Derivation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.state.opening import read

if TYPE_CHECKING:
    from microcosm.state.microcosm import Microcosm


@dataclass(frozen=True, slots=True)
class Verification:
    """What the kernel says of a derivation: whether it is `valid`, and if not the `fault`. No truth value."""

    valid: bool
    fault: str | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verification is neither true nor false; ask whether it is `valid`")


def verify(
    given: files.AnyPath | Givens | Microcosm,
    proof: Derivation | files.AnyPath | dict[str, Any],
    *,
    rules: RuleBook | None = None,
) -> Verification:
    """Have the kernel check a derivation against a microcosm, some givens, or a file; nothing is deduced.

    `proof` is a `Derivation`, its JSON form as a dictionary, or a JSON file of it. `rules` are those of the
    microcosm, else the shipped ones. Raises `TextError` for files that cannot be read. Cost: linear in the
    derivation, and a search for each absence.

    >>> from microcosm import Microcosm
    >>> album = Microcosm.parse("a < b < c")
    >>> verify(album, album.why("a", "c"))
    Verification(valid=True, fault=None)
    """
    if isinstance(given, str | PathLike):
        given = read(given)
    if not isinstance(given, Givens):
        rules = given.rules if rules is None else rules
        given = given.givens
    stated: object = proof
    if isinstance(proof, Derivation):
        stated = proof.to_json()
    elif isinstance(proof, str | PathLike):
        text = files.read_text(proof)
        try:
            stated = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TextError(f"is no JSON: {error}", file=files.display_name(proof)) from None
    fault = check(given, rules if rules is not None else read_rules(), stated)
    return Verification(fault is None, fault)
