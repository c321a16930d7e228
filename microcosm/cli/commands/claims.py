"""What an answer handed to `verify` claims, whether its fields agree, and what of it is so.

Its derivations are for the kernel. What an answer says beside them is worked out anew: a world that is shown,
or found for what is called exact, is checked against every given. What an answer leaves out without a proof
is refuted anew, and the kernel checks the refutation. A conflict is parsed, looked up in the givens, and
shown to be contradictory and minimal. So nothing here rests on the answer's word, and nothing is accepted on
the word of a search. Cost: what answering cost, a search by cases at worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from microcosm.cli import output
from microcosm.cli.show.proofs import events_field
from microcosm.errors import Contradiction, MicrocosmError
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import Derivation, concludes
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.queries.conflict import OneGiven, statement
from microcosm.queries.possible import Worlds, ignored
from microcosm.text.mc_reader import read_givens
from microcosm.text.statement import Clocked, Stamped
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.world import Candidate
from microcosm.worlds.world import fault as world_fault

if TYPE_CHECKING:
    from microcosm.worlds.search import Stop

ONLINE = {"pair", "verdict", "derivation"}
OFFLINE = {"pair", "verdict", "refuted", "possible", "exact", "derivations"}
NONE_FITS = {*OFFLINE, "consistent", "derivation"}
CHECK = {"consistent", "derivation"}
POSSIBLE = {"pair", "possible", "worlds", "exact"}
"""The fields that an answer of each kind has."""

_MORE = {
    "online": {"events", "schema", "lemmas", "unknown_events", "concluded"},
    "offline": {"events", "schema", "certificate", "unknown_events"},
    "check": {"events", "schema", "lemmas", "conflict"},
    "possible": {"events", "schema", "conflict", "unknown_events", "ignored"},
}
"""The fields that it may have."""

SIGNS = ("<", ">", "||", "<>")

MEANS = {"<": ("<",), ">": (">",), "||": ("||",), "<>": ("<", ">")}
"""The relations of worlds that each relation stands for."""

NOTHING = "the answer has no derivation: there is nothing to verify"


class NotSo(MicrocosmError):
    """Something that an answer says is not so."""


def _require(holds: object, fault: str) -> None:
    if not holds:
        raise NotSo(fault)


def _expect(stated: dict[str, Any], **fields: object) -> None:
    """Raise `NotSo` where an answer has one of these fields, and it is another."""
    for name, value in fields.items():
        if name in stated and (stated[name] != value or type(stated[name]) is not type(value)):
            raise NotSo(f"`{name}` has to be {output.as_json(value)}, by all else that is known")


def fault(stated: dict[str, Any], givens: Givens, book: RuleBook, stop: Stop | None = None) -> str | None:
    """What is wrong with an answer; None where every step and every field of it holds.

    Where `stop` came before it was known, it is said to be not so, or `Stopped` or `Undecided` is raised.
    """
    try:
        kind = _kind(stated)
        for derivation in _claimed(stated, kind):
            if (why := kernel.check(givens, book, derivation)) is not None:
                return why
        _look_beside(kind, stated, givens, book, stop)
    except NotSo as error:
        return str(error)
    return None


def _kind(stated: dict[str, Any]) -> str:
    """Which command's answer it is, by the fields that it has. Raises `NotSo` where one too many or few."""
    if "derivations" in stated:
        kind, fields = "offline", NONE_FITS if "consistent" in stated else OFFLINE
    elif "worlds" in stated:
        kind, fields = "possible", POSSIBLE
    elif "consistent" in stated:
        kind, fields = "check", CHECK
    else:
        kind, fields = "online", ONLINE
        message = "nothing in such an answer comes with a derivation or a world to verify"
        _require("derivation" in stated, message)
    if unknown := sorted(set(stated) - fields - _MORE[kind]):
        raise NotSo(f"the answer has a field {unknown[0]!r} that no such answer has")
    if missing := sorted(fields - set(stated)):
        raise NotSo(f"the answer has no field {missing[0]!r}")
    _expect(stated, schema=output.SCHEMA)
    return kind


# -- whether the answer agrees with itself ------------------------------------------------------------------


