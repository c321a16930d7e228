"""Some givens and what follows from them at once and online (seed 003, Definitions 2.3, 2.5 and 3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.proofs.prove import Witness
from microcosm.engine.proofs.why_not import WhyNot, why_not
from microcosm.errors import Undefined, UnknownEvent
from microcosm.givens.given_view import GivenView
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation, read_relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.judgement import Judgement, read_judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.state import contradiction

if TYPE_CHECKING:
    from microcosm.queries.batch import Bulk
    from microcosm.queries.possible import Worlds


class Judged:
    """Initial and online judgements about some givens, each with a derivation.

    `givens` is copied. `strict` keeps condition (4) of Definition 2.3 and the paper's definedness of
    evolution; `rules` are the shipped ones unless given. Raises `Contradiction` where the initial
    judgements already exclude each other.
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

    @property
    def givens(self) -> Givens:
        """What is given now; read only.

        Evolve with `add`, `update`, `remove`, `append`, `forget` and `merge`; its `copy()` may be changed.
        """
        return GivenView(self._givens)

    @property
    def name(self) -> str | None:
        """The microcosm's name, if it has one."""
        return self._givens.name

    @property
    def events(self) -> list[str]:
        """Every event that is named, sorted. Cost: n log n."""
        return sorted(self._givens.named())

    @property
    def size(self) -> int:
        """How many events are named."""
        return self._engine.universe.named.bit_count()

    def __contains__(self, event: object) -> bool:
        """Whether an event is in M: internal, or in an external correspondence (clock, token)."""
        universe = self._engine.universe
        at = universe.position.get(event, -1) if isinstance(event, str) else -1
        return at >= 0 and bool(universe.members >> at & 1)

    def mentions(self, event: str) -> bool:
        """Whether any given names an event, in M or not."""
        return self._engine.mentions(event)

    def nearest(self, name: str) -> list[str]:
        """Up to three event names like a mistyped one; none among more than `MOST_NAMES` events."""
        return get_close_matches(name, self.events, n=3) if self.size <= MOST_NAMES else []

    def require(self, *events: str) -> None:
        """Raise `UnknownEvent` unless some given names each of these events."""
        missing = tuple(dict.fromkeys(event for event in events if not self.mentions(event)))
        if missing:
            raise UnknownEvent(missing, tuple(name for event in missing for name in self.nearest(event)))

    # -- deductions ------------------------------------------------------------------------------------

    def online(self, a: str, b: str, *, must_exist: bool = False) -> Relation:
        """The verdict of online decision making on two distinct events (Definition 3.1).

        `UNKNOWN` is a verdict with a derivation; `SILENT` says that no rule says anything. Neither
        means concurrent. Of an event that nothing names `UNKNOWN` is the verdict (rule Un-4), unless events
        `must_exist`: then `UnknownEvent` is raised.
        """
        distinct(a, b)
        if must_exist:
            self.require(a, b)
        return self._engine.verdict(a, b)

    def why(self, a: str, b: str, *, must_exist: bool = False) -> Derivation | None:
        """A short derivation of the online verdict; None where the microcosm is silent."""
        verdict = self.online(a, b, must_exist=must_exist)
        return None if verdict is Relation.SILENT else self.derive(Judgement.ONLINE, a, verdict, b)

    def derive(
        self, judgement: Judgement | str, a: str, relation: Relation | str, b: str
    ) -> Derivation | None:
        """A derivation of `judgement a R b`, None where it does not hold."""
        distinct(a, b)
        return self._witness.derive(read_judgement(judgement), a, _judged(relation), b)

    def holds(self, judgement: Judgement | str, a: str, relation: Relation | str, b: str) -> bool:
        """Whether `judgement a R b`."""
        distinct(a, b)
        return self._engine.holds(read_judgement(judgement), a, _judged(relation), b)

    def why_not(self, a: str, relation: Relation | str, b: str, *, must_exist: bool = False) -> WhyNot:
        """Whether `|- a R b` holds and, rule by rule, which premises do and which do not.

        >>> from microcosm import Microcosm
        >>> Microcosm.parse("a < b").why_not("a", "<", "b").holds
        True
        """
        distinct(a, b)
        if must_exist:
            self.require(a, b)
        return why_not(self._engine, a, _judged(relation), b)

    def table(self) -> Iterator[tuple[str, str, Relation]]:
        """The online verdict of every pair of `events`, the first before the second in sorted order.

        Cost: one saturation, then a bit test a pair and verdict. Do not change the microcosm meanwhile.
        """
        return self._engine.table(self.events)

    # -- inside --------------------------------------------------------------------------------

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

    def _check(self) -> None:
        """Assert that what evolution kept up to date is what a fresh microcosm would have. Slow."""
        self._engine._check(self._givens)


MOST_NAMES = 20_000
"""Among more events than this, looking for names like a mistyped one takes longer than the answer."""


def _judged(relation: Relation | str) -> Relation:
    """A relation that a judgement can be about. Raises `Undefined`."""
    read = read_relation(relation)
    if read is Relation.SILENT:
        raise Undefined("silence is what is left where no rule says anything: no judgement is about it")
    return read


def distinct(a: str, b: str) -> None:
    """Raise `Undefined` unless these are two events."""
    if a == b:
        raise Undefined(f"an event stands in no relation to itself: {a}")
