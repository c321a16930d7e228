"""`replica serve`: a replica on the network, driven by JSON lines."""

from __future__ import annotations

from typing import Annotated

import typer

from microcosm.cli import exits, options, output



@app.command("serve")
def serve(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The journal; a new one needs --name.")],
    keys: Annotated[
        str, typer.Option("--keys", metavar="KEYS", help="The key file of the group; see `replica key new`.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="N", help="What the others call this replica.")
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen; port 0: any.")
    ] = "127.0.0.1:0",
    member: Annotated[
        list[str] | None,
        typer.Option("--member", metavar="N=HOST:PORT", help="Another replica; once for each new one."),
    ] = None,
    every: Annotated[
        float,
        typer.Option("--every", metavar="SECONDS", min=0.05, help="How often to exchange with each member."),
    ] = 1.0,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", metavar="FILE", help="Keep metrics there, in the OpenMetrics text format."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="N", min=1, help="Keep about so many events of each process."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="N", min=1, help="Keep about so many evolutions in all."),
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Go on after the end of standard input.")] = False,
    rules: options.Rules = None,
) -> int:
    """Take part: messages in causal order, exactly once, and exchanges of knowledge, until told to stop.

    Reads JSON lines such as {"do": "local", "event": "upload"} and answers each with one; what comes from
    others is told in lines of its own. docs/replica.md lists them. Ends at SIGTERM, SIGINT, {"do": "stop"}
    and, without --stay, at the end of the input; SIGHUP reads the keys again. What goes by --window and
    --size is the oldest; what followed through it of the rest is kept.

    \b
    Example:
      microcosm replica serve phone.journal --keys album.keys --listen 0.0.0.0:7001
    """
    import asyncio

    from microcosm.cli.replica.serving import Serving
    from microcosm.cli.replica.network import endpoint_of
    from microcosm.replica.ledger.ledger import Forgetting

    members = {}
    for each in member or ():
        called, equals, where = each.partition("=")
        if not equals:
            raise exits.UsageError(f"--member {each}: a member is NAME=HOST:PORT")
        members[called] = endpoint_of(where)
    serving = Serving(path, keys, metrics, stay)
    forgetting = Forgetting(window=window, size=size)
    asyncio.run(serving.run(name, endpoint_of(listen), members, every, forgetting))
    output.finish()
    return exits.HOLDS
