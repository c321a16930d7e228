"""What docs/reference/wire-and-journal.md says, byte by byte: made by hand here, and held to the code.

Nothing of the program builds a byte that is expected: MessagePack, the header, the key, the hashes and the
slots of the head file are written out from the tables of that page.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import zipfile
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from msgpack import packb

from microcosm.errors import Malformed
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica import exchange as said
from microcosm.replica.core import open_store
from microcosm.replica.ledger import chain
from microcosm.replica.ledger.dots import Dot, DotRun, Dots
from microcosm.replica.ledger.evolution import (
    Add,
    Append,
    Evolution,
    Forget,
    NewerEvolution,
    Remove,
    decode,
    encode,
)
from microcosm.replica.node import serve
from microcosm.replica.replica import Replica
from tests.replica.nodes import OPTIONS, into, is_given, level, meet, ran
from tests.replica.served import ROOT

PAGE = (ROOT / "docs" / "reference" / "wire-and-journal.md").read_text()
OLD = Path(__file__).parent / "journal" / "version-1.zip"


def pack(value: Any) -> bytes:
    """MessagePack of small things, as its specification has it."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            forms = ((1 << 7, None, 1), (1 << 8, 0xCC, 1), (1 << 16, 0xCD, 2), (1 << 32, 0xCE, 4))
            for limit, code, size in forms:
                if value < limit:
                    return (b"" if code is None else bytes([code])) + value.to_bytes(size, "big")
            return b"\xcf" + value.to_bytes(8, "big")
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case str():
            text = value.encode()
            assert len(text) < 32
            return bytes([0xA0 | len(text)]) + text
        case bytes():
            return b"\xc4" + bytes([len(value)]) + value
    assert len(value) < 16
    return bytes([0x90 | len(value)]) + b"".join(pack(each) for each in value)


def column(table: str) -> list[list[str]]:
    """The rows of the table that begins with that line, without its head."""
    rows = PAGE.partition(table)[2].partition("\n\n")[0].strip().splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def hashed(content: bytes, size: int, person: str) -> bytes:
    return blake2b(content, digest_size=size, person=person.encode()).digest()


P, Q = ["phone", 1, 7], ["laptop", 2**33, 300]

EVOLUTIONS: list[tuple[Evolution, list[Any]]] = [
    (Append(Dot(*P), "unshare"), [1, 0, P, "unshare", None]),
    (Append(Dot(*P), "unshare", 2.5), [1, 0, P, "unshare", 2.5]),
    (
        Add(Dot(*P), Correspondence("a", Relation.NOT_BEFORE, "b", "s"), (Dot(*Q),), (None, Dot(*Q)), 1.0),
        [1, 1, P, ["a", "!<", "b", "s"], [Q], [None, Q], 1.0],
    ),
    (Remove(Dot(*P), (Dot(*Q), Dot("phone", 1, 3))), [1, 2, P, [Q, ["phone", 1, 3]]]),
    (Forget(Dot(*P), (DotRun(*Q, 70_000),)), [1, 3, P, [[*Q, 70_000]]]),
]


@pytest.mark.parametrize(("value", "parts"), EVOLUTIONS)
def test_evolutions(value: Evolution, parts: list[Any]) -> None:
    assert encode(value) == pack(parts)
    assert decode(pack(parts)) == value
    number, name = column("| kind | what follows | says |")[parts[1]][0].split()
    assert (int(number), name) == (parts[1], f"`{type(value).__name__}`")


RUN, HASH = DotRun("phone", 1, 3, 9), bytes(range(16))

EXCHANGES: list[tuple[said.ExchangeMessage, Any]] = [
    (
        said.Compare((said.Range(Dot(*P), None, HASH), said.Range(Dot(*P), Dot(*Q), (RUN,))), b"r", b"h"),
        [[[P, None, HASH], [P, Q, [[*RUN]]]], b"r", b"h"],
    ),
    (said.Same(HASH), HASH),
    (said.Want((RUN,)), [[*RUN]]),
    (said.Supply((b"x",), ((1,),), (RUN,)), [[b"x"], [[1]], [[*RUN]]]),
    (said.Gone((RUN,)), [[*RUN]]),
    (said.Removed((said.Range(Dot(*P), None, HASH),), False), [[[P, None, HASH]], False]),
    (said.Heads(((1,),), (b"p",), True), [[[1]], [b"p"], True]),
]


