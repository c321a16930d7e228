"""Hypothesis strategies: worlds, and microcosms that are true in them.

`worlds_and_givens` is the one to use: it draws chains, correspondences, `<>` that the microcosm itself
supersedes, clocks of simulated processes (with holes and with events that did not tick) and tokens.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.worlds.world import World

NASTY = (
    "internal", "clock", "token", "from", "a b", " a", "a ", "a<b", "a || b", "<", "||", "?", "_", ".", "-a",
    "a-", '"', '\\"', "\\", "#", "# a", "\t", "\n", "\r\n", "\x00", "é", "e\u0301", "≺", "∥", "\u2028",
    "\ufeff", "\u200b", "事件", "🜁", "0", "1", "p:1", "null", "true", "[x]", "a/b@c", "a=b", "{}", "e" * 200,
)  # fmt: skip
"""Names that a reader, a writer or a JSON file may stumble over."""

plain_names = st.sampled_from([f"{letter}{n}" for letter in "abcdefgh" for n in ("", "1")])


def event_names() -> st.SearchStrategy[str]:
    """Any name: mostly plain, now and then nasty."""
    odd = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
    return st.one_of(plain_names, plain_names, st.sampled_from(NASTY), odd)


def event_lists(low: int = 2, high: int = 8, *, nasty: bool = False) -> st.SearchStrategy[list[str]]:
    """Distinct events."""
    names = event_names() if nasty else plain_names
    return st.lists(names, min_size=low, max_size=high, unique=True)


def rngs() -> st.SearchStrategy[Random]:
    """Seeded generators; the seed shrinks."""
    return st.integers(0, 2**20).map(Random)


shares = st.sampled_from([0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])


@st.composite
def worlds(draw: st.DrawFn, low: int = 2, high: int = 8, *, nasty: bool = False) -> World:
    """A world on `low` to `high` events."""
    return World.random(draw(event_lists(low, high, nasty=nasty)), draw(rngs()), draw(shares))


@st.composite
def drawn_from(draw: st.DrawFn, world: World, *, superseding: bool = True) -> Givens:
    """A microcosm of `world`: a chain, correspondences, perhaps tokens."""
    rng = draw(rngs())
    givens = world.microcosm(
        rng, draw(shares), vague=draw(shares), internal=draw(shares), superseding=superseding
    )
    if superseding:
        for number in range(draw(st.integers(0, 2))):
            if group := world.chain(rng, 0.6):
                givens.tokens[f"lock{number}"] = tuple(rng.sample(group, len(group)))
    return givens


@st.composite
def worlds_and_givens(
    draw: st.DrawFn, low: int = 2, high: int = 8, *, nasty: bool = False, superseding: bool = True
) -> tuple[World, Givens]:
    """A world and a microcosm of it. Without `superseding`, condition (4) of Definition 2.3 holds."""
    clocked = superseding and draw(st.booleans())
    if clocked:
        world, clocks = simulated(
            draw(event_lists(low, high, nasty=nasty)), draw(rngs()), draw(st.integers(1, 4)), draw(shares)
        )
    else:
        world, clocks = draw(worlds(low, high, nasty=nasty)), {}
    givens = draw(drawn_from(world, superseding=superseding))
    givens.clocks.update(clocks)
    return world, givens


def microcosms(
    low: int = 2, high: int = 8, *, nasty: bool = False, superseding: bool = True
) -> st.SearchStrategy[Givens]:
    """A microcosm that fits some world."""
    return worlds_and_givens(low, high, nasty=nasty, superseding=superseding).map(lambda both: both[1])


def correspondences(world: World) -> st.SearchStrategy[Correspondence]:
    """A correspondence that is true in `world`; half of the ordered ones are told as `<>`."""
    pairs = st.sampled_from(world.events).flatmap(
        lambda a: st.tuples(st.just(a), st.sampled_from([e for e in world.events if e != a]), st.booleans())
    )
    return pairs.map(lambda drawn: truth(world, *drawn))


def truth(world: World, a: str, b: str, vague: bool = False) -> Correspondence:
    """What is true of a and b in `world`, told as `<>` if `vague` and if it can be."""
    relation = world.relation(a, b)
    if vague and relation is not Relation.CONCURRENT:
        relation = Relation.RELATED
    return Correspondence(a, relation, b)


def simulated(
    events: list[str], rng: Random, processes: int, receiving: float
) -> tuple[World, dict[str, Clock]]:
    """A run of some processes that tell each other their vector times, and the clocks that were kept.

    Some events do not tick their process's component, some clocks are lost, zero entries are often
    left out, and messages overtake each other. Sometimes clocks are told as those of two executions, so
    that some of what they could say of each other is unknown.
    """
    executions = rng.choice(((None,), (None,), (None, "run 2"), ("run 1", "run 2")))
    names = [f"p{i}" for i in range(processes)]
    time: dict[str, dict[str, int]] = {p: {} for p in names}
    last: dict[str, str] = {}
    underway: list[tuple[str, dict[str, int]]] = []
    before: list[tuple[str, str]] = []
    clocks: dict[str, Clock] = {}
    for event in events:
        p = rng.choice(names)
        if p in last:
            before.append((last[p], event))
        if underway and rng.random() < receiving:
            sender, carried = rng.choice(underway)
            before.append((sender, event))
            for q, count in carried.items():
                time[p][q] = max(time[p].get(q, 0), count)
        ticked = rng.random() < 0.8
        if ticked:
            time[p][p] = time[p].get(p, 0) + 1
        elif rng.random() < 0.3:
            time[p].setdefault(p, 0)
        last[p] = event
        if rng.random() < 0.6:
            underway.append((event, dict(time[p])))
        if rng.random() < 0.8:
            clocks[event] = Clock(p, dict(time[p]), ticked, rng.choice(executions))
    return World.of(events, before), clocks