def _claimed(stated: dict[str, Any], kind: str) -> list[object]:
    """The derivations that the kernel has to accept. Raises `NotSo` where the answer contradicts itself."""
    match stated.get("pair", ["a", "b"]):
        case [str(left), str(right)] if left != right:
            pass
        case _:
            raise NotSo("the answer's pair is not two events")
    if "consistent" in stated:  # no world fits, so an offline verdict says nothing of its pair
        derivation = _with_lemmas(stated)
        _expect(stated, consistent=False, verdict=None, refuted=[], possible=[], derivations={}, exact=True)
        conclusion = derivation.get("conclusion") if isinstance(derivation, dict) else None
        relation = conclusion.get("relation") if isinstance(conclusion, dict) else None
        _require(relation == "contradiction", "the derivation does not conclude a contradiction")
        return [derivation]
    _require(isinstance(stated.get("exact", True), bool), "`exact` is true or false")
    return {"online": _online, "offline": _offline, "possible": _possible}[kind](stated, left, right)


def _online(stated: dict[str, Any], left: str, right: str) -> list[object]:
    derivation, verdict = _with_lemmas(stated), stated["verdict"]
    judgements = ("online", "offline") if verdict == "||" else ("online",)  # as the log is complete
    concluded = any(concludes(derivation, each, left, str(verdict), right) for each in judgements)
    _require(
        concluded and verdict in (*SIGNS, "?"),
        "the derivation does not conclude what the answer says of its pair",
    )
    return [derivation]


def _offline(stated: dict[str, Any], left: str, right: str) -> list[object]:
    derivations = stated["derivations"]
    _require(isinstance(derivations, dict) and bool(derivations), NOTHING)
    refuted = [sign for sign in SIGNS if f"!{sign}" in derivations]
    proved = next((sign for sign in SIGNS if sign in derivations), None)
    left_over = [sign for sign in SIGNS[:3] if sign not in refuted]
    _expect(stated, verdict=proved, refuted=refuted, possible=left_over)
    told = {f"!{sign}" for sign in refuted} | {proved} - {None}
    _require(derivations.keys() == told, "the answer has derivations of more than it says")
    for sign, derivation in derivations.items():
        _require(derivation is not None, f"there is no derivation of {sign} to verify: a solver decided it")
        concluded = concludes(derivation, "offline", left, sign, right)
        _require(concluded, f"the derivation of {sign} does not conclude it of the answer's pair")
    _require("certificate" not in stated, "a certificate is of what has no derivation")
    return [*derivations.values()]


def _possible(stated: dict[str, Any], left: str, right: str) -> list[object]:
    worlds, possible = stated["worlds"], stated["possible"]
    in_order = isinstance(possible, list) and possible == [sign for sign in SIGNS[:3] if sign in possible]
    _require(in_order, "`possible` lists relations among < > ||, in this order")
    shown = isinstance(worlds, dict) and worlds.keys() <= set(possible)
    all_shown = shown and (not stated["exact"] or len(worlds) == len(possible))
    _require(all_shown, "`worlds` has a world of what is possible, and if `exact` is true, of all of it")
    told = ("conflict" in stated) != bool(possible)
    _require(told, "a `conflict` is told where nothing is possible, and nowhere else")
    return []


def _with_lemmas(stated: dict[str, Any]) -> object:
    """The derivation of an answer, with the lemmas that stand beside it. Raises `NotSo` where it has none."""
    derivation = stated["derivation"]
    _require(derivation is not None, NOTHING)
    if isinstance(derivation, dict) and "lemmas" in stated:
        return {**derivation, "lemmas": stated["lemmas"]}
    return derivation


# -- what it says beside its derivations --------------------------------------------------------------------

_REFUTES = {"<": "!<", ">": "!>", "||": "!||"}


def _look_beside(
    kind: str, stated: dict[str, Any], givens: Givens, book: RuleBook, stop: Stop | None
) -> None:
    """Raise `NotSo` where something is not so in an answer of this kind whose derivations are valid."""
    named, pair, listed = set(givens.named()), stated.get("pair", []), stated.get("events")
    said = events_field(givens, *listed).get("events", {}) if isinstance(listed, dict) else {}
    _expect(stated, events=said, unknown_events=[event for event in pair if event not in named])
    if kind == "offline" and "consistent" not in stated and book.instances == read_rules().instances:
        # Under other rules a verdict may refute nothing, and a relation that is left not be the verdict.
        verdict, possible = stated["verdict"], stated["possible"]
        meant = {*possible} <= {*MEANS.get(verdict, SIGNS)} and (verdict is not None or len(possible) > 1)
        _require(meant, "what is possible is not what the verdict says")
    match kind:
        case "offline" if stated["exact"] and stated["possible"]:
            _look_for_worlds(stated["possible"], pair, givens, stop)
        case "check":
            _look_at_conflict(stated.get("conflict"), givens, stop)
        case "possible":
            _look_at_worlds(stated, pair, givens, stop)


