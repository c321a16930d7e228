"""Runs: the same from the same seed, with real delays, on networks that do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.patterns import patterns
from microcosm.errors import ProtocolError
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.simulation.run import (
    DELIVER,
    RECEIVE,
    SEND,
    Constant,
    Event,
    Network,
    NetworkLink,
    Run,
    TraceLines,
    Uniform,
    check,
)
from microcosm.simulation.simulate import (
    Gauge,
    Mixture,
    Script,
    SimulationSetting,
    outside_the_model,
    simulate,
)
from tests.thorough import draws

FAULTY = {"loss": 0.3, "duplicate": 0.2, "reorder": True}


def settings(name: str) -> list[SimulationSetting]:
    """A quiet network, and the worst one that the protocol is made for."""
    tolerated = {fault: FAULTY[fault] for fault in PROTOCOLS[name].machine.TOLERATES}
    return [SimulationSetting(messages=300, seed=3), SimulationSetting(messages=300, seed=4, **tolerated)]  # type: ignore[arg-type]


def events_of(name: str, setting: SimulationSetting) -> list[Event]:
    events: list[Event] = []
    outcome = simulate(name, setting, events.append)
    assert outcome.violations == []
    return events


@pytest.mark.parametrize("name", PROTOCOLS)
def test_nothing_is_violated_and_all_is_sent(name: str) -> None:
    for setting in settings(name):
        events = events_of(name, setting)
        asked = [event for event in events if event.kind == "causal_send"]
        assert len({event.message for event in asked}) == len(asked) == setting.messages
        delivered = Counter((event.message, event.process) for event in events if event.kind == DELIVER)
        assert delivered == Counter((event.message, j) for event in asked for j in event.to)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_same_seed_gives_the_same_run(name: str) -> None:
    for setting in settings(name):
        assert events_of(name, setting) == events_of(name, setting)


PROGRAM = """
import json, sys
from microcosm.simulation.run import TraceLines
from microcosm.simulation.simulate import SimulationSetting, simulate
lines = TraceLines()
setting = SimulationSetting(messages=60, seed=7, **json.loads(sys.argv[2]))
simulate(sys.argv[1], setting, lambda event: print(json.dumps(lines.line(event))))
"""


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    for name, faults in (("hybrid-multicast-sps", FAULTY), ("ks", {})):
        written = {
            subprocess.run(
                [sys.executable, "-c", PROGRAM, name, json.dumps(faults)],
                env={
                    "PYTHONPATH": str(Path(__file__).parents[2]),
                    "PYTHONHASHSEED": seed,
                    "PATH": os.defpath,
                },
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "1", "4711")
        }
        assert len(written) == 1
        assert written != {""}


def test_another_seed_gives_another_run() -> None:
    runs = {tuple(events_of("rst", SimulationSetting(messages=50, seed=seed))) for seed in range(5)}
    assert len(runs) == 5


def test_a_trace_shows_real_delays() -> None:
    """Copies are on the wire together, held back, lost; messages answer each other and are handed over."""
    setting = SimulationSetting(messages=400, loss=0.3, duplicate=0.2, reorder=True)
    events: list[Event] = []
    statistics = simulate("hybrid-multicast", setting, events.append).statistics
    assert statistics.held_at_sender > 0.05
    assert statistics.held_at_receiver > 0.02
    assert statistics.in_transit >= 3
    kinds = Counter(event.kind for event in events)
    assert kinds[SEND] != kinds[RECEIVE]  # some were lost, some doubled
    copies = Counter((event.message, event.to) for event in events if event.kind == SEND)
    assert max(copies.values()) > 1  # retransmitted
    asked = {event.message: event for event in events if event.kind == "causal_send"}
    assert any(len(event.to) > 1 for event in asked.values())
    answers = handed_over = 0
    last: dict[int, Event] = {}
    for event in events:
        before = last.get(event.process)
        if event.kind == "causal_send" and before is not None and before.kind == DELIVER:
            answers += before.peer in event.to
            handed_over += any(j != before.peer for j in event.to)
        last[event.process] = event
    assert answers > 20
    assert handed_over > 20
    moments = {event.time for event in events if event.kind == DELIVER}
    assert len(moments) > kinds[DELIVER] / 2  # a simulator that delivers everything at once fails here


def test_rst_holds_messages_back_at_the_receiver() -> None:
    statistics = simulate("rst", SimulationSetting(messages=400, rtt=(0.5, 20.0))).statistics
    assert statistics.held_at_receiver > 0.02
    assert statistics.held_at_sender == 0


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-multicast-sps", "mf"])
def test_where_nearly_all_is_lost_nothing_is_said_to_be_never_delivered(name: str) -> None:
    found = simulate(name, SimulationSetting(processes=3, messages=20, loss=0.99))
    assert (found.violations, found.statistics.sent) == ([], 20)


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("rst", {"loss": 0.1}),
        ("ks", {"reorder": True}),
        ("tree", {"reorder": True}),
        ("newtop", {"reorder": True}),
        ("cykas", {"duplicate": 0.1}),
        ("monitor", {"loss": 0.1}),
    ],
)
def test_a_network_outside_the_model_is_refused(name: str, faults: dict[str, float | bool]) -> None:
    assert outside_the_model(PROTOCOLS[name], set(faults))
    with pytest.raises(ProtocolError, match=next(iter(faults))):
        simulate(name, SimulationSetting(**faults))  # type: ignore[arg-type]


def run_of(name: str, network: Network, work: Script | Mixture, size: int = 3) -> list[Event]:
    events: list[Event] = []
    tick = 1.0 if "loss" in network.faults() else None
    run = Run(PROTOCOLS[name].make(size), network, work, seed=1, tick=tick, observers=[events.append]).go()
    assert not run.undelivered
    assert not run.stuck
    assert check(events) == []
    return events


def test_delays_are_those_of_the_links() -> None:
    slow = Network(NetworkLink(Constant(0.5)), {(0, 2): NetworkLink(Constant(7.0))})
    events = run_of("rst", slow, Script([(1.0, 0, (1,)), (1.0, 0, (2,))]))
    assert {event.process: event.time for event in events if event.kind == DELIVER} == {1: 1.5, 2: 8.0}


@pytest.mark.parametrize("latency", [Constant(), Uniform()])
def test_fifo_links_keep_the_order(latency: Constant | Uniform) -> None:
    events = run_of("cykas", Network(NetworkLink(latency)), Mixture(200))
    for i, j in {(event.process, event.to[0]) for event in events if event.kind == SEND}:
        out = [e.message for e in events if e.kind == SEND and (e.process, e.to[0]) == (i, j)]
        assert out == [e.message for e in events if e.kind == RECEIVE and (e.peer, e.process) == (i, j)]


def test_the_numbers_of_events_count_from_one() -> None:
    seen: Counter[object] = Counter()
    lines = TraceLines()
    for line in map(lines.line, events_of("mf", SimulationSetting(messages=50))):
        seen[line["process"]] += 1
        assert line["seq"] == seen[line["process"]]
        assert list(line)[:4] == ["process", "seq", "kind", "message"]


@pytest.mark.parametrize("name", ["hybrid-basic", "hybrid-sps", "rst", "ks"])
@pytest.mark.parametrize("pattern", ["pipeline", "fan-out", "request-reply", "services", "all-to-all"])
def test_the_patterns_of_the_evaluation(name: str, pattern: str) -> None:
    work = patterns(12, 24)[pattern]
    events: list[Event] = []
    run = Run(PROTOCOLS[name].make(12), Network(NetworkLink(Constant(0.5))), work, observers=[events.append])
    gauge = Gauge(run, lambda i, j: 0.5)
    run.go()
    assert check(events) == []
    assert run.sent >= 24
    statistics = gauge.read()
    assert statistics.delivered == run.sent
    assert statistics.non_causal is not None
    assert (statistics.non_causal < 1e-9) == (name in ("rst", "ks") or statistics.held_at_sender == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name.startswith("hybrid")])
def test_many_messages_on_a_bad_network(name: str) -> None:
    """30 % loss, 20 % duplicates, reordering (for 10⁶ messages: benchmarks/protocols.py)."""
    outcome = simulate(name, SimulationSetting(messages=draws(4_000, 20_000), **FAULTY))  # type: ignore[arg-type]
    assert outcome.violations == []
    assert outcome.statistics.sent == draws(4_000, 20_000)