@pytest.mark.parametrize(("number", "value", "content"), [(n, *each) for n, each in enumerate(EXCHANGES)])
def test_exchanges(number: int, value: said.ExchangeMessage, content: Any) -> None:
    assert said.encode(value) == pack([2, number, content])
    assert said.decode(pack([2, number, content])) == value
    kind = column("| kind | content | says |")[number][0]
    assert kind == f"{number} `{type(value).__name__}`"


def test_a_supply_says_what_is_linked_if_anything_is() -> None:
    value, content = said.Supply((b"x",), ((1,),), (), (RUN,)), [[b"x"], [[1]], [], [[*RUN]]]
    assert said.encode(value) == pack([2, 3, content])
    assert said.decode(pack([2, 3, content])) == value
    for bad in ([[b"x"], [[1]]], [*content, []], [[b"x"], [[1]], [], 1]):
        with pytest.raises(Malformed):
            said.decode(pack([2, 3, bad]))


def test_a_packet_is_made_from_its_table() -> None:
    """All but the cipher and the key's derivation, which are those of `cryptography`, is made by hand."""
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    from microcosm.replica.network.keys import Destination, Sealer, new_ring
    from microcosm.replica.network.wire import Content

    ring = new_ring()
    sealer = Sealer(ring, "phone", 7, 3, os.urandom)
    used = sealer.sending("laptop", 0.0, 0.0)
    found = sealer.seal(used, 1, 1, Destination("laptop", 9, 11), packb(Content(acks=(5,))))
    (key,) = ring.keys

    values = [1, 1, used.key_id, hashed(b"phone", 8, "microcosm"), 7, used.salt, 1]
    sizes = [int(row[0]) for row in column("| bytes | header |")]
    parts = zip(sizes, values, strict=True)
    header = b"".join(v if isinstance(v, bytes) else v.to_bytes(size, "big") for size, v in parts)
    names = b"\0\5phone\0\6laptop"
    info = b"microcosm packets 1" + used.key_id.to_bytes(4, "big") + (7).to_bytes(8, "big") + b"phone"
    cipher = ChaCha20Poly1305(HKDF(SHA256(), 32, used.salt, info).derive(key.secret))
    plain = header + names + (9).to_bytes(8, "big") + (11).to_bytes(8, "big")
    content = pack([[5], [], [], [], []])
    assert found == header + cipher.encrypt((1).to_bytes(12, "big"), content, plain)


