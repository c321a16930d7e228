"""Small faults, one at a time, in the message orderings: what one might well get wrong, and must not."""

from __future__ import annotations

from inspect import getsource
from typing import NamedTuple

from tests.orderings.rounds import one_round


class Mutant(NamedTuple):
    """A name, what to replace by what in which file, and the functions of the tests that notice."""

    name: str
    changes: tuple[tuple[str, str, str], ...]
    noticed_by: tuple[str, ...] = ("small",)


QUEUE, BOXES = "microcosm/orderings/queue.py", "microcosm/orderings/closures.py"
INTERIORS, VERDICTS = "microcosm/orderings/closures.py", "microcosm/orderings/verdicts.py"
STREAM, MONITOR = "microcosm/orderings/ordering.py", "microcosm/orderings/ordering.py"
RULES, BASE = "rules/orderings.rules", "microcosm/givens/facts.py"

ROUNDS = f'''

{getsource(one_round)}

def _in_rounds(computation: Computation, rounds: int) -> AddedEdges | None:
    """Both implications applied so many times after a transitive closure, and no more."""
    events = range(len(computation))
    after = {{event: computation.future(event) for event in events}}
    for _ in range(rounds):
        after = one_round(computation, after)
    if any(event in after[event] for event in events):
        return None
    sends = set(computation.send)
    return {{event: [other for other in after[event] if other in sends] for event in sends}}
'''


def in_rounds(rounds: int) -> Mutant:
    run = "derived = DerivedOrder(computation).run()\n    return None if"
    changes = (
        (QUEUE, run, f"derived = _in_rounds(computation, {rounds})\n    return None if"),
        (QUEUE, "\n\nclass DerivedOrder:", f"{ROUNDS}\n\nclass DerivedOrder:"),
    )
    return Mutant(f"Fifo n-n in {rounds} rounds", changes, ("ladders",))


WITHOUT_CAUSAL = "return Verdict(\n                holds, False, False, inverted, pattern,"

SENT = "    causal(t, u)\n    ||- r < u\n    ------------\n    ||- s < t\n"
RECEIVED = "    causal(t, u)\n    ||- s < t\n    ------------\n    ||- r < u\n"


def once(name: str, file: str, old: str, new: str, *noticed_by: str) -> Mutant:
    """A mutant of one place."""
    return Mutant(name, ((file, old, new),), noticed_by)


