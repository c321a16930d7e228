"""Some stories of `tests.replica.operated`: journals that are lost, and restored while others go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from microcosm.replica.network import members
from tests.replica import operated
from tests.replica.nodes import is_given
from tests.replica.operated import story
from tests.thorough import draws

pytest.importorskip("cryptography")


@pytest.mark.parametrize("seed", range(4))
def test_what_holds_holds_and_what_is_lost_is_named(seed: int, tmp_path: Path) -> None:
    with closing(story(seed, tmp_path)) as world:
        assert world.quiet()
        assert world.judge() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + draws(2, 60)))
def test_so_it_is_at_length(seed: int, tmp_path: Path) -> None:
    with closing(story(seed, tmp_path, seconds=40.0)) as world:
        assert world.quiet()
        assert world.judge() == []


def test_the_judge_sees_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that nobody has, one that ought to be gone, and messages that nobody named."""
    monkeypatch.setattr(members, "let_go", lambda *given: None)
    monkeypatch.setattr(operated, "undelivered", lambda *given: [])
    unknown = {name: (name, 0) for name in "abc"}
    monkeypatch.setattr(
        *(operated, "gone"),
        lambda _, process: {
            name: at for name, at in unknown.items() if name not in {process.name, *process.membership.named}
        },
    )
    with closing(story(1, tmp_path)) as world:
        dot = next(dot for dot, fact in world.adds.items() if is_given(world.nodes["a"].replica, fact))
        world.adds[dot] = "x999 < y999"
        found = world.judge()
    for wrong in ("lacks x999", "which was removed", "nobody was told"):
        assert any(wrong in each for each in found), wrong
