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
4. A leaf is valid when the kernel's own search does not find what it denies.
5. A step whose rule rests on one given and nothing else (Init) shows its evidence: `clocks`, the two
   clocks by event as the JSON form of a microcosm has them, or `token`, its name; nothing where an
   internal pair or an external correspondence gives it. Beside other premises, a given need not be shown.
   A step without premises may say in `source` from which `file` and `line` its given is, and in `text` by
   what: nobody looks at what that says, for nothing rests on it.
6. A step between a microcosm and its evolution says in `evolution` which external given is new:
   `{"add": [a, R, b]}` or `{"update": [a, "<", b]}`. Its premises are checked in the microcosm without
   it (after an update: with `a <> b` in its place); `where` conditions hold in the one that has it.
7. `Clash` concludes a `contradiction` of a pair from two judgements of that pair that exclude each other.
   It stands for the two judgements that a rule that assumes asks to be incompatible, and shows no evidence.
8. A step of a rule that assumes names in `assumes` what it assumed, `[a, R, b]`. Above those of its premises
   that the rule has after `assume`, and nowhere else, a leaf with rule `assume` may say so; not beyond an
   evolution. Leaves that deny are still of the microcosm itself.

A node is checked once for each microcosm that it stands in, by its own conclusion and those of its premises;
since no node rests on itself, the order does not matter. Beside its conclusion it has the assumptions that it
rests on, which a step that discharges one takes away: at the root none is left. Cost: linear in the
derivation, times the assumptions that a node rests on, plus the searches. What stands in more than `EARLIER`
earlier microcosms (law 6), or takes more than `STEPS` steps in them, is not accepted, and the fault says so.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from microcosm.errors import RuleError
from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.node import (
    EVIDENCE,
    JUDGEMENTS,
    Binding,
    NodeLine,
    NodePath,
    ProofFault,
    exclude,
    fail,
    read,
    read_assumption,
    read_evolution,
    same,
    shown,
)
from microcosm.kernel.plan import RulePlans, StepPattern, kernel_rules
from microcosm.kernel.search import Search
from microcosm.logic.rule import ANY, ASSUME, CLASH, CONTRADICTION, Given, In, Judged, NoneWith, Not, Premise

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook


def check(givens: Givens, rules: RuleBook, proof: object) -> str | None:
    """None where `proof`, parsed JSON, is a valid derivation from `givens` by `rules`; else its first fault.

    The fault is in words, after the path of its node. Never raises; where the rules themselves are at fault
    (an unknown predicate, a denial that rests on itself), nothing that needs them is valid. Cost: linear in
    the derivation, and what the denials and premises without a node have to look for.

    >>> from microcosm.givens.givens import Givens
    >>> from microcosm.logic.rulebook import read_rules
    >>> known = Givens(internal=["a", "b"])
    >>> conclusion = {"judgement": "initial", "left": "a", "relation": "<", "right": "b"}
    >>> check(known, read_rules(), {"rule": "Init", "conclusion": conclusion, "premises": []})
    >>> check(known, read_rules(), {"rule": "In-Tr", "conclusion": conclusion, "premises": [{"ref": 0}]})
    'premises[0]: the reference is to no lemma before it'
    """
    try:
        _Proof(givens, rules, proof).check()
    except ProofFault as fault:
        return str(fault)
    except RuleError as error:
        return f"the rules do not say: {error.message}"
    return None


EARLIER = 1_000
"""In no more microcosms than this, beside the given one, nodes are checked."""

STEPS = 1_000_000
"""And in all of these together no more than this many."""

_LIMIT = "a limit: nothing was decided"

Open = dict[NodeLine, NodePath]
"""The assumptions that a node rests on and that nothing below it discharges, each with a leaf that has it."""

_NOTHING: Open = {}


class _Setting:
    """A microcosm in which nodes are checked: the given one, or an earlier one (law 6)."""

    def __init__(self, givens: Givens, program: RulePlans, events: frozenset[str]) -> None:
        self.facts = GivenFacts(givens)
        """What is given in it, fact by fact."""
        self.rests_on: dict[int, Open] = {}
        """The nodes that were checked in it, by identity,"""
        self.begun: set[int] = set()
        """and those whose premises are being checked."""
        self._program, self._events = program, events

    @cached_property
    def search(self) -> Search:
        """The kernel's own search, made when something is asked of it."""
        return Search(self._program, self.facts, self._events)


