"""An offline answer as it is given: what is proved, refuted and left of a pair; or that no world fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.cli.show.verdict import show_proof, show_prose, show_verdict

if TYPE_CHECKING:
    from microcosm.logic.derivation import Derivation
    from microcosm.queries.offline import Inconsistent, Offline
    from microcosm.state.microcosm import Microcosm


INCONSISTENT = "no world fits all that is given, so there is no verdict on any pair"


def offline_fields(left: str, right: str, found: Offline) -> dict[str, object]:
    """The JSON fields of an offline verdict."""
    from microcosm.cli.show.lemmas import proof_object

    return {
        "pair": [left, right],
        "verdict": None if found.relation is None else found.relation.value,
        "refuted": [relation.value for relation in found.refuted],
        "possible": [relation.value for relation in found.possible],
        "exact": found.exact,
        "derivations": {s: proof and proof_object(proof) for s, proof in found.derivations.items()},
    }


def report_inconsistent(known: Microcosm, problem: Inconsistent, fields: dict[str, object] | None) -> None:
    """Say that no world fits, and why; `fields`: as JSON, with these beside it."""
    from microcosm.cli.show.lemmas import proof_object

    if fields is not None:
        empty: dict[str, object] = {"refuted": [], "possible": [], "exact": True, "derivations": {}}
        output.emit({**fields, **empty, "consistent": False, "derivation": proof_object(problem.derivation)})
    else:
        output.say(f"inconsistent: {INCONSISTENT}", "")
        show_proof(known, problem.derivation)


def show_offline(known: Microcosm, left: str, right: str, found: Offline) -> None:
    """The verdict for people: what is proved or refuted, what is left, and each proof."""
    if found.relation is not None:
        show_verdict(left, found.relation, right)
    for line in offline_lines(left, right, found):
        show_prose(line)
    for proof in proofs_shown(found):
        output.say("")
        show_proof(known, proof)


def offline_lines(left: str, right: str, found: Offline) -> list[str]:
    """What is refuted and what is left, where that is more than the relation proved."""
    from microcosm.cli.show.explain import IN_WORDS, statement
    from microcosm.givens.relation import Relation

    told = []
    if found.relation is None or found.relation is Relation.RELATED:
        told += [f"{statement(left, '!' + str(r), right)}   ({IN_WORDS[r]}: refuted)" for r in found.refuted]
    left_over = ", ".join(str(relation) for relation in found.possible)
    if found.relation is None or found.relation is Relation.RELATED:
        if found.exact and len(found.possible) == 3:
            told.append("nothing is proved or refuted: there are worlds with <, > and || between the two")
        else:
            known = "some world has each" if found.exact else "whether a world has each was not decided"
            told.append(f"possible: {left_over} ({known})")
    return told


def proofs_shown(found: Offline) -> list[Derivation]:
    """The proof of what is proved, which leaves the rest refuted; else every refutation."""
    from microcosm.givens.relation import Relation

    proofs = found.derivations
    if found.relation is not None and found.relation is not Relation.RELATED:
        proofs = {str(found.relation): proofs[str(found.relation)]}
    return list(dict.fromkeys(proof for proof in proofs.values() if proof is not None))


def offline_exit(found: Offline) -> int:
    """0 where a relation is proved, 1 where something is refuted, 3 where nothing is known."""
    if found.relation is not None:
        return exits.HOLDS
    return exits.REFUTED if found.refuted else exits.UNDECIDED
