"""Every protocol delivers all messages once, in causal order, on every network that it is made for."""

from __future__ import annotations

import pytest

from microcosm.protocol.catalogue import PROTOCOLS
from tests.protocol.random_net import RandomNet

HYBRIDS = [name for name in PROTOCOLS if name.startswith("hybrid")]
REORDERING = [name for name in PROTOCOLS if "reorder" in PROTOCOLS[name].machine.TOLERATES]


@pytest.mark.parametrize(
    ("fifo", "name"), [*((True, name) for name in PROTOCOLS), *((False, name) for name in REORDERING)]
)
def test_reliable_networks_without_ticks(fifo: bool, name: str) -> None:
    """On a reliable network nothing waits for a tick (the only test that sees E3 and E7)."""
    protocol = PROTOCOLS[name]
    for seed in range(20):
        net = RandomNet(protocol, 4 + seed % 2, seed, fifo=fifo).run(ticks=protocol.machine.NEEDS_TICKS)
        assert not any(machine.refused for machine in net.machines)


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if "loss" in PROTOCOLS[name].machine.TOLERATES])
def test_loss_duplication_and_reordering(name: str) -> None:
    for seed in range(20):
        RandomNet(PROTOCOLS[name], 4, seed, loss=0.3, duplicate=0.2).run(ticks=True)


@pytest.mark.parametrize("name", [*HYBRIDS, "rst", "ks", "mf", "cykas"])
def test_messages_to_oneself(name: str) -> None:
    """E6: Proposition 4.2 assumes that no message is sent to oneself; here they never travel."""
    fifo = "reorder" not in PROTOCOLS[name].machine.TOLERATES
    for seed in range(20):
        RandomNet(PROTOCOLS[name], 3, seed, to_oneself=True, fifo=fifo).run(ticks=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", HYBRIDS)
def test_many_random_runs(name: str) -> None:
    for seed in range(150):
        faults = {"loss": 0.3, "duplicate": 0.2} if seed % 2 else {}
        RandomNet(PROTOCOLS[name], 4 + seed % 2, seed, messages=50, **faults).run(ticks=bool(faults))
