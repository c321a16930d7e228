"""How a replica is: `replica status`, `replica metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.replica.network.process import Process
    from microcosm.replica.replica import Replica

app = typer.Typer()

Path = Annotated[str, typer.Argument(metavar="PATH", help="The journal of a replica.")]

MOST = 20
"""So many messages that wait are named at most, for people."""


@app.command("status")
def status(
    path: Path,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Go on showing it, until Ctrl-C (in a pipe: view after view); it may be served meanwhile.",
        ),
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="With --watch: how often.")
    ] = 1.0,
    json: options.Json = False,
) -> int:
    """What a replica holds, what each message that waits is waiting for, and what is set aside.

    It is what the journal says at this moment, whether or not the replica is being served. What is set aside
    contradicts itself, and comes with both derivations. Exit 1 where another replica knows something else of
    what happened at this one: its journal was put back, or runs twice.

    \b
    Example:
      microcosm replica status phone.journal
    """
    from microcosm.cli.replica.knowledge import looked_into, show_conflict

    if watch:
        if json:
            raise exits.UsageError("--watch is for people; ask for --json again and again")
        return _watch(path, every)
    with looked_into(path) as replica:
        process = network_in(replica)
        code = exits.REFUTED if replica.divergences else exits.HOLDS
        if json:
            output.emit(fields(path, replica, process))
            return code
        output.say_all(output.printable(line) for line in lines(replica, process))
        for conflict in replica.conflicts:
            output.say("", output.printable(f"set aside, for it contradicts itself: {conflict}"))
            show_conflict(conflict)
    return code


@app.command("metrics")
def metrics(path: Path) -> int:
    """What a replica holds, in the OpenMetrics text format.

    What only lasts as long as the replica is served (packets, drops, times of commits) is in the file that
    `replica serve --metrics FILE` keeps.

    \b
    Example:
      microcosm replica metrics phone.journal
    """
    from microcosm.cli.replica.knowledge import looked_into
    from microcosm.replica.network.status import exposition

    with looked_into(path) as replica:
        output.say(exposition(replica).removesuffix("\n"))
    return exits.HOLDS


def network_in(replica: Replica) -> Process | None:
    """What the network of a replica remembers, not started; None where there has been none."""
    from microcosm.replica.network.write_ahead import STATE, remembered
    from microcosm.replica.store import LogRecord

    records = (LogRecord(n, kind, payload) for n, (kind, payload) in enumerate(replica.network, 1))
    return remembered(records, replica.noted(STATE))


def fields(path: str, replica: Replica, process: Process | None) -> dict[str, Any]:
    """The fields of the JSON answer."""
    from microcosm.logic.derivation import proof_object
    from microcosm.replica.network.status import blocked, divergences, gone, lost

    return {
        "file": path,
        "name": replica.name,
        "incarnation": replica.stream[1],
        "members": replica.members,
        **replica.counts(),
        "conflicts": [
            {
                "correspondences": [str(fact) for fact in conflict.facts],
                "derivations": [proof_object(side) for side in conflict.derivations()],
            }
            for conflict in replica.conflicts
        ],
        "divergences": divergences(replica),
        "lost": lost(replica),
        "gone": {} if process is None else gone(replica, process),
        "authors": replica.author_keys,
        "proofs": len(replica.proofs),
        "twice": replica.twice,
        "digest": replica.digest(),
        "peers": [] if process is None else list(_peers(process)),
        "evicted": process is not None and process.evicted,
        "waiting": [] if process is None else [each._asdict() for each in blocked(process)],
    }


def lines(replica: Replica, process: Process | None) -> Iterator[str]:
    """What a replica holds and what waits, a line each, for people; what is set aside is left out."""
    from microcosm.replica.network.status import blocked, divergences, gone, lost

    counts = replica.counts()
    yield f"replica {replica.name}, incarnation {replica.stream[1]}"
    if replica.members:
        yield f"members: {', '.join(replica.members)}"
    yield f"{counts['events']:,} events, {counts['correspondences']:,} correspondences"
    yield (f"{counts['held']:,} evolutions held of {counts['seen']:,} seen, {counts['removals']:,} removals")
    if counts["unread"]:
        yield f"{counts['unread']:,} of these are of a newer version, and unread until a newer program does"
    yield f"digest {replica.digest()}"
    if replica.signs:
        yield f"signs with {replica.author_keys[replica.name][0]}"
    for found in divergences(replica):
        yield f"diverged: {found['why']}"
    for name, messages in lost(replica).items():
        said = f"{len(messages):,} messages to {name} were not acknowledged, and are not sent any more"
        yield f"{said}: {', '.join(messages[:MOST])}{', …' if messages[MOST:] else ''}"
    for event in replica.twice:
        yield f"in two places, and therefore in no chain: {event}"
    if process is None:
        return
    if process.evicted:
        yield "evicted: `replica renew` starts afresh"
    for name, (host, port) in gone(replica, process).items():
        yield f"{name}, at {host}:{port}, was evicted by another member; `replica member replace` lets it in"
    for peer in _peers(process):
        met = f"incarnation {peer['incarnation']}" if peer["incarnation"] else "not met yet"
        permits = f", {peer['missing permits']} permits missing" if peer["missing permits"] else ""
        yield f"{peer['name']} at {peer['address']}, {met}{permits}"
    waiting = list(blocked(process))
    for each in waiting[:MOST]:
        yield f"waiting: {each}"
    if len(waiting) > MOST:
        yield f"waiting: {len(waiting) - MOST:,} more"


def _peers(process: Process) -> Iterator[dict[str, Any]]:
    missing = [sender for sender, _ in process.machine.missing()]
    for member in process.members:
        yield {
            "name": member.name,
            "address": f"{member.host}:{member.port}",
            "incarnation": member.incarnation,
            "missing permits": missing.count(member.number),
        }


def _watch(path: str, every: float) -> int:
    """Show it again and again: in its place on a terminal, one view after the other elsewhere."""
    import sys
    from time import sleep

    if output.is_terminal(sys.stdout):
        return _watch_live(path, every)
    with suppress(KeyboardInterrupt):
        while True:
            output.say(*_view(path), "")
            output.finish()
            sleep(every)
    return exits.HOLDS


def _watch_live(path: str, every: float) -> int:
    from time import sleep

    from rich.live import Live
    from rich.text import Text

    with Live(Text("\n".join(_view(path))), auto_refresh=False) as live:
        try:
            while True:
                sleep(every)
                live.update(Text("\n".join(_view(path))), refresh=True)
        except KeyboardInterrupt:
            return exits.HOLDS


def _view(path: str) -> list[str]:
    from microcosm.cli.replica.knowledge import looked_into

    with looked_into(path) as replica:
        found = [*lines(replica, network_in(replica))]
        found += [f"set aside: {conflict}" for conflict in replica.conflicts]
    return [output.printable(line) for line in found]
