"""The kernel: checks a derivation against a microcosm and the rules, and trusts nothing else.

The laws, by which a derivation in JSON (contract `microcosm/1`) is valid or not:

1. A node is a step, a leaf with rule `absent`, or `{"ref": k}`, which stands for the k-th of the root's
   `lemmas`. A lemma refers only to earlier ones, and no node rests on itself. Keys, relations and names
   are exactly as the contract says; events are those that the microcosm or the root's conclusion names.
2. A step is valid when an instance of the rule that it names concludes its conclusion, and the judged
   and negative premises of the instance, in the order of the rule, are the conclusions of its premises.
   `|/-0 a _ b` is a leaf with relation `_` (`|/-0 a R b`: with R), `a not in M` one with `not-in`,
   `no e in M with |-0 a _ e, |-0 b _ e` one with `in-both`, any other `no e …` one with `none`.
3. The other premises (`given`, `a in M`, predicates, `where R is most accurate`) have no node. The kernel
   looks for events that satisfy them.
4. A leaf is valid when the kernel's own search (`kernel_search.py`) does not find what it denies.
5. A step whose rule rests on one given and nothing else (Init) shows its evidence: `clocks`, the two
   clocks by event as the JSON form of a microcosm has them, or `token`, its name; nothing where an
   internal pair or an external correspondence gives it. Beside other premises, a given need not be shown.
6. A step between a microcosm and its evolution says in `evolution` which external given is new:
   `{"add": [a, R, b]}` or `{"update": [a, "<", b]}`. Its premises are checked in the microcosm without
   it (after an update: with `a <> b` in its place); `where` conditions hold in the one that has it.
7. `Clash` concludes a `contradiction` of a pair from two judgements of that pair that exclude each other.
   It stands for the two judgements of a rule that asks for two incompatible ones, and shows no evidence.
8. A step of a rule that assumes names in `assumes` what it assumed, `[a, R, b]`. Above those of its premises
   that the rule has after `assume`, and nowhere else, a leaf with rule `assume` may say so; not beyond an
   evolution. Leaves that deny are still of the microcosm itself.

A node is checked once for each microcosm that it stands in, by its own conclusion and those of its
premises; since no node rests on itself, the order does not matter. Cost: linear in the derivation (for each
set of assumptions under which a node stands), plus the searches.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from microcosm.errors import RuleError
from microcosm.logic.kernel_node import (
    ASSUME,
    CLASH,
    CONTRADICTION,
    EVIDENCE,
    JUDGEMENTS,
    Fault,
    Line,
    Path,
    exclude,
    fail,
    read,
    read_assumption,
    read_evolution,
    same,
    shown,
)
from microcosm.logic.kernel_pattern import Pattern
from microcosm.logic.kernel_plan import Binding, Program
from microcosm.logic.kernel_rules import kernel_rules
from microcosm.logic.kernel_search import Search
from microcosm.logic.rule import ANY, Evolution, Given, In, Judged, NoneWith, Not, Premise
from microcosm.logic.rulebook import RuleBook
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation


def check(givens: Givens, rules: RuleBook, proof: object) -> str | None:
    """None where `proof`, parsed JSON, is a valid derivation from `givens` by `rules`; else its first fault.

    The fault is in words, after the path of its node. Never raises; where the rules themselves are at fault
    (an unknown predicate, a denial that rests on itself), nothing that needs them is valid.

    >>> from microcosm.logic.rulebook import read_rules
    >>> known = Givens(internal=["a", "b"])
    >>> said = {"judgement": "initial", "left": "a", "relation": "<", "right": "b"}
    >>> check(known, read_rules(), {"rule": "Init", "conclusion": said, "premises": []})
    >>> check(known, read_rules(), {"rule": "In-Tr", "conclusion": said, "premises": [{"ref": 0}]})
    'premises[0]: the reference is to no lemma before it'
    """
    try:
        _Proof(givens, rules, proof).check()
    except Fault as fault:
        return str(fault)
    except RuleError as error:
        return f"the rules do not say: {error.message}"
    return None


class _Setting:
    """A microcosm in which nodes are checked: the given one, or an earlier one (law 6), and what may be
    assumed (law 8).
    """

    def __init__(
        self, givens: Givens, program: Program, events: frozenset[str], within: _Setting | None = None
    ) -> None:
        self.givens = givens
        self.assumed: frozenset[Line] = frozenset()
        self.checked: set[int] = set()
        """The nodes that were checked in it, by identity, and (`open`) those whose premises are not yet."""
        self.open: set[int] = set()
        self._program = program
        self._events = events
        self._within = within
        self._inner: dict[Line, _Setting] = {}

    @cached_property
    def search(self) -> Search:
        """The kernel's own search, made when something is asked of it."""
        return self._within.search if self._within else Search(self._program, self.givens, self._events)

    def assuming(self, line: Line) -> _Setting:
        """The same microcosm, with one assumption more."""
        if line in self.assumed:
            return self
        if line not in self._inner:
            inner = self._inner[line] = _Setting(self.givens, self._program, self._events, self)
            inner.assumed = self.assumed | {line}
        return self._inner[line]


