"""`simulate --compare`: Table 1 of the literature on causal delivery, measured; and knowledge per byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from microcosm.cli import exits, output
from microcosm.givens.relation import Correspondence
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.machine import Delivery
from microcosm.protocol.packets import Packet, encode
from microcosm.queries.possible import Worlds
from microcosm.simulation.run import CAUSAL_SEND, Constant, Event, Network, NetworkLink, Run, carries_message
from microcosm.simulation.simulate import Mixture
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.propagation import MEMBERS

if TYPE_CHECKING:
    from microcosm.simulation.measure import CostRow


def compare_all(seed: int, plots: str | None) -> int:
    """Measure all protocols, print the table, write the plots."""
    from microcosm.simulation.measure import RTTS, SIZES, table

    rows = list(table(seed))
    known = list(knowledge(seed))
    if plots is not None:
        _plot(rows, plots)
    if output.for_machines():
        protocols = []
        for row, one in zip(rows, known, strict=True):
            growth = {cost: _rounded(row.growth(getattr(row, cost)), 2) for cost in COSTS}
            shares = {name: _rounded(share, 5) for name, share in asdict(one).items() if name != "protocol"}
            protocols.append({**asdict(row), "growth": growth, "knowledge": shares})
        output.emit({"seed": seed, "processes": SIZES, "rtts": RTTS, "protocols": protocols})
    else:
        _show(rows)
        _show_knowledge(known)
    return exits.holding(not any(row.violations for row in rows))


COSTS = ("metadata", "octets", "state", "sender", "receiver", "non_causal", "control")


def _rounded(value: object, digits: int) -> object:
    return round(value, digits) if isinstance(value, float) else value


def _show(rows: list[CostRow]) -> None:
    from microcosm.cli.show.tables import draw, new_table
    from microcosm.simulation.measure import MESSAGES, RTTS, SIZES, STREAM

    low, high = SIZES[0], SIZES[-1]
    output.say(
        f"{MESSAGES} messages, half of them reactions, between {low} to {high} processes; round trip time 1.",
        f"A cost is shown for {low} and {high} processes, with its growth n^k between them.",
        "",
    )
    drawn = new_table("protocol", "network")
    for column in ("metadata", "bytes", "state", "sender", "receiver", "non-causal latency"):
        drawn.add_column(column, justify="right")
    for row in rows:
        costs = (row.metadata, row.octets, row.state, row.sender, row.receiver, row.non_causal)
        drawn.add_row(row.protocol, _network(row), *(_cost(row, cost) for cost in costs))
    draw(drawn)
    output.say("", f"{STREAM} messages to one receiver, one every 0.01: when the last one is delivered.", "")
    drawn = new_table("protocol")
    for rtt in RTTS:
        drawn.add_column(f"RTT {rtt}", justify="right")
    for column in ("in transit", "live", "control packets"):
        drawn.add_column(column, justify="right")
    for row in rows:
        finish = (f"{time:.1f}" for time in row.finish)
        live = "yes" if row.live else "no"
        drawn.add_row(row.protocol, *finish, f"{row.in_transit}", live, f"{row.control[0]:.2g}")
    draw(drawn)


def _show_knowledge(known: list[Known]) -> None:
    from microcosm.cli.show.tables import draw, new_table

    output.say(
        "",
        f"{MESSAGES} messages between {PROCESSES} processes: the share of all pairs of causal sends and "
        "deliveries that",
        "a process can decide of what it was told, and that it can narrow down; by byte of a message packet.",
        "",
    )
    drawn = new_table("protocol")
    for column in ("integers", "bytes", "online", "offline", "exactly", "narrowed", "exactly, a byte"):
        drawn.add_column(column, justify="right")
    for one in known:
        shares = (f"{share:.1%}" for share in (one.online, one.offline, one.exactly, one.narrowed))
        each = f"{one.exactly / one.octets:.2%}"
        drawn.add_row(one.protocol, f"{one.metadata:.3g}", f"{one.octets:.3g}", *shares, each)
    draw(drawn)


def _network(row: CostRow) -> str:
    if not row.tolerates:
        return "reliable, FIFO"
    return "any" if "loss" in row.tolerates else "reliable"


def _cost(row: CostRow, costs: list[float]) -> str:
    growth = row.growth(costs)
    shown = f"{costs[0]:.3g} .. {costs[-1]:.3g}"
    return shown if growth is None else f"{shown}  n^{round(growth, 1) + 0.0:.1f}"


def _plot(rows: list[CostRow], folder: str) -> None:
    from microcosm import files
    from microcosm.simulation.measure import RTTS, SIZES, STREAM, chart

    plots = {
        name: (title, "processes", y, {row.protocol: _line(SIZES, getattr(row, name)) for row in rows})
        for name, title, y in (
            ("metadata", "Metadata a message", "integers"),
            ("octets", "Size of a message packet", "bytes"),
            ("state", "State of a process", "integers"),
            ("sender", "Work of the sender, a message", "operations"),
            ("receiver", "Work of the receiver, a message", "operations"),
            ("non_causal", "Latency that causality does not demand", "round trips"),
        )
    }
    plots["throughput"] = (
        f"{STREAM} messages to one receiver",
        "round trip time",
        "time to the last delivery",
        {row.protocol: _line(RTTS, row.finish) for row in rows},
    )
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise exits.UsageError(f"--plots: {folder}: {error.strerror}") from None
    for name, (title, x, y, lines) in plots.items():
        files.write_text(Path(folder) / f"{name}.svg", chart(title, x, y, lines))
    output.note(f"{len(plots)} plots in {folder}")


def _line(xs: tuple[int, ...], ys: list[float]) -> list[tuple[float, float]]:
    return [(float(x), y) for x, y in zip(xs, ys, strict=True)]


PROCESSES, MESSAGES = 4, 40


@dataclass(frozen=True, slots=True)
class Known:
    """What the replicas of one protocol know after the same work, as shares of all pairs, on average.

    A pair is decided `online` by the verdict `<`, `>` or `||`, `offline` where one of them is left by
    propagation, `exactly` where all worlds that fit agree; of a `narrowed` one some world is ruled out.
    `metadata` is in integers, `octets` in bytes a message; `network` counts facts of the network world
    a message.
    """

    protocol: str
    metadata: float
    octets: float
    online: float
    offline: float
    exactly: float
    narrowed: float
    network: float


def knowledge(seed: int = 0) -> Iterator[Known]:
    """The protocols one after the other, by the same unicasts on a network of constant delays."""
    for name, protocol in PROTOCOLS.items():
        run = Run(
            protocol.make(PROCESSES),
            Network(NetworkLink(Constant(0.5))),
            Mixture(MESSAGES),
            seed=seed,
            tick=1.0 if protocol.machine.NEEDS_TICKS else None,
        )
        sizes: list[int] = []
        listeners = listening(run, sizes)
        run.go()
        events = 2 * MESSAGES
        pairs = len(listeners) * events * (events - 1) / 2
        counted = [_decided(disclosure.application) for disclosure in listeners]
        online, offline, exactly, narrowed = (sum(counts) / pairs for counts in zip(*counted, strict=True))
        yield Known(
            name,
            sum(run.metadata) / len(run.metadata),
            sum(sizes) / len(sizes),
            online,
            offline,
            exactly,
            narrowed,
            sum(len(disclosure.network) for disclosure in listeners) / MESSAGES,
        )


def _decided(facts: list[Correspondence]) -> tuple[int, int, int, int]:
    """How many pairs facts decide online, offline and exactly; and of how many they rule something out."""
    known = Microcosm()
    for fact in facts:
        known.add(fact)
    online = sum(verdict in MEMBERS for _, _, verdict in known.table())
    offline = sum(len(left) == 1 for _, _, left in known.offline_table())
    worlds = Worlds(known.givens).table()
    assert worlds is not None, "what was disclosed is true of a world"
    pairs, exact = worlds
    sizes = [len(left) for _, _, left in pairs]
    assert exact
    return online, offline, sizes.count(1), sizes.count(1) + sizes.count(2)


def listening(run: Run, sizes: list[int]) -> list[Disclosure]:
    """A disclosure for each machine of a run, told what the machine does; `sizes` are those of packets."""
    listeners = [Disclosure(machine, str(machine.me)) for machine in run.machines]
    sends = [0] * run.size

    def see(event: Event) -> None:
        if event.kind == CAUSAL_SEND:
            sends[event.process] += 1
            listeners[event.process].causally_sent(str(event.message), sends[event.process])

    run.observers.append(see)

    def take(i: int, j: int, packet: Packet) -> None:
        listeners[j].received(i, packet)
        if carries_message(packet):
            sizes.append(len(encode(packet)))

    run.on_packet = take
    for machine, disclosure in zip(run.machines, listeners, strict=True):
        machine.on_deliver = _first(disclosure, machine.on_deliver)
    return listeners


def _first(disclosure: Disclosure, then: Callable[[Delivery], None] | None) -> Callable[[Delivery], None]:

    def deliver(delivery: Delivery) -> None:
        disclosure.delivered(delivery, str(delivery.payload))
        if then is not None:
            then(delivery)

    return deliver