def old_journal(folder: Path) -> Path:
    """The journal of the first version, as its bytes were."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(folder)
    return folder / "phone.journal"


def test_a_journal_checks_by_hand(tmp_path: Path) -> None:
    """Tables, chain, seal and head file of the journal in `version-1.zip`, by SQLite and BLAKE2b alone."""
    path = old_journal(tmp_path)
    with closing(sqlite3.connect(path)) as opened:
        about = dict(opened.execute("SELECT name, value FROM about"))
        wanted = "SELECT number, kind, payload, chain FROM record ORDER BY number"
        records = opened.execute(wanted).fetchall()
        (snapshot,) = opened.execute("SELECT through, edition, chain, seal, content FROM snapshot").fetchall()
        assert opened.execute("PRAGMA application_id").fetchone() == (0x6D636A6C,)
        assert opened.execute("PRAGMA user_version").fetchone() == (1,)
    through, edition, before, seal, content = snapshot
    eight = struct.Struct(">Q").pack
    assert seal == hashed(before + eight(through) + eight(edition) + content, 32, "journal snapsho")
    assert records
    for number, kind, payload, link in records:
        assert number == through + 1
        name = kind.encode()
        before = hashed(before + eight(number) + eight(len(name)) + name + payload, 32, "journal record")
        assert link == before
        through = number
    slots = (tmp_path / "phone.journal-head").read_bytes()
    assert len(slots) == 2 * 4096
    form = struct.Struct(">8sQIB16sQ32sQQ32s16s")
    heads = [form.unpack_from(slots, at) for at in (0, 4096)]
    newest = max((each for each in heads if any(each[0])), key=lambda each: each[1])
    magic, _, schema, mode, instance, number, link, stands, made, sealed, check = newest
    assert (magic, schema, mode, number, link) == (b"mc head\n", 1, 0, through, before)
    assert (stands, made, sealed) == (snapshot[0], edition, seal)
    assert instance == bytes(about["instance"])
    at = slots.index(form.pack(*newest))
    assert check == blake2b(slots[at : at + form.size - 16], digest_size=16).digest()
    assert not any(slots[at + form.size : at + 4096])


def test_streams_are_hashed_by_hand() -> None:
    content = pack([1, 0, ["phone", 1, 1], "upload", None])
    leaf = hashed(content, 24, "microcosm leaf")
    assert chain.leaf(content) == leaf
    origin = hashed(pack(["phone", 1]), 24, "microcosm chain")
    assert chain.origin(("phone", 1)) == origin
    assert chain.chained(origin, leaf) == blake2b(origin + leaf, digest_size=24).digest()


def test_the_journal_of_the_first_version_goes_on(tmp_path: Path) -> None:
    """What a program of that version wrote is what this one reads, goes on with, and finds sound."""
    path = old_journal(tmp_path)
    replica = Replica(open_store(path))
    assert replica.stream == ("phone", 7)
    assert replica.digest() == "b95c4bfaf174a53f8891e0ec8f67ab23ddf76c0f9029aac2a986c0135ee1baa1"
    assert sorted(replica.events) == ["a", "b", "late", "share", "unshare", "unshare2", "upload", "view"]
    assert replica.online("upload", "late") is Relation.BEFORE
    assert replica.online("upload", "unshare2") is Relation.BEFORE
    replica.local("after")
    replica.close()
    replica = Replica(open_store(path))
    assert replica.online("share", "after") is Relation.BEFORE
    replica.close()


def test_two_on_the_network_go_on_where_an_older_program_left_them(tmp_path: Path) -> None:
    """Journals of a program before `newer`, signed: the message that waited comes, and both know the same."""
    pytest.importorskip("cryptography")
    with zipfile.ZipFile(OLD.with_name("network-1.zip")) as archive:
        archive.extractall(tmp_path)
    replica = Replica(open_store(tmp_path / "phone.journal"))
    assert replica.digest() == "55e866c4c0d61fb5a6eba950100895928a123f19eeb124a2d33ecd50483c27ac"
    assert replica.author_keys["laptop"][0].startswith("fb441f55881aac3f")
    assert not is_given(replica, "old < older")
    replica.close()

    async def scene() -> None:
        got: list[bytes] = []
        async with (
            serve(tmp_path / "phone.journal", **OPTIONS) as phone,
            serve(tmp_path / "laptop.journal", on_deliver=into(got), **OPTIONS) as laptop,
        ):
            meet(phone, laptop)
            laptop.replica.local("later")
            await phone.until(lambda replica: "later" in replica.events)
            await laptop.until(lambda replica: "alone" in replica.events and bool(got))
            await level(phone, laptop)
            assert got == [b"waits"]
            assert phone.replica.online("draft", "alone") is Relation.BEFORE
            assert phone.divergences() == laptop.divergences() == []

    ran(scene())


def test_what_is_of_a_newer_version_is_kept_as_its_bytes_are_and_nobody_is_blamed(tmp_path: Path) -> None:
    """Version, kind and dot stand where they do; the record is of the kind `newer`, its payload the bytes."""
    path = tmp_path / "phone.journal"
    replica = Replica(path, "phone", incarnation=1)
    exchange = replica.exchange
    dot = Dot("laptop", 1, 1)
    later = pack([2, 9, list(dot), ["whatever"], "new"])
    assert exchange.receive("laptop", said.encode(said.Supply((later,)))) == []
    assert exchange.receive("laptop", pack([3, 9, "?"])) == []  # an exchange of a newer version
    assert (list(exchange.newer), [*exchange.blamed], exchange.malformed) == (["laptop"], [], 0)
    assert replica.held_of(Dots([DotRun(*dot, 2)])) == [NewerEvolution(dot, later)]
    told = exchange.receive("tablet", said.encode(said.Want((DotRun(*dot, 2),))))
    assert [said.decode(each) for each in told] == [said.Supply((later,))]
    replica.close()
    with closing(sqlite3.connect(path)) as opened:
        assert opened.execute("SELECT payload FROM record WHERE kind = 'newer'").fetchall() == [(later,)]
    exchange.receive("laptop", pack([0, 2, []]))
    assert len(exchange.blamed) == 1
