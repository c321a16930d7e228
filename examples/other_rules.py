"""The calculus is text: take a rule away, and every verdict that rested on it goes."""

import tempfile
from pathlib import Path

from microcosm import Microcosm
from microcosm.files import shipped
from microcosm.logic.rulebook import read_rules

GIVENS = "unshare < upload < view"
print("with every rule:", Microcosm.parse(GIVENS).online("unshare", "view"))

with tempfile.TemporaryDirectory() as folder:
    for file in shipped("rules").glob("*.rules"):
        blocks = file.read_text(encoding="utf-8").split("\nrule ")
        kept = [block for block in blocks if not block.startswith("In-Tr:")]
        Path(folder, file.name).write_text("\nrule ".join(kept), encoding="utf-8")
    known = Microcosm.parse(GIVENS, rules=read_rules(folder))
    print("without In-Tr:", known.online("unshare", "view"))

# It prints:
#   with every rule: <
#   without In-Tr: silent
