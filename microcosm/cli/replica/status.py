"""How a replica is, and who signs what: `replica status`, `metrics`, `authors`, `proof`."""

from __future__ import annotations

import json as json_text
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output
from microcosm.cli.output import counted
from microcosm.cli.replica.knowledge import conflict_lines, looked_into
from microcosm.errors import Malformed
from microcosm.files import display_name, host_and_port, read_text
from microcosm.logic.derivation import proof_object
from microcosm.replica.ledger.chain import imported
from microcosm.replica.ledger.dots import Dot

if TYPE_CHECKING:
    from microcosm.replica.network.process import Process
    from microcosm.replica.replica import Replica

app = Typer()

MOST = 20
"""So many messages that wait are named at most, for people."""


@app.command("status")
def status(
    path: options.Journal,
    watch: Annotated[
        bool,
        Option(
            "--watch",
            help="Go on showing it, until Ctrl-C (in a pipe: view after view); it may be served meanwhile.",
        ),
    ] = False,
    every: Annotated[float, Option(metavar="SECONDS", min=0.1, help="With --watch: how often.")] = 1.0,
) -> int:
    """What a replica holds, what each message that waits is waiting for, and what is set aside.

    It is what the journal says at this moment, whether or not the replica is being served. What is set aside
    contradicts itself, and comes with both derivations. Exit 1 where another replica knows something else of
    what happened at this one: its journal was put back, or runs twice.

    \b
    Example:
      microcosm replica status phone.journal
    """
    if watch:
        if output.for_machines():
            raise exits.UsageError("--watch is for people; ask for --json again and again")
        if sys.__stdout__ is None:  # closed: nobody would ever see it
            raise BrokenPipeError
        return _watch(path, every)
    with looked_into(path) as replica:
        process = network_in(replica)
        code = exits.REFUTED if replica.divergences else exits.HOLDS
        aside = chain.from_iterable(map(conflict_lines, replica.conflicts))
        shown = chain(map(output.printable, lines(replica, process)), aside)
        return output.answer(lambda: fields(path, replica, process), shown, code)


@app.command("metrics")
def metrics(path: options.Journal) -> int:
    """What a replica holds, in the OpenMetrics text format.

    What only lasts as long as the replica is served (packets, drops, times of commits) is in the file that
    `replica serve --metrics FILE` keeps.

    \b
    Example:
      microcosm replica metrics phone.journal
    """
    from microcosm.replica.network.status import exposition

    with looked_into(path) as replica:
        text = exposition(replica)
    return output.answer({"file": path, "metrics": text}, text.removesuffix("\n"))


def network_in(replica: Replica) -> Process:
    """What the network of a replica remembers, not started."""
    from microcosm.replica.network.process import Process
    from microcosm.replica.network.write_ahead import STATE, remembered

    found = remembered(replica.network, replica.noted(STATE))
    return Process(replica.name, replica.known_as) if found is None else found


def fields(path: str, replica: Replica, process: Process) -> dict[str, Any]:
    """The fields of the JSON answer."""
    from microcosm.replica.network.members import gone, lost
    from microcosm.replica.network.status import blocked, divergences

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
        "gone": gone(replica, process),
        "authors": replica.author_keys,
        "proofs": len(replica.proofs),
        "twice": replica.twice,
        "digest": replica.digest(),
        "peers": list(_peers(process)),
        "evicted": process.evicted,
        "waiting": [each._asdict() for each in blocked(process)],
    }


