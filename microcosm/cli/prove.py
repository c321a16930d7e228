"""`verify`: have a derivation checked by the kernel, which shares nothing with the search that found it."""

from __future__ import annotations

from typing import Annotated

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()


@app.command("verify")
def verify(
    file: options.File,
    proof: Annotated[
        str,
        typer.Argument(
            metavar="PROOF", help="A derivation, or a whole answer of `online --json`; - is standard input."
        ),
    ],
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """Check a proof with the kernel.

    The kernel is small, shares no code with the search that finds proofs, and checks every step against
    the microcosm and the rules. Exit 0 if it is valid, 1 if not; what is no JSON at all is bad input (4).

    \b
    Example:
      microcosm online album.mc unshare view --json > proof.json
      microcosm verify album.mc proof.json
    """
    from microcosm import files
    from microcosm.cli import json_text, reading
    from microcosm.logic import kernel

    reading.standard_input_once([file, proof])
    known = reading.load(file, rules)
    fault: str | None
    try:
        stated = json_text.parse(files.read_text(proof), files.display_name(proof))
    except json_text.TwiceError as twice:
        fault = str(twice)
    else:
        derivation, fault = claimed(stated)
        if fault is None:
            fault = kernel.check(known.givens, known.rules, derivation)
    if json:
        output.emit({"valid": fault is None, "fault": fault})
    elif fault is None:
        output.say("valid: the kernel accepts every step")
    else:
        output.say(f"not valid: {fault}")
    return exits.HOLDS if fault is None else exits.REFUTED


def claimed(stated: object) -> tuple[object, str | None]:
    """The derivation in what was handed in; a fault where an answer claims what it does not conclude."""
    if not isinstance(stated, dict) or "derivation" not in stated or "rule" in stated:
        return stated, None
    unknown = sorted(set(stated) - {"schema", "pair", "verdict", "derivation", "lemmas"})
    if unknown:
        return None, f"the answer has a field {unknown[0]!r} that no answer has"
    if stated.get("schema", output.SCHEMA) != output.SCHEMA:
        return None, f"the answer's schema is not {output.SCHEMA}"
    derivation = stated["derivation"]
    if derivation is None:
        return None, "the answer has no derivation: there is nothing to verify"
    if isinstance(derivation, dict) and "lemmas" in stated:
        derivation = {**derivation, "lemmas": stated["lemmas"]}
    return derivation, _disagreement(stated.get("pair"), stated.get("verdict"), derivation)


def _disagreement(pair: object, verdict: object, derivation: object) -> str | None:
    """What is wrong with an answer whose `pair` and `verdict` are not what `derivation` concludes."""
    match pair:
        case [str(left), str(right)]:
            pass
        case _:
            return "the answer's pair is not two events"
    if verdict not in ("<", ">", "||", "<>", "?"):
        return "the answer's verdict is no relation that online decision making concludes"
    if verdict == ">":
        left, verdict, right = right, "<", left
    conclusion = derivation.get("conclusion") if isinstance(derivation, dict) else None
    if conclusion != {"judgement": "online", "left": left, "relation": verdict, "right": right}:
        return "the derivation does not conclude what the answer says of its pair"
    return None
