"""A verdict comes with a proof, and a kernel that knows nothing of the engine checks it again."""

from microcosm import Microcosm
from microcosm.kernel.check import check

album = Microcosm.parse("unshare < upload < view\nlike || upload")

derivation = album.why("unshare", "view")
assert derivation is not None
proof = derivation.to_json()
print("as derived:", check(album.givens, album.rules, proof))

# Someone changes the conclusion, and hopes that nobody looks.
proof["conclusion"]["right"] = "like"
fault = check(album.givens, album.rules, proof)
print("tampered:", "refused" if fault else "accepted")

# The same proof against a microcosm that knows less: its premises are given no longer.
proof = derivation.to_json()
album.remove("upload < view")
fault = check(album.givens, album.rules, proof)
print("with less known:", "refused" if fault else "accepted")

# It prints:
#   as derived: None
#   tampered: refused
#   with less known: refused
