"""Two programs that know, while they run, what came before what: their recorders feed their replicas."""

from microcosm.record import Recorder
from microcosm.record.header import message_of
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory

names = ("phone", "laptop")
replicas = {name: Replica(Memory(), name, members=names) for name in names}
phone, laptop = (Recorder(name, replica=replicas[name]) for name in names)

# The laptop takes Eve off the readers and tells the phone; a header goes with the message.
unshare = laptop.event("Eve may not see the album any more")
header = laptop.send("new readers", to="phone")
draft = laptop.event("a draft, of which nobody is told")
received = phone.receive(header, "new readers")
view = phone.event("the album is shown")

# Each program asks its own microcosm. What the phone has not heard of it does not take for anything.
print("the phone:", message_of(header) in replicas["phone"].events, unshare in replicas["phone"].events)
print("  the message, its reception:", replicas["phone"].online(message_of(header), received))

# The replicas tell each other what happened, which no header could: both know all of it.
level(*replicas.values())
print(f"  {unshare}, {view}:", replicas["phone"].online(unshare, view))
print("the laptop:", f"{unshare}, {view}:", replicas["laptop"].online(unshare, view))
print(f"  {draft}, {view}:", replicas["laptop"].online(draft, view))

# It prints:
#   the phone: True False
#     the message, its reception: <
#     laptop:1, phone:2: <
#   the laptop: laptop:1, phone:2: <
#     laptop:3, phone:2: silent
