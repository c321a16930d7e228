"""Small faults, one at a time, in what is kept, refused and verified: each must be noticed by the tests."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A name, a file of `microcosm`, what to replace by what there, and the tests that notice, for pytest."""

    name: str
    file: str
    old: str
    new: str
    tests: str


CLAIMS = (
    "tests/cli/test_claims.py "
    "--deselect=tests/cli/test_claims.py::test_a_changed_answer_is_true_or_refused "
    "--deselect=tests/cli/test_claims.py::"
    "test_real_answers_under_fewer_rules_are_valid_and_changed_ones_true_or_refused"
)
"""Without the random changes, which notice most of these too, and take longer."""

COST = "tests/kernel/test_cost.py"
ASSUMED = "tests/kernel/test_assumptions.py"
FORGETTING = (
    "tests/state/test_forget.py::test_a_forgotten_event_leaves_no_stamp_clock_message_or_token "
    "tests/state/test_forget.py::test_what_the_stamp_of_a_forgotten_event_refuted_of_the_others_stays"
)
CONFLICT = "tests/queries/test_possible.py::test_of_a_token_only_the_pairs_that_contradict_are_in_a_conflict"
EXACT = "tests/givens/test_exact.py"
TOLD = "tests/worlds/test_complete.py"

MUTANTS = [
    Mutant(
        "what is possible beside a verdict", "cli/commands/claims.py",
        ", possible=left_over)", ")", CLAIMS,
    ),
    Mutant(
        "no verdict though one relation is left", "cli/commands/claims.py",
        "(verdict is not None or len(possible) > 1)", "True", CLAIMS,
    ),
    Mutant(
        "what is possible against the verdict", "cli/commands/claims.py",
        "{*possible} <= {*MEANS.get(verdict, SIGNS)}", "True", CLAIMS,
    ),
    Mutant("fields that no answer has",
        "cli/commands/claims.py", "if unknown := sorted(", "if not sorted(", CLAIMS),
    Mutant(
        "an answer where no world fits", "cli/commands/claims.py",
        "consistent=False, verdict=None, refuted=[], possible=[], derivations={}, exact=True",
        "consistent=False", CLAIMS,
    ),
    Mutant(
        "what is exact by its word", "cli/commands/claims.py",
        '_require(fits, f"`exact`', '_require(True, f"`exact`', CLAIMS,
    ),
    Mutant(
        "exact where worlds do not know all", "cli/commands/claims.py",
        "_require(not unheeded", "_require(True", CLAIMS,
    ),
    Mutant(
        "events that nothing names", "cli/commands/claims.py",
        ", unknown_events=[event for event in pair if event not in named]", "", CLAIMS,
    ),
    Mutant(
        "a conflict that is not given", "cli/commands/claims.py",
        "return found[0] if len(found) == 1 and statement(found[0]) == text else None",
        "return (found or facts)[0]", CLAIMS,
    ),
    Mutant(
        "a conflict that is not minimal", "cli/commands/claims.py",
        "_require(less, message)", "pass", CLAIMS,
    ),
    Mutant(
        "a conflict that fits a world", "cli/commands/claims.py",
        "_prove(None, (), _together(given, givens), stop)", "pass", CLAIMS,
    ),
    Mutant(
        "a world that does not fit", "cli/commands/claims.py",
        "why = _unfit(order, pairs, sign, pair, givens)", "why = None", CLAIMS,
    ),
    Mutant(
        "the last minimisation of a conflict", "queries/conflict.py",
        "    return minimal(pairs, contradict)\n", "    return pairs\n", CONFLICT,
    ),
    Mutant(
        "a forgotten event's stamp is kept", "givens/kinds.py",
        'Kind(dict, _other_events, _same("the stamp of"))',
        'Kind(dict, lambda stamps, _: stamps, _same("the stamp of"))', FORGETTING,
    ),
    Mutant(
        "a forgotten event's clock is kept", "givens/kinds.py",
        'Kind(dict, _other_events, _both_clocks)',
        'Kind(dict, lambda clocks, _: clocks, _both_clocks)', FORGETTING,
    ),
    Mutant(
        "a forgotten event's messages are kept", "state/forget.py",
        "message.event not in gone]\n", "True]\n", FORGETTING,
    ),
    Mutant(
        "stamps refute nothing", "state/forget.py",
        "old.refuted or old.stamps or old.clocks", "old.refuted or old.clocks", FORGETTING,
    ),
    Mutant(
        "numbers as floats", "givens/exact.py", "found = Decimal(text)", "found = Decimal(float(text))",
        EXACT,
    ),
    Mutant(
        "an interval narrowed to floats", "givens/exact.py",
        "math.nextafter(near, math.inf)", "math.nextafter(near, -math.inf)", EXACT,
    ),
    Mutant(
        "assumptions are never discharged", "kernel/check.py",
        "if line == rest.assumed and place >= rest.outside:", "if False:", ASSUMED,
    ),
    Mutant(
        "assumptions of premises before it are discharged", "kernel/check.py",
        "if line == rest.assumed and place >= rest.outside:", "if line == rest.assumed:", ASSUMED,
    ),
    Mutant(
        "assumptions beyond an evolution", "kernel/check.py",
        "if rest.setting is not setting:", "if False:", ASSUMED,
    ),
    Mutant(
        "assumptions that are left", "kernel/check.py",
        "for line, path in self.given.rests_on[id(start.node)].items():", "for line, path in ():", ASSUMED,
    ),
    Mutant(
        "a log of which some events are in no order", "kernel/search.py",
        "chain(lines(self._givens).values(), undirected(self._givens))", "list[list[str]]()", TOLD,
    ),
    Mutant(
        "a complete log that orders not all that is related", "givens/facts.py",
        "yield from ((f.left, f.right) for f in facts if f.relation is Relation.RELATED)", "pass", TOLD,
    ),
    Mutant(
        "what clocks have seen and a complete log does not tell", "givens/facts.py",
        "for event, clock in clocks.items():\n        for other, seen",
        "for event, clock in ():\n        for other, seen", TOLD,
    ),
    Mutant(
        "a value of two events in a complete log", "givens/facts.py",
        "or len(some) > 1 or", "or", TOLD,
    ),
    Mutant(
        "events without a clock, of which somebody may have heard", "givens/facts.py",
        "found.exits.update(silent.get(process, ()))", "pass", TOLD,
    ),
    Mutant(
        "events without a clock, which may have heard of others", "givens/facts.py",
        "found.entries.update(silent.get(process, ()))", "pass", TOLD,
    ),
    Mutant(
        "events of two processes", "givens/facts.py",
        "found if found.isdisjoint(others) else", "found or", TOLD,
    ),
    Mutant(
        "the events of all are those of some", "givens/facts.py",
        "if process in named}", "if process}", TOLD,
    ),
    Mutant(
        "what is sent to others goes nowhere", "givens/facts.py",
        "{*one.receivers} <= {*givens.complete}):", "True):", TOLD,
    ),
    Mutant(
        "what leads out is forgotten", "state/forget.py",
        "_open_ends(left, gone) != _open_ends(givens, gone)", "False", TOLD,
    ),
    Mutant(
        "no limit on earlier microcosms", "kernel/check.py",
        "if len(self.earlier) == EARLIER:", "if len(self.earlier) == 5 * EARLIER:", COST,
    ),
]  # fmt: skip
