"""What Spark says of a table of microcosms is what the engine in this process says, row by row."""

from __future__ import annotations

import json
import shutil
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microcosm import Microcosm, bisimilar
from microcosm.cli.app import main
from microcosm.compare.digest import analogy_digest_of
from microcosm.errors import Contradiction, TextError
from microcosm.files import shipped
from microcosm.queries.possible import Worlds
from microcosm.spark.bisim import job
from microcosm.spark.bisim.microcosms import judged
from microcosm.spark.io.events import max_bad
from microcosm.text.json_form import givens_to_json
from microcosm.text.mc_reader import read_givens
from tests.spark.conftest import table
from tests.thorough import draws

pytestmark = pytest.mark.spark


def texts(seed: int, count: int) -> dict[str, str]:
    """Small microcosms, many of them analogous, some with contradictions at once or deeper."""
    random = Random(seed)
    made = {}
    for number in range(count):
        facts = [
            f"{a} {random.choice(('<', '<', '||', '<>'))} {b}"
            for a, b in random.choices(list(combinations("abcd", 2)), k=random.randrange(1, 5))
        ]
        made[f"m{number:03}"] = "\n".join(facts) + "\n"
    made["cycle"] = "a < b < c < a\n"
    made["deep"] = "a <> b\na !< b\nb !< a\n"
    return made


def test_spark_is_the_engine_in_this_process_row_by_row(spark: Any, tmp_path: Path) -> None:
    made = texts(1, draws(30, 60))
    folder = tmp_path / "microcosms"
    folder.mkdir()
    for name, text in made.items():
        (folder / f"{name}.mc").write_text(text, encoding="utf-8")
    digests: dict[str, str | None] = {}
    consistent = {}
    for name, text in made.items():
        givens = read_givens(text)
        try:
            digests[name] = analogy_digest_of(givens)
            consistent[name] = Worlds(givens).one() is not None
        except Contradiction:
            digests[name], consistent[name] = None, False
    members: dict[str, list[str]] = {}
    for name, digest in digests.items():
        if digest is not None:
            members.setdefault(digest, []).append(name)
    asked = [("m000", name) for name in sorted(made) if name != "m000"] + [("m000", "absent")]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in asked), encoding="utf-8")

    out = tmp_path / "out"
    found = job.bisim(spark, str(folder), str(out), str(tmp_path / "pairs.tsv"), offline=True)
    left = [
        {"id": name, "a": a, "b": b, "possible": list(map(str, possible))}
        for name in sorted(made)
        if digests[name] is not None and consistent[name]
        for a, b, possible in Microcosm.parse(made[name]).offline_table()
        if len(possible) < 3
    ]
    assert table(out, "offline") == sorted(left, key=repr)
    assert table(out, "classes") == [
        {
            "id": name,
            "digest": digests[name],
            "class": min(members[digests[name]]) if digests[name] is not None else None,
            "consistent": consistent[name],
        }
        for name in sorted(made)
    ]
    assert not consistent["cycle"]
    assert not consistent["deep"]
    assert digests["deep"] is not None

    differences = []
    for left, right in asked:
        if digests["m000"] is not None and digests.get(right) is not None:
            witness = bisimilar(Microcosm.parse(made[left]), Microcosm.parse(made[right])).witness
            assert (witness is None) == (digests[left] == digests[right])
            if witness is not None:
                (a, b), (one, other) = witness.pair, witness.verdicts
                row = (left, right, a, b, one.value, other.value)
                names = ("left_id", "right_id", "a", "b", "left_verdict", "right_verdict")
                differences.append(dict(zip(names, row, strict=True)))
    assert differences
    assert table(out, "differences") == sorted(differences, key=repr)
    assert found.summary["microcosms"] == len(made)
    assert found.summary["classes"] == len(members)
    assert found.summary["inconsistent"] == sum(not fits for fits in consistent.values())
    lacking = sum(digests.get(right) is None for _, right in asked)
    assert found.summary["reported"] == {"incomparable-pair": lacking}