def _look_for_worlds(possible: Sequence[str], pair: Sequence[str], givens: Givens, stop: Stop | None) -> None:
    _require_heeded(givens)
    left, right = pair
    found = Worlds(givens).possible(left, right, stop)
    for sign in possible:
        world = found.worlds.get(Relation(sign))
        fits = world is not None and _unfit(world.order, world.before, sign, pair, givens) is None
        _require(fits, f"`exact` is true, and no world was found that has {sign}")


def _require_heeded(givens: Givens) -> None:
    unheeded = ", ".join(ignored(givens))
    _require(not unheeded, f"`exact` is true, though worlds do not take into account: {unheeded}")


def _unfit(
    order: Sequence[str], before: Sequence[tuple[str, str]], sign: str, pair: Sequence[str], givens: Givens
) -> str | None:
    """Why a world does not show that a relation is possible. Cost: about one closure."""
    events = [*dict.fromkeys([*givens.named(), *pair])]
    if sorted(order) != sorted(events):
        return "its order is not one of all events"
    at = {event: number for number, event in enumerate(events)}
    known = constraints_of(givens, at, len(at))
    a, b = (at[event] for event in pair)
    if sign == "||":
        known.concurrent.append((a, b))
    else:
        known.before.append((a, b) if sign == "<" else (b, a))
    return world_fault(known, _numbered(order, before, at))


def _numbered(order: Sequence[str], before: Sequence[tuple[str, str]], at: Mapping[str, int]) -> Candidate:
    return Candidate([at[event] for event in order], [(at[a], at[b]) for a, b in before])


def _look_at_worlds(stated: dict[str, Any], pair: Sequence[str], givens: Givens, stop: Stop | None) -> None:
    """Raise `NotSo` where something is not so in an answer of `possible`."""
    possible = stated["possible"]
    _expect(stated, ignored=list(ignored(givens)))
    if not possible:
        _look_at_conflict(stated["conflict"], givens, stop)
        _prove(None, pair, givens, stop)
        return
    if stated["exact"]:
        _require_heeded(givens)
    for sign, shown in stated["worlds"].items():
        match shown:
            case [list(order), list(before)] if _are_names(order) and all(
                isinstance(pair, list) and len(pair) == 2 and _are_names(pair) for pair in before
            ):
                pairs = [(a, b) for a, b in before]
            case _:
                raise NotSo(f"the world of {sign} is not an order of events and pairs of them")
        ends = {event for both in pairs for event in both}
        _require(ends <= set(order), f"the world of {sign} orders events that it has not")
        why = _unfit(order, pairs, sign, pair, givens)
        _require(why is None, f"the world of {sign} does not fit: {why}")
        world = _numbered(order, pairs, {event: number for number, event in enumerate(order)})
        reduced = sorted((order[a], order[b]) for a, b in world.reduction())
        _require(pairs == reduced, f"the world of {sign} is not shown by its transitive reduction")
    for sign, refuted in _REFUTES.items():
        if sign not in possible:
            _prove(refuted, pair, givens, stop)


def _prove(sign: str | None, pair: Sequence[str], givens: Givens, stop: Stop | None) -> None:
    """Prove that a relation is refuted, or (None) that no world fits at all. Raises `NotSo`."""
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
        raise NotSo(f"there is no derivation of {what} to verify")
    why = kernel.check(givens, read_rules(), proof.to_json())
    _require(why is None, f"the derivation of {what} is not valid: {why}")


def _look_at_conflict(stated: object, givens: Givens, stop: Stop | None) -> None:
    """Raise `NotSo` where statements are no minimal set of givens that contradict one another.

    Null claims nothing.
    """
    if stated is None:
        return
    if not isinstance(stated, list) or not stated or not _are_names(stated):
        raise NotSo("`conflict` lists statements")
    facts, given = GivenFacts(givens), list[OneGiven]()
    for text in stated:
        if (part := _given(text, facts)) is None:
            raise NotSo(f"`conflict` has what the microcosm is not given: `{text}`")
        given.append(part)
    try:
        _prove(None, (), _together(given, givens), stop)
    except NotSo as error:
        raise NotSo(f"of `conflict`: {error}") from None
    for at, text in enumerate(stated):
        less = _has_world(_together([*given[:at], *given[at + 1 :]], givens), stop)
        message = f"`conflict` is not minimal: the others contradict one another without `{text}`"
        _require(less, message)


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
    world = Worlds(givens).one(stop)
    if world is None:
        return False
    at = {event: number for number, event in enumerate(givens.named())}
    return world_fault(constraints_of(givens, at, len(at)), _numbered(world.order, world.before, at)) is None


def _are_names(value: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in value)
