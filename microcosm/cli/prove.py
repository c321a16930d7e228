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
    from microcosm.cli.claims import claimed
    from microcosm.logic import kernel

    reading.standard_input_once([file, proof])
    known = reading.load(file, rules)
    fault: str | None
    try:
        stated = json_text.parse(files.read_text(proof), files.display_name(proof))
    except json_text.TwiceError as twice:
        fault = str(twice)
    else:
        derivations, fault = claimed(stated)
        for derivation in derivations if fault is None else ():
            fault = fault or kernel.check(known.givens, known.rules, derivation)
    if json:
        output.emit({"valid": fault is None, "fault": fault})
    elif fault is None:
        output.say("valid: the kernel accepts every step")
    else:
        output.say(f"not valid: {fault}")
    return exits.HOLDS if fault is None else exits.REFUTED