def test_lines_and_parquet_say_the_same_and_bad_rows_are_named(spark: Any, tmp_path: Path) -> None:
    made = texts(2, 40)
    records = [{"id": name, **givens_to_json(read_givens(text))} for name, text in made.items()]
    lines = [json.dumps(record) for record in records]
    lines[3:3] = ["half a li", '{"id": "x", "external": [["a", "<"]]}', '{"external": []}', lines[0]]
    (tmp_path / "table.jsonl").write_text("\n".join(lines), encoding="utf-8")
    text = pa.string()
    fact = pa.struct([("left", text), ("relation", text), ("right", text), ("source", text)])
    schema = pa.schema(
        [
            ("id", text),
            ("internal", pa.list_(text)),
            ("external", pa.list_(fact)),
            ("refuted", pa.list_(pa.list_(text))),
        ]
    )
    rows = [
        {
            "id": record["id"],
            "internal": record["internal"],
            "external": [
                dict(zip(("left", "relation", "right"), each, strict=False)) for each in record["external"]
            ],
            "refuted": record["refuted"],
        }
        for record in records
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "table.parquet")
    one = job.bisim(spark, str(tmp_path / "table.jsonl"), str(tmp_path / "one"))
    two = job.bisim(spark, str(tmp_path / "table.parquet"), str(tmp_path / "two"))
    assert one.summary["reported"] == {"bad-line": 3, "duplicate-id": 1}
    told = [(row["line"], row["reported"]) for row in table(tmp_path / "one", "reported")]
    assert sorted(told, key=str) == [
        (4, "bad-line"),
        (5, "bad-line"),
        (6, "bad-line"),
        (None, "duplicate-id"),
    ]
    with pytest.raises(TextError, match="3 of 46"):
        job.bisim(spark, str(tmp_path / "table.jsonl"), str(tmp_path / "none"), max_bad=max_bad("2"))
    assert not (tmp_path / "none" / "classes").exists()
    assert f"{tmp_path / 'table.jsonl'}:4: " in one.faults[0]
    assert two.summary["reported"] == {}
    assert table(tmp_path / "one", "classes") == table(tmp_path / "two", "classes")


def test_classes_are_the_same_where_rows_are_too_many_for_one_place(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [{"id": name, **givens_to_json(read_givens(text))} for name, text in texts(3, 60).items()]
    alike = givens_to_json(read_givens("one < other"))
    named, _ = judged(
        read_givens("one < other")
    )  # an id may be the digest of others, and be less than theirs
    records += [{"id": "zz1", **alike}, {"id": "zz2", **alike}]
    records.append({"id": named, "external": [["a", "<", "b"], ["b", "<", "a"]]})
    lines = [json.dumps(record) for record in [*records, *records[5:8], records[5]]]
    (tmp_path / "table.jsonl").write_text("\n".join(lines), encoding="utf-8")
    pairs = [(one["id"], other["id"]) for one, other in zip(records, records[20:], strict=False)][:20]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    asked = str(tmp_path / "pairs.tsv")
    one = job.bisim(spark, str(tmp_path / "table.jsonl"), str(tmp_path / "one"), asked)
    monkeypatch.setattr(job, "TOGETHER", 10)
    several = job.bisim(spark, str(tmp_path / "table.jsonl"), str(tmp_path / "several"), asked)
    assert several.stages.keys() - one.stages.keys() == {"first", "classes"}
    assert (several.summary, several.faults) == (one.summary, one.faults)
    assert one.summary["reported"]["duplicate-id"] == 4
    assert one.faults[0].startswith(f"there are 3 microcosms {records[5]['id']};")
    for name in ("classes", "differences"):
        assert table(tmp_path / "several", name) == table(tmp_path / "one", name)
    for row in table(tmp_path / "one", "differences"):
        left, right = (Microcosm(read_givens(texts(3, 60)[row[f"{side}_id"]])) for side in ("left", "right"))
        witness = bisimilar(left, right).witness
        assert witness is not None
        assert witness.pair == (row["a"], row["b"])


def test_the_command(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.mc").write_text("a < b", encoding="utf-8")
    command = ["spark", "bisim", str(tmp_path), "--out", str(tmp_path / "out"), "--json"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["microcosms"], said["classes"], said["inconsistent"]) == (1, 1, 0)
    (tmp_path / "pairs").write_text("only-one\n", encoding="utf-8")
    assert main([*command, "--pairs", str(tmp_path / "pairs")]) == 4
    assert "no pair of ids" in capsys.readouterr().err


def test_of_a_file_that_is_no_microcosm_the_line_is_told(spark: Any, tmp_path: Path) -> None:
    folder, out = tmp_path / "files", tmp_path / "out"
    folder.mkdir()
    (folder / "one.mc").write_text("a < b", encoding="utf-8")
    (folder / "two.mc").write_text("a < b\n\nb <\n", encoding="utf-8")
    job.bisim(spark, str(folder), str(out))
    [odd] = table(out, "reported")
    assert (odd["file"], odd["line"], odd["reported"]) == (str(folder / "two.mc"), 3, "bad-line")


def test_other_rules_make_other_classes(spark: Any, tmp_path: Path) -> None:
    folder, rules = tmp_path / "microcosms", tmp_path / "rules"
    shutil.copytree(shipped("rules"), rules)
    initial = rules / "initial.rules"
    text = initial.read_text(encoding="utf-8")
    begin = text.index("rule In-Tr:")
    end = text.find("\nrule ", begin) + 1
    initial.write_text(text[:begin] + (text[end:] if end else ""), encoding="utf-8")
    folder.mkdir()
    for name, facts in (("said", "a < b < c\na < c"), ("silent", "a < b < c")):
        (folder / f"{name}.mc").write_text(facts, encoding="utf-8")
    counts = [
        job.bisim(spark, str(folder), str(tmp_path / f"out{each}"), rules=each).summary["classes"]
        for each in (None, str(rules))
    ]
    assert counts == [1, 2]