def lines(replica: Replica, process: Process) -> Iterator[str]:
    """What a replica holds and what waits, a line each, for people; what is set aside is left out."""
    from microcosm.replica.network.members import gone, lost
    from microcosm.replica.network.status import blocked, divergences

    counts = replica.counts()
    yield f"replica {replica.name}, incarnation {replica.stream[1]}"
    if replica.members:
        yield f"members: {', '.join(replica.members)}"
    yield f"{counted(counts['events'], 'event')}, {counted(counts['correspondences'], 'correspondence')}"
    seen, removals = counted(counts["seen"], "evolution"), counted(counts["removals"], "removal")
    yield f"{counts['held']:,} held of {seen} seen, {removals}"
    if counts["unread"]:
        yield f"{counts['unread']:,} of these are of a newer version, and unread until a newer program does"
    yield f"digest {replica.digest()}"
    if replica.signs:
        yield f"signs with {replica.author_keys[replica.name][0]}"
    for found in divergences(replica):
        yield f"diverged: {found['why']}"
    for name, messages in lost(replica).items():
        text = f"{len(messages):,} messages to {name} were not acknowledged, and are not sent any more"
        yield f"{text}: {', '.join(messages[:MOST])}{', …' if messages[MOST:] else ''}"
    for event in replica.twice:
        yield f"in two places, and therefore in no chain: {event}"
    if process.evicted:
        yield "evicted: `replica renew` starts afresh"
    for name, where in gone(replica, process).items():
        text = f"{name}, at {host_and_port(*where)}, was evicted by another member"
        yield f"{text}; `replica member replace` lets it in"
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
            "address": host_and_port(member.host, member.port),
            "incarnation": member.incarnation,
            "missing permits": missing.count(member.number),
        }


def _watch(path: str, every: float) -> int:
    """Show it again and again: in its place on a terminal, one view after the other elsewhere."""
    with ExitStack() as stack:
        live = None
        if output.is_terminal(sys.stdout):
            from rich.live import Live
            from rich.text import Text

            live = stack.enter_context(Live(auto_refresh=False))
        with suppress(KeyboardInterrupt):
            while True:
                if live is not None:
                    live.update(Text("\n".join(_view(path))), refresh=True)
                else:
                    output.say(*_view(path), "")
                    output.finish()
                time.sleep(every)
    return exits.HOLDS


def _view(path: str) -> list[str]:
    with looked_into(path) as replica:
        found = [*lines(replica, network_in(replica))]
        found += [f"set aside: {conflict}" for conflict in replica.conflicts]
    return [output.printable(line) for line in found]


@app.command("authors")
def authors(path: options.Journal) -> int:
    """The keys that replicas sign with, as far as this one knows them, its own first.

    Whoever adds this replica may state its key (`member add --author`), and need not trust the first one that
    is heard of.

    \b
    Example:
      microcosm replica authors phone.journal
    """
    with looked_into(path) as replica:
        keys, own = replica.author_keys, replica.name
    names = sorted(keys, key=lambda name: (name != own, name))
    lines = (f"{output.printable(name)} {key}" for name in names for key in keys[name])
    return output.answer({"file": path, "authors": keys}, lines)


@app.command("proof")
def proof(
    path: Annotated[str, Argument(metavar="PATH", help="A journal; with --check a proof.")],
    check: Annotated[bool, Option("--check", help="Check a proof that somebody else wrote.")] = False,
) -> int:
    """The proofs that a replica has signed two things: two heads of one stream that cannot be of one chain.

    Each is an object of JSON, a line each, that anybody can --check, with nothing but itself: whoever has the
    key named in it has signed both. Exit 1 if there is one, 0 if there is none; with --check 0 if each line
    is a proof, 1 if one proves nothing.

    \b
    Example:
      microcosm replica proof phone.journal
    """
    if not check:
        with looked_into(path) as replica:
            found = [json_text.loads(each.exported()) for each in replica.proofs]
        shown = map(json_text.dumps, found)
        return output.answer({"file": path, "proofs": found}, shown, exits.holding(not found))
    parts = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            each = imported(line)
        except Malformed as error:
            raise Malformed(f"{display_name(path)}:{number}: {error}") from None
        parts.append((each, each.holds()))
    if not parts:
        raise Malformed(f"{path}: no proof in it")
    holds = all(good for _, good in parts)
    lines = (
        f"who has the key {each.one.key.hex()} has signed two things under"
        f" {output.printable(str(Dot(*each.stream, each.number)))}"
        if good
        else f"{output.printable(each.stream[0])}: proves nothing"
        for each, good in parts
    )
    fields = {"file": path, "holds": holds, "streams": [list(each.stream) for each, _ in parts]}
    return output.answer(fields, lines, exits.holding(holds))
