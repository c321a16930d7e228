"""A replica that is fed by a recorder knows what the log says, and nothing that is false."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm import Relation
from microcosm.errors import TextError
from microcosm.record import Recorder
from microcosm.record.header import message_of
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.record.truth import Truth


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("esr"), st.integers(0, 2), st.integers(0, 5)), max_size=20))
def test_what_replicas_know_of_each_other_is_true_and_all_of_it(steps: list[tuple[str, int, int]]) -> None:
    names = ("p", "q", "r")
    replicas = [Replica(Memory(), name, members=names) for name in names]
    recorders = [Recorder(name, replica=each) for name, each in zip(names, replicas, strict=True)]
    truth, sent = Truth(), []
    for what, at, which in steps:
        if what == "s":
            header = recorders[at].send("x")
            event = str(message_of(header))
            sent.append(header)
            truth.add(names[at], event)
        elif what == "r" and sent:
            header = sent[which % len(sent)]
            truth.add(names[at], recorders[at].receive(header), [str(message_of(header))])
        else:
            truth.add(names[at], recorders[at].event("x"))
    for _ in range(2):
        level(replicas[0], replicas[1])
        level(replicas[1], replicas[2])
    known = replicas[0]
    for left in truth.before:
        for right in truth.before.keys() - {left}:
            is_before = known.online(left, right) is Relation.BEFORE
            assert is_before == (left in truth.before[right])
    assert not any(each.refused for each in recorders)


def test_a_process_that_lived_before_has_another_name() -> None:
    replica = Replica(Memory(), "p")
    quoted = Replica(Memory(), "q")
    asking = Recorder('"q" \u00e4', replica=quoted)
    asking.receive(asking.send("x"))
    assert asking.refused == 0
    assert str(message_of(Recorder("p", replica=replica).send("x"))).startswith("p:1~")
    assert Recorder("p", replica=replica).event("x") == "p#2:1"
    with pytest.raises(TextError, match="for messages"):
        Recorder("c", replica=replica)
    with pytest.raises(TextError, match="not both"):
        Recorder("p", replica=replica, tasks=True)


def test_what_the_replica_refuses_is_counted_and_nothing_is_raised(tmp_path: Path) -> None:
    replica = Replica(Memory(), "p")
    with Recorder("p", tmp_path / "p.jsonl", replica=replica) as recorder:
        header = recorder.send("x")
        replica.local("p:2")
        recorder.receive(header)
    assert recorder.refused == 1
    assert len((tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_node_is_fed_from_threads_in_the_order_of_the_log(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from microcosm.replica.network.keys import new_ring
    from microcosm.replica.node import serve

    async def run() -> list[str]:
        async with serve(tmp_path / "p.journal", "p", keys=new_ring()) as node:
            recorder = Recorder("p", replica=node)

            def many() -> None:
                for _ in range(50):
                    recorder.event("x")

            work = [threading.Thread(target=many) for _ in range(3)]
            for each in work:
                each.start()
            while any(each.is_alive() for each in work):
                recorder.event("beside")
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            recorder.event("last")
            await node.durable()
            assert recorder.refused == 0
            return next(iter(node.replica.chains().values()))

    chain = asyncio.run(run())
    assert chain == [f"p:{at}" for at in range(1, len(chain) + 1)]
    assert len(chain) > 150
