"""The public names, one by one: what is missing here or there is a change that users notice.

`docs/reference/stability.md` says what is promised of them. A new name is added here, with a line in the
changelog; one that goes is deprecated first.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import microcosm
from microcosm import errors, record, testing
from microcosm.cli.app import COMMANDS
from microcosm.cli.exits import BAD_INPUT, FAULT, HOLDS, INTERRUPTED, PIPE_CLOSED, REFUTED, UNDECIDED, USAGE
from microcosm.record import Recorder

ROOT = Path(__file__).parents[1]

TOP = """
Bisimilarity Contradiction Correspondence Microcosm MicrocosmError Relation RuleError TextError TraceError
Undefined UnknownEvent Verification World bisimilar diff verify
"""
MICROCOSM = """
add append assert_ batch between concluded concurrent conflict contradiction copy derive event events
events_table events_to_arrow explain_evolution find forget from_networkx from_trace frontier future givens
has_member hasse holds longest_chain merge name nearest offline offline_table online online_many page pairs
parse past possible possible_table read remove require settle silent table to_arrow to_json to_networkx
to_pandas to_text unknown update view why why_not with_verdict worlds write
"""
RELATION = "AFTER BEFORE CONCURRENT NOT_AFTER NOT_BEFORE NOT_CONCURRENT NOT_RELATED RELATED SILENT UNKNOWN"
ERRORS = """
Busy Contradiction DamagedJournal JournalError KeyFileError LockedJournal LostJournal Malformed MicrocosmError
MissingLibrary NewerVersion NotComplete NotOneEvent ProtocolError ReplicaError RuleError Stopped TextError
TraceError Undefined UnknownEvent WrongReplica
"""
BELOW = {
    "microcosm.replica.replica": "Replica level",
    "microcosm.replica.journal": "Journal",
    "microcosm.replica.store": "Memory",
    "microcosm.replica.ledger.forgetting": "Forgetting",
    "microcosm.replica.node": "ReplicaNode serve",
    "microcosm.replica.background": "running",
    "microcosm.replica.network.keys": "new_ring read_keys write_keys",
    "microcosm.spark.frames": "assert_ bisim extract register",
}
"""Of these modules only the names that `docs/reference/stability.md` has."""
RECORDER = "after close event flush here lost process receive refused send"
COMMAND_NAMES = """
assert bisim check collect demo diff doctor draw events evolve explore extract find help merge offline
online order page possible repl replica rules settle simulate spark table trace verify view why why-not
"""
CODES = {
    0: HOLDS,
    1: REFUTED,
    2: USAGE,
    3: UNDECIDED,
    4: BAD_INPUT,
    70: FAULT,
    130: INTERRUPTED,
    141: PIPE_CLOSED,
}


def own(holder: object) -> list[str]:
    """The names without an underscore in front that a module or class defines itself, sorted."""
    return sorted(name for name in vars(holder) if not name.startswith("_"))


def test_the_package() -> None:
    assert microcosm.__all__ == TOP.split()
    assert own(microcosm.Microcosm) == MICROCOSM.split()
    assert sorted(one.name for one in microcosm.Relation) == RELATION.split()


def test_each_name_stands_on_the_page_by_task() -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    assert [name for name in MICROCOSM.split() if not re.search(rf"(\.|`){name}\b", page)] == []


def test_errors() -> None:
    classes = {name: getattr(errors, name) for name in own(errors)}
    own_errors = [
        name for name, one in classes.items() if isinstance(one, type) and issubclass(one, Exception)
    ]
    assert own_errors == ERRORS.split()
    assert all(issubclass(classes[name], errors.MicrocosmError) for name in own_errors)


def test_record_and_testing() -> None:
    assert sorted(record.__all__) == ["RecordHandler", "Recorder"]
    assert own(Recorder) == RECORDER.split()
    assert {"Causality", "QuestionFailed", "assert_that"} <= set(own(testing))


@pytest.mark.parametrize("module", BELOW)
def test_what_is_public_further_below(module: str) -> None:
    if "spark" in module:
        pytest.importorskip("pyarrow")
    found = vars(import_module(module))
    said = (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")
    for name in BELOW[module].split():
        assert callable(found[name])
        assert f"`{name}`" in said


def test_commands_and_exit_codes() -> None:
    assert {*COMMAND_NAMES.split()} == {*COMMANDS}
    assert all(code == meant for code, meant in CODES.items())
