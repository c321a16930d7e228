"""What notices mutants: parts of the tests, by name, in a process that imports a mutated copy.

`python -m tests.orderings.judge small ladders` exits 0 where these pass and 1 where one does not.
"""

from __future__ import annotations

import sys

from tests.orderings import oracle, test_enumeration, test_patterns, test_rules
from tests.orderings.notation import computation_of


def small() -> None:
    """All computations of up to three messages and three peers, verdicts and witnesses."""
    for messages in (1, 2, 3):
        for chains in oracle.computations(messages, 3):
            computation = computation_of(chains)
            verdicts = test_enumeration.classify(computation)
            assert test_enumeration.said(verdicts) == oracle.verdicts(chains), chains
            test_enumeration.check(computation, verdicts)


def larger() -> None:
    test_enumeration.test_isomorphism_time_reversal_and_deletion()


def ladders() -> None:
    for rungs in range(1, 9):
        test_patterns.test_ladders(rungs)


def knots() -> None:
    for size in range(1, 6):
        test_patterns.test_knots(size)


def no_patterns() -> None:
    test_patterns.test_what_is_no_pattern()


def rules() -> None:
    for statement in ("causal", "fifo-n-1", "fifo-1-n"):
        test_rules.test_every_rule_is_sound_of_every_computation(statement)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            globals()[name]()
        except Exception as fault:
            print(f"{name}: {type(fault).__name__}: {fault}")
            sys.exit(1)
