"""A replica and the others: `replica serve`, `member add`, `member evict`, `renew`, `compact`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from re import fullmatch
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output
from microcosm.cli.options import endpoint_of
from microcosm.cli.replica.knowledge import opened
from microcosm.errors import MicrocosmError
from microcosm.files import STDIN, host_and_port
from microcosm.replica.admission import Quota
from microcosm.replica.ledger.forgetting import Forgetting

if TYPE_CHECKING:
    from microcosm.replica.network.members import Unserved


app = Typer()
member = Typer(help="The other replicas that one exchanges messages with.", no_args_is_help=True)

Name = Annotated[str, Argument(metavar="NAME", help="What the other replica is called.")]


Author = Annotated[
    str | None,
    Option("--author", metavar="KEY", help="The key that it signs with; `replica authors` shows it."),
]


@member.command("add")
def add(
    path: options.Journal,
    name: Name,
    address: Annotated[str, Argument(metavar="HOST:PORT", help="Where it listens.")],
    author: Author = None,
) -> int:
    """Add a member, or change the address of one.

    Without --author the first key that it signs with is taken for its own. A replica that is being served is
    told so on its standard input instead.

    \b
    Example:
      microcosm replica member add phone.journal laptop 192.0.2.7:7001
    """
    where = endpoint_of(address)
    with network_of(path) as network:
        network.trust(name, author)
        network.add_member(name, where)
        return _show(path, network)


@member.command("evict")
def evict(path: options.Journal, name: Name) -> int:
    """Give a member up for good: nothing of its incarnation is accepted any more, nothing waits for it.

    The others follow as soon as they hear of it. It comes back as a new incarnation, which is added anew.

    \b
    Example:
      microcosm replica member evict phone.journal laptop
    """
    with network_of(path) as network:
        lost = network.evict(name)
        message = f"{name} is no member any more; the others follow when they hear of it"
        return _show(path, network, lost, message)


@member.command("replace")
def replace(
    path: options.Journal,
    name: Name,
    address: Annotated[
        str | None, Argument(metavar="HOST:PORT", help="Where it listens now, if that is new.")
    ] = None,
    author: Author = None,
    incarnation: Annotated[
        int | None, Option(metavar="N", help="The new one: if it is known already, it stays.")
    ] = None,
) -> int:
    """Let a member in that has begun a new incarnation, in the place of the old one.

    That is to evict it, unless this replica heard that another one did, and to add it again: after `replica
    restore` or `replica renew` there, which say the --incarnation. Names the messages that the old one had
    not acknowledged: they are not sent again by themselves. Where it lost its
    key, which a backup has, --author states the new one.

    \b
    Example:
      microcosm replica member replace phone.journal laptop
    """
    where = None if address is None else endpoint_of(address)
    with network_of(path) as network:
        return _show(path, network, network.replace(name, where, incarnation, author))


@app.command("renew")
def renew(path: options.Journal, author: Author = None) -> int:
    """Begin a new incarnation: after an eviction, or where the journal is an old copy.

    What it knows stays. What it had sent and nobody acknowledged is lost, and the others must evict the old
    incarnation and add it again. --author is a key that it had before, where the copy is older than that key:
    it takes what it has said with it from the others.

    \b
    Example:
      microcosm replica renew laptop.journal
    """
    with opened(path) as replica:
        if author is not None:
            replica.sign()
            replica.had_key(author)
        replica.renew()
        incarnation = replica.stream[1]
        fields = {"file": path, "name": replica.name, "incarnation": incarnation}
        return output.answer(fields, f"{replica.name} is incarnation {incarnation} now")


@app.command("compact")
def compact(path: options.Journal) -> int:
    """Put a snapshot in the place of all records, so that the journal is small and opens fast.

    \b
    Example:
      microcosm replica compact phone.journal
    """
    from microcosm.replica.network.write_ahead import STATE

    before = Path(path).stat().st_size if Path(path).exists() else 0
    with network_of(path) as network:
        network.network.hasten()
        network.network.flush()
        network.replica.recorded(STATE, network.network.state())
        network.replica.compact()
    after = Path(path).stat().st_size
    message = f"{before:,} bytes before, {after:,} after"
    return output.answer({"file": path, "before": before, "after": after}, message)


@contextmanager
def network_of(path: str) -> Iterator[Unserved]:
    """A replica and its network, without a socket."""
    from microcosm.replica.network.members import Unserved

    with opened(path) as replica:
        yield Unserved(replica)


def _show(path: str, network: Unserved, lost: Sequence[str] = (), *message: str) -> int:
    """Answer with a `message`, the messages that are lost and the members that there are; the code."""
    members = [(each.name, host_and_port(each.host, each.port)) for each in network.network.process.members]
    fields: dict[str, object] = {"file": path, "members": [{"name": n, "address": a} for n, a in members]}
    lines = [*message, *(f"not acknowledged, and not sent again: {output.printable(each)}" for each in lost)]
    lines += [f"{name} at {address}" for name, address in members]
    return output.answer({**fields, "lost": list(lost)} if lost else fields, lines)


@app.command("serve")
def serve(
    path: Annotated[str, Argument(metavar="PATH", help="The journal; a new one needs --name.")],
    keys: Annotated[str, Option(metavar="KEYS", help="The key file of the group; see `replica key new`.")],
    name: Annotated[str | None, Option(metavar="N", help="What the others call this replica.")] = None,
    listen: Annotated[str, Option(metavar="HOST:PORT", help="Where to listen; port 0: any.")] = "127.0.0.1:0",
    member: Annotated[
        list[str] | None, Option(metavar="N=HOST:PORT", help="Another replica; once for each new one.")
    ] = None,
    every: Annotated[
        float, Option(metavar="SECONDS", min=0.05, help="How often to exchange with each member.")
    ] = 1.0,
    metrics: Annotated[
        str | None, Option(metavar="FILE", help="Keep metrics there, in the OpenMetrics text format.")
    ] = None,
    http: Annotated[
        str | None, Option(metavar="HOST:PORT", help="Answer GET /metrics, /healthz and /readyz there.")
    ] = None,
    socket: Annotated[
        str | None, Option(metavar="FILE", help="Take the same lines over a Unix socket, mode 0600.")
    ] = None,
    log: Annotated[
        str, Option(metavar="text|json", help="How warnings are written on standard error.")
    ] = "text",
    window: Annotated[
        int | None, Option(metavar="N", min=1, help="Keep about so many events of each process.")
    ] = None,
    size: Annotated[
        int | None, Option(metavar="N", min=1, help="Keep about so many evolutions in all.")
    ] = None,
    quota: Annotated[
        list[str] | None,
        Option(
            metavar="WHAT=N",
            help="Of each other author take at most: rate=N a second, held=N evolutions, bytes=N.",
        ),
    ] = None,
    stay: Annotated[bool, Option("--stay", help="Go on after the end of standard input.")] = False,
) -> int:
    """Take part: messages in causal order, exactly once, and exchanges of knowledge, until told to stop.

    Reads JSON lines such as {"do": "local", "event": "upload"} and answers each with one; what comes from
    others is told in lines of its own. docs/guides/replica.md lists them. Ends at SIGTERM, SIGINT, {"do":
    "stop"} and, without --stay, at the end of the input; SIGHUP reads the keys again. What goes by --window
    and --size is the oldest; what followed through it of the rest is kept.

    \b
    Example:
      microcosm replica serve phone.journal --keys album.keys --listen 0.0.0.0:7001
    """
    import asyncio

    from microcosm.cli.replica.monitor import Interfaces, Log
    from microcosm.cli.replica.serving import Serving

    members = {}
    for each in member or ():
        called, equals, where = each.partition("=")
        if not equals:
            raise exits.UsageError(f"--member {each}: a member is NAME=HOST:PORT")
        members[called] = endpoint_of(where)
    if log not in ("text", "json"):
        raise exits.UsageError(f"--log {log}: it is text or json")
    if options.rules() is not None:
        raise exits.UsageError("--rules: a replica that is served goes by the shipped rules")
    if metrics == STDIN or (metrics and Path(metrics).exists() and not Path(metrics).is_file()):
        raise exits.UsageError(f"--metrics {metrics}: it names a file, which is replaced each time")
    interfaces = Interfaces(socket, None if http is None else endpoint_of(http, listens=True), metrics, log)
    serving = Serving(path, keys, stay, interfaces)
    forgetting = Forgetting(window=window, size=size)
    bounds = _quota(quota or ())
    try:
        return asyncio.run(
            serving.run(name, endpoint_of(listen, listens=True), members, every, forgetting, bounds)
        )
    except (MicrocosmError, OSError) as error:
        if log == "json" and not isinstance(error, exits.UsageError):
            Log.put("error", str(error))
            return exits.BAD_INPUT
        raise


def _quota(stated: Sequence[str]) -> Quota | None:
    """What `--quota` states. Raises `UsageError`."""
    found: dict[str, int] = {}
    for each in stated:
        parts = fullmatch(r"(rate|held|bytes)=([0-9]{1,18})", each)
        if parts is None or not int(parts[2]):
            raise exits.UsageError(f"--quota {each}: a quota is rate=N, held=N or bytes=N")
        found[parts[1]] = int(parts[2])
    return Quota(**found) if found else None