class _Visit(NamedTuple):
    """A node to be checked: what it says, how it was reached, and how many lemmas it may refer to."""

    node: Any
    line: NodeLine
    path: NodePath
    lemmas: int


class _Rest(NamedTuple):
    """What a checked step rests on: its premises, in which microcosm, and what they may assume."""

    below: list[_Visit]
    setting: _Setting
    assumed: NodeLine | None
    outside: int
    """So many of the premises stand before what is assumed."""


class _Proof:
    """One derivation, while it is checked."""

    def __init__(self, givens: Givens, rules: RuleBook, root: Any) -> None:
        self.rules = kernel_rules(rules)
        self.root = root
        self.lemmas: list[Any] = []
        self.used: set[int] = set()
        conclusion = root.get("conclusion") if isinstance(root, dict) else None
        ends = (conclusion.get("left"), conclusion.get("right")) if isinstance(conclusion, dict) else ()
        self.events = frozenset(givens.named()).union(event for event in ends if isinstance(event, str))
        self.given = _Setting(givens, self.rules.program, self.events)
        self.earlier: dict[tuple[_Setting, bool, tuple[str, str, str]], _Setting] = {}
        self.steps = 0
        """In earlier microcosms."""
        self._stands_for: dict[int, int] = {}

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
        stack: list[tuple[_Visit, _Setting, _Rest | None]] = [(start, self.given, None)]
        while stack:
            visit, setting, rest = stack.pop()
            node, line, path, _ = visit
            key = id(node)
            if rest is not None:
                setting.begun.remove(key)
                setting.rests_on[key] = _undischarged(rest, setting)
            elif key in setting.begun:
                fail(path, "the node rests on itself")
            elif key not in setting.rests_on:
                self.steps += setting is not self.given
                if self.steps > STEPS:
                    fail(path, f"more than {STEPS:,} steps in earlier microcosms, {_LIMIT}")
                if line.absent:
                    _check_leaf(line, path, setting)
                    setting.rests_on[key] = _NOTHING
                elif node["rule"] == ASSUME:
                    setting.rests_on[key] = {line: path}
                else:
                    rest = self._step(visit, setting)
                    if not rest.below:
                        setting.rests_on[key] = _NOTHING
                        continue
                    setting.begun.add(key)
                    stack.append((visit, setting, rest))
                    stack.extend([(below, rest.setting, None) for below in reversed(rest.below)])
        for line, path in self.given.rests_on[id(start.node)].items():
            _fail_assumed(line, path)

    def _found(self, node: Any, path: NodePath, lemmas: int) -> _Visit:
        """The node at `path`, or the one that a reference there stands for (law 1)."""
        passed: list[int] = []
        while isinstance(node, dict) and "ref" in node:
            k = node["ref"]
            if len(node) > 1 or type(k) is not int:
                fail(path, 'a reference is `{"ref": k}`, with the number of a lemma and nothing else')
            if not 0 <= k < lemmas:
                fail(path, "the reference is to no lemma before it")
            self.used.add(k)
            passed.append(k)
            k = self._stands_for.get(k, k)
            node, path, lemmas = self.lemmas[k], (None, f"lemmas[{k}]"), k
        self._stands_for.update(dict.fromkeys(passed[:-1], lemmas))
        return _Visit(node, read(node, path, self.events), path, lemmas)

    def _step(self, visit: _Visit, setting: _Setting) -> _Rest:
        """Check a step against the conclusions of its premises (laws 2, 3, 5 to 8)."""
        node, line, path, lemmas = visit
        below = [self._found(below, (path, place), lemmas) for place, below in enumerate(node["premises"])]
        premises = [premise.line for premise in below]
        shows = [key for key in ("clocks", "token") if key in node]
        name = node["rule"]
        if name == CLASH:
            self._clash(node, line, premises, path)
            return _Rest(below, setting, None, 0)
        if name not in self.rules.rules:
            fail(path, f"there is no rule {shown(name)}")
        evolves = self.rules.rules[name].evolution is not None
        if evolves != ("evolution" in node):
            fail(path, f"{shown(name)} {'needs an' if evolves else 'has no'} `evolution`")
        assumed = read_assumption(node["assumes"], line.judgement, path) if "assumes" in node else None
        new = read_evolution(node["evolution"], path) if evolves else None
        before = self._before(setting, *new, path) if new else setting
        fault = (0, "")
        for pattern in self.rules.patterns(name, line):
            binding: Binding = {}
            if not pattern.head.matches(line, binding):
                continue
            if len(pattern.nodes) != len(premises):
                needed = len(pattern.nodes)
                wrong = (1, f"needs {needed} {'premise' if needed == 1 else 'premises'}, not {len(premises)}")
            elif not (
                all(p.matches(node, binding) for p, node in zip(pattern.nodes, premises, strict=True))
                and pattern.assumed(assumed, binding)
                and self._contradicts(pattern, below, binding)
            ):
                wrong = (2, "")
            elif new and not pattern.evolves(*new, binding):
                wrong = (3, "")
            elif pattern.alone and (words := _unshown(node, shows, pattern.givens[0], binding, before)):
                wrong = (5, words)
            elif not pattern.alone and not _holds(pattern, binding, before, setting, node, shows):
                wrong = (4, "")
            else:
                return _Rest(below, before, assumed, pattern.outside)
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

    def _contradicts(self, pattern: StepPattern, below: list[_Visit], binding: Binding) -> bool:
        """Whether the premises of the contradiction are those of the rule (law 7)."""
        if pattern.clash is None:
            return True
        clash = next(v for v, p in zip(below, pattern.nodes, strict=True) if p.relation == CONTRADICTION)
        places = enumerate(clash.node["premises"])  # `Clash` it is, for nothing else may say so (law 1)
        lines = [self._found(node, (clash.path, place), clash.lemmas).line for place, node in places]
        return pattern.contradicts(lines, binding)

    def _clash(self, node: Any, line: NodeLine, premises: list[NodeLine], path: NodePath) -> None:
        """Check a contradiction (law 7)."""
        if node.keys() & EVIDENCE:
            fail(path, f"{CLASH} shows no evidence and assumes nothing")
        if len(premises) != 2 or not exclude(*premises):
            fail(path, f"{CLASH} needs two premises that exclude each other")
        side = premises[0]  # the other is of its judgement and pair
        if (side.judgement, {side.left, side.right}) != (line.judgement, {line.left, line.right}):
            fail(path, f"{CLASH} speaks of the pair and judgement of its premises")

    def _before(self, setting: _Setting, update: bool, new: Correspondence, path: NodePath) -> _Setting:
        """The microcosm of which `setting` is the evolution by what is new (law 6)."""
        key = (setting, update, new.key())
        if key not in self.earlier:
            if len(self.earlier) == EARLIER:
                fail(path, f"more than {EARLIER:,} earlier microcosms, {_LIMIT}")
            givens = setting.facts.givens.copy()
            if givens.external.pop(new.key(), None) is None:
                fail(path, "what is new in `evolution` is no external given")
            if update:
                givens.add(Correspondence(new.left, Relation.RELATED, new.right))
            self.earlier[key] = _Setting(givens, self.rules.program, self.events)
        return self.earlier[key]


