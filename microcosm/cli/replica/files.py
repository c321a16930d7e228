"""The files of a replica: `replica fsck`, `replica backup`, `replica restore`, `replica key`."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output
from microcosm.cli.replica import knowledge as replica_knowledge
from microcosm.cli.replica import network as replica_members
from microcosm.cli.replica import status as replica_status
from microcosm.cli.replica.network import network_of
from microcosm.errors import KeyFileError, LockedJournal

if TYPE_CHECKING:
    from microcosm.replica.journal.examine import FsckReport


keys = Typer(help="The keys that a group of replicas shares.", no_args_is_help=True)
app = Typer(
    help="A durable microcosm: what it knows, exchange with others, and its journal.", no_args_is_help=True
)
for part in (replica_knowledge, replica_status, replica_members):
    app.registered_commands += part.app.registered_commands
app.add_typer(replica_members.member, name="member")
app.add_typer(keys, name="key")


@app.command("fsck")
def fsck(
    path: options.Journal,
    repair: Annotated[
        bool, Option("--repair", help="Keep a copy, then cut the journal where it stops being what it was.")
    ] = False,
) -> int:
    """Whether a journal is what was written to it.

    Checks the write-ahead log, the pages, the chain of hashes through all records, and the head file, which
    says how far they were durable. Changes nothing without --repair. A last transaction that a crash cut
    short is no damage. Exit 0 if all is well or was repaired, 4 if it is damaged.

    \b
    Example:
      microcosm replica fsck album.journal
    """
    from microcosm.replica.journal.examine import fsck as check

    found = check(path, repair=repair)
    for fault in found.faults:
        output.complain(f"damaged: {fault}")
    code = exits.HOLDS if found.repaired or not found.faults else exits.BAD_INPUT
    return output.answer({"file": path, **found._asdict()}, _lines(found), code)


def _lines(found: FsckReport) -> list[str]:
    """What was found, for people."""
    count = found.last - found.first + 1
    kept = f"records {found.first} to {found.last}" if count > 0 else "no records"
    before = "" if found.snapshot is None else f", after a snapshot through record {found.snapshot}"
    lines = [f"{output.printable(found.application)}, version {found.version}: {kept}{before}"]
    if found.dropped:
        lines.append(
            f"{found.dropped} pages of a transaction that a crash cut short; nobody was told it stood"
        )
    if found.lost is not None:
        lines.append(f"lost: records {found.last + 1} to {found.lost}")
    if found.repaired:
        lines.append(f"repaired; the files as they were are in {output.printable(found.copy or '')}")
    elif found.faults:
        lines.append("damaged; --repair cuts what does not check, and keeps a copy")
    else:
        lines.append("all is well")
    return lines


@app.command("backup")
def backup(
    path: options.Journal,
    out: Annotated[str, Argument(metavar="OUT", help="Where the copy goes; nothing may be there.")],
) -> int:
    """Copy a journal as it is at this moment, while it is in use or not.

    The copy is checked as it is made, and is durable when the command ends.

    \b
    Example:
      microcosm replica backup album.journal album.backup
    """
    from microcosm.replica.journal import Reader
    from microcosm.replica.journal.examine import backup as copy

    with Reader(path, application=None) as reader:
        last = copy(reader, out)
    message = f"{output.printable(out)}: up to record {last}"
    return output.answer({"file": path, "copy": out, "last": last}, message)


Keys = Annotated[str, Argument(metavar="KEYS", help="The key file, readable by its owner only.")]


@app.command("restore")
def restore(
    backup: Annotated[str, Argument(metavar="BACKUP", help="A copy that `replica backup` made.")],
    path: Annotated[str, Argument(metavar="JOURNAL", help="Where it goes; nothing may be there.")],
) -> int:
    """Put a backup in the place of a journal that is lost, as a new incarnation of its replica.

    It may lack what others have seen of this replica. So nothing goes on under its old incarnation: what
    the others know comes back by exchange, once each of them has said `replica member replace`. What was sent
    to it and not acknowledged is told there, and is to be sent again.

    \b
    Example:
      microcosm replica restore phone.backup phone.journal
    """
    from microcosm.replica.journal import Reader
    from microcosm.replica.journal.examine import backup as copy
    from microcosm.replica.journal.files import Files
    from microcosm.replica.store import APPLICATION

    with Reader(backup, application=APPLICATION) as reader:
        copy(reader, path)
    try:
        with network_of(path) as network:
            replica, members, gone = network.replica, network.members, network.lost()
            incarnation = replica.known_as
    except LockedJournal:  # somebody goes on with it already
        raise
    except BaseException:
        Files(Path(path)).remove()
        raise
    found = {"file": path, "name": replica.name, "incarnation": incarnation, "members": members}
    lines = [f"{path} is the replica {replica.name}, incarnation {incarnation}"]
    lines += [f"not known to have reached {name}: {', '.join(messages)}" for name, messages in gone.items()]
    command = f"microcosm replica member replace JOURNAL {quote(replica.name)} --incarnation {incarnation}"
    lines += [f"at {name}: {command}" for name in members]
    return output.answer({**found, "lost": gone}, map(output.printable, lines))


@keys.command("new")
def new(file: Keys) -> int:
    """Make a key file for a group of replicas; bring it to each of them on a way that others cannot read.

    \b
    Example:
      microcosm replica key new album.keys
    """
    from microcosm.replica.network.keys import new_ring, write_keys

    if Path(file).exists():
        raise KeyFileError(f"{file}: there is something already; choose another path, or `key rotate`")
    write_keys(file, new_ring())
    keys = [{"id": 1, "starts": 0.0, "ends": None}]
    message = f"{output.printable(file)}: key 1; only you can read it"
    return output.answer({"file": file, "keys": keys}, message)


@keys.command("rotate")
def rotate(
    file: Keys,
    overlap: Annotated[
        float, Option(metavar="HOURS", min=0.01, max=1e6, help="How long the old key is still accepted.")
    ] = 168.0,
) -> int:
    """Add a new key, and state when the old one ends.

    Bring the new file to every replica in the first half of the overlap; the second half is sealed with the
    new key. A replica that is being served reads it on SIGHUP. Exit 4 in the midst of another rotation.

    \b
    Example:
      microcosm replica key rotate album.keys --overlap 24
    """
    from microcosm.replica.network.keys import SECRET_BYTES, read_keys, write_keys

    ring = read_keys(file).rotated(os.urandom(SECRET_BYTES), time.time(), overlap * 3600)
    write_keys(file, ring)
    stated = [{"id": key.id, "starts": key.starts, "ends": key.ends} for key in ring.keys]
    lines = []
    for key in ring.keys:
        starts, ends = (
            datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC") if at else None
            for at in (key.starts, key.ends)
        )
        spans = [f"sent with from {starts} on" if starts else "", f"accepted until {ends}" if ends else ""]
        lines.append(f"key {key.id}: {', '.join(filter(None, spans)) or 'in force'}")
    return output.answer({"file": file, "keys": stated}, lines)
