"""Two processes kept a log each; neither log tells what happened first. Merged, they do, with a proof.

On the command line: `microcosm extract alice.jsonl -o alice.mc`, the same for the lock's log, then
`microcosm merge alice.mc lock.mc -o both.mc` and `microcosm why both.mc alice:1 lock:2`.
"""

from microcosm import Microcosm
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract

# Alice withdraws a permission, then tells the lock; the lock hears of it, and opens.
alice = extract([TraceEvent("alice", 1), TraceEvent("alice", 2, "send", "m1", ("lock",))])
lock = extract([TraceEvent("lock", 1, "receive", "m1"), TraceEvent("lock", 2)])

# A log by itself has never heard of the events of the other.
known, other = Microcosm(alice.givens), Microcosm(lock.givens)
print("alice alone:", known.online("alice:1", "lock:2"))
print("lock alone:", other.online("alice:1", "lock:2"))

# Each log states one end of m1, and a message is sent before it is received.
unjoined = known.merge(other)
print("both:", known.online("alice:1", "lock:2"), unjoined or "and nothing is left open")
for fact in known.givens.external.values():
    print(f"  {fact} from {fact.source}")

# It prints:
#   alice alone: ?
#   lock alone: ?
#   both: < and nothing is left open
#     alice:1 < alice:2 from process alice
#     lock:1 < lock:2 from process lock
#     alice:2 < lock:1 from message m1
