"""A microcosm inside a program: ask, learn, be refused, forget."""

from microcosm import Contradiction, Microcosm, Relation

phone = Microcosm.parse("unshare < upload")
print("unshare, view:", phone.online("unshare", "view"))

phone.add("upload < view")
print("unshare, view:", phone.online("unshare", "view"))

# Concurrent is a fact that must be told; it is never concluded from knowing nothing.
print("like, view:", phone.online("like", "view"))
assert phone.online("like", "view") is not Relation.CONCURRENT

# What cannot hold together with the rest is refused, and leaves everything as it was.
try:
    phone.add("view < unshare")
except Contradiction as refused:
    print("refused:", refused)

# A batch comes in whole or not at all.
with phone.batch():
    phone.add("like || upload")
    phone.add("like <> view")
print("like, view:", phone.online("like", "view"))

phone.update("like < view")
print("like, view:", phone.online("like", "view"))

phone.forget("upload")
print("unshare, view:", phone.online("unshare", "view"), "with", ", ".join(phone.events))

# It prints:
#   unshare, view: ?
#   unshare, view: <
#   like, view: ?
#   refused: `view < unshare` would close a cycle: ⊢₀ unshare < view already
#   like, view: <>
#   like, view: <
#   unshare, view: < with like, unshare, view
