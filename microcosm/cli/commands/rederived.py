"""What an answer says beside its derivations, worked out anew for `verify`.

A world that is shown, or found for what is called exact, is checked against every given. What an answer
leaves out without a proof is refuted anew, and the kernel checks the refutation. A conflict is parsed, looked
up in the givens, and shown to be contradictory and minimal. So nothing here rests on the answer's word, and
nothing is accepted on the word of a search. Cost: what answering cost, a search by cases at worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from microcosm.cli.commands.proof_input import MEANS, SIGNS
from microcosm.errors import Contradiction, MicrocosmError
from microcosm.givens.clock import Clock
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import Derivation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.queries.conflict import OneGiven, statement
from microcosm.queries.possible import ignored
from microcosm.text.mc_reader import read_givens
from microcosm.text.statement import Clocked, Stamped
from microcosm.worlds import world as fit
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.world import Candidate

if TYPE_CHECKING:
    from microcosm.worlds.search import Stop

_REFUTES = {"<": "!<", ">": "!>", "||": "!||"}


def fault(
    kind: str, stated: dict[str, Any], givens: Givens, book: RuleBook, stop: Stop | None = None
) -> str | None:
    """What of an answer of this kind, whose derivations are valid, is not so; None where all of it is.

    Where `stop` came before it was known, it is said to be not so, or `Stopped` or `Undecided` is raised.
    """
    if (stated.get("events") or None) != (_events(stated, givens) or None):
        return "`events` is not what the log says of the events of this answer"
    named = set(givens.named())
    pair = stated.get("pair", [])
    strangers = [event for event in pair if event not in named]
    if stated.get("unknown_events", strangers) != strangers:
        return "`unknown_events` is not what the microcosm does not name of the pair"
    if kind == "offline" and "consistent" not in stated and book.instances == read_rules().instances:
        # Under other rules a verdict may refute nothing, and a relation that is left not be the verdict.
        meant = MEANS.get(stated["verdict"], SIGNS)
        if not {*stated["possible"]} <= {*meant}:
            return "what is possible is not what the verdict says"
        if stated["verdict"] is None and len(stated["possible"]) < 2:
            return "the answer has no verdict, though what it refutes leaves one relation at most"
    match kind:
        case "offline" if stated["exact"] and stated["possible"]:
            return _inexact(stated["possible"], pair, givens, stop)
        case "check":
            return _conflict(stated.get("conflict"), givens, stop)
        case "possible":
            return _possible(stated, pair, givens, stop)
    return None


def _events(stated: dict[str, Any], givens: Givens) -> object:
    """What the log says of the events that an answer lists, where it lists any."""
    from microcosm.cli.show.proofs import events_field

    listed = stated.get("events")
    return events_field(givens, *listed).get("events") if isinstance(listed, dict) else listed


def _inexact(possible: Sequence[str], pair: Sequence[str], givens: Givens, stop: Stop | None) -> str | None:
    """Why it is not known that some world has each of the relations."""
    from microcosm.queries.possible import Worlds

    if unheeded := ignored(givens):
        return f"`exact` is true, though worlds do not take into account: {', '.join(unheeded)}"
    left, right = pair
    found = Worlds(givens).possible(left, right, stop)
    for sign in possible:
        world = found.worlds.get(Relation(sign))
        if world is None or _unfit(world.order, world.before, sign, pair, givens) is not None:
            return f"`exact` is true, and no world was found that has {sign}"
    return None


def _unfit(
    order: Sequence[str], before: Sequence[tuple[str, str]], sign: str, pair: Sequence[str], givens: Givens
) -> str | None:
    """Why a world does not show that a relation is possible. Cost: about one closure."""
    events = [*dict.fromkeys([*givens.named(), *pair])]
    if sorted(order) != sorted(events):
        return "its order is not one of all events"
    at = {event: number for number, event in enumerate(events)}
    world = Candidate([at[event] for event in order], [(at[a], at[b]) for a, b in before])
    known = constraints_of(givens, at, len(at))
    a, b = (at[event] for event in pair)
    match sign:
        case "||":
            known.concurrent.append((a, b))
        case _:
            known.before.append((a, b) if sign == "<" else (b, a))
    return fit.fault(known, world)


def _possible(stated: dict[str, Any], pair: Sequence[str], givens: Givens, stop: Stop | None) -> str | None:
    """What is not so in an answer of `possible`."""
    possible = stated["possible"]
    unheeded = list(ignored(givens))
    if stated.get("ignored", unheeded) != unheeded:
        return "`ignored` is not what worlds do not take into account"
    if not possible:
        return _conflict(stated["conflict"], givens, stop) or _unproved(None, pair, givens, stop)
    if unheeded and stated["exact"]:
        return f"`exact` is true, though worlds do not take into account: {', '.join(unheeded)}"
    for sign, shown in stated["worlds"].items():
        match shown:
            case [list(order), list(before)] if _are_names(order) and all(map(_is_pair, before)):
                pairs = [(a, b) for a, b in before]
            case _:
                return f"the world of {sign} is not an order of events and pairs of them"
        ends = {event for both in pairs for event in both}
        if not ends <= set(order):
            return f"the world of {sign} orders events that it has not"
        if (why := _unfit(order, pairs, sign, pair, givens)) is not None:
            return f"the world of {sign} does not fit: {why}"
        if pairs != _reduced(order, pairs):
            return f"the world of {sign} is not shown by its transitive reduction"
    for sign, refuted in _REFUTES.items():
        if sign not in possible and (why := _unproved(refuted, pair, givens, stop)) is not None:
            return why
    return None


def _unproved(sign: str | None, pair: Sequence[str], givens: Givens, stop: Stop | None) -> str | None:
    """Why it is not known that a relation is refuted; None for the sign: that no world fits at all."""
    from microcosm.queries.offline import Inconsistent
    from microcosm.state.evolve import clash_node
    from microcosm.state.microcosm import Microcosm

    proof: Derivation | None
    try:
        known = Microcosm(givens)
        if sign is None:
            proof = known.contradiction(stop=stop)
        else:
            proof = known.offline(*pair, stop=stop).derivations.get(sign)
    except Contradiction as error:
        proof = clash_node(error) if sign is None else None
    except Inconsistent as error:
        proof = error.derivation if sign is None else None
    what = "that no world fits" if sign is None else f"{sign}, which the answer leaves out,"
    if proof is None:
        return f"there is no derivation of {what} to verify"
    why = kernel.check(givens, read_rules(), proof.to_json())
    return None if why is None else f"the derivation of {what} is not valid: {why}"


def _conflict(stated: object, givens: Givens, stop: Stop | None) -> str | None:
    """Why some statements are no minimal set of givens that contradict one another; null claims nothing."""
    if stated is None:
        return None
    if not isinstance(stated, list) or not stated or not _are_names(stated):
        return "`conflict` lists statements"
    facts = GivenFacts(givens)
    parts = [_given(text, facts) for text in stated]
    if None in parts:
        return f"`conflict` has what the microcosm is not given: `{stated[parts.index(None)]}`"
    given = [part for part in parts if part is not None]
    if (why := _unproved(None, (), _together(given, givens), stop)) is not None:
        return f"of `conflict`: {why}"
    for at, text in enumerate(stated):
        if not _has_world(_together([*given[:at], *given[at + 1 :]], givens), stop):
            return f"`conflict` is not minimal: the others contradict one another without `{text}`"
    return None


def _given(text: str, known: GivenFacts) -> OneGiven | None:
    """The one given that a statement says, as `check` says it; None where there is no such given."""
    try:
        part = read_givens(text)
    except MicrocosmError:
        return None
    facts = [*part.external.values(), *part.refuted.values()]
    found: list[OneGiven] = []
    givens = known.givens
    found += [f for f in facts if any(True for _ in known.evidence(f.left, f.relation, f.right))]
    found += [Stamped(e, givens.stamps[e]) for e in part.stamps if e in givens.stamps]
    found += [Clocked(e, givens.clocks[e]) for e in part.clocks if e in givens.clocks]
    return found[0] if len(found) == 1 and statement(found[0]) == text else None


def _together(given: Iterable[OneGiven], givens: Givens) -> Givens:
    """A microcosm of some givens; those with clocks in the order in which all were stated."""
    part, clocks = Givens(), dict[str, Clock]()
    for each in given:
        match each:
            case Stamped():
                part.stamps[each.event] = each.stamp
            case Clocked():
                clocks[each.event] = each.clock
            case _:
                part.add(each)
    part.clocks = {event: clocks[event] for event in givens.clocks if event in clocks}
    return part


def _has_world(givens: Givens, stop: Stop | None) -> bool:
    """Whether some world, checked against every given, fits."""
    from microcosm.queries.possible import Worlds

    world = Worlds(givens).one(stop)
    if world is None:
        return False
    at = {event: number for number, event in enumerate(givens.named())}
    shown = Candidate([at[event] for event in world.order], [(at[a], at[b]) for a, b in world.before])
    return fit.fault(constraints_of(givens, at, len(at)), shown) is None


def _reduced(order: Sequence[str], before: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The transitive reduction of what some pairs of events generate, sorted by name."""
    at = {event: number for number, event in enumerate(order)}
    world = Candidate(list(range(len(order))), [(at[a], at[b]) for a, b in before])
    return sorted((order[a], order[b]) for a, b in world.reduction())


def _are_names(value: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in value)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _are_names(value)
