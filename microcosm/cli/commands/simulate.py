"""Delivery protocols: `simulate`, on simulated networks; `explore`, through all interleavings."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, Typer

from microcosm.cli import exits, output
from microcosm.cli.output import counted
from microcosm.errors import ProtocolError
from microcosm.files import STDIN
from microcosm.protocol.catalogue import PROTOCOLS

if TYPE_CHECKING:
    from microcosm.protocol.catalogue import Protocol
    from microcosm.simulation.explore import Explored
    from microcosm.simulation.explore_state import ExploreScope
    from microcosm.simulation.simulate import SimulationResult, SimulationSetting

app = Typer()

MOST_PROCESSES = 100_000

QUADRATIC = {"rst": 1_000, "newtop": 1_000, "tree": 2_000, "ks": 5_000, "monitor": 5_000}
"""Each process knows of all others, so that this many take some hundred megabytes or some seconds."""

SHOWN = 5
"""So many violations are told one by one; the rest are counted."""


@app.command("simulate")
def simulate(
    context: Context,
    protocol: Annotated[str, Argument(metavar="PROTOCOL", help="Its name, of those above.")] = "",
    processes: Annotated[int, Option(metavar="N", min=2, max=MOST_PROCESSES, help="How many.")] = 5,
    messages: Annotated[int, Option(metavar="N", min=0, max=10**9, help="Causal sends in all.")] = 100,
    seed: Annotated[int, Option(metavar="N", min=0, max=2**63, help="Same seed, same run.")] = 0,
    loss: Annotated[str, Option(metavar="P", help="Share of packets lost.")] = "0",
    duplicate: Annotated[str, Option(metavar="P", help="Share doubled.")] = "0",
    reorder: Annotated[bool, Option("--reorder", help="Packets may overtake each other.")] = False,
    rtt: Annotated[str, Option(metavar="T", help="Round trip time, or LOW..HIGH for one a pair.")] = "1",
    topology: Annotated[
        str | None, Option(metavar="T", help="Of tree: binary, star, path, 3-ary, or parents: p2,p3,p3,p3.")
    ] = None,
    budget: Annotated[
        int | None,
        Option(metavar="N", min=0, max=10**9, help="Of hybrid-dependencies: so many a message, at most."),
    ] = None,
    trace: Annotated[
        str | None, Option(metavar="OUT", help="All events, as JSON lines (- is standard output).")
    ] = None,
    compare: Annotated[
        bool, Option("--compare", help="Measure all protocols: Table 1 of the literature.")
    ] = False,
    plots: Annotated[str | None, Option(metavar="DIR", help="With --compare: SVG files go there.")] = None,
) -> int:
    """Run a delivery protocol on a simulated network, and check what it delivers.

    Processes send to each other, half of the time in reaction to a delivery, on FIFO links without loss
    unless asked otherwise. Every message must be delivered once, in causal order: exit 1 where it is not.

    Protocols: hybrid-basic, hybrid-sps, hybrid-multicast, hybrid-multicast-sps, hybrid-dependencies, tree,
    monitor, rst, ks, newtop, mf, cykas.

    \b
    Example:
      microcosm simulate hybrid-sps --loss 0.3 --duplicate 0.2 --reorder
      microcosm simulate rst --messages 1000 --trace rst.jsonl
      microcosm simulate tree --processes 20 --topology 4-ary
      microcosm simulate --compare
    """
    if compare:
        from microcosm.cli.commands.simulate_compare import compare_all

        if protocol:
            raise exits.UsageError("--compare measures all protocols: name none")
        where = {each: context.get_parameter_source(each) for each in context.params}
        if {each for each in where if where[each] is where["compare"]} - {"compare", "seed", "plots"}:
            raise exits.UsageError("--compare makes runs of its own: it takes --seed and --plots alone")
        return compare_all(seed, plots)
    from microcosm.simulation.simulate import SimulationSetting

    if protocol not in PROTOCOLS:
        message = f"no protocol {protocol!r}; there" if protocol else "which protocol? There"
        raise exits.UsageError(f"{message} are: {', '.join(PROTOCOLS)}")
    if plots is not None:
        raise exits.UsageError("--plots goes with --compare")
    if output.for_machines() and trace == STDIN:
        raise exits.UsageError("--json and the trace cannot both go to standard output: say --trace OUT")
    if processes > QUADRATIC.get(protocol, processes):
        raise exits.UsageError(
            f"every process of {protocol} keeps account of all others: --processes is at most "
            f"{QUADRATIC[protocol]:,} for it, not {processes:,}"
        )
    setting = SimulationSetting(
        processes=processes,
        messages=messages,
        seed=seed,
        loss=_share("--loss", loss),
        duplicate=_share("--duplicate", duplicate, whole=True),
        reorder=reorder,
        rtt=_times(rtt),
        topology=topology,
        budget=budget,
    )
    outcome = _run(protocol, setting, trace)
    if output.for_machines():
        output.emit(_fields(protocol, setting, outcome))
    elif trace != STDIN:
        _show(protocol, setting, outcome)
    for violation in outcome.violations[:SHOWN]:
        output.warn(str(violation))
    if len(outcome.violations) > SHOWN:
        output.warn(f"and {len(outcome.violations) - SHOWN:,} violations more")
    return exits.holding(not outcome.violations)


def _run(protocol: str, setting: SimulationSetting, trace: str | None) -> SimulationResult:
    from microcosm.simulation.run import TraceLines
    from microcosm.simulation.simulate import simulate as run

    try:
        if trace is None:
            return run(protocol, setting)
        lines = TraceLines()
        with output.opened(trace) as stream:
            return run(
                protocol, setting, lambda event: print(json_format.dumps(lines.line(event)), file=stream)
            )
    except ProtocolError as error:
        raise exits.UsageError(str(error)) from None


def _fields(protocol: str, setting: SimulationSetting, outcome: SimulationResult) -> dict[str, object]:
    from microcosm.simulation.run import process_name

    monitors = PROTOCOLS[protocol].monitors(setting.processes)
    return {
        "protocol": protocol,
        **asdict(setting),
        "causal_at": [process_name(j) for j in monitors],
        **{name: _rounded(value) for name, value in asdict(outcome.statistics).items()},
        "refused": outcome.refused,
        "violations": len(outcome.violations),
        "violated": [str(violation) for violation in outcome.violations[:SHOWN]],
    }


def _rounded(value: float | None) -> float | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 4)
    return value


def _show(protocol: str, setting: SimulationSetting, outcome: SimulationResult) -> None:
    from microcosm.cli.show.tables import draw, new_table
    from microcosm.simulation.run import process_name

    statistics = outcome.statistics
    network = [
        *([f"topology {setting.topology}"] if setting.topology else []),
        *([f"budget {setting.budget}"] if setting.budget is not None else []),
        "reordering" if setting.reorder else "FIFO",
        *([f"{setting.loss:.0%} lost"] if setting.loss else []),
        *([f"{setting.duplicate:.0%} doubled"] if setting.duplicate else []),
    ]
    output.say(
        f"{protocol}: {setting.processes} processes, {counted(statistics.sent, 'message')}"
        f" ({', '.join(network)})"
    )
    output.say("")
    drawn = new_table("measured", numbers=("value",))
    for name, value in (
        ("copies delivered", f"{statistics.delivered:,}"),
        ("integers of metadata a copy", f"{statistics.metadata:.4g}"),
        ("control packets a message", f"{statistics.control:.3g}"),
        ("integers of state, at most", f"{statistics.state:,}"),
        ("operations a message", f"{statistics.operations:.3g}"),
        ("latency, mean", f"{statistics.latency:.3g}"),
        ("latency, longest", f"{statistics.latency_peak:.3g}"),
        ("copies of one sender in transit, at most", f"{statistics.in_transit:,}"),
        ("copies held back at the sender", f"{statistics.held_at_sender:.1%}"),
        ("copies held back at the receiver", f"{statistics.held_at_receiver:.1%}"),
        ("violations", f"{len(outcome.violations):,}"),
    ):
        drawn.add_row(name, value)
    draw(drawn)
    kept_at = PROTOCOLS[protocol].monitors(setting.processes)
    if len(kept_at) < setting.processes:
        output.note(f"causal delivery is promised to {', '.join(map(process_name, kept_at))} only")


def _share(option: str, text: str, whole: bool = False) -> float:
    """A share; all of it where `whole` (a network that loses everything is none)."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 or (share == 1 and not whole):
        raise exits.UsageError(f"{option} is a share from 0 to {'1' if whole else 'below 1'}, not {text!r}")
    return share


