"""Keys, proofs and quotas on the command line."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from microcosm.replica.changes import MOST_DIVERGENCES
from microcosm.replica.journal import Journal
from microcosm.replica.network.keys import new_ring, write_keys
from microcosm.replica.replica import Replica
from microcosm.replica.store import APPLICATION
from tests.cli.conftest import Run
from tests.replica.served import Served

pytest.importorskip("cryptography")


def made(run: Run, *names: str) -> None:
    for name in names:
        members = [f"--member={other}" for other in names]
        assert run("replica", "init", f"{name}.j", "--name", name, *members).code == 0


def happen(run: Run, journal: str, event: str) -> None:
    with Journal.open(journal, application=APPLICATION) as store:
        Replica(store).local(event)


def test_keys_are_shown_and_stated(tmp_path: Path, run: Run) -> None:
    made(run, "a", "b")
    keys = {name: run("replica", "authors", f"{name}.j").out.split()[1] for name in "ab"}
    stated = ("replica", "member", "add", "b.j", "a", "127.0.0.1:9", "--author")
    assert run(*stated, keys["b"]).code == 0  # not that of a
    happen(run, "a.j", "event")
    assert run("replica", "exchange", "a.j", "b.j").code != 0
    assert run("replica", "query", "b.j", "event", "other").code == 3
    assert run(*stated, keys["a"]).code == 0
    assert run("replica", "exchange", "a.j", "b.j").code == 0
    assert keys["a"] in run("replica", "authors", "b.j", "--json").json["authors"]["a"]
    for bad in ("", "xy", "00"):
        assert run(*stated, bad).refused(4)


def test_a_fork_is_proved_to_anybody(tmp_path: Path, run: Run) -> None:
    made(run, "a", "b", "c")
    with Journal.open("b.j", application=APPLICATION) as store:
        for number in range(MOST_DIVERGENCES):  # what is new is said all the same
            Replica(store).note_divergence("d", f"d forgot {number}", mine=False)
    happen(run, "a.j", "first")
    happen(run, "a.j", "second")
    assert run("replica", "exchange", "a.j", "b.j").code == 0
    for each in tmp_path.glob("a.j*"):
        shutil.copy(each, each.with_name(each.name.replace("a.j", "x.j")))
    happen(run, "a.j", "to b")
    happen(run, "x.j", "to c")
    assert run("replica", "exchange", "a.j", "b.j").code == 0
    assert run("replica", "exchange", "x.j", "c.j").code == 0
    assert run("replica", "proof", "b.j").out == ""
    found = run("replica", "exchange", "b.j", "c.j", "--json")
    assert (found.code, found.json["new"], found.json["same"]) == (1, [0, 0], True)  # one goes
    assert [each.partition(":")[0] for each in found.json["diverged"]] == ["b", "c"]
    proved = run("replica", "proof", "b.j")
    assert proved.code == 1
    (tmp_path / "proof").write_text(proved.out)
    checked = run("replica", "proof", "--check", "proof")
    assert (checked.code, "has signed two things under a." in checked.out) == (0, True)
    key = run("replica", "authors", "a.j").out.split()[1]
    assert key in checked.out
    other = json.loads(proved.out)
    content = bytearray.fromhex(other["proof"])
    content[-1] ^= 1
    (tmp_path / "forged").write_text(json.dumps({**other, "proof": content.hex()}))
    assert run("replica", "proof", "--check", "forged").code == 1
    (tmp_path / "nothing").write_text("{}\n")
    assert run("replica", "proof", "--check", "nothing").refused(4)
    (tmp_path / "garbled").write_text(f"{proved.out}{{}}\n")
    garbled = run("replica", "proof", "--check", "garbled")
    assert garbled.refused(4)
    assert "garbled:2: " in garbled.err
    run("replica", "exchange", "b.j", "c.j")
    for name in "bc":
        known = run("replica", "export", f"{name}.j").out
        assert ("first < second" in known, "to b" in known, "to c" in known) == (True, False, False)
    run("replica", "exchange", "a.j", "c.j")
    status = run("replica", "status", "a.j")
    assert status.code == 1
    assert "this replica has signed two things under a." in status.out
    assert "`replica member replace` a at the others" in status.out


def test_who_says_too_much_is_bounded_and_named(tmp_path: Path) -> None:
    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a = Served(tmp_path, "a", {}, options=("--quota", "held=10"))
        await a.start()
        b = await Served(tmp_path, "b", {"a": "{}:{}".format(*a.address)}).start()
        await a.ask("member", name="b", address="{}:{}".format(*b.address))
        for n in range(30):
            await b.ask("local", event=f"b{n}")
        async with asyncio.timeout(30):
            while "b says more than 10 evolutions" not in a.said_on_standard_error():
                await asyncio.sleep(0.05)
        assert 5 <= len((await a.ask("events"))["events"]) <= 10
        assert "dot" in await a.ask("local", event="a0")
        assert await a.stop() == 0
        assert await b.stop() == 0

    asyncio.run(scene())


@pytest.mark.parametrize("quota", ["rate", "rate=", "rate=0", "rate=x", "speed=3", "held=-1", "bytes=²"])
def test_what_is_no_quota_is_said(run: Run, quota: str) -> None:
    assert run("replica", "serve", "a.j", "--keys", "keys", "--quota", quota).code == 2
