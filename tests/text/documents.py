"""Documents to test with: one of every statement, and givens of every kind under any names."""

from __future__ import annotations

from hypothesis import strategies as st

from microcosm.givens.columns import Message
from microcosm.givens.exact import of_float
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.text import statement as s
from microcosm.text.statement import Stated
from tests.strategies import event_names

ALBUM = """\
# the photo album
name phone                        # optional
internal e1 < e2 < e3

unshare < upload
upload || "log in"
e3 <> upload
upload !< unshare
stamp e1 = 5
stamp upload = [10.0, 12.5]
clock upload = phone {phone: 3, laptop: 1}
clock "log in" = laptop {"laptop": 2} unticked # a gap before it
a < b  from "message m7"
send e = m1 phone -> laptop, album
receive f = m1 laptop
process phone = e3, "log in"
ordering causal
ordering fifo-1-1 interior
complete
token lock7 = e1, e3, upload
"""


GIVEN = [Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE]

texts = st.one_of(event_names(), st.just(""), st.sampled_from(["f.mc:12", "line 3", "x:external[4]"]))
numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False).map(of_float)
)


@st.composite
def all_givens(draw: st.DrawFn) -> Givens:
    """Anything that can be given, under any names."""
    names = draw(st.lists(event_names(), min_size=2, max_size=8, unique=True))
    some = st.sampled_from(names)
    few = st.lists(some, min_size=1, max_size=4, unique=True)
    pairs = st.lists(some, min_size=2, max_size=2, unique=True)
    givens = Givens(name=draw(st.one_of(st.none(), texts)), complete=draw(st.booleans()))
    givens.internal = draw(st.one_of(st.just([]), few))
    for left, right in draw(st.lists(pairs, max_size=5)):
        relation = draw(st.sampled_from(GIVEN))
        source = draw(st.one_of(st.none(), texts.map(Stated)))
        givens.add(Correspondence(left, relation, right, source))
    interval = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    givens.stamps = draw(st.dictionaries(some, st.one_of(st.integers(), interval), max_size=3))
    clocks = st.builds(Clock, some, st.dictionaries(some, st.integers(0, 10**20), max_size=3), st.booleans())
    givens.clocks = draw(st.dictionaries(some, clocks, max_size=3))
    sends = st.builds(Message, st.just("send"), some, some, some, few.map(tuple) | st.just(()))
    receives = st.builds(Message, st.just("receive"), some, some, some, st.just(()))
    givens.messages = draw(st.lists(sends | receives, max_size=3))
    givens.processes = draw(st.dictionaries(some, few.map(tuple), max_size=2))
    known = [name + interior for name in s.ORDERINGS for interior in ("", s.INTERIOR)]
    givens.orderings = draw(st.lists(st.sampled_from(known), max_size=2, unique=True))
    givens.tokens = draw(st.dictionaries(some, few.map(tuple), max_size=2))
    return givens


def sources(givens: Givens) -> list[str | None]:
    return [each.source for given in (givens.external, givens.refuted) for each in given.values()]
