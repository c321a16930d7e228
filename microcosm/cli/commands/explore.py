"""`explore`: every interleaving of a few messages, for a delivery protocol."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.protocol.catalogue import Protocol
    from microcosm.simulation.explore import Explored, Surveyed
    from microcosm.simulation.explore_state import ExploreScope


app = typer.Typer()

MOST_PROCESSES = 6
MOST_MESSAGES = 10
EVERY = 10.0
"""Seconds between lines of progress."""


@app.command("explore")
def explore(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", help="Its name, as for simulate.")],
    processes: Annotated[str, typer.Option("--processes", metavar="N", help="How many.")] = "3",
    messages: Annotated[str, typer.Option("--messages", metavar="M", help="Causal sends, at most.")] = "2",
    reorder: Annotated[bool, typer.Option("--reorder", help="Packets may overtake each other.")] = False,
    losses: Annotated[str, typer.Option("--losses", metavar="N", help="So many packets are lost.")] = "0",
    doubles: Annotated[str, typer.Option("--doubles", metavar="N", help="So many come twice.")] = "0",
    multicasts: Annotated[
        str | None,
        typer.Option("--multicasts", metavar="N", help="So many messages have several receivers, at most."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Processes also send from within a delivery.")
    ] = False,
    workloads: Annotated[
        bool,
        typer.Option("--workloads", help="Each workload by itself, without what makes no difference."),
    ] = False,
    most: Annotated[
        str, typer.Option("--most", metavar="N", help="Give up after so many states (a workload).")
    ] = "2000000",
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """Follow every interleaving of a few messages between a few processes, and check all of them.

    Processes send anything at any time, on FIFO links without loss unless asked otherwise. No delivery
    may come twice or break causal order, and nothing may be missing at the end. A fault is shown by a
    shortest scenario (exit 1); where the search gave up nothing is known (exit 3).

    With --workloads who sends what to whom, in its order, is fixed in turn: all the workloads together are
    everything again, and larger scopes come to an end. States are then counted for each workload.

    \b
    Example:
      microcosm explore hybrid-sps --messages 3 --reorder
      microcosm explore hybrid-multicast-sps --messages 4 --reorder --workloads
      microcosm explore cykas --reorder --losses 1
    """
    from microcosm.protocol.catalogue import PROTOCOLS
    from microcosm.simulation.explore_state import ExploreScope

    if protocol not in PROTOCOLS:
        raise exits.UsageError(f"no protocol {protocol!r}; there are: {', '.join(PROTOCOLS)}")
    if workloads and answers:
        raise exits.UsageError("--answers does not go with --workloads: a workload says who sends, not when")
    scope = ExploreScope(
        processes=options.natural("--processes", processes, 2, MOST_PROCESSES),
        messages=options.natural("--messages", messages, 0, MOST_MESSAGES),
        reorder=reorder,
        losses=options.natural("--losses", losses, 0, MOST_MESSAGES),
        doubles=options.natural("--doubles", doubles, 0, MOST_MESSAGES),
        answers=answers,
        multicasts=None if multicasts is None else options.natural("--multicasts", multicasts, 0, 10),
        most=options.natural("--most", most, 1, 10**9),
    )
    found = PROTOCOLS[protocol]
    outside = _outside(found, scope)
    if outside:
        output.note(f"{protocol} is not made for a network with {' and '.join(outside)}")
    explored = _explored(found, scope, workloads)
    if json:
        output.emit(_fields(protocol, scope, explored))
    else:
        _show(protocol, scope, explored)
    if explored.fault is not None:
        return exits.REFUTED
    return exits.HOLDS if explored.complete else exits.UNDECIDED


def _outside(protocol: Protocol, scope: ExploreScope) -> list[str]:
    """What the network does that the protocol is not made for."""
    tolerated = protocol.machine.TOLERATES
    does = {"loss": scope.losses > 0, "duplicate": scope.doubles > 0, "reorder": scope.reorder}
    names = {"loss": "loss", "duplicate": "duplication", "reorder": "reordering"}
    return [names[what] for what, happens in does.items() if happens and what not in tolerated]


def _explored(protocol: Protocol, scope: ExploreScope, by_workload: bool) -> Explored | Surveyed:
    from microcosm.simulation.explore import Explorer, survey, workloads

    if not by_workload:
        return Explorer(protocol, scope).run()
    total = sum(1 for _ in workloads(protocol, scope))
    last, states = monotonic(), 0

    def each(count: int, one: Explored) -> None:
        nonlocal last, states
        states += one.states
        if monotonic() - last >= EVERY:
            last = monotonic()
            output.note(f"{count:,} of {total:,} workloads, {states:,} states")

    return survey(protocol, scope, each)


def _fields(protocol: str, scope: ExploreScope, explored: Explored | Surveyed) -> dict[str, object]:
    return {
        "protocol": protocol,
        "processes": scope.processes,
        "messages": scope.messages,
        "reorder": scope.reorder,
        "losses": scope.losses,
        "doubles": scope.doubles,
        "multicasts": scope.multicasts,
        "answers": scope.answers,
        "workloads": getattr(explored, "workloads", None),
        "states": explored.states,
        "largest": getattr(explored, "largest", explored.states),
        "complete": explored.complete and explored.fault is None,
        "fault": explored.fault,
        "scenario": explored.scenario,
    }


def _show(protocol: str, scope: ExploreScope, explored: Explored | Surveyed) -> None:
    network = [
        "reordering" if scope.reorder else "FIFO",
        *([f"{scope.losses} lost"] if scope.losses else []),
        *([f"{scope.doubles} doubled"] if scope.doubles else []),
    ]
    output.say(f"{protocol}: {scope.processes} processes, {scope.messages} messages ({', '.join(network)})")
    states = f"{explored.states:,} states"
    count = getattr(explored, "workloads", None)
    if count is not None:
        states += f" of {count:,} workloads"
    if explored.fault is not None:
        output.say(f"{explored.fault}; the shortest scenario, after {states}:")
        output.say("")
        output.say((explored.scenario or "").rstrip("\n"))
    elif explored.complete:
        output.say(f"nothing is wrong in {states}")
    else:
        output.say(f"nothing is wrong so far, in {states}; --most allows more")