MULTICASTS = [
    once(
        "a multicast leaves the stream with its first reception",
        *(STREAM, "        if awaited and len(awaited) == 1:", "        if awaited:", "stream"),
    ),
    once(
        "a multicast never leaves the stream",
        *(STREAM, "        if awaited and len(awaited) == 1:", "        if False:", "stream"),
    ),
    once(
        "a message without receivers leaves the stream with its first reception",
        *(STREAM, "        if awaited and len(awaited) == 1:", "        if len(awaited) <= 1:", "stream"),
    ),
    once(
        "a receiver is awaited twice",
        STREAM,
        "            awaited.discard(peer)\n",
        "            pass\n",
        "stream",
    ),
    once(
        "a stream awaits the sender",
        STREAM,
        "(peer, set(to) - {peer}, set())",
        "(peer, set(to), set())",
        "stream",
    ),
    once(
        "a stream takes repeated receptions",
        STREAM,
        "        if peer in reached:",
        "        if False:",
        "stream",
    ),
    once(
        "a stream takes receptions by anybody",
        STREAM,
        "        if awaited and peer not in awaited:",
        "        if False:",
        "stream",
    ),
    once(
        "a stream takes messages to oneself",
        STREAM,
        "        if peer == sender:",
        "        if False:",
        "stream",
    ),
    once(
        "the last reception of an execution forgets its message at once",
        *(MONITOR, "        if not left[m]:\n", "        if True:\n", "multicasts"),
    ),
    once(
        "RSC of the first reception only",
        INTERIORS,
        "        for x in received:",
        "        for x in received[:1]:",
        "multicasts",
    ),
    once(
        "Fifo n-n of the first reception only",
        *(INTERIORS, "        for x in firsts:\n", "        for x in firsts[:1]:\n", "multicasts"),
    ),
    once(
        "Fifo n-n of the first reception of the second only",
        *(INTERIORS, "            for y in seconds:", "            for y in seconds[:1]:", "multicasts"),
    ),
    once(
        "Fifo 1-n of the first reception only",
        *(
            INTERIORS,
            "for r in receptions[before_it[m]] if",
            "for r in receptions[before_it[m]][:1] if",
            "multicasts",
        ),
    ),
    once(
        "Fifo 1-n implies Causal",
        BASE,
        '    "causal": ("causal", "fifo-n-1", "fifo-n-n", "rsc"),',
        '    "causal": ("causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc"),',
        "hierarchy",
    ),
    once(
        "RSC is no queue",
        BASE,
        '    "fifo-n-n": ("fifo-n-n", "rsc"),',
        '    "fifo-n-n": ("fifo-n-n",),',
        "hierarchy",
    ),
    once("no RSC", BASE, '    "rsc": ("rsc",),', '    "rsc": (),', "hierarchy"),
    once(
        "Fifo 1-n across processes, whatever the receivers",
        *(
            RULES,
            "    unicast(s)\n    same_process(r, u)\n",
            "    same_process(r, u)\n",
            "rules_of_multicasts",
        ),
    ),
    once(
        "the interior of Fifo 1-n across processes, whatever the receivers",
        RULES,
        "    not matches(s, u)\n    unicast(s)  or  same_process(s, t)\n",
        "    not matches(s, u)\n",
        "rules_of_multicasts",
    ),
    once(
        "the interior of Fifo n-n compares receptions of one message",
        RULES,
        "    fifo_n_n_interior(t, u)\n    not matches(s, u)\n",
        "    fifo_n_n_interior(t, u)\n",
        "rules_of_multicasts",
    ),
    once(
        "the interior of RSC compares all receptions",
        RULES,
        "    send(t)\n    ------------\n    ||- s !|| t\n    ||- r !|| t\n",
        "    rsc_interior(u, t)\n    ------------\n    ||- s !|| t\n    ||- r !|| t\n",
        "rules_of_multicasts",
    ),
    once(
        "unicast is whatever names a receiver",
        BASE,
        "if len(to) == 1 and next(iter(to))[1] is not None}",
        "if next(iter(to), ('', None))[1] is not None}",
        "base",
    ),
    once(
        "what is received twice is answered twice",
        BASE,
        "if not more and len(found) == 1",
        "if len(found) == 1",
        "base",
    ),
    once(
        "a process answers itself",
        BASE,
        "(one := found.pop())[1] != process:",
        "(one := found.pop()):",
        "base",
    ),
]
"""Of messages with several receivers, received again, or sent to oneself."""

