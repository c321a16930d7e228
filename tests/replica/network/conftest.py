"""Three processes that have met, for tests of what packets may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.replica.network.pair import Pair


@pytest.fixture
def three() -> Pair:
    from tests.replica.network.pair import Pair

    pair = Pair()
    pair.settle()
    pair.goes_on()
    return pair