def _check_leaf(line: NodeLine, path: NodePath, setting: _Setting) -> None:
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


def _undischarged(rest: _Rest, setting: _Setting) -> Open:
    """The assumptions that a step in `setting` rests on, once its premises are checked (law 8)."""
    rests_on = rest.setting.rests_on
    found: Open = {}
    for place, below in enumerate(rest.below):
        for line, path in rests_on[id(below.node)].items():
            if line == rest.assumed and place >= rest.outside:
                continue
            if rest.setting is not setting:
                _fail_assumed(line, path)
            found.setdefault(line, path)
    return found or _NOTHING


def _fail_assumed(line: NodeLine, path: NodePath) -> NoReturn:
    fail(path, f"nothing above it assumes `{line}`")


def _holds(
    pattern: StepPattern, binding: Binding, before: _Setting, after: _Setting, node: Any, shows: list[str]
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
    kinds = {evidence.kind for evidence in setting.facts.evidence(left, Relation(relation), right)}
    if kinds and not shows:
        showable = kinds <= {"clocks", "token"}
        return f"does not show the {' or '.join(sorted(kinds))} that it rests on" if showable else ""
    return f"rests on no such given: {shown(left)} {relation} {shown(right)}"


def _is_shown(node: Any, key: str, given: Given, binding: Binding, setting: _Setting) -> bool:
    """Whether a step shows under `key` what states this given."""
    left, right = binding[given.left], binding[given.right]
    for evidence in setting.facts.evidence(left, Relation(given.relation), right):
        if evidence.kind == key == "token" and evidence.source == node[key]:
            return True
        if evidence.kind == key == "clocks":
            clocks = setting.facts.givens.clocks
            return same(node[key], {event: clocks[event].stated() for event in (left, right)})
    return False
