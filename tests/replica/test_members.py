"""What many members cost stays what the page of the network says: a handful of packets each."""

from __future__ import annotations

from statistics import median

import pytest

from tests.replica.members import Members

pytest.importorskip("cryptography")


@pytest.mark.parametrize("count", [10, pytest.param(50, marks=pytest.mark.thorough)])
def test_an_event_costs_each_member_a_handful_of_packets(count: int) -> None:
    members = Members(count)
    assert members.idle / count < 5.0
    events = [members.event(n) for n in range(5)]
    assert median(each.packets for each in events) <= 6.0
    assert max(each.seconds for each in events) < 3.0
    there, known = members.message()
    assert there.seconds < 3.0
    assert known.seconds < 5.0
    steady, _ = members.steadily(3.0, 2.0)
    assert steady.packets <= 6.0
    assert steady.seconds < 3.0