def _times(text: str) -> tuple[float, float]:
    low, dots, high = text.partition("..")
    try:
        times = float(low), float(high if dots else low)
    except ValueError:
        times = (0.0, 0.0)
    if not 0 < times[0] <= times[1] < 1e9:
        raise exits.UsageError(f"--rtt is a time above 0 or LOW..HIGH, not {text!r}")
    return times


EVERY = 10.0
"""Seconds between lines of progress."""


@app.command("explore")
def explore(
    protocol: Annotated[str, Argument(metavar="PROTOCOL", help="Its name, as for simulate.")],
    processes: Annotated[int, Option(metavar="N", min=2, max=6, help="How many.")] = 3,
    messages: Annotated[int, Option(metavar="N", min=0, max=10, help="Causal sends, at most.")] = 2,
    reorder: Annotated[bool, Option("--reorder", help="Packets may overtake each other.")] = False,
    losses: Annotated[int, Option(metavar="N", min=0, max=10, help="So many packets are lost.")] = 0,
    doubles: Annotated[int, Option(metavar="N", min=0, max=10, help="So many come twice.")] = 0,
    multicasts: Annotated[
        int | None,
        Option(metavar="N", min=0, max=10, help="So many messages have several receivers, at most."),
    ] = None,
    answers: Annotated[bool, Option("--answers", help="Processes also send from within a delivery.")] = False,
    workloads: Annotated[
        bool, Option("--workloads", help="Each workload by itself, without what makes no difference.")
    ] = False,
    most: Annotated[
        int, Option(metavar="N", min=1, max=10**9, help="Give up after so many states (a workload).")
    ] = 2_000_000,
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
    from microcosm.simulation.explore_state import ExploreScope

    if protocol not in PROTOCOLS:
        raise exits.UsageError(f"no protocol {protocol!r}; there are: {', '.join(PROTOCOLS)}")
    if workloads and answers:
        raise exits.UsageError("--answers does not go with --workloads: a workload says who sends, not when")
    scope = ExploreScope(
        processes, messages, reorder, losses, doubles, answers=answers, multicasts=multicasts, most=most
    )
    found = PROTOCOLS[protocol]
    outside = _outside(found, scope)
    if outside:
        output.note(f"{protocol} is not made for a network with {' and '.join(outside)}")
    explored = _explored(found, scope, workloads)
    code = exits.HOLDS if explored.complete else exits.UNDECIDED
    code = code if explored.fault is None else exits.REFUTED
    return output.answer(
        _explored_fields(protocol, scope, explored), _explored_lines(protocol, scope, explored), code
    )


def _outside(protocol: Protocol, scope: ExploreScope) -> list[str]:
    """What the network does that the protocol is not made for."""
    tolerated = protocol.machine.TOLERATES
    does = {"loss": scope.losses > 0, "duplicate": scope.doubles > 0, "reorder": scope.reorder}
    names = {"loss": "loss", "duplicate": "duplication", "reorder": "reordering"}
    return [names[what] for what, happens in does.items() if happens and what not in tolerated]


def _explored(protocol: Protocol, scope: ExploreScope, by_workload: bool) -> Explored:
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


def _explored_fields(protocol: str, scope: ExploreScope, explored: Explored) -> dict[str, object]:
    names = ("processes", "messages", "reorder", "losses", "doubles", "multicasts", "answers")
    return {
        "protocol": protocol,
        **{name: getattr(scope, name) for name in names},
        "workloads": explored.workloads,
        "states": explored.states,
        "largest": explored.states if explored.largest is None else explored.largest,
        "complete": explored.complete and explored.fault is None,
        "fault": explored.fault,
        "scenario": explored.scenario,
    }


def _explored_lines(protocol: str, scope: ExploreScope, explored: Explored) -> Iterator[str]:
    network = [
        "reordering" if scope.reorder else "FIFO",
        *([f"{scope.losses} lost"] if scope.losses else []),
        *([f"{scope.doubles} doubled"] if scope.doubles else []),
    ]
    messages = counted(scope.messages, "message")
    yield f"{protocol}: {scope.processes} processes, {messages} ({', '.join(network)})"
    states = counted(explored.states, "state")
    if explored.workloads is not None:
        states += f" of {counted(explored.workloads, 'workload')}"
    if explored.fault is not None:
        yield f"{explored.fault}; the shortest scenario, after {states}:"
        yield ""
        yield (explored.scenario or "").rstrip("\n")
    elif explored.complete:
        yield f"nothing is wrong in {states}"
    else:
        yield f"nothing is wrong so far, in {states}; --most allows more"
