"""Who signs what, and the proofs against who signed two things: `replica authors`, `replica proof`."""

from __future__ import annotations

import json as json_text
from pathlib import Path as File
from typing import Annotated

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()

Path = Annotated[str, typer.Argument(metavar="PATH", help="The journal of a replica.")]


@app.command("authors")
def authors(path: Path, json: options.Json = False) -> int:
    """The keys that replicas sign with, as far as this one knows them, its own first.

    Whoever adds this replica may state its key (`member add --author`), and need not trust the first one that
    is heard of.

    \b
    Example:
      microcosm replica authors phone.journal
    """
    from microcosm.cli.replica.knowledge import looked_into

    with looked_into(path) as replica:
        keys, own = replica.author_keys, replica.name
    if json:
        output.emit({"file": path, "authors": keys})
        return exits.HOLDS
    for name in sorted(keys, key=lambda name: (name != own, name)):
        output.say(*(f"{output.printable(name)} {key}" for key in keys[name]))
    return exits.HOLDS


@app.command("proof")
def proof(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A journal; with --check a proof.")],
    check: Annotated[bool, typer.Option("--check", help="Check a proof that somebody else wrote.")] = False,
    json: options.Json = False,
) -> int:
    """The proofs that a replica has signed two things: two heads of one stream that cannot be of one chain.

    Each is an object of JSON, a line each, that anybody can --check, with nothing but itself: whoever has the
    key named in it has signed both. Exit 1 if there is one, 0 if there is none; with --check 0 if each line
    is a proof, 1 if one proves nothing.

    \b
    Example:
      microcosm replica proof phone.journal
    """
    from microcosm.cli.replica.knowledge import looked_into
    from microcosm.errors import Malformed
    from microcosm.replica.ledger.chain import imported
    from microcosm.replica.ledger.dots import Dot

    if not check:
        with looked_into(path) as replica:
            found = [json_text.loads(each.exported()) for each in replica.proofs]
        if json:
            output.emit({"file": path, "proofs": found})
        else:
            output.say(*map(json_text.dumps, found))
        return exits.REFUTED if found else exits.HOLDS
    told = []
    try:
        for line in filter(str.strip, File(path).read_text(encoding="utf-8").splitlines()):
            each = imported(line)
            told.append((each, each.holds()))
    except (OSError, UnicodeDecodeError) as error:
        raise Malformed(f"{path}: cannot be read: {error}") from None
    if not told:
        raise Malformed(f"{path}: no proof in it")
    holds = all(good for _, good in told)
    if json:
        output.emit({"file": path, "holds": holds, "streams": [list(each.stream) for each, _ in told]})
    else:
        for each, good in told:
            key = each.one.key.hex()
            dot = output.printable(str(Dot(*each.stream, each.number)) if good else each.stream[0])
            said = f"who has the key {key} has signed two things under {dot}" if good else "proves nothing"
            output.say(said if good else f"{dot}: {said}")
    return exits.HOLDS if holds else exits.REFUTED
