"""Messages in causal order, and what each delivery lets the receiver conclude."""

from microcosm import Microcosm
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.hybrid.unicast import HybridSPS
from microcosm.protocol.machine import Send

NAMES = {1: "phone", 2: "laptop", 3: "album"}

machines = {number: HybridSPS(number) for number in NAMES}
told = {number: Disclosure(machine, NAMES[number]) for number, machine in machines.items()}
sends = dict.fromkeys(NAMES, 0)
wire = []


def send(sender, receiver, message):
    """The host's part of a causal send: say so, ask the machine, put its packets on the wire."""
    sends[sender] += 1
    told[sender].causally_sent(message, sends[sender])
    machines[sender].causal_send([receiver], message)
    collect(sender)


def collect(number):
    wire.extend((number, output) for output in machines[number].take() if isinstance(output, Send))


def react(number):
    """What a process does when a message comes up to it: the laptop looks at the album."""

    def delivered(delivery):
        print(NAMES[number], "delivers", delivery.payload)
        told[number].delivered(delivery, delivery.payload)
        if delivery.payload == "upload":
            send(2, 3, "view")

    return delivered


for number, machine in machines.items():
    machine.on_deliver = react(number)

# The phone stops sharing the album, then tells the laptop of a new photo. The packet to the album is slow.
send(1, 3, "unshare")
send(1, 2, "upload")
slow = wire.pop(0)
while wire or slow:
    if not wire:
        print("(the slow packet arrives)")
        wire, slow = [slow], None
    sender, (receiver, packet) = wire.pop(0)
    told[receiver].received(sender, packet)
    machines[receiver].receive(sender, packet)
    collect(receiver)

# What the album knows now: only of what reached it, and that in order.
album = Microcosm()
for fact in told[3].application:
    album.add(fact)
print("c:unshare, d:album:view:", album.online("c:unshare", "d:album:view"))
print("c:unshare, c:view:", album.online("c:unshare", "c:view"))

# The laptop got a permit: the first message of process 1, to another, had been delivered by then.
[proof] = [fact for fact in told[2].network if fact.right.startswith("g:")]
print("the laptop, of the network:", proof)

# It prints:
#   laptop delivers upload
#   (the slow packet arrives)
#   album delivers unshare
#   album delivers view
#   c:unshare, d:album:view: <
#   c:unshare, c:view: silent
#   the laptop, of the network: d:1.1 < g:laptop:1.2
