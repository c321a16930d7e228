"""A microcosm: what one device knows about causality, what follows from it, and how it evolves.

Seed 003, Definitions 2.3, 2.5 and 3.1. The two profiles differ in evolution only: the strict one keeps
the paper's conditions, the default one lets a more accurate judgement supersede a `<>` that is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from microcosm import files
from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.why_not import WhyNot, why_not
from microcosm.engine.witness import Witness
from microcosm.errors import Contradiction, Undefined
from microcosm.logic.derivation import Derivation
from microcosm.logic.document import givens_to_json, parse_correspondences, read_givens, write_mc
from microcosm.logic.judgement import Judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.relations.correspondence import GIVEN_RELATIONS, Correspondence
from microcosm.relations.givens import Givens
from microcosm.relations.relation import Relation
from microcosm.state import contradiction
from microcosm.state.forgetting import without_event
from microcosm.state.union import union

if TYPE_CHECKING:
    import networkx

    from microcosm.relations.search import Stop
    from microcosm.state.bulk import Bulk
    from microcosm.state.conflict import Given
    from microcosm.state.offline import Decisions, Offline
    from microcosm.state.possibility import Left, Possibility, Worlds

REFUTED = (Relation.NOT_BEFORE,)


class Microcosm:
    """Partial knowledge about causality, with the deductions that follow.

    `givens` is copied. `strict` keeps condition (4) of Definition 2.3 and the paper's definedness of
    evolution; `rules` are the shipped ones unless given. Raises `Contradiction` where the initial
    judgements already exclude each other.

    Questions cost a bit test once asked near before; an addition or removal costs what it changes. Not
    safe for changes from several threads at once.

    >>> album = Microcosm.parse('unshare < upload \\n upload < notify \\n upload || "log in"')
    >>> album.online("unshare", "notify"), album.online("notify", "log in")
    (Relation.BEFORE, Relation.SILENT)
    >>> album.add("notify < view"); album.online("unshare", "view")
    Relation.BEFORE
    """

    def __init__(
        self, givens: Givens | None = None, *, strict: bool = False, rules: RuleBook | None = None
    ) -> None:
        self.strict = strict
        self.rules = rules if rules is not None else read_rules()
        self._givens = givens.copy() if givens is not None else Givens()
        self._engine = self._build(self._givens)
        self._finder: Witness | None = None
        self._fitting: Worlds | None = None
        self._many: Bulk | None = None

    @classmethod
    def read(cls, path: files.AnyPath, *, strict: bool = False, rules: RuleBook | None = None) -> Microcosm:
        """A microcosm from a `.mc` or JSON file (`-`: standard input). Raises as `parse` does."""
        return cls.parse(files.read_text(path), files.display_name(path), strict=strict, rules=rules)

    @classmethod
    def parse(
        cls, text: str, file: str | None = None, *, strict: bool = False, rules: RuleBook | None = None
    ) -> Microcosm:
        """A microcosm from text in either form. Raises `TextError`, `Contradiction`."""
        return cls(read_givens(text, file), strict=strict, rules=rules)

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[str], *, strict: bool = False, rules: RuleBook | None = None
    ) -> Microcosm:
        """A microcosm from a directed graph, such as `to_networkx` makes; a plain edge a → b says `a < b`.

        The key of a multigraph's edge may be another sign. Raises `Undefined` for what no given can say,
        `Contradiction`.
        """
        from microcosm.state.graph import from_networkx

        return cls(from_networkx(graph), strict=strict, rules=rules)

    # -- what is known -------------------------------------------------------------------------------

    @property
    def givens(self) -> Givens:
        """What is given; read only (evolve with `add`, `update`, `remove`, `append` and `forget`)."""
        return self._givens

    @property
    def name(self) -> str | None:
        """The microcosm's name, if it has one."""
        return self._givens.name

    @property
    def events(self) -> list[str]:
        """Every event that is named, sorted. Cost: n log n."""
        return sorted(self._givens.named())

    def __contains__(self, event: object) -> bool:
        """Whether an event is in M: internal, or in an external correspondence (clock, token)."""
        universe = self._engine.universe
        at = universe.position.get(event, -1) if isinstance(event, str) else -1
        return at >= 0 and bool(universe.members >> at & 1)

    def __repr__(self) -> str:
        given = self._givens
        name = f" {given.name!r}" if given.name else ""
        counts = {
            "internal events": len(given.internal),
            "correspondences": len(given.external),
            "clocks": len(given.clocks),
            "tokens": len(given.tokens),
        }
        shown = [f"{n} {what}" for at, (what, n) in enumerate(counts.items()) if n or at < 2]
        return f"<Microcosm{name}: {', '.join(shown)}>"

    def _repr_svg_(self) -> str:
        """A space-time diagram where processes are known, else a Hasse diagram; of the first events only."""
        from microcosm.state import drawing
        from microcosm.state.sketch import sketch

        drawn = sketch(self._givens, self.rules)
        return drawing.space_time(drawn) if drawn.process else drawing.hasse(drawn)

    def _repr_html_(self) -> str:
        """What notebooks show: `repr`, and both diagrams."""
        from microcosm.state import drawing
        from microcosm.state.sketch import sketch

        return drawing.html(repr(self), sketch(self._givens, self.rules))

    def nearest(self, name: str) -> list[str]:
        """Up to three event names like a mistyped one."""
        return get_close_matches(name, self.events, n=3)

    # -- deductions ------------------------------------------------------------------------------------

    def online(self, a: str, b: str) -> Relation:
        """The verdict of online decision making on two distinct events (Definition 3.1).

        `UNKNOWN` is a verdict with a derivation; `SILENT` says that no rule says anything. Neither
        means concurrent.
        """
        _distinct(a, b)
        return self._engine.verdict(a, b)

    def offline(
        self,
        a: str,
        b: str,
        *,
        profile: str = "full",
        depth: int | None = None,
        stop: Stop | None = None,
    ) -> Offline:
        """What cannot be and what must be of two distinct events (Definition 4.1), with derivations.

        `depth` None decides exactly; a number limits how deep assumptions nest (0: propagation alone).
        Profile `paper` reads the rules as the seed does. `stop` is asked now and then whether to give up:
        then `exact` is false. Raises `Inconsistent` where no world fits the givens. Cost: exponential in
        the `<>` at worst.
        """
        _distinct(a, b)
        return self._decisions(profile).verdict(a, b, depth, stop)

    def offline_table(
        self, *, profile: str = "full", depth: int = 0, stop: Stop | None = None
    ) -> Iterator[Left]:
        """What is left of `<`, `>` and `||` for every pair of `events`, as `offline` at a depth.

        Raises `Inconsistent` where the rules contradict themselves at that depth.
        """
        return self._decisions(profile).table(depth, stop)

    def contradiction(self, *, profile: str = "full", stop: Stop | None = None) -> Derivation | None:
        """A derivation of a contradiction, None where some world fits all that is given.

        Raises `engine.refutation.Stopped` or `relations.possible.Undecided` where `stop` came first.
        """
        return self._decisions(profile).contradiction(stop)

    def _decisions(self, profile: str) -> Decisions:
        from microcosm.state.offline import Decisions

        rules = self.rules.in_profile(profile)
        if rules is self.rules:
            return Decisions(self._engine, self._witness, rules, self._givens)
        engine = Engine(rules, self._givens)
        return Decisions(engine, Witness(engine, self._givens), rules, self._givens)

    def why(self, a: str, b: str) -> Derivation | None:
        """A short derivation of the online verdict; None where the microcosm is silent."""
        verdict = self.online(a, b)
        return None if verdict is Relation.SILENT else self.derive(Judgement.ONLINE, a, verdict, b)

    def derive(self, judgement: Judgement, a: str, relation: Relation, b: str) -> Derivation | None:
        """A derivation of `judgement a R b`, None where it does not hold."""
        _distinct(a, b)
        return self._witness.derive(judgement, a, relation, b)

    def holds(self, judgement: Judgement, a: str, relation: Relation, b: str) -> bool:
        """Whether `judgement a R b`."""
        _distinct(a, b)
        return self._engine.holds(judgement, a, relation, b)

    def why_not(self, a: str, relation: Relation, b: str) -> WhyNot:
        """Whether `|- a R b` holds and, rule by rule, which premises do and which do not."""
        _distinct(a, b)
        return why_not(self._engine, a, relation, b)

    def table(self) -> Iterator[tuple[str, str, Relation]]:
        """The online verdict of every pair of `events`, the first before the second in sorted order.

        Cost: one saturation, then a bit test a pair and verdict. Do not change the microcosm meanwhile.
        """
        return self._engine.table(self.events)

    def possible(self, a: str, b: str, stop: Stop | None = None) -> Possibility:
        """Which of `<`, `>`, `||` some world that fits gives two distinct events, exactly.

        Each `relations` has a witness in `worlds`; none is left where no world fits (`conflict` says
        why). `stop` is asked now and then whether to give up, which leaves the answer not `exact`.
        """
        _distinct(a, b)
        return self.worlds.possible(a, b, stop)

    @property
    def worlds(self) -> Worlds:
        """The worlds that fit, to ask for one of them, or for what is possible of all pairs."""
        if self._fitting is None:
            from microcosm.state.possibility import Worlds

            self._fitting = Worlds(self._givens)
        return self._fitting

    def conflict(self, stop: Stop | None = None) -> list[Given] | None:
        """A minimal set of givens that no world fits; None where some world fits all of them."""
        from microcosm.state.conflict import conflict

        return conflict(self._givens, stop)

    def online_many(self, pairs: Any) -> Any:
        """The verdicts of online decision making on many pairs.

        For an iterable of pairs of names: an iterator of `Relation`. For an integer array of shape (k, 2), of
        places in `events`: an array of places in `microcosm.state.bulk.VERDICTS`. For an Arrow table whose
        first two columns are names: the table with a column `verdict`, null for silence. Cost: as `online`;
        about a tenth of that where happens-before is kept as labels and numpy is there.

        >>> known = Microcosm.parse("a < b < c")
        >>> list(known.online_many([("a", "c"), ("c", "b")]))
        [Relation.BEFORE, Relation.AFTER]
        """
        if hasattr(pairs, "append_column"):
            return self._bulk.table(pairs)
        return self._bulk.codes(pairs) if hasattr(pairs, "dtype") else self._bulk.verdicts(pairs)

    def past(self, event: str) -> Iterator[str]:
        """The events before an event, in the order in which the givens name them; so are all that follow."""
        from microcosm.state.neighbourhood import past

        return past(self, event)

    def future(self, event: str) -> Iterator[str]:
        """The events after an event."""
        from microcosm.state.neighbourhood import future

        return future(self, event)

    def concurrent(self, event: str) -> Iterator[str]:
        """The events known to be concurrent with an event."""
        from microcosm.state.neighbourhood import concurrent

        return concurrent(self, event)

    def unknown(self, event: str) -> Iterator[str]:
        """The events that are `?` to an event."""
        from microcosm.state.neighbourhood import with_verdict

        return with_verdict(self, Relation.UNKNOWN, event)

    def silent(self, event: str) -> Iterator[str]:
        """The events that no rule says anything of, beside an event."""
        from microcosm.state.neighbourhood import with_verdict

        return with_verdict(self, Relation.SILENT, event)

    def between(self, first: str, last: str) -> Iterator[str]:
        """The events after one and before another."""
        from microcosm.state.neighbourhood import between

        return between(self, first, last)

    def frontier(self, a: str, b: str) -> tuple[list[str], list[str]]:
        """The last events before both of two events, and the first events after both."""
        from microcosm.state.neighbourhood import frontier

        return frontier(self, a, b)

    def longest_chain(self, first: str | None = None, last: str | None = None) -> list[str]:
        """A longest chain of events, each before the next; from `first` and to `last` where given."""
        from microcosm.state.hasse import longest_chain

        return longest_chain(self, first, last)

    def hasse(self) -> networkx.DiGraph[str]:
        """Happens-before without the pairs that others imply (its transitive reduction), over all events."""
        from microcosm.state.graph import hasse

        return hasse(self)

    def explain_evolution(
        self, a: str, b: str, change: Correspondence, update: bool = False
    ) -> Derivation | None:
        """The verdict on a and b as what one given brought (rules Strng, Weak, Up-S, Up-W).

        The verdict now is derived from what was judged without `change` (with `update`: when `<>`
        stood in its place). None where no evolution rule applies, e.g. for a consequence of the change
        together with others; `why` explains these. Raises `Undefined` where `change` is not given.
        """
        from microcosm.state.evolution_proof import explain_evolution

        return explain_evolution(self._engine, self._givens, self.rules, (a, b), change, update)

    # -- evolution ---------------------------------------------------------------------------------------

    def add(self, given: str | Correspondence) -> None:
        """`M + (a R b)`: add what a statement says; a chain `a < b < c` is added whole or not at all.

        What is given already changes nothing (strict: `Undefined`, as is whatever is already judged).
        Raises `Contradiction`, with the derivation of the other side; the state is then unchanged.
        Cost: one row operation for each event whose past changes.
        """
        facts = _facts(given)
        if len(facts) == 1:
            self._add(facts[0])
            return
        with self.batch():
            for fact in facts:
                self._add(fact)

    def update(self, given: str | Correspondence) -> None:
        """`M[a <> b := a < b]`: put a direction in the place of an external `a <> b`.

        Raises `Undefined` where `a <> b` is not an external given, `Contradiction` as `add` does.
        """
        for fact in _facts(given):
            if fact.relation is not Relation.BEFORE:
                raise Undefined(f"an update gives a direction, such as `a < b`; it cannot be `{fact}`")
            related = self._external(fact.left, Relation.RELATED, fact.right)
            if related is None:
                pair = f"{fact.left} <> {fact.right}"
                raise Undefined(f"`{pair}` is not an external given, so it cannot be updated to `{fact}`")
            with self.batch():
                self._drop(related)
                self._add(fact)

    def remove(self, given: str | Correspondence) -> None:
        """`M - (a R b)`: take away an external given (Definition 6.1); what follows from the rest stays.

        Raises `Undefined` where it is not given as such. Cost: what loses something is recomputed.
        """
        facts = _facts(given)
        if len(facts) == 1 and not self.strict:
            self._drop(self._removable(facts[0]))
            return
        with self.batch():
            for fact in facts:
                found = self._removable(fact)
                self._drop(found)
                if self.strict and found.relation in GIVEN_RELATIONS:
                    self._expect_undecided(found, "cannot be removed (strict), for it still follows")

    def append(self, event: str) -> None:
        """Make `event` the last of the internal chain. Raises `Undefined`, `Contradiction`."""
        if (
            event in self and event in self._givens.internal
        ):  # the chain is long: look whether it need be read
            raise Undefined(f"{event} is an internal event already")
        last = self._givens.internal[-1] if self._givens.internal else None
        if last is not None and event in self:
            back = self.derive(Judgement.INITIAL, event, Relation.BEFORE, last)
            if back is not None:
                raise contradiction.refused(f"{event} cannot follow {last} in the internal chain", back)
        self._givens.internal.append(event)
        try:
            clash = self._engine.append(event)
            problem = contradiction.of_clash(clash, self._fresh_witness()) if clash else None
            if problem is None and self.strict:
                problem = self._condition_four()
            if problem is not None:
                raise problem
        except BaseException:
            self._givens.internal.pop()
            self._engine = self._build(self._givens)
            raise
        finally:
            self._changed()

    def forget(self, event: str) -> None:
        """Drop all that names an event, keeping every initial judgement about the others.

        Orders that ran through the event are recorded as givens of their own. `?` and silence of other
        pairs may change. Raises `Undefined` for an event that nothing names. Cost: linear.
        """
        if event not in set(self._givens.named()):
            raise Undefined(f"nothing names the event {event}")
        self._replace(without_event(self._givens, event, self.rules))

    @contextmanager
    def batch(self) -> Iterator[Microcosm]:
        """Several evolutions, all or nothing: an exception inside leaves the state as it was before.

        Each step is checked as it is made. Cost beyond the steps: a copy of the givens.
        """
        before = self._givens.copy()
        try:
            yield self
        except BaseException:
            self._replace(before)
            raise

    def merge(self, other: Microcosm) -> None:
        """Take over everything that another microcosm is given. Raises `Contradiction`, `Undefined`."""
        self._replace(union(self._givens, other.givens))

    def copy(self) -> Microcosm:
        """An independent microcosm with the same givens."""
        return Microcosm(self._givens, strict=self.strict, rules=self.rules)

    # -- out -----------------------------------------------------------------------------------------------

    def to_text(self) -> str:
        """The `.mc` form, which reads back to equal givens."""
        return write_mc(self._givens)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, which reads back to equal givens."""
        return givens_to_json(self._givens)

    def write(self, path: files.AnyPath) -> None:
        """Replace the content of a file, whole or not at all; JSON if its name ends in `.json`."""
        if files.is_json_name(path):
            import json

            files.write_text(path, json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n")
        else:
            files.write_text(path, self.to_text())

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A multigraph of the givens: an edge a → b keyed by its sign for each given, with its `source`.

        The internal chain stands as consecutive `<` edges; `||` and `<>` as one edge, as stated.
        Clocks and tokens are node attributes `clock` and `tokens`.
        """
        from microcosm.state.graph import to_networkx

        return to_networkx(self._givens)

    # -- inside --------------------------------------------------------------------------------

    @property
    def _bulk(self) -> Bulk:
        if self._many is None:
            from microcosm.state.bulk import Bulk

            self._many = Bulk(self)
        return self._many

    @property
    def _witness(self) -> Witness:
        if self._finder is None:
            self._finder = Witness(self._engine, self._givens)
        return self._finder

    def _changed(self) -> None:
        self._finder = self._fitting = self._many = None

    def _build(self, givens: Givens) -> Engine:
        try:
            engine = Engine(self.rules, givens)
        except CyclicGivens as cycle:
            raise contradiction.of_cycle(cycle, givens, self.rules) from None
        clash = engine.clash()
        if clash is not None:
            raise contradiction.of_clash(clash, Witness(engine, givens))
        if self.strict:
            superseded = engine.superseded()
            if superseded is not None:
                raise contradiction.of_condition_four(*superseded, Witness(engine, givens))
        return engine

    def _replace(self, givens: Givens) -> None:
        self._engine = self._build(givens)
        self._givens = givens
        self._changed()

    def _external(self, left: str, relation: Relation, right: str) -> Correspondence | None:
        key = Correspondence(left, relation, right).key()
        return self._givens.external.get(key) or self._givens.refuted.get(key)

    def _removable(self, fact: Correspondence) -> Correspondence:
        found = self._external(fact.left, fact.relation, fact.right)
        if found is None:
            raise Undefined(f"`{fact}` cannot be removed: {self._why_no_given(fact)}")
        return found

    def _why_no_given(self, fact: Correspondence) -> str:
        chain = self._givens.internal
        if fact.relation is Relation.BEFORE and fact.left in chain and fact.right in chain:
            return "it is an order of internal events; forget one of them instead"
        if fact.relation in GIVEN_RELATIONS and self._engine.holds(
            Judgement.INITIAL, fact.left, fact.relation, fact.right
        ):
            return "it follows from other givens, and is not an external one itself"
        return "it is not given"

    def _add(self, fact: Correspondence) -> None:
        if fact.relation not in (*GIVEN_RELATIONS, *REFUTED):
            raise Undefined(f"`{fact}` is no correspondence: only <, >, ||, <> and !< can be given")
        _distinct(fact.left, fact.right)
        if self._external(fact.left, fact.relation, fact.right) is not None:
            if self.strict:
                raise Undefined(f"`{fact}` is given already")
            return
        if self.strict and fact.relation in GIVEN_RELATIONS:
            self._expect_undecided(fact, "cannot be added (strict)")
        try:
            clash = self._engine.add(fact)
        except CyclicGivens as cycle:
            other = self.derive(Judgement.INITIAL, fact.right, Relation.BEFORE, fact.left)
            raise contradiction.of_addition(fact, other, cycle) from None
        self._givens.add(fact)
        problem = contradiction.of_clash(clash, self._fresh_witness()) if clash else None
        if problem is None and self.strict:
            problem = self._condition_four()
        if problem is not None:
            self._drop(fact)
            raise problem
        self._changed()

    def _drop(self, fact: Correspondence) -> None:
        given = self._givens.external if fact.relation in GIVEN_RELATIONS else self._givens.refuted
        del given[fact.key()]
        self._engine.remove(fact)
        self._changed()

    def _expect_undecided(self, fact: Correspondence, problem: str) -> None:
        """`M + c` is defined only where nothing is judged of the pair in M."""
        for relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
            derivation = self.derive(Judgement.INITIAL, fact.left, relation, fact.right)
            if derivation is not None and (relation is fact.relation or relation is Relation.RELATED):
                raise Undefined(f"`{fact}` {problem}: {derivation.conclusion} already")
            if derivation is not None:
                raise contradiction.refused(f"`{fact}` {problem}", derivation)

    def _check(self) -> None:
        """Assert that what evolution kept up to date is what a fresh microcosm would have. Slow."""
        self._engine._check(self._givens)

    def _condition_four(self) -> Contradiction | None:
        superseded = self._engine.superseded()
        return contradiction.of_condition_four(*superseded, self._fresh_witness()) if superseded else None

    def _fresh_witness(self) -> Witness:
        return Witness(self._engine, self._givens)


def _facts(given: str | Correspondence) -> list[Correspondence]:
    if isinstance(given, Correspondence):
        return [given.normal()]
    return [fact.normal() for fact in parse_correspondences(given)]


def _distinct(a: str, b: str) -> None:
    if a == b:
        raise Undefined(f"an event stands in no relation to itself: {a}")
