"""Every number that was chosen by measurement: what it decides, and the benchmark by which it is set.

None of them changes an answer, only what it costs in time or memory. To set one anew, run the benchmark named
after it (`python -m benchmarks --only NAME`) with half of it, with it, and with twice as much, by turns.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No search for garbage cycles inside, where millions of small objects are made and no cycle among them.

    The searches would take as long as the work itself. Cost: none. Benchmark: `reading`.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def kept() -> Iterator[None]:
    """As `gc_paused`, and no later search goes through what is left either, until the next thing is kept.

    One look at a log of a million events takes 0.4 seconds. Cost: none. Benchmark: `commands`.
    """
    gc.unfreeze()
    with gc_paused():
        yield
        gc.freeze()


# commands

COLLECTED_EVERY = 100_000
"""A command looks for garbage cycles whenever there are so many more objects. To start makes 20,000, with no
cycle worth it among them, through which Python would go thirty times. Benchmark: `startup`."""


# text

COLUMNS_FROM = 4096
"""So many correspondences that all are `<` are kept in columns until somebody asks for them one by one.
Benchmark: `reading`."""

PASSES = 4
"""So often are names and links that are asked about looked for in the columns, a tenth to a thirtieth of the
price of numbering all of them, before that is done. Benchmark: `commands`."""

CLOCKED_PROCESSES = 256
"""Vector times of no more processes are read in columns: those of very many leave out most, which a mapping
does for nothing. Benchmark: `commands`."""

CLOCKS_IN_COLUMNS = 1024
"""From so many on, right clocks are kept in columns however they came: of 20,000 of 20 processes in a `.mc`
the first `online` takes 0.9 s, one by one 6.2, and the first `assert` of `||` 0.8 for 15; of few no less."""


# questions

LABELLED_FROM = 1024
"""A log of so many events of which nothing but `<` is given is asked by labels, where chains are few.
Benchmark: `questions`."""


# order

BITS_LISTED = 16
"""So few members of a row are listed at once, also for those who may want the first only. Benchmark:
`closure`."""

BITS_NARROW = 384
"""Members of rows of so few bits are gone through downwards, in place, where no order is asked for. So 200
events take 0.85 of the time, and 350 take 0.82 as long as GMP is not in use; where it is, as much. 500 dense
ones would take 1.1. Benchmark: `online-table`."""

GMP_WANTED = os.environ.get("MICROCOSM_GMP") != "off"
"""Whether GMP is used where gmpy2 is installed. Benchmark: `online-table`."""

BITS_WIDE, LISTED_WITHOUT_GMP = 256, 10_000
"""After so many rows of more than so many bits were listed, some 60 ms, GMP lists all further ones: to import
it takes as long. Benchmark: `online-table`."""

ONES_UP_TO = 4096
"""Up to so many positions the row of each alone is made beforehand, where it is needed again and again.
Benchmark: `closure`."""

ROWS_UP_TO = 20_480
"""Up to so many positions all rows together are some ten megabytes, and nothing is faster. Benchmark:
`labels`."""

EVENTS_A_CHAIN = 64
"""Chains of fewer events on average are not worth a vector of all chains. Benchmark: `labels`."""

LABELS_SPARE = 64
"""When there are so many chains more than twice those of a fresh cover, it is time for a fresh one.
Benchmark: `increments`."""

ROWS_FEW, ROWS_OF_FUTURE = 4, 8
"""A change to no more rows of the past than the first, which would change more than one in so many rows of
the future, leaves these as they are, in doubt. Benchmark: `increments`."""

ROWS_MANY = 5 << 19
"""A link that changes rows of more bits than this in all waits, in large orders: 128 rows of 20,480 bits.
Benchmark: `increments`."""

LINKS_WAIT_FROM = 1024
"""In orders of fewer positions no link waits: to put it in all rows is as cheap. Benchmark: `increments`."""

LINKS_WAITING = 500
"""When more links wait than these and one for each 128 positions, they are taken in. Benchmark:
`increments`."""

POSITIONS_AN_EDGE = 0.4
"""When searches have met so many positions for each edge, of longer rows more, that took as long as all rows
do. Benchmark: `closure`."""

ROWS_SATURATED = 1 << 16
"""Beyond so many positions rows are never all computed unasked: they would take n²/8 bytes, half a gigabyte
here. Benchmark: `closure`."""

TABLE_AT_ONCE = 8192
"""A table of no more events is made of rows that are all kept, eight megabytes a relation; that of more row
by row, and no row is kept that is found again as fast. Benchmark: `commands`."""

POSITIONS_A_MEMBER = 256
"""Rows of less than one position in so many are found again as fast, in an order of more events than a table
is made of at once. Benchmark: `commands`."""

ROWS_KEPT = 1 << 15
"""For a table of more positions rows are computed `ROWS_HELD` at a time, at three times the price, and no
others kept: all would be n²/8 bytes, 135 megabytes here. Benchmark: `commands`."""

HOLES = 8
"""A position that is so far beyond the last may follow it in a window of waiting rows, the places between
left empty. Benchmark: `increments`."""

CLOCK_MASKS_UP_TO = 1 << 14
"""Up to so many clocked events a mask is kept for each prefix of a chain (n²/8 bytes over all chains).
Benchmark: `closure`."""

CLOCK_ROWS_UP_TO = 4096
"""Rows of what the clocks refute are made for no more clocks, unless there is a `<>`. Of 20,000 events of 20
processes `check` takes 1.9 s without them and 2.9 with them; of 5,000 events of 100 the same either way."""

STAMP_ROWS_UP_TO = 8192
"""The rows of all prefixes of stamps are kept for no more positions than this; they take n²/16 bytes.
Benchmark: `exact-possibilities`."""


# worlds

WAVE = 16
"""One in so many events: if more pairs than that are forced at once, all rows are computed anew. Benchmark:
`exact-possibilities`."""

MISSES_FEW, MISSES_MANY = 8, 16
"""A first choice that fails for more events than a few, and more than one in so many, is no near miss.
Benchmark: `exact-possibilities`."""

BACKTRACKS = 2
"""After so many backtracks a SAT solver takes over, where there is one. Benchmark: `exact-possibilities`."""

CHOICES_KEPT = 64
"""So many choices of directions are remembered for later questions. Benchmark: `exact-possibilities`."""

CONFLICTS = 2_000
"""So many conflicts of the solver go by between two questions whether to stop: a few hundredths of a second.
Benchmark: `exact-possibilities`."""

PATHS_EAGER = 100_000
"""So many paths are looked at before the solver starts, what they miss being found when it matters.
Benchmark: `exact-possibilities`."""

STAMPED_FROM = 1_000
"""Among fewer events those that have only a stamp are kept like all others. Benchmark:
`exact-possibilities`."""

EVENTS_CUT_OUT = 16
"""One prefix in so many is kept of a chain of clocked events whose positions do not rise along it: of a log
of 40,000 events `check` takes 5 seconds so, 30 without. Benchmark: `closure`."""

CLOSURE_COLUMNS = 4096
"""So many columns of the closure of a candidate are computed at a time: memory stays linear in the events.
Benchmark: `exact-possibilities`."""


# engine

LOOKS_AHEAD_AFTER = 32
"""A search that has met so many events without an answer looks ahead before further ones, while it helps.
Benchmark: `increments`."""

ANSWERS_KEPT = 1 << 18
"""The answers to so many questions are remembered, some hundred bytes each. Benchmark: `online-table`."""

ROWS_HEAVY = 64
"""Where rows lack so many times n · log n pairs, what one gains within itself is read off the others; that
takes 20,000 events of 1,000 processes (4 s; 81 s without). Benchmark: `online-table`."""

TURNED_AFTER = 8
"""After so many looks a row at what an event leads to, it pays to have what leads to each as well: 300 random
events take 0.5 of the time. Where few looks are needed, having it at once would take 1.1 of the time.
Benchmark: `increments`."""

FOLLOWED = 64
"""A set of so many related events is followed through a relation event by event, a larger one is not.
Benchmark: `increments`."""

FOLLOWED_FAR = 1 << 12
"""So many events are followed where much depends on it. Benchmark: `labels`."""

VAIN_KEPT = 8
"""So many pairs of sets that hold in no pair are remembered. Benchmark: `increments`."""

BARRING_KEPT = 64
"""So many events are remembered that bar whatever both ends of a goal lead to, where they are before both.
Benchmark: `labels`."""

PAIRS_LOOKED_AFTER = 16
"""So many sets of pairs are looked after in one look ahead, no more. Benchmark: `increments`."""

LEADS_KEPT = 256
"""Of so many events it is remembered where they lead to. Benchmark: `increments`."""

CLIMBED_FROM = ROWS_UP_TO
"""Among more events than these, a search that does not end at once goes for what it may reach. Benchmark:
`labels`."""

RULES_LISTED = 1 << 16
"""Rules that may conclude anything about more events than these are not listed for a climb. Benchmark:
`labels`."""

CLIMBED_ALONG, CLIMBED_ANYHOW = 256, 4
"""So many pairs are climbed to, the nearest first: along orders alone, and by any way. Benchmark:
`labels`."""

STEPS_ALONG, STEPS_ANYHOW = 64, 2_000
"""After so many steps a climb is given up: along orders alone, and by any way. Benchmark: `labels`."""

SEARCHED = 48
"""When searches have met so many events since the last change, and as many more as saturation is worth, they
give way to it. Benchmark: `online-table`."""

TABLE_UP_TO = 1 << 16
"""For more events than these the rows of all would take gigabytes: then there is but the search. Benchmark:
`labels`."""

PAIRS_A_STEP = 16384
"""Saturation is worth a step of search for so many pairs of events. Benchmark: `online-table`."""

EXPANSIONS = 300
"""So many goals are expanded breadth first before saturation is asked for a proof. Benchmark:
`refutation`."""

BITS_KEPT = 1 << 30
"""Rows that together take more bits than this are dropped and made anew when asked for. Benchmark:
`closure`."""

TARGETS_SERVED, ROWS_WASTED = 4, 4
"""A row that serves fewer targets is wasted; after so many wasted ones in a row, no more are asked for.
Benchmark: `online-table`."""

# -- questions and comparisons -------------------------------------------------------------------------------

ASSUMPTIONS = 4_000
"""After so many assumptions a proof by cases is given up where it is known otherwise what is possible: some
seconds. Benchmark: `refutation`."""

FACTS_KEPT = 200_000
"""What propagation concludes of all events is kept for the next offline question if it is no more facts, some
100 MB. Benchmark: `refutation`."""

ALL_TAKE_PART, ALL_TAKE_PART_CHANGED = 48, 256
"""Among no more events than these all take part in the search for an offline proof: under the shipped rules,
and under others, of which it is not known that few events will do. Benchmark: `refutation`."""

PAIRS_TOGETHER = 1 << 16
"""So many pairs of an iterable are asked about together: more gain nothing. Benchmark: `labels`."""

TURNED_AS_TEXT = 256
"""A matrix of bits with no longer side is transposed through text: in 0.75 of the time that its squares take
at 100, in as much at 200, in 1.6 at 400 and in 4 at 1,000."""

PICKED_ONE_BY_ONE = 16
"""So many bits of a row are looked at one by one: at 2,000 positions in 1.8 µs, and all at once in 2.2; at
20,000 positions in 5 and 17."""

ROWS_HELD = 1024
"""So many rows of verdicts are held where not all can be. Benchmark: `spark_bisim`."""

NAMES_COMPARED = 20_000
"""Among more events than this, looking for names like a mistyped one takes longer than the answer."""

# -- replicas ------------------------------------------------------------------------------------------------

CHANGES_IN_PLACE = 64
"""So many changes of a replica are made in its microcosm one by one, more only where they are few beside what
it holds: measured with 64 events of another replica, 1.6 ms against 2.1 ms for building 1,000 events anew and
32 ms for 5,000; with 256 events it is 15 to 19 ms, against 2.8 and 34."""
