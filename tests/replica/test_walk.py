"""How far a fact goes from `learn` into the journal: what the change does not need is not entered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import microcosm
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.replica import Replica

PACKAGE = str(Path(microcosm.__file__).parent)


def entered(work: Callable[[], object]) -> set[tuple[str, str]]:
    """The functions of the package that some work calls, each with its file."""
    found: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_what_is_learnt_takes_few_stations_to_the_journal(tmp_path: Path) -> None:
    phone = Replica(tmp_path / "journal", "phone", incarnation=1)
    phone.local("unshare"), phone.local("upload")
    stated = Correspondence("notify", Relation.BEFORE, "view")
    for given, functions, files in (("upload < notify", 60, 18), (stated, 49, 15), ("view < like", 60, 18)):
        found = entered(lambda given=given: phone.learn(given))  # type: ignore[misc]
        assert len(found) <= functions, sorted(found)
        assert len({file for file, _ in found}) <= files, sorted(found)
        assert not any("/engine/" in file or "/state/" in file for file, _ in found)
    assert phone.online("unshare", "like") is Relation.BEFORE
    found = entered(lambda: phone.learn("like < share"))
    assert not any("/engine/" in file for file, _ in found)  # nor once a question was asked
    assert phone.online("unshare", "share") is Relation.BEFORE
    phone.close()


def test_many_that_wait_for_a_question_are_made_in_place(tmp_path: Path) -> None:
    """However many orders are learnt between two questions, the microcosm is not built anew for them."""
    phone = Replica(tmp_path / "journal", "phone", incarnation=1)
    phone.local("e0")
    known = phone.known
    for n in range(200):
        phone.learn(f"e{n} < e{n + 1}")
    assert phone.known is known
    assert phone.online("e0", "e200") is Relation.BEFORE
    phone.close()
