"""Several executions in one log: nothing is claimed across them, with a line between them or without."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.errors import TextError
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract, microcosm_of_logs
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.options import Options
from microcosm.traces.reading import picked
from microcosm.traces.report import Report
from tests.thorough import draws
from tests.traces.damage import false_claims, joined, of_two, read_pieces
from tests.traces.logs import read_text, told
from tests.traces.samples import SAMPLES

CHANNELS = "1,0 c!a\n1,1 c?a\n{0}\n1,0 c!b\n2,0 c!d\n2,1 c?b\n"


def states(*events: tuple[int, str, int, int]) -> str:
    return "".join(
        f'State {number}: <A line 1>\n/\\ Host = {host}\n/\\ Clock = "{{\\"p\\":{p},\\"q\\":{q}}}"\n\n'
        for number, host, p, q in events
    )


def unknown(givens: object, ones: Iterable[str], others: Iterable[str]) -> bool:
    known = Microcosm(givens)  # type: ignore[arg-type]
    return all(known.online(a, b) in (Relation.UNKNOWN, Relation.SILENT) for a, b in product(ones, others))


def apart(events: list[TraceEvent], sizes: list[int]) -> bool:
    """Whether events are of executions of such sizes, of which nothing is known across."""
    found = extract(events).givens
    runs = dict.fromkeys(event.trace for event in events)
    names = [[event.full_id for event in events if event.trace == run] for run in runs]
    return [*map(len, names)] == sizes and all(
        unknown(found, one, other) for one in names for other in names if one is not other
    )


def test_a_line_of_a_counterexample_begins_another_execution() -> None:
    one, two = states((2, "p", 1, 0), (3, "q", 1, 1)), states((2, "q", 1, 2), (3, "p", 2, 2))
    events, report = read_text(f"=== run 1 ===\n{one}=== run 2 ===\n{two}", "tlc")
    assert apart(events, [2, 2])
    assert [event.full_id for event in events] == ["run 1/p:1", "run 1/q:1", "run 2/q:2", "run 2/p:2"]
    assert not report.counts


def test_states_that_are_numbered_again_begin_another_execution() -> None:
    one, two = states((2, "p", 1, 0), (3, "q", 1, 1)), states((2, "q", 1, 2), (3, "p", 2, 2))
    assert apart(read_text(one + two, "tlc")[0], [2, 2])


def test_the_parameters_of_a_run_begin_another_execution() -> None:
    def line(node: int, clock: list[int]) -> str:
        packet = {"vc": {str(at): value for at, value in enumerate(clock)}}
        return json.dumps({"event": "d", "node": node, "pkt": packet}) + "\n"

    text = '{"N": 2}\n' + line(0, [1, 0]) + '{"N": 2}\n' + line(1, [1, 2])
    assert apart(read_text(text, "tlc")[0], [1, 1])


@pytest.mark.parametrize("between", ["--", "# run 2: again", "=== run 2 ===", "", "--\n# run 2"])
def test_channels(between: str) -> None:
    events, report = read_text(CHANNELS.format(between), "csight_channels")
    assert apart(events, [2, 3])
    assert told(report) == ([("restart", 4)] if not between else [])


@pytest.mark.parametrize("between", ["", "--\n", "=== again ===\n"])
def test_csight(between: str) -> None:
    one = "0 1,0 send 1 0 7\n1 1,1 recv 1 0 7\n1 1,2 send 1 0 8\n"
    two = "1 0,1 send 1 0 7\n0 1,1 recv 1 0 7\n"
    events, report = read_text(one + between + two, "csight")
    assert apart(events, [3, 2])
    assert extract(events).messages == 3
    assert told(report) == ([("restart", 4)] if not between else [])


def test_shiviz_without_a_line_between() -> None:
    one = 'a\np {"p": 1}\nb\np {"p": 2}\nc\nq {"p": 2, "q": 1}\n'
    two = 'd\np {"p": 1, "q": 1}\ne\nq {"q": 1}\nf\np {"p": 2, "q": 1}\n'
    found = extract(read_text(one + two, "shiviz")[0])
    assert found.reported["restart"] == 1
    known = Microcosm(found.givens)
    assert unknown(found.givens, ("p:1", "p:2", "q:1"), sorted({*known.events} - {"p:1", "p:2", "q:1"}))
    assert known.online("p:2", "q:1") is Relation.BEFORE


def test_who_shows_first_before_a_restart_is_of_neither_execution() -> None:
    """r may end the first or begin the second: its clock counts in neither."""
    one = 'a\np {"p": 1}\nb\np {"p": 2}\n'
    two = 'c\nr {"r": 1}\nd\np {"p": 1, "r": 1}\ne\np {"p": 2, "r": 1}\n'
    found = extract(read_text(one + two, "shiviz")[0])
    known = Microcosm(found.givens)
    assert len(known.events) == 5
    (r,) = (name for name in known.events if "/r:" in name)
    assert unknown(found.givens, [r], sorted({*known.events} - {r}))


def test_lines_out_of_order_are_no_restart() -> None:
    text = 'a\np {"p": 1}\nc\np {"p": 3}\nb\np {"p": 2}\n'
    events, report = read_text(text, "shiviz")
    assert "restart" not in extract(events, report=report).reported


@pytest.mark.parametrize(
    ("format", "record"),
    [
        ("shiviz", 'a\np {"p": 1}\n'),
        ("shiviz", '[app/p] {"p": 1} a\n'),
        ("csight", "0 1,0 send 1 0 7\n"),
        ("csight_channels", "1,0 c!a\n"),
        ("tlc", '{"event": "d", "node": 0, "pkt": {"vc": {"0": 1}}}\n'),
    ],
)
def test_identical_adjacent_records_are_reported(format: str, record: str) -> None:
    events, report = read_text(record * 2, format)
    found = extract(events, report=report)
    assert (found.events, found.reported.get("duplicate-event"), report.lost) == (1, 1, 1)


def test_events_with_equal_clocks_are_not_ordered_where_positions_are_not_believed() -> None:
    clocks = ({"p": 2}, {"p": 1}, {"p": 1}, {"p": 3})
    events = [TraceEvent("p", seq, clock=clock) for seq, clock in enumerate(clocks, 1)]
    events.append(TraceEvent("q", 1, clock={"p": 1, "q": 1}))
    found = extract(events)
    known = Microcosm(found.givens)
    assert found.reported["equal-clock"] == 1
    assert unknown(found.givens, ["p:2"], ["p:3"])
    assert known.online("p:1", "p:4") is Relation.BEFORE
    assert known.online("p:2", "q:1") is not Relation.BEFORE  # q may have seen the other one


LINKED = [
    TraceEvent("p", 1, clock={"p": 1}, trace="A"),
    TraceEvent("p", 2, clock={"p": 2}, trace="A"),
    TraceEvent("q", 1, clock={"q": 1}, trace="B", after=("A/p:1",)),
    TraceEvent("q", 2, clock={"q": 2}, trace="B"),
    TraceEvent("q", 3, clock={"q": 3}, trace="B", after=("A/p:2",)),
]


def test_a_link_across_executions_fits_their_clocks() -> None:
    givens = extract(LINKED).givens
    known = Microcosm(read_givens(write_mc(givens)))
    assert known.online("A/p:1", "B/q:3") is Relation.BEFORE
    assert unknown(givens, ("A/p:1", "A/p:2"), ("B/q:1", "B/q:2"))


def test_links_between_last_events_close_no_cycle() -> None:
    back = [*LINKED[:1], TraceEvent("p", 2, clock={"p": 2}, trace="A", after=("B/q:3",)), *LINKED[2:]]
    found = extract(back)
    assert found.reported["link-cycle"] == 2
    Microcosm(found.givens)


def test_names_of_executions_are_unique_over_files(tmp_path: Path) -> None:
    from microcosm.traces import reading as formats

    for name, own in (("a", 1), ("b", 2)):
        (tmp_path / name).write_text(f'=== run ===\nx\n{name} {{"{name}": {own}}}\n')
    events = list(formats.read([tmp_path / "a", tmp_path / "b"]))
    assert [event.trace for event in events] == ["run", "run (2)"]


NAMES = (None, "2", "t", "t (2)", "t (2) (2)", "t (3)")


def named_alike(random: Random) -> Iterator[TraceEvent]:
    """Executions that begin again and have names as are made for such; labels say what each line states."""
    for number in range(random.randrange(4, 14)):
        trace, process = random.choice(NAMES), random.choice("pq")
        for seq in sorted(random.sample(range(1, 5), 2)):
            kind = random.choice(("internal", "send", "receive"))
            message = "m" if kind != "internal" else None
            yield TraceEvent(process, seq, kind, message, label=f"{trace}#{number}", trace=trace)


@pytest.mark.parametrize("seed", range(draws(20, 500)))
def test_no_name_that_is_made_for_an_execution_is_that_of_another(seed: int) -> None:
    events = read_text("".join(map(line_of, named_alike(Random(seed)))))[0]
    stated: dict[str, list[str]] = {}
    for event in events:
        stated.setdefault((event.label or "").partition("#")[0], []).append(event.full_id)
    givens = extract(events).givens
    assert len({name for names in stated.values() for name in names}) == len(events)
    assert all(unknown(givens, stated[a], stated[b]) for a, b in combinations(stated, 2))


def test_names_of_executions_as_they_are_made_may_be_stated() -> None:
    options = Options()
    assert [options.begin(name) for name in ("run", "run (2)", "run")] == ["run", "run (2)", "run (3)"]
    lines = [f'p {{"p": {own}}}\na {at}\n' for at, own in enumerate((1, 2, 1, 2))]
    events, _ = read_text(f"=== run ===\n{''.join(lines)}=== run (2) ===\n{''.join(lines[:2])}", "shiviz")
    assert {*extract(events).givens.clocks} == {
        *("run/p:1", "run/p:2", "run (3)/p:3", "run (3)/p:4", "run (2)/p:1", "run (2)/p:2")
    }
    assert [len(picked(events, name, Report())[0]) for name in ("run", "run (2)", "run (3)")] == [2, 2, 2]


def test_links_of_an_execution_are_found_in_a_copy_that_names_events_in_full() -> None:
    log = [
        TraceEvent("p", 1, trace="A"),
        TraceEvent("q", 1, trace="A", after=("p:1",), links=("parent",)),
        TraceEvent("q", 1, trace="B"),
    ]
    copy = [replace(event, name=event.full_id) for event in log]
    assert extract(copy).givens.external == extract(log).givens.external
    assert len(extract(copy).givens.external) == 1


def test_own_lines_whose_positions_begin_again() -> None:
    one = [TraceEvent("p", seq, label=f"one {seq}") for seq in (1, 2)]
    two = [TraceEvent("p", seq, label=f"two {seq}") for seq in (1, 2, 3)]
    text = "".join(map(line_of, one + two))
    events, report = read_text(text)
    assert apart(events, [2, 3])
    assert report.counts == {"restart": 1}
    assert not read_text("".join(map(line_of, one + one)))[1].counts["restart"]


def test_an_execution_that_begins_again_has_another_name() -> None:
    run = [TraceEvent("p", seq, label=label, trace="A") for label in ("one", "two") for seq in (1, 2)]
    events, _ = read_text("".join(map(line_of, run)))
    assert [event.trace for event in events] == ["A", "A", "A (2)", "A (2)"]


def test_every_execution_of_a_log_can_be_chosen_by_the_name_that_is_listed(tmp_path: Path) -> None:
    """The first, which has no name; the next ones, which have numbers; and those that only clocks show."""
    first = "".join(f'p {{"p": {at}}}\na {at}\n' for at in (1, 2, 3))
    other = first.replace("a ", "b ")
    own = "".join(
        json.dumps({"process": "p", "seq": seq, "kind": "internal", "label": label}) + "\n"
        for label in "ab"
        for seq in (1, 2, 3)
    )
    for name, text, names in (
        ("restarts.log", first + other, ["1", "execution (2)"]),
        ("begins.jsonl", own, ["1", "2"]),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        labels = []
        for trace in names:
            events = [*formats.read([path], trace=trace)]
            assert len({*extract(events).givens.named()}) == len(events) == 3
            labels.append({(event.label or "")[0] for event in events})
        assert labels == [{"a"}, {"b"}]
        with pytest.raises(TextError) as unknown_one:
            [*formats.read([path], trace="execution (7)")]
        assert names[-1] in str(unknown_one.value)
        for at, trace in enumerate(names):
            found = extract([*formats.read([path])], process=f"{trace}/p")
            assert len(found.givens.internal) == 3
            assert (f"{names[1]}/" in str(found.givens.internal)) == bool(at)


def test_an_execution_that_is_called_1_is_not_the_one_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [{"process": "p", "seq": 1, "kind": "internal"}, {"process": "p", "seq": 1, "kind": "internal"}]
    lines[1]["trace"] = "1"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [event.trace for event in formats.read([path], trace="1")] == ["1"]
    assert [event.trace for event in formats.read([path], trace="1 (unnamed)")] == [None]


@pytest.mark.parametrize("format", ["shiviz", "jsonl", "tlc"])
def test_no_position_lacks_that_a_repeated_line_or_another_run_has(format: str) -> None:
    """They were counted over these; what is not there in either is still a hole."""

    def written(run: str, *events: tuple[str, dict[str, int]]) -> str:
        lines = {
            "shiviz": lambda who, clock: f"{run}\n{who} {json.dumps(clock)}\n",
            "jsonl": lambda who, clock: json.dumps({"process": who, "label": run, "clock": clock}) + "\n",
            "tlc": lambda who, clock: json.dumps({"event": run, "node": who, "pkt": {"vc": clock}}) + "\n",
        }
        return "".join(lines[format](*event) for event in events)

    p = [("p", {"p": own}) for own in (1, 2, 3)]
    events, report = read_text(written("a", p[0], p[1], p[1], p[2], ("q", {"p": 3, "q": 1})), format)
    found = extract(events, report=report)
    assert {*found.reported} == {"duplicate-event"}
    assert all(clock.ticked for clock in found.givens.clocks.values())
    events, report = read_text(written("a", *p) + written("b", *p[:2], ("q", {"p": 2, "q": 1})), format)
    found = extract(events, report=report)
    assert "seq-gap" not in found.reported
    assert all(clock.ticked for clock in found.givens.clocks.values())


def test_a_hole_of_a_copy_is_one_whatever_is_repeated_before_it() -> None:
    copied = [
        {"process": "p", "seq": seq, "label": str(own), "clock": {"p": own}, "counted": ["seq"]}
        for seq, own in ((1, 1), (2, 2), (3, 2), (5, 3))
    ]
    events, report = read_text(
        "".join(json.dumps({**line, "kind": "internal"}) + "\n" for line in copied), "jsonl"
    )
    found = extract(events, report=report)
    assert found.reported == {"duplicate-event": 1, "seq-gap": 1}
    assert [clock.ticked for clock in found.givens.clocks.values()] == [True, True, False]


@pytest.mark.parametrize("name", ["tlc", "tlc_states", "shiviz", "akka", "csight", "jsonl"])
def test_two_executions_with_holes_are_never_one(name: str, tmp_path: Path) -> None:
    for seed in range(1, 6):
        random = Random(seed)
        one, other = SAMPLES[name](seed), SAMPLES[name](seed + 100)
        both, files = joined(one, other, separated=False, files=False)
        pieces = [
            [piece for piece in file if isinstance(piece, str) or random.random() > 0.1] for file in files
        ]
        claims = read_pieces(both, pieces, tmp_path)
        assert [*false_claims(claims, both.past, of_two(one, other))] == []


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        ("1a 1b 2c", ["2/p:1 < 2/p:2"]),
        ("1a 2b 1a 2c 3d", ["p:1 < p:2", "2/p:2 < 2/p:3"]),
        ("1a 2b 3c 2d 3e", ["p:1 < p:2", "p:2 < p:3", "2/p:2 < 2/p:3"]),
        ("1a 2b 1a 2b 3c", ["p:1 < p:2", "p:2 < p:3"]),
    ],
)
@pytest.mark.parametrize("files", [1, 2])
def test_a_process_that_is_at_a_position_once_more_with_another_text_begins_again(
    tmp_path: Path, labels: str, order: list[str], files: int
) -> None:
    """What it does from there on does not follow what stood there; however many files it is in."""
    lines = [f'{{"process": "p", "seq": {one[0]}, "label": "{one[1]}"}}\n' for one in labels.split()]
    paths = [tmp_path / f"{number}.jsonl" for number in range(files)]
    for number, path in enumerate(paths):
        path.write_text("".join(lines[len(lines) * number // files : len(lines) * (number + 1) // files]))
    found = microcosm_of_logs(paths).givens
    assert [*map(str, found.external.values())] == order
