"""What may and may not be, as it is answered: offline verdicts, possibilities, and that nothing fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from microcosm.cli import output
from microcosm.cli.options import stop_after
from microcosm.cli.show.proofs import events_field, given_from
from microcosm.cli.show.verdict import IN_WORDS, proof_below, prose, statement, verdict_line, words_of
from microcosm.errors import Stopped
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Derivation, Words, proof_object
from microcosm.order.order import fits_as_stated, lacking
from microcosm.text.names import quote
from microcosm.tuning import ALL_TAKE_PART

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.queries.conflict import OneGiven
    from microcosm.queries.offline import Inconsistent, Offline
    from microcosm.queries.possible import Possibility, WitnessWorld
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop


def offline_fields(left: str, right: str, found: Offline) -> dict[str, object]:
    """The JSON fields of an offline verdict."""
    return {
        "pair": [left, right],
        "verdict": None if found.relation is None else found.relation.value,
        "refuted": [relation.value for relation in found.refuted],
        "possible": [relation.value for relation in found.possible],
        "exact": found.exact,
        "derivations": {s: proof and proof_object(proof) for s, proof in found.derivations.items()},
    }


def inconsistent_fields(problem: Inconsistent) -> dict[str, object]:
    """The JSON fields that say that no world fits, and why."""
    return {"consistent": False, "derivation": proof_object(problem.derivation)}


def inconsistent_lines(known: Microcosm, problem: Inconsistent) -> Iterator[str]:
    """That no world fits, and why."""
    yield "inconsistent: no world fits all that is given, so there is no verdict on any pair"
    yield from proof_below(known, problem.derivation)


def shown_offline(
    known: Microcosm, left: str, right: str, found: Offline, wrap: bool = True
) -> Iterator[str]:
    """The verdict for people: what is proved or refuted, what is left, and each proof.

    What is a sentence is `wrap`ped to the width of the terminal.
    """
    words = words_of(known)
    if found.relation is not None:
        yield verdict_line(left, found.relation, right, words)
    for line in offline_lines(left, right, found, words):
        yield from prose(line) if wrap else (line,)
    proofs = found.derivations
    if found.relation is not None and found.relation is not Relation.RELATED:  # that leaves the rest refuted
        proofs = {str(found.relation): proofs[str(found.relation)]}
    for proof in dict.fromkeys(proofs.values()):
        yield from proof_below(known, proof)


def offline_lines(left: str, right: str, found: Offline, words: Words = quote) -> list[str]:
    """What is refuted and what is left, where that is more than the relation proved."""
    notes = []
    if found.relation is None or found.relation is Relation.RELATED:
        notes += [
            f"{statement(left, '!' + str(r), right, words)}   ({IN_WORDS[r]}: refuted)" for r in found.refuted
        ]
    left_over = ", ".join(str(relation) for relation in found.possible)
    if found.relation is None or found.relation is Relation.RELATED:
        if found.exact and len(found.possible) == 3:
            notes.append("nothing is proved or refuted: there are worlds with <, > and || between the two")
        else:
            known = "some world has each" if found.exact else "whether a world has each was not decided"
            notes.append(f"possible: {left_over} ({known})" if found.possible else "possible: nothing")
    return notes


MOST_DRAWN = 30
"""A world of more events is not drawn for people; `--json` has it."""


def possible_fields(left: str, right: str, found: Possibility) -> dict[str, object]:
    """What is possible of two events, as JSON fields."""
    return {
        "pair": [left, right],
        "possible": [relation.value for relation in found.relations],
        "worlds": {relation.value: [w.order, w.before] for relation, w in found.worlds.items()},
        "exact": found.exact,
        **({"ignored": list(found.ignored)} if found.ignored else {}),
    }


def possible_lines(left: str, right: str, found: Possibility, words: Words = quote) -> Iterator[str]:
    """What is possible of two events, for people, with a world for each possibility."""
    from microcosm.worlds.propagation import MEMBERS

    shown = " or ".join(statement(left, str(relation), right, words) for relation in found.relations)
    ruled_out = [str(relation) for relation in MEMBERS if relation not in found.relations]
    note = f"{' and '.join(ruled_out)} ruled out" if ruled_out else "nothing is ruled out"
    if found.ignored:
        note += f", {' and '.join(found.ignored)} not being taken into account in full"
    yield f"{shown}   ({note})"
    for relation in found.relations:
        text = statement(left, str(relation), right, words)
        yield ""
        if relation in found.worlds:
            yield f"{text}, for example, where"
            yield from _world(found.worlds[relation], words)
        else:
            yield f"{text} was neither found possible nor ruled out in time"


def _world(world: WitnessWorld, words: Words) -> list[str]:
    if len(world) > MOST_DRAWN:
        return [f"  (a world of {len(world):,} events; --json has it)"]
    ordered = {event for pair in world.before for event in pair}
    drawn = [f"  {statement(a, '<', b, words)}" for a, b in world.before]
    alone = [words(event) for event in world.order if event not in ordered]
    if alone:
        drawn.append(f"  {', '.join(alone)} concurrent with every other event")
    return drawn


SIGNS = {"<": "<", ">": ">", "||": "||", "<>": "<>", ">||": "!<", "<||": "!>", "<>||": ".", "": "none"}
"""What may be, and its sign; anything is a dot. Nothing is left where rules see no contradiction in that."""


def joined(relations: tuple[Relation, ...]) -> str:
    """What may be as one sign: `<>` for `<` and `>`, `!<` for `>` and `||`, `.` for anything.

    >>> from microcosm.givens.relation import Relation
    >>> joined((Relation.AFTER, Relation.CONCURRENT)), joined((Relation.BEFORE,))
    ('!<', '<')
    """
    return SIGNS["".join(str(relation) for relation in relations)]


FITS = "consistent: some world fits all that is given"
NO_WORLD = "inconsistent: no world fits all of this, and without any one of them some world does"
NONE_FITS = "inconsistent: no world fits all that is given"


MOST_EVENTS = 20_000
"""Among more events, online answers do not wait for a search for deeper contradictions."""


LONGEST = 0.5
"""Seconds that such a search may take."""


def warn_if_inconsistent(known: Microcosm, files: Sequence[str]) -> None:
    """Warn where no world fits what is given, though online decision making does not see it."""
    given = known.givens
    if given.rightly_clocked or max(len(given.clocks), given.external_count) > MOST_EVENTS:
        return
    ordered = given.orderings and len(known) <= ALL_TAKE_PART  # of orderings worlds know nothing
    if not (given.refuted or given.stamps or given.tokens or given.clocks or ordered):
        stated = any(fact.relation is Relation.RELATED for fact in given.external.values())
        if not stated or (not given.beyond_worlds and fits_as_stated(given)):  # mostly no need to search
            return
    stop = stop_after(LONGEST)
    try:
        fits = known.worlds.fits(stop) and not (ordered and known.contradiction(stop=stop))
    except Stopped:
        return
    if not fits:
        output.warn(f"no world fits all that {', '.join(files)} gives: `microcosm check` says why")


def say_inconsistent(file: str, givens: Givens, stop: Stop | None) -> list[str] | None:
    """Say on standard error that no world fits, and why; the conflict as statements, None if out of time."""
    from microcosm.queries.conflict import conflict
    from microcosm.worlds.possible import Undecided

    try:
        found = conflict(givens, stop)
    except Undecided:
        output.complain(f"error: {file}: {NONE_FITS}")
        return None
    output.complain(f"error: {file}: {NO_WORLD if found else beyond(givens)}", *conflict_lines(found or ()))
    return statements(found)


def beyond(givens: Givens) -> str:
    """Why nothing fits though some world has all else: for what is stated of messages, or by the rules."""
    stated = ["the network is known to keep an ordering of messages"] if givens.orderings else []
    stated += ["the log is stated to be complete"] if givens.complete else []
    why = f"{' and '.join(stated)}, which contradicts what is given" if stated else "these rules say so"
    return f"inconsistent: {why}"


def too_wide(givens: Givens, ignored: Sequence[str]) -> str:
    """That possibilities may be too many, for what was not taken into account, and why it was not."""
    text = f"{' and '.join(ignored)}: not taken into account in full, so what is listed may be impossible"
    why = lacking(givens) if "complete" in ignored else None
    return text if why is None else f"{text} (the log is stated to be complete, but {output.printable(why)})"


def statements(conflict: Sequence[OneGiven] | None) -> list[str] | None:
    """A conflict as statements of a microcosm file."""
    from microcosm.queries.conflict import statement

    return None if conflict is None else [statement(given) for given in conflict]


def check_fields(
    givens: Givens, consistent: bool | None, conflict: Sequence[OneGiven] | None, proof: Derivation | None
) -> dict[str, object]:
    """The JSON fields that say whether all that is given can be true together; None: that is not known."""
    derivation = None if proof is None else proof_object(proof)
    answer = {"consistent": consistent, "derivation": derivation, "conflict": statements(conflict)}
    return {**answer, **events_field(givens, proofs=[proof])}


def conflict_lines(conflict: Sequence[OneGiven]) -> list[str]:
    """A conflict for people: each given with where it comes from."""
    from microcosm.queries.conflict import statement

    return [
        f"  {output.printable(statement(given))}"
        + (f"   ({given_from(given.source)})" if isinstance(given, Correspondence) else "")
        for given in conflict
    ]
