"""Queues, pipes, and the headers of Kafka."""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
from pathlib import Path
from typing import Any

import pytest

from microcosm.record import Recorder
from microcosm.record.header import extract, inject
from microcosm.record.queues import RecordedAsyncQueue, RecordedPipe, RecordedQueue
from tests.record.logs import lines, ordered


def child(todo: Any, done: Any, end: Any, log: Path) -> None:
    """What another process does: take, work, give back."""
    with Recorder("worker", log) as recorder:
        job = RecordedQueue(todo, recorder).get()
        recorder.event("at work")
        RecordedQueue(done, recorder, "result").put(job * 2)
        assert RecordedPipe(end, recorder).recv() == "enough"
        recorder.event("at the end")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_is_given_work_and_gives_it_back(method: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    context = multiprocessing.get_context(method)
    with Recorder("boss", log) as boss:
        todo, done = context.Queue(), context.Queue()
        ours, theirs = context.Pipe()
        worker = context.Process(target=child, args=(todo, done, theirs, log))
        worker.start()
        boss.event("before")
        RecordedQueue(todo, boss).put(21)
        assert RecordedQueue(done, boss, "result").get(timeout=60) == 42
        boss.event("after")
        RecordedPipe(ours, boss).send("enough")
        worker.join()
        assert worker.exitcode == 0
        for each in (todo, done):
            each.close()
            each.join_thread()
        ours.close()
        theirs.close()
    ordered(log, "before", "at work", "after", "at the end")


def test_what_goes_first_by_its_priority_still_does(tmp_path: Path) -> None:
    """It went by the names of the sendings."""
    with Recorder("a", tmp_path / "run.jsonl") as recorder:
        recorded: RecordedQueue = RecordedQueue(queue.PriorityQueue(), recorder)
        for priority in (7, 12, 3):
            recorded.put((priority, "x"))
        recorded.inner.put((5, "by somebody else"))
        recorded.put((4, "x"))
        assert [recorded.get()[0] for _ in range(5)] == [3, 4, 5, 7, 12]


def test_threads_and_tasks_hand_over_with_recorders_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("a", log) as a, Recorder("b", log) as b:
        plain: queue.Queue[Any] = queue.Queue(1)
        a.event("before")
        RecordedQueue(plain, a).put_nowait("x")
        with pytest.raises(queue.Full):
            RecordedQueue(plain, a).put_nowait("y")
        assert RecordedQueue(plain, b).get_nowait() == "x"
        b.event("between")
        assert RecordedQueue(plain, b).qsize() == 0

        async def run() -> None:
            later: asyncio.Queue[Any] = asyncio.Queue()
            await RecordedAsyncQueue(later, b).put("y")
            assert await RecordedAsyncQueue(later, a).get() == "y"

        asyncio.run(run())
        a.event("after")
    ordered(log, "before", "between", "after")


def test_what_was_put_in_without_a_recorder_comes_out_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    plain: queue.Queue[Any] = queue.Queue()
    for item in ("x", ("1~a:1~aaaaaaaaaaa", "y"), None):
        plain.put(item)
    with Recorder("a", log) as a:
        assert [RecordedQueue(plain, a).get() for _ in range(3)] == ["x", ("1~a:1~aaaaaaaaaaa", "y"), None]
    assert log.read_text(encoding="utf-8") == ""


def order(producer: Recorder) -> list[tuple[str, bytes]]:
    """The headers of a message of Kafka, of which one was there already."""
    headers: list[tuple[str, bytes]] = inject([("trace", b"7")], producer.send("order 7", to="orders"))
    assert all(type(name) is str and type(value) is bytes for name, value in headers)
    return headers


def through_a_broker(headers: list[tuple[str, bytes]]) -> Any:
    """What a consumer of confluent-kafka has, from the broker of librdkafka for tests, over loopback."""
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=30).brokers.values()
    producer.produce("orders", b"7", headers=headers, partition=0)
    assert producer.flush(30) == 0
    where = {"bootstrap.servers": f"{broker.host}:{broker.port}", "group.id": "test", "log_level": 0}
    consumer = kafka.Consumer(where)
    consumer.assign([kafka.TopicPartition("orders", 0, 0)])
    try:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        return message.headers()
    finally:
        consumer.close()


def through_a_batch(headers: list[tuple[str, bytes]], library: str) -> Any:
    """What comes out of a batch of records as the library writes it for a broker, and reads it from there."""
    records = pytest.importorskip(f"{library}.record.default_records")
    made = {"magic": 2, "compression_type": 0, "is_transactional": False, "producer_id": -1}
    made |= {"producer_epoch": -1, "base_sequence": -1, "batch_size": 0}
    builder = records.DefaultRecordBatchBuilder(**made)
    builder.append(0, timestamp=0, key=None, value=b"7", headers=headers)
    (record,) = records.DefaultRecordBatch(bytes(builder.build()))
    return record.headers


@pytest.mark.parametrize("way", ["pairs", "confluent", "kafka", "aiokafka"])
def test_headers_of_kafka_are_carried(way: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("producer", log) as producer, Recorder("consumer", log) as consumer:
        headers: Any = order(producer)
        if way == "confluent":
            headers = through_a_broker(headers)
        elif way != "pairs":
            headers = through_a_batch(headers, way)
        assert dict(headers)["trace"] == b"7"
        consumer.receive(extract(headers), "order 7 came")
    ordered(log, "order 7", "order 7 came")
    assert [each["kind"] for each in lines(log)] == ["send", "receive"]
