"""What notices mutants: parts of the tests, by name, in a process that imports a mutated copy.

`python -m tests.orderings.judge small ladders` exits 0 where these pass and 1 where one does not.
"""

from __future__ import annotations

import sys

import pytest

import tests.conftest  # noqa: F401 (the profile of HYPOTHESIS_PROFILE, before settings are made)
from tests.givens import test_predicates
from tests.orderings import oracle, test_enumeration, test_patterns, test_rules, test_stream
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
    scope = test_rules.messages_with_one_receiver
    for statement in ("causal", "fifo-n-1", "fifo-1-n"):
        test_rules.test_every_rule_is_sound_of_every_computation(statement, scope)


def rules_of_multicasts() -> None:
    for statement in (
        "fifo-1-n",
        *(f"{name} interior" for name in ("fifo-1-n", "fifo-n-1", "fifo-n-n", "rsc")),
    ):
        assert test_rules.unsound([*oracle.multicasts(1, 3), *oracle.multicasts(2, 4)], statement) == []
    test_rules.test_one_event_may_send_or_receive_several_messages()


def multicasts() -> None:
    for scope, count in test_enumeration.MULTICASTS:
        test_enumeration.test_all_multicasts(scope, count)


def hierarchy() -> None:
    for multicast in (False, True):
        test_enumeration.test_lemma_4_hierarchy(multicast)


def stream() -> None:
    test_stream.test_what_is_watched_is_what_the_whole_log_says()
    test_stream.test_a_multicast_is_in_transit_until_the_last_receiver_has_it()
    test_stream.test_each_reception_of_a_multicast_counts()


def base() -> None:
    test_predicates.test_what_is_received_twice_or_by_its_sender_answers_nothing()
    test_predicates.test_what_is_answered_and_what_has_one_receiver()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            globals()[name]()
        except (Exception, pytest.fail.Exception) as fault:
            print(f"{name}: {type(fault).__name__}: {fault}")
            sys.exit(1)
