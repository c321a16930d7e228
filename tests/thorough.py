"""How many random draws a slow test takes: as there is time for in CI, or as it takes.

`HYPOTHESIS_PROFILE=thorough pytest -m "slow or thorough"` takes all of them. What is marked `thorough` is a
larger scope of what CI shows of smaller ones, and CI leaves it out.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def draws(some: int, all_of_them: int) -> int:
    """How many to take.

    >>> draws(3, 3)
    3
    """
    return all_of_them if THOROUGH else some
