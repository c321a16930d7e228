"""What an answer handed to `verify` claims: its derivations, and whether they conclude what it says."""

from __future__ import annotations

from typing import Any

from microcosm.cli import output

ONLINE = {"schema", "pair", "verdict", "derivation", "lemmas", "unknown_events"}
OFFLINE = {
    "schema",
    "pair",
    "verdict",
    "refuted",
    "possible",
    "exact",
    "derivations",
    "certificate",
    "unknown_events",
}
NONE_FITS = {*OFFLINE, "consistent", "derivation"}
CHECK = {"schema", "file", "consistent", "derivation", "conflict", "lemmas"}

SIGNS = ("<", ">", "||", "<>")

Claims = tuple[list[object], str | None]
"""Derivations to be checked; a fault where an answer claims what they do not conclude."""


def claimed(stated: object) -> Claims:
    """The derivations in what was handed in: one by itself, or those of a whole answer."""
    if not isinstance(stated, dict) or "rule" in stated or not {"derivation", "derivations"} & stated.keys():
        return [stated], None
    kinds = (NONE_FITS if "consistent" in stated else OFFLINE) if "derivations" in stated else ONLINE
    if "consistent" in stated and "derivations" not in stated:
        kinds = CHECK
    unknown = sorted(set(stated) - kinds)
    if unknown:
        return [], f"the answer has a field {unknown[0]!r} that no answer has"
    if stated.get("schema", output.SCHEMA) != output.SCHEMA:
        return [], f"the answer's schema is not {output.SCHEMA}"
    if "consistent" in stated:
        return _contradiction(stated)
    match stated.get("pair"):
        case [str(left), str(right)]:
            return (_offline if kinds is OFFLINE else _online)(stated, left, right)
    return [], "the answer's pair is not two events"


def _online(stated: dict[str, Any], left: str, right: str) -> Claims:
    derivation, verdict = stated["derivation"], stated.get("verdict")
    if derivation is None:
        return [], "the answer has no derivation: there is nothing to verify"
    if isinstance(derivation, dict) and "lemmas" in stated:
        derivation = {**derivation, "lemmas": stated["lemmas"]}
    if verdict not in (*SIGNS, "?"):
        return [], "the answer's verdict is no relation that online decision making concludes"
    if not _concludes(derivation, "online", left, verdict, right):
        return [], "the derivation does not conclude what the answer says of its pair"
    return [derivation], None


def _offline(stated: dict[str, Any], left: str, right: str) -> Claims:
    derivations, verdict, refuted = stated["derivations"], stated.get("verdict"), stated.get("refuted")
    if not isinstance(derivations, dict) or not derivations:
        return [], "the answer has no derivation: there is nothing to verify"
    if not isinstance(refuted, list) or any(sign not in SIGNS for sign in refuted):
        return [], "`refuted` lists relations among < > || <>"
    said = {f"!{sign}" for sign in refuted} | ({verdict} if isinstance(verdict, str) else set())
    if verdict is not None and verdict not in SIGNS:
        return [], "the answer's verdict is no relation that offline decision making concludes"
    if said != derivations.keys():
        return [], "the answer's derivations are not those of its verdict and of what it refutes"
    if stated.get("possible") != [sign for sign in SIGNS[:3] if sign not in refuted]:
        return [], "`possible` is not what is left of < > || when `refuted` is taken away"
    if not isinstance(stated.get("exact"), bool):
        return [], "`exact` is true or false"
    for sign, derivation in derivations.items():
        if derivation is None:
            return [], f"there is no derivation of {sign} to verify: a solver decided it"
        if not _concludes(derivation, "offline", left, sign, right):
            return [], f"the derivation of {sign} does not conclude what the answer says of its pair"
    return list(derivations.values()), None


def _contradiction(stated: dict[str, Any]) -> Claims:
    derivation = stated.get("derivation")
    if derivation is None:
        return [], "the answer has no derivation: there is nothing to verify"
    said = derivation.get("conclusion") if isinstance(derivation, dict) else None
    if stated["consistent"] is not False or not isinstance(said, dict):
        return [], "the answer does not say that the microcosm is inconsistent"
    if said.get("relation") != "contradiction":
        return [], "the derivation does not conclude a contradiction"
    if isinstance(derivation, dict) and "lemmas" in stated:
        derivation = {**derivation, "lemmas": stated["lemmas"]}
    return [derivation], None


def _concludes(derivation: object, judgement: str, left: str, sign: str, right: str) -> bool:
    """Whether a derivation concludes `left sign right`; symmetric relations may be said from either side."""
    said = derivation.get("conclusion") if isinstance(derivation, dict) else None
    if sign in (">", "!>"):
        left, sign, right = right, sign.replace(">", "<"), left
    return said == {"judgement": judgement, "left": left, "relation": sign, "right": right}