class _Visit(NamedTuple):
    """A node to be checked: what it says, how it was reached, and how many lemmas it may refer to."""

    node: Any
    line: Line
    path: Path
    lemmas: int


class _Proof:
    """One derivation, while it is checked."""

    def __init__(self, givens: Givens, rules: RuleBook, root: Any) -> None:
        self.rules = kernel_rules(rules)
        self.root = root
        self.lemmas: list[Any] = []
        self.used: set[int] = set()
        said = root.get("conclusion") if isinstance(root, dict) else None
        ends = (said.get("left"), said.get("right")) if isinstance(said, dict) else ()
        self.events = frozenset(givens.named()).union(event for event in ends if isinstance(event, str))
        self.given = _Setting(givens, self.rules.program, self.events)
        self.earlier: dict[tuple[_Setting, bool, tuple[str, str, str]], _Setting] = {}

    def check(self) -> None:
        """Raise the first fault; the lemmas that the root does not rest on come last."""
        line = read(self.root, None, self.events, {"lemmas"})
        if line.absent or self.root["rule"] == ASSUME:
            fail(None, "a leaf alone proves nothing")
        self.lemmas = self.root.get("lemmas", [])
        if not isinstance(self.lemmas, list):
            fail(None, "`lemmas` is a list")
        self._walk(_Visit(self.root, line, None, len(self.lemmas)))
        for k in range(len(self.lemmas)):
            if k not in self.used:
                self._walk(self._found({"ref": k}, None, k + 1))

    def _walk(self, start: _Visit) -> None:
        """Check a node and all that it rests on, depth first, without recursion."""
        stack = [(start, self.given, False)]
        while stack:
            visit, setting, left = stack.pop()
            node, line, path, lemmas = visit
            key = id(node)
            if left:
                setting.open.remove(key)
            elif key in setting.open:
                fail(path, "the node rests on itself")
            elif key not in setting.checked:
                setting.checked.add(key)
                if line.absent:
                    _check_leaf(line, path, setting)
                    continue
                if node["rule"] == ASSUME:
                    if line not in setting.assumed:
                        fail(path, f"nothing above it assumes `{line}`")
                    continue
                places = enumerate(node["premises"])
                below = [self._found(premise, (path, place), lemmas) for place, premise in places]
                inside = self._step(visit, below, setting)
                if below:
                    setting.open.add(key)
                    stack.append((visit, setting, True))
                    stack.extend(
                        (b, i, False) for b, i in zip(reversed(below), reversed(inside), strict=True)
                    )

    def _found(self, node: Any, path: Path, lemmas: int) -> _Visit:
        """The node at `path`, or the one that a reference there stands for (law 1)."""
        while isinstance(node, dict) and "ref" in node:
            k = node["ref"]
            if len(node) > 1 or type(k) is not int:
                fail(path, 'a reference is `{"ref": k}`, with the number of a lemma and nothing else')
            if not 0 <= k < lemmas:
                fail(path, "the reference is to no lemma before it")
            self.used.add(k)
            node, path, lemmas = self.lemmas[k], (None, f"lemmas[{k}]"), k
        return _Visit(node, read(node, path, self.events), path, lemmas)

    def _step(self, visit: _Visit, below: list[_Visit], setting: _Setting) -> list[_Setting]:
        """Check a step against the conclusions of its premises (laws 2, 3, 5 to 8); return their settings."""
        node, line, path, _ = visit
        before, new = setting, None
        premises = [premise.line for premise in below]
        shows = [key for key in ("clocks", "token") if key in node]
        name = node["rule"]
        if name == CLASH:
            self._clash(node, line, premises, path)
            return [setting] * len(below)
        if not self.rules.named(name):
            fail(path, f"there is no rule {shown(name)}")
        evolves = self.rules.named(name)[0].evolution is not None
        if evolves != ("evolution" in node):
            fail(path, f"{shown(name)} {'needs an' if evolves else 'has no'} `evolution`")
        assumed = read_assumption(node["assumes"], line.judgement, path) if "assumes" in node else None
        if evolves:
            new = read_evolution(node["evolution"], path)
            before = self._before(setting, *new, path)
        fault = (0, "")
        for pattern in self.rules.patterns(name, line):
            binding: Binding = {}
            if not pattern.head.matches(line, binding):
                continue
            if len(pattern.nodes) != len(premises):
                needed = len(pattern.nodes)
                wrong = (1, f"needs {needed} {'premise' if needed == 1 else 'premises'}, not {len(premises)}")
            elif not (
                all(p.matches(said, binding) for p, said in zip(pattern.nodes, premises, strict=True))
                and _assumes(pattern, assumed, binding)
                and self._contradicts(pattern, below, binding)
            ):
                wrong = (2, "")
            elif new and not _evolves(pattern.evolution, *new, binding):
                wrong = (3, "")
            elif pattern.alone and (words := _unshown(node, shows, pattern.givens[0], binding, before)):
                wrong = (5, words)
            elif not pattern.alone and not _holds(pattern, binding, before, setting, node, shows):
                wrong = (4, "")
            else:
                outside = len(below) if assumed is None else pattern.outside
                inner = [before.assuming(assumed) if assumed else before] * (len(below) - outside)
                return [before] * outside + inner
            fault = max(fault, wrong)
        concludes = {
            0: "",
            2: f" from {', '.join(f'`{premise}`' for premise in premises)}",
            3: " by this evolution",
            4: f" here: a premise without a node does not hold{', or not as shown' if shows else ''}",
        }
        reached, words = fault
        if reached in concludes:
            words = f"does not conclude `{line}`{concludes[reached]}"
        fail(path, f"{shown(name)} {words}")

    def _contradicts(self, pattern: Pattern, below: list[_Visit], binding: Binding) -> bool:
        """Whether the premises of the contradiction are those of the rule; extends the binding (law 7)."""
        if pattern.clash is None:
            return True
        at = next(k for k, line in enumerate(pattern.nodes) if line.relation == CONTRADICTION)
        if below[at].node["rule"] != CLASH:
            return False
        path, lemmas = below[at].path, below[at].lemmas
        places = enumerate(below[at].node["premises"])
        lines = [self._found(node, (path, place), lemmas).line for place, node in places]
        for one, other in (pattern.clash, pattern.clash[::-1]):
            for turned in product((False, True), repeat=2):
                found = dict(binding)
                read = [_turn(line) if turn else line for line, turn in zip(lines, turned, strict=False)]
                if len(read) == 2 and one.matches(read[0], found) and other.matches(read[1], found):
                    return True
        return False

    def _clash(self, node: Any, line: Line, premises: list[Line], path: Path) -> None:
        """Check a contradiction (law 7)."""
        if node.keys() & EVIDENCE:
            fail(path, f"{CLASH} shows no evidence and assumes nothing")
        pair = {line.left, line.right}
        if len(premises) != 2 or not exclude(*premises):
            fail(path, f"{CLASH} needs two premises that exclude each other")
        if any(
            premise.judgement != line.judgement or {premise.left, premise.right} != pair
            for premise in premises
        ):
            fail(path, f"{CLASH} speaks of the pair and judgement of its premises")

    def _before(self, setting: _Setting, update: bool, new: Correspondence, path: Path) -> _Setting:
        """The microcosm of which `setting` is the evolution by what is new (law 6)."""
        key = (setting, update, new.key())
        if key not in self.earlier:
            givens = setting.givens.copy()
            if givens.external.pop(new.key(), None) is None:
                fail(path, "what is new in `evolution` is no external given")
            if update:
                givens.add(Correspondence(new.left, Relation.RELATED, new.right))
            self.earlier[key] = _Setting(givens, self.rules.program, self.events)
        return self.earlier[key]


