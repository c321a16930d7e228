"""Which message orderings each delivery protocol keeps: logs of its runs on the worst network it allows."""

from microcosm.orderings.computation import build
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import classify
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.simulation.simulate import SimulationSetting, simulate

SEEDS = range(3)
PROCESSES = 5


def verdicts(name, seed, receivers):
    """What the applications of one run saw of the messages to some receivers, and the verdicts on it."""
    tolerates = PROTOCOLS[name].machine.TOLERATES
    faults = {"reorder": "reorder" in tolerates, "loss": 0.2 * ("loss" in tolerates)}
    events = []
    simulate(name, SimulationSetting(PROCESSES, 100, seed, **faults), events.append)
    chains, order = {f"p{process + 1}": [] for process in range(PROCESSES)}, []
    for event in events:
        sent = event.kind == "causal_send" and not receivers.isdisjoint(event.to)
        if sent or (event.kind == "deliver" and event.process in receivers):
            chain = chains[f"p{event.process + 1}"]
            order.append((event.process, len(chain)))
            chain.append(("send" if sent else "receive", f"m{event.message + 1}"))
    computation = build(chains)
    return computation, classify(computation, [computation.chains[process][at] for process, at in order])


def place(name, receivers):
    """What all runs kept, could have kept, and had to keep."""
    runs = [verdicts(name, seed, receivers) for seed in SEEDS]
    multicast = any(computation.multicast for computation, _ in runs)
    for question in ("execution", "closure", "interior"):
        held = [one for one in Ordering if all(getattr(run[one], question) for _, run in runs)]
        yield ", ".join(Ordering.strongest(held, multicast)) or "none"


if __name__ == "__main__":
    print(f"{'protocol':<25}{'kept':<11}{'could have kept':<21}had to keep")
    for protocol in PROTOCOLS:
        kept, could, had_to = place(protocol, set(range(PROCESSES)))
        print(f"{protocol:<25}{kept:<11}{could:<21}{had_to}")
        if protocol == "monitor":
            kept, could, had_to = place(protocol, {0})
            print(f"{'  messages to p1 alone':<25}{kept:<11}{could:<21}{had_to}")

# It prints:
#   protocol                 kept       could have kept      had to keep
#   hybrid-basic             causal     causal               causal
#   hybrid-sps               causal     causal               causal
#   hybrid-multicast         causal     causal               causal
#   hybrid-multicast-sps     causal     causal               causal
#   hybrid-dependencies      causal     causal               causal
#   tree                     causal     causal               causal
#   monitor                  none       none                 none
#     messages to p1 alone   fifo-1-n   rsc                  fifo-1-n
#   rst                      causal     causal               causal
#   ks                       causal     causal               causal
#   newtop                   causal     fifo-n-1, fifo-1-n   causal
#   mf                       fifo-1-n   fifo-n-1, fifo-1-n   causal
#   cykas                    causal     causal               causal
