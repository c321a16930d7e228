"""Key files: `replica key new`, `key rotate`."""

from __future__ import annotations

from typing import Annotated

import typer

from microcosm.cli import exits, options, output

keys = typer.Typer(help="The keys that a group of replicas shares.", no_args_is_help=True)

File = Annotated[str, typer.Argument(metavar="KEYS", help="The key file, readable by its owner only.")]


@keys.command("new")
def new(file: File, json: options.Json = False) -> int:
    """Make a key file for a group of replicas; bring it to each of them on a way that others cannot read.

    \b
    Example:
      microcosm replica key new album.keys
    """
    from pathlib import Path

    from microcosm.errors import KeyFileError
    from microcosm.replica.network.keys import new_ring, write_keys

    if Path(file).exists():
        raise KeyFileError(f"{file}: there is something already; choose another path, or `key rotate`")
    write_keys(file, new_ring())
    if json:
        output.emit({"file": file, "keys": [{"id": 1, "starts": 0.0, "ends": None}]})
    else:
        output.say(f"{output.printable(file)}: key 1; only you can read it")
    return exits.HOLDS


@keys.command("rotate")
def rotate(
    file: File,
    overlap: Annotated[
        float,
        typer.Option("--overlap", metavar="HOURS", min=0.01, help="How long the old key is still accepted."),
    ] = 168.0,
    json: options.Json = False,
) -> int:
    """Add a new key, and state when the old one ends.

    Bring the new file to every replica in the first half of the overlap; the second half is sealed with the
    new key. A replica that is being served reads it on SIGHUP. Exit 4 in the midst of another rotation.

    \b
    Example:
      microcosm replica key rotate album.keys --overlap 24
    """
    import os
    import time
    from datetime import UTC, datetime

    from microcosm.replica.network.keys import SECRET_BYTES, read_keys, write_keys

    ring = read_keys(file).rotated(os.urandom(SECRET_BYTES), time.time(), overlap * 3600)
    write_keys(file, ring)
    if json:
        stated = [{"id": key.id, "starts": key.starts, "ends": key.ends} for key in ring.keys]
        output.emit({"file": file, "keys": stated})
        return exits.HOLDS
    for key in ring.keys:
        starts, ends = (
            datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC") if at else None
            for at in (key.starts, key.ends)
        )
        spans = [f"sent with from {starts} on" if starts else "", f"accepted until {ends}" if ends else ""]
        output.say(f"key {key.id}: {', '.join(filter(None, spans)) or 'in force'}")
    return exits.HOLDS