def _check_leaf(line: Line, path: Path, setting: _Setting) -> None:
    """Check a negative premise: the events a and b of a premise that denies what the leaf does (law 4)."""
    judgement = JUDGEMENTS[line.judgement]
    premise: Premise
    match line.relation:
        case "none":
            return  # only the rule of its step says what it denies
        case "not-in":
            premise = Not(In("a"))
        case "in-both":
            premise = NoneWith("e", (Judged(judgement, "a", ANY, "e"), Judged(judgement, "b", ANY, "e")))
        case relation:
            premise = Not(Judged(judgement, "a", ANY if relation == "_" else Relation(relation), "b"))
    if not setting.search.true(premise, {"a": line.left, "b": line.right}):
        fail(path, f"`{line}` is not so")


def _turn(line: Line) -> Line:
    """A symmetric relation, said the other way round."""
    symmetric = line.relation in ("||", "<>", "!||", "!<>")
    return line._replace(left=line.right, right=line.left) if symmetric else line


def _assumes(pattern: Pattern, assumed: Line | None, binding: Binding) -> bool:
    """Whether a step names as assumed what its rule assumes; extends the binding (law 8)."""
    if pattern.assumes is None or assumed is None:
        return pattern.assumes is assumed
    return pattern.assumes.matches(assumed, binding)


