"""The photo album on three devices, one of which goes offline, decides what it can, and comes back."""

from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory

NAMES = ("laptop", "phone", "tablet")
laptop, phone, tablet = (Replica(Memory(), name, members=NAMES) for name in NAMES)

# Alice takes Eve off the readers of her album at the laptop; Bob likes a photo at the tablet.
laptop.local("open")
laptop.local("unshare")
tablet.local("like")
laptop.learn("unshare < like")  # the tablet's like came with the new list of readers
level(laptop, tablet)
level(laptop, phone)

# The phone goes offline. Meanwhile the others go on, and so does the phone.
laptop.local("upload")
tablet.learn("like || upload")
level(laptop, tablet)
phone.local("view")
phone.learn("view || unshare")  # Eve saw the album while Alice changed it, as the server's receipt says

# Nobody can tell the phone how the view stands to the like; that it did not come after it can be ruled out.
print("online:  view, like:", phone.online("view", "like"))
print("offline: refuted of view, like:", *phone.offline("like", "view").refuted)
phone.when_decided("open", "upload", lambda a, b, verdict: print("decided:", a, verdict, b))

# Two devices were told different things while they could not talk.
phone.learn("view < comment")
tablet.learn("comment < view")

# The phone comes back: each takes what it lacks, and nothing else.
print("the phone takes", level(phone, tablet).new[0], "evolutions")
level(tablet, laptop)
print("the same everywhere:", len({each.digest() for each in (laptop, phone, tablet)}) == 1)

# What contradicts itself is set aside everywhere alike, with both sides; taking one back resolves it.
for conflict in laptop.conflicts:
    print("set aside:", conflict)
laptop.remove("comment < view")
for one, other in ((laptop, phone), (phone, tablet)):
    level(one, other)
print("view, comment:", *(str(each.online("view", "comment")) for each in (laptop, phone, tablet)))

# It prints:
#   online:  view, like: silent
#   offline: refuted of view, like: <
#   decided: open < upload
#   the phone takes 3 evolutions
#   the same everywhere: True
#   set aside: comment < view, view < comment
#   view, comment: < < <