MUTANTS = [
    *MULTICASTS,
    Mutant(
        "crowns of size 1",
        (("tests/orderings/notation.py", "== len(messages) >= 2 and", "== len(messages) >= 1 and"),),
        ("no_patterns",),
    ),
    Mutant(
        "a message waits for itself as a single step",
        (
            (
                BOXES,
                "        for a, b in pairwise(chain):\n            following[message[a]].append(message[b])",
                "        for a, b in zip(chain, chain):\n"
                "            following[message[a]].append(message[b])",
            ),
        ),
    ),
    Mutant(
        "RSC with a reflexive order",
        (("microcosm/orderings/ordering.py", "if message != self._last:", "if True:"),),
    ),
    Mutant(
        "antisymmetric for acyclic",
        (
            (
                BOXES,
                "    return linear_extension(computation, mailbox_edges(computation))",
                "    edges = mailbox_edges(computation)\n"
                "    pairs = {(a, b) for a, targets in edges.items() for b in targets}\n"
                "    if any((b, a) in pairs or a in computation.future(b) for a, b in pairs):\n"
                "        return None\n"
                "    return linear_extension(computation, edges) or linear_extension(computation)",
            ),
        ),
        ("knots",),
    ),
    Mutant(
        "Theorem 23 without the case of no reception",
        ((INTERIORS, "    if not any(computation.receptions):\n        return None\n", ""),),
    ),
    Mutant(
        "Theorem 23 without Causal",
        (
            (
                VERDICTS,
                WITHOUT_CAUSAL,
                WITHOUT_CAUSAL.replace("holds, False, False", "holds, False, _a_chain(self._of, ordering)"),
            ),
            (
                VERDICTS,
                "def _some(",
                "def _a_chain(of, ordering):\n"
                "    after = [of.future(e) for e in range(len(of))]\n"
                "    return ordering is Ordering.RSC and all(\n"
                "        a == b or b in after[a] or a in after[b]\n"
                "        for a in range(len(of)) for b in range(len(of))\n"
                "    )\n\n\ndef _some(",
            ),
        ),
    ),
    Mutant(
        "Theorem 24 with unreceived sends",
        (
            (
                INTERIORS,
                "        m for m in map(message.__getitem__, filter(computation.sends, order)) "
                "if computation.receptions[m]\n",
                "        m for m in map(message.__getitem__, filter(computation.sends, order))\n",
            ),
            (
                INTERIORS,
                "return {sb: [sa], firsts[0]: [seconds[0]]}",
                "return {sb: [sa], **({firsts[0]: [seconds[0]]} if firsts and seconds else {})}",
            ),
        ),
    ),
    Mutant(
        "Theorem 24 with the chain of sends only",
        ((INTERIORS, "                if peer[x] != peer[y]:", "                if False:"),),
    ),
    Mutant(
        "Theorem 24 with the chain of receptions only",
        ((INTERIORS, "if peer[sa] != peer[sb] and not answered:", "if False:"),),
    ),
    *(
        Mutant(
            f"Theorem {number} without Causal",
            (
                (
                    VERDICTS,
                    WITHOUT_CAUSAL,
                    WITHOUT_CAUSAL.replace(
                        "holds, False, False", "holds, False, _chains(self._of, ordering)"
                    ),
                ),
                (
                    VERDICTS,
                    "def _some(",
                    "def _chains(of, ordering):\n"
                    "    after = [of.future(e) for e in range(len(of))]\n"
                    "    pairs = [(m, n) for m in range(len(of.send)) for n in range(m)\n"
                    "             if of.receptions[m] and of.receptions[n]]\n"
                    "    end = lambda m: of.receptions[m][0]\n"
                    f"    box, other = {box}\n"
                    f"    return ordering is Ordering.{name} and all(\n"
                    "        other(m) in after[other(n)] or other(n) in after[other(m)]\n"
                    "        for m, n in pairs if of.peer[box(m)] == of.peer[box(n)]\n"
                    "    )\n\n\ndef _some(",
                ),
            ),
        )
        for number, name, box in (
            (25, "FIFO_N_1", "(end, of.send.__getitem__)"),
            (26, "FIFO_1_N", "(of.send.__getitem__, end)"),
        )
    ),
    Mutant(
        "the interior of Fifo n-n as the intersection of the other two",
        (
            (
                VERDICTS,
                "            lambda order: queue_breaks(self._of, order),\n",
                "            lambda _: mailbox or outbox,\n",
            ),
        ),
    ),
    *map(in_rounds, (1, 2, 3)),
    Mutant(
        "the backward pass without derived edges",
        ((QUEUE, "Rounds(computation, derived)", "Rounds(computation, {})"),),
        ("small", "larger"),
    ),
    Mutant(
        "real-time order of sends promoted to causality",
        ((RULES, "    causal(t, u)\n    ||- r < u\n    ------------\n    ||- t !< s\n", SENT),),
        ("rules",),
    ),
    Mutant(
        "real-time order of receptions promoted to causality",
        ((RULES, "    causal(t, u)\n    ||- s < t\n    ------------\n    ||- u !< r\n", RECEIVED),),
        ("rules",),
    ),
]