def _evolves(pattern: Evolution | None, update: bool, new: Correspondence, binding: Binding) -> bool:
    """Whether the evolution is an instance of the pattern; extends the binding."""
    return (
        pattern is not None
        and pattern.update == update
        and pattern.relation is new.relation
        and binding.setdefault(pattern.left, new.left) == new.left
        and binding.setdefault(pattern.right, new.right) == new.right
    )


def _holds(
    pattern: Pattern, binding: Binding, before: _Setting, after: _Setting, node: Any, shows: list[str]
) -> bool:
    """Whether some events satisfy the premises without a node (law 3), with givens as shown."""
    if not (pattern.others or pattern.where or shows):
        return True
    for found in before.search.solutions(pattern.others, binding):
        as_shown = (any(_is_shown(node, key, g, found, before) for g in pattern.givens) for key in shows)
        if all(as_shown) and any(True for _ in after.search.solutions(pattern.where, found)):
            return True
    return False


def _unshown(node: Any, shows: list[str], given: Given, binding: Binding, setting: _Setting) -> str:
    """What is wrong with the evidence of a step that rests on nothing but a given (law 5)."""
    if len(shows) == 1 and _is_shown(node, shows[0], given, binding, setting):
        return ""
    left, relation, right = binding[given.left], given.relation, binding[given.right]
    kinds = set[str]()
    for evidence in setting.search.facts.evidence(left, Relation(relation), right):
        if not shows and evidence.kind not in ("clocks", "token"):
            return ""
        kinds.add(evidence.kind)
    if kinds and not shows:
        return f"does not show the {' or '.join(sorted(kinds))} that it rests on"
    return f"rests on no such given: {shown(left)} {relation} {shown(right)}"


def _is_shown(node: Any, key: str, given: Given, binding: Binding, setting: _Setting) -> bool:
    """Whether a step shows under `key` what states this given."""
    left, right = binding[given.left], binding[given.right]
    for evidence in setting.search.facts.evidence(left, Relation(given.relation), right):
        if evidence.kind == key == "token" and evidence.source == node[key]:
            return True
        if evidence.kind == key == "clocks":
            clocks = {event: setting.givens.clocks[event] for event in (left, right)}
            return same(node[key], {event: clock.stated() for event, clock in clocks.items()})
    return False
