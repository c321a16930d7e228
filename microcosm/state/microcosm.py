"""A microcosm: what one device knows about causality, what follows from it, and how it evolves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from microcosm import files, queries
from microcosm.engine import steps
from microcosm.engine.engine import Engine
from microcosm.engine.prove import Prover
from microcosm.errors import UnknownEvent
from microcosm.givens.event_table import EventTable
from microcosm.givens.givens import Givens, GivenView
from microcosm.givens.kinds import merged
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import expect, expect_text, read_relation
from microcosm.logic.derivation import Derivation, Words, read_judged, read_judgement
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.state import evolve, opening
from microcosm.text.mc_reader import read_givens
from microcosm.text.names import quote

if TYPE_CHECKING:
    import networkx
    import numpy
    import pandas
    import pyarrow

    from microcosm.queries.possible import PairsLeft, Possibility, Worlds
    from microcosm.questions.answers import Answer
    from microcosm.questions.ask import Answered, Found
    from microcosm.questions.language import Questions
    from microcosm.questions.settle import Observation
    from microcosm.worlds.search import Stop


_PAGES, _VIEW = "microcosm.page.write", "microcosm.cli.commands.page"
"""What writes pages, embeds and serves them. All stand above this layer, and are looked up when wanted."""

_Columns = TypeVar("_Columns", "numpy.ndarray[Any, Any]", "pyarrow.Table")
_Part = TypeVar("_Part")


class Microcosm:
    """Partial knowledge about causality, and what follows (Worlds of Events, Definitions 2.3, 2.5, 3.1, 4.1).

    `givens` is copied. `strict` keeps condition (4) of Definition 2.3 and the paper's definedness of
    evolution, where else a more accurate judgement supersedes a `<>` that is given; `rules` are the shipped
    ones unless given. To make one raises `Contradiction` where the initial judgements exclude each other.
    Every method that is asked about two events raises `Undefined` where they are one, and with `must_exist`
    `UnknownEvent` where nothing names one of them; otherwise nothing is known of such an event. What may take
    long is given a `stop`, asked now and then whether to give up.

    Questions cost a bit test once asked near before; an addition or removal costs what it changes, and is
    made whole or not at all. Threads may ask at once, but none while one changes it; iterators and tables are
    valid until the next change. Two are equal that have equal givens and rules; as it can change, it has no
    hash. To read, write, copy or compare costs time linear in the givens, to make one the orders besides (its
    engine), and to merge or forget another engine. The events around an event cost some rows of bits and the
    size of the answer.

    >>> album = Microcosm.parse('unshare < upload \\n upload < notify \\n upload || "log in"')
    >>> album.online("unshare", "notify"), album.online("notify", "log in")
    (Relation.BEFORE, Relation.SILENT)
    >>> album.add("notify < view"); album.online("unshare", "view")
    Relation.BEFORE
    >>> len(album), "view" in album, list(album)[:2]
    (5, True, ['log in', 'notify'])
    """

    _engine: Engine
    _pair_asked: tuple[str, ...] = ()
    """The pair of the last question, but for verdicts alone: diagrams are of what is near it."""
    __hash__ = None  # type: ignore[assignment]  # it can change, and is equal by what it is given

    def __init__(
        self, givens: Givens | None = None, *, strict: bool = False, rules: RuleBook | None = None
    ) -> None:
        if not (isinstance(givens, Givens | None) and isinstance(rules, RuleBook | None)):
            expect(Givens | None, "givens: `Microcosm.parse` reads a text, `Microcosm.read` a file", givens)
            expect(RuleBook | None, "rule book, such as `read_rules` reads from a folder", rules)
        self.strict = strict
        self.rules = rules if rules is not None else read_rules()
        self._givens = givens.copy() if givens is not None else Givens()
        self._engine = evolve.built(self._givens, self.rules, strict)
        self._parts: dict[object, Any] = {}

    # -- in and out ----------------------------------------------------------------------------------------

    @classmethod
    def read(
        cls, *paths: files.AnyPath, strict: bool = False, rules: RuleBook | None = None, **how: Any
    ) -> Microcosm:
        """A microcosm from a file, `.mc` or JSON, or from a log of any format in some files, packed or not.

        A path may be a folder, a pattern such as `logs/*.log`, or `-`, standard input; `how` as in
        `from_trace`. Raises `TextError` for what is none of these, `Contradiction`.
        """
        return cls(opening.read(*paths, **how), strict=strict, rules=rules)

    @classmethod
    def parse(
        cls, text: str, file: str | None = None, *, strict: bool = False, rules: RuleBook | None = None
    ) -> Microcosm:
        """A microcosm from text, `.mc` or JSON. Raises `TextError`, `Contradiction`."""
        expect(str, "text: `Microcosm.read` reads a file", text)
        return cls(read_givens(text, file), strict=strict, rules=rules)

    @classmethod
    def from_trace(
        cls, *paths: files.AnyPath, strict: bool = False, rules: RuleBook | None = None, **how: Any
    ) -> Microcosm:
        """The microcosm of a log, in files, folders and patterns; a microcosm is taken as it is.

        `how` are the options of `microcosm.traces.extract.microcosm_of_logs`: `format`, `pattern`, `process`
        (only what that process could know), `token`, `trace`, `with_clocks` and `report`; and `complete`:
        True, or processes, where every event and message of theirs is in the log. Raises `NotComplete` where
        anything speaks against that, `TextError`, `Contradiction`.
        """
        return cls(opening.read_trace(*paths, **how), strict=strict, rules=rules)

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[str], *, strict: bool = False, rules: RuleBook | None = None
    ) -> Microcosm:
        """A microcosm from a directed graph, such as `to_networkx` makes; a plain edge a → b says `a < b`.

        The key of an edge may be another sign. Raises `Undefined` for what no given says, `Contradiction`.
        """
        return cls(queries.graph.from_networkx(graph), strict=strict, rules=rules)

    def to_text(self) -> str:
        """The `.mc` form, which reads back to equal givens."""
        from microcosm.text.mc_writer import write_mc

        return write_mc(self._givens)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, which reads back to equal givens."""
        from microcosm.text.json_form import givens_to_json

        return givens_to_json(self._givens)

    def write(self, path: files.AnyPath) -> None:
        """Replace the content of a file, whole or not at all; JSON if its name ends in `.json`."""
        opening.write(self._givens, path)

    def page(self, path: files.AnyPath, **how: Any) -> None:
        """Write a page that shows this in any browser, without a network (page.md), whole or not at all.

        `how` are the options of `microcosm.page.write.contents`: `title`, `pairs` to begin with, `proofs`.
        Raises `TooLarge`, `UnknownEvent`.
        """
        import_module(_PAGES).write(self, path, **how)

    def view(self, *, port: int = 0, browser: bool = True, read_only: bool = False) -> None:
        """Show this in a browser, with a session behind the page (view.md), until interrupted (Ctrl-C).

        A copy is changed there. For the main thread alone. Raises `MicrocosmError` where the port is in use.
        """
        import_module(_VIEW).show(self, port=port, browser=browser, read_only=read_only)

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A multigraph of the givens: an edge a → b keyed by its sign for each given, with its `source`.

        The internal chain stands as consecutive `<` edges; `||` and `<>` as one edge, as stated.
        Clocks and tokens are node attributes `clock` and `tokens`. What else is given, stamps, messages and
        their orderings, processes and that a log is complete, is left out.
        """
        return queries.graph.to_networkx(self._givens)

    def to_arrow(self) -> pyarrow.Table:
        """The verdicts of `table` as columns `left`, `right` and `verdict`. Raises `MissingLibrary`."""
        return self.table().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The verdicts of `table` as a frame, silence as None. Raises `MissingLibrary`."""
        return self.table().to_pandas()

    # -- as a value ----------------------------------------------------------------------------------------

    @property
    def givens(self) -> Givens:
        """What is given now; read only, for changes are made by the methods here. Its `copy()` is free."""
        return GivenView(self._givens)

    @property
    def events_table(self) -> EventTable | None:
        """What the log says of its events: labels, attributes, places; None where no log was read."""
        return self._givens.events

    def events_to_arrow(self) -> pyarrow.Table:
        """The table of the log's events as Arrow columns; no log, no rows. Raises `MissingLibrary`."""
        return queries.batch.events_to_arrow(self._givens.events)

    @property
    def name(self) -> str | None:
        """The microcosm's name, if it has one."""
        return self._givens.name

    @property
    def events(self) -> list[str]:
        """Every event that is named, sorted. Cost: n log n."""
        return sorted(self._givens.named())

    def __len__(self) -> int:
        return self._engine.universe.named.bit_count()

    def __bool__(self) -> bool:
        return True  # an empty microcosm is one, too

    def __iter__(self) -> Iterator[str]:
        return iter(self.events)

    def __contains__(self, event: object) -> bool:
        return isinstance(event, str) and self._engine.mentions(event)

    def has_member(self, event: str) -> bool:
        """Whether an event is in M: internal, or in an external correspondence (clock, token)."""
        expect_text(event)
        universe = self._engine.universe
        return bool(universe.members >> max(0, universe.find(event)) & 1)

    def nearest(self, name: str) -> list[str]:
        """Up to three event names like a mistyped one; none among very many events. Cost: linear."""
        return queries.events.nearest(name, self)

    def event(self, words: str) -> str:
        """The event that is meant by its name, by `FILE:LINE` of the log, or by `/regex/` that one matches.

        The expression is looked for in names and labels. Raises `NotOneEvent` where it is not one event; what
        reads like a name is one, whether anything names it or not. Cost: linear, constant for a name.

        >>> Microcosm.parse('unshare < upload').event("/^un/")
        'unshare'
        """
        return queries.events.event_meant(words, self)

    def require(self, *events: str) -> None:
        """Raise `UnknownEvent` unless some given names each of these events."""
        if lacking := [event for event in events if event not in self]:
            expect_text(*lacking)
            missing = tuple(dict.fromkeys(lacking))
            raise UnknownEvent(missing, tuple(name for event in missing for name in self.nearest(event)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Microcosm):
            return NotImplemented
        return self._givens == other._givens and self.rules == other.rules

    def copy(self) -> Microcosm:
        """An independent microcosm with the same givens, rules and profile."""
        return Microcosm(self._givens, strict=self.strict, rules=self.rules)

    def __deepcopy__(self, memo: dict[int, object]) -> Microcosm:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Microcosm], tuple[object, ...]]:
        rules = None if self.rules is read_rules() else self.rules  # the shipped ones stay one object
        return partial(Microcosm, strict=self.strict, rules=rules), (self._givens,)

    def __repr__(self) -> str:
        return f"<Microcosm{queries.drawing.counted(self._givens)}>"

    def _repr_svg_(self) -> str:
        return queries.diagrams.diagram(self._drawing())

    def _repr_html_(self) -> str:
        return queries.diagrams.html(repr(self), self._drawing(), import_module(_PAGES).embedded(self))

    # -- what is judged ------------------------------------------------------------------------------------

    def online(self, a: str, b: str, *, must_exist: bool = False) -> Relation:
        """The verdict of online decision making on two distinct events (Definition 3.1).

        `UNKNOWN` is a verdict with a derivation; `SILENT` says that no rule says anything. Neither
        means concurrent. Of an event that nothing names `UNKNOWN` is the verdict (rule Un-4).
        """
        if must_exist or a == b:
            self._ask(a, b, must_exist)
        return self._engine.verdict(a, b)

    def why(self, a: str, b: str, *, must_exist: bool = False) -> Derivation | None:
        """A short derivation of the online verdict; None where the microcosm is silent.

        Cost: some searches, linear in the events between the two at worst, and the size of the proof.
        """
        verdict = self.online(a, b, must_exist=must_exist)
        self._pair_asked = a, b
        if verdict is Relation.SILENT:
            return None
        return self._kept(Prover).known(Judgement.ONLINE, a, verdict, b)

    def holds(self, judgement: Judgement | str, a: str, relation: Relation | str, b: str) -> bool:
        """Whether `judgement a R b`."""
        evolve.expect_distinct(a, b)
        return self._engine.holds(read_judgement(judgement), a, read_judged(relation), b)

    def derive(
        self, judgement: Judgement | str, a: str, relation: Relation | str, b: str
    ) -> Derivation | None:
        """A derivation of `judgement a R b`, None where it does not hold."""
        evolve.expect_distinct(a, b)
        return self._kept(Prover).derive(read_judgement(judgement), a, read_judged(relation), b)

    def why_not(
        self, a: str, relation: Relation | str, b: str, *, must_exist: bool = False, words: Words = quote
    ) -> steps.WhyNot:
        """Whether `|- a R b` holds and, rule by rule, which premises do and which do not.

        >>> Microcosm.parse("a < b").why_not("a", "<", "b").holds
        True
        """
        self._ask(a, b, must_exist)
        return steps.why_not(self._engine, a, read_judged(relation), b, words)

    def table(self) -> queries.batch.VerdictTable:
        """The online verdict of every pair of `events`, the first before the second in sorted order.

        Valid until the next change. Cost: one saturation, then a bit test a pair and verdict.
        """
        return queries.batch.VerdictTable(self._engine, self.events)

    @property
    def concluded(self) -> queries.batch.Concluded:
        """What is shown of pairs where the log is said to be complete: `||`, concluded offline, for `?`.

        The verdicts themselves stay as they are. Valid until the next change.
        """
        return self._kept(queries.batch.Concluded, self._engine, self._around(), self._kept(Prover))

    @overload
    def online_many(self, pairs: _Columns) -> _Columns: ...
    @overload
    def online_many(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Relation]: ...
    def online_many(self, pairs: Any) -> Any:
        """The verdicts of online decision making on many pairs, as an iterator for an iterable of pairs.

        For an integer array of shape (k, 2), of places in `events`: an array of places in
        `microcosm.engine.engine.VERDICTS`. For an Arrow table whose first two columns are names: the table
        with a column `verdict`, which it must not have yet, null for silence. Cost: as `online`; about a
        tenth of that where happens-before is kept as labels and numpy is there.

        >>> list(Microcosm.parse("a < b < c").online_many([("a", "c"), ("c", "b")]))
        [Relation.BEFORE, Relation.AFTER]
        """
        return self._kept(queries.batch.Batch).online_many(pairs)

    # -- the events around an event, in the order in which the givens name them ----------------------------

    def with_verdict(self, relation: Relation | str | None, event: str) -> Iterator[str]:
        """The events b with the verdict `b R event`. Raises `UnknownEvent`, as all that follow."""
        return self._around(event).with_verdict(relation, event)

    def past(self, event: str) -> Iterator[str]:
        """The events before an event: its causal past, without itself."""
        return self.with_verdict(Relation.BEFORE, event)

    def future(self, event: str) -> Iterator[str]:
        """The events after an event."""
        return self.with_verdict(Relation.AFTER, event)

    def concurrent(self, event: str) -> Iterator[str]:
        """The events known to be concurrent with an event."""
        return self.with_verdict(Relation.CONCURRENT, event)

    def unknown(self, event: str) -> Iterator[str]:
        """The events that are `?` to an event."""
        return self.with_verdict(Relation.UNKNOWN, event)

    def silent(self, event: str) -> Iterator[str]:
        """The events that no rule says anything of, beside an event."""
        return self.with_verdict(Relation.SILENT, event)

    def pairs(self, relation: Relation | str | None) -> Iterator[tuple[str, str]]:
        """Every pair of events with a verdict, the first before the second in sorted order."""
        return self.table().of(read_relation(relation))

    def between(self, first: str, last: str) -> Iterator[str]:
        """The events after one and before another; none where the one is not before the other."""
        return self._around(first, last).between(first, last)

    def frontier(self, a: str, b: str) -> tuple[list[str], list[str]]:
        """The last events before both of two events, and the first events after both."""
        return self._around(a, b).frontier(a, b)

    def longest_chain(self, first: str | None = None, last: str | None = None) -> list[str]:
        """A longest chain of events, each before the next; from `first` and to `last` where given."""
        self.require(*(name for name in (first, last) if name is not None))
        return queries.graph.longest_chain(self._engine, first, last)

    def hasse(self) -> networkx.DiGraph[str]:
        """Happens-before without the pairs that others imply (its transitive reduction), over all events."""
        return queries.graph.hasse(self._engine, self._givens)

    # -- what cannot be, what must be and what may be ------------------------------------------------------

    def offline(
        self,
        a: str,
        b: str,
        *,
        profile: str = "full",
        depth: int | None = None,
        stop: Stop | None = None,
        must_exist: bool = False,
    ) -> queries.offline.Offline:
        """What cannot be and what must be of two distinct events (Definition 4.1), with derivations.

        `depth` None decides exactly, `exact` unless stopped; a number limits how deep assumptions nest (0:
        propagation alone). Profile `paper` reads the rules as the paper does. Raises `Inconsistent` where no
        world fits the givens. Cost: exponential in the `<>` at worst.
        """
        self._ask(a, b, must_exist)
        return self._decisions(profile).verdict(a, b, depth, stop)

    def offline_table(
        self, *, profile: str = "full", depth: int | None = 0, stop: Stop | None = None
    ) -> PairsLeft:
        """What is left of `<`, `>` and `||` for every pair of `events`, as `offline` at a depth.

        Raises `Inconsistent`, `Stopped`. Cost: at depth 0 two closures, a fixpoint under changed rules.
        """
        return self._decisions(profile).table(depth, stop)

    def contradiction(self, *, profile: str = "full", stop: Stop | None = None) -> Derivation | None:
        """A derivation of a contradiction, None where some world fits all that is given.

        Raises `Stopped` where `stop` came first. Cost: exponential in the `<>` at worst.
        """
        return self._decisions(profile).contradiction(stop)

    def conflict(self, stop: Stop | None = None) -> list[queries.conflict.OneGiven] | None:
        """A minimal set of givens that no world fits, None where one does; as `queries.conflict.conflict`."""
        return queries.conflict.conflict(self._givens, stop)

    def possible(self, a: str, b: str, stop: Stop | None = None, *, must_exist: bool = False) -> Possibility:
        """Which of `<`, `>`, `||` some world that fits gives two distinct events, exactly.

        Each of `relations` has a witness in `worlds`; none is left where no world fits (`conflict` says why).
        It is not `exact` where it was stopped, or an ordering of messages is known: what the offline rules
        refute by that is left out, witnesses do not heed it, `ignored` names it. Cost: as `contradiction`.
        """
        self._ask(a, b, must_exist)
        found = self.worlds.possible(a, b, stop)
        return self._decisions().narrowed(a, b, found, stop) if self._givens.orderings else found

    def possible_table(self, stop: Stop | None = None) -> tuple[PairsLeft, bool] | None:
        """What is possible of every pair, as `Worlds.table`; less what propagation refutes by an ordering."""
        found = self.worlds.table(stop)
        return self._decisions().narrowed_table(found, stop) if self._givens.orderings else found

    # -- questions about all events ------------------------------------------------------------------------

    def find(
        self,
        sought: str,
        *,
        known: Questions | None = None,
        limit: int | None = None,
        stop: Stop | None = None,
    ) -> Found:
        """The events that a pattern matches, or tuples of which a formula is true, and those it is open of.

        `sought` is a condition, a pattern, a pair or a question (docs/reference/questions.md), which may name
        the patterns of `known`; all are counted, `limit` of each kept. Raises `TextError`. Cost: a row
        operation a tuple but its last variable.

        >>> [one.events for one in Microcosm.parse("a < b").find('[name = "a"] < [name = "b"]').true]
        [{'event.1': 'a', 'event.2': 'b'}]
        """
        from microcosm.questions.ask import find

        return find(self._givens, self._engine, sought, self._built, known=known, limit=limit, stop=stop)

    def assert_(
        self, questions: str | Questions, *, exact: bool = False, stop: Stop | None = None, **shown: Any
    ) -> Answered:
        """The answer to each question of a text: `holds`, `violated` or `open`, with counts and witnesses.

        `exact` searches worlds for what stays open. `shown` witnesses of each kind are kept, `proved` of them
        with derivations; with `settle` open answers say what would settle them. Raises `TextError`, and
        `Contradiction` where what the questions know contradicts the givens. Cost: as `find`.

        >>> [answer.verdict for answer in Microcosm.parse("a < b").assert_("event any; never any || any")]
        ['holds']
        """
        from microcosm.questions.ask import answers

        return answers(self._givens, self._engine, questions, self._built, exact=exact, stop=stop, **shown)

    def settle(
        self, questions: str | Questions, *, stop: Stop | None = None
    ) -> Iterator[tuple[Answer, list[Observation]]]:
        """For each question its answer, and what would settle what is open of it, the best first.

        Raises as `assert_`. Cost: an evaluation for each observation that is tried.
        """
        from microcosm.questions.ask import settle

        return settle(self._givens, self._engine, questions, self._built, stop=stop)

    @property
    def worlds(self) -> Worlds:
        """The worlds that fit, to ask for one of them, or for what is possible of all pairs."""
        return self._kept(queries.possible.Worlds, self._givens, self._engine)

    # -- evolution -----------------------------------------------------------------------------------------

    def add(self, given: str | Correspondence) -> None:
        """`M + (a R b)`: add what a statement says; a chain `a < b < c` is added whole or not at all.

        What is given already changes nothing (strict: `Undefined`, as for what is judged). Raises
        `Contradiction`, with a derivation of the other side. Cost: a row for each event whose past changes.
        """
        self._evolve(evolve.add, given)

    def update(self, given: str | Correspondence) -> None:
        """`M[a <> b := a < b]`: a direction in place of an external `a <> b`, all or nothing.

        Raises `Undefined` where `a <> b` is no external given, `Contradiction`. Cost: a copy of the givens.
        """
        self._evolve(evolve.update, given, whole=True)

    def remove(self, given: str | Correspondence) -> None:
        """`M - (a R b)`: take away an external given (Definition 6.1); what follows from the rest stays.

        Raises `Undefined` where it is not given as such. Cost: what loses something is recomputed.
        """
        self._evolve(evolve.remove, given, whole=self.strict)

    def append(self, event: str) -> None:
        """Make `event` the last of the internal chain. Raises `Undefined`, `Contradiction`."""
        try:
            evolve.append(self._engine, self._givens, event, self.strict)
        except BaseException:
            self._replace(self._givens)
            raise
        self._parts.clear()

    def forget(self, event: str) -> None:
        """Drop all that names an event, keeping every initial judgement about the others, and none more.

        Orders that ran through the event are recorded as givens of their own, and each `a !< b` that offline
        propagation (depth 0) refuted by way of it as a `!<`. Not kept: that a pair is no `||` where only
        propagation ordered it by way of the event; what takes assumptions; what a known ordering refutes by a
        message of it; `?` against silence. Raises `UnknownEvent`, `Undefined`. Cost: as `without_events`.
        """
        from microcosm.state.forget import without_events

        self.require(event)
        self._replace(without_events(self._givens, [event], self.rules, self._engine))

    def merge(self, *others: Microcosm, join: bool = True) -> list[str]:
        """Take over everything that other microcosms are given, and put both ends of each message in order.

        A message is sent before it is received: where one file states the sending and another the reception,
        `send < receive` is added, from "message m" (not without `join`). Returned is what could not be
        joined, since the name of a message does not tell which sending is meant: nothing follows from it, so
        merge in one call what may name a message twice. Raises `Contradiction`, `Undefined`.

        >>> alice = Microcosm.parse("ask < wait \\n send ask = m1 alice -> lock")
        >>> alice.merge(Microcosm.parse("heard < granted \\n receive heard = m1 lock"))
        []
        >>> alice.online("ask", "granted")
        Relation.BEFORE
        """
        expect(Microcosm, "microcosm", *others)
        givens, unjoined = merged([self._givens, *(other.givens for other in others)], join)
        self._replace(givens)
        return unjoined

    @contextmanager
    def batch(self) -> Iterator[Self]:
        """Several evolutions, all or nothing: an exception inside leaves the state as it was before.

        Each step is checked as it is made. Cost beyond the steps: a copy of the givens.
        """
        before = self._givens.copy()
        try:
            yield self
        except BaseException:
            self._replace(before)
            raise

    def explain_evolution(
        self, a: str, b: str, change: Correspondence, update: bool = False
    ) -> Derivation | None:
        """The verdict on a and b as what one given brought (rules Strng, Weak, Up-S, Up-W).

        It is derived from what was judged without `change`, with `update` when `<>` stood in its place. None
        where no evolution rule applies, as of what follows by other givens too, which `why` explains. Raises
        `Undefined` where `change` is not given.
        """
        return evolve.explain_evolution(self._engine, self._givens, (a, b), change, update)

    # -- inside --------------------------------------------------------------------------------------------

    def _built(self, givens: Givens) -> Engine:
        return evolve.built(givens, self.rules, self.strict)

    def _ask(self, a: str, b: str, must_exist: bool) -> None:
        evolve.expect_distinct(a, b)
        if must_exist:
            self.require(a, b)
        self._pair_asked = a, b

    def _evolve(self, step: evolve.Step, given: str | Correspondence, whole: bool = False) -> None:
        """A step for each correspondence that a statement says; of several, all are made or none."""
        facts = evolve.facts_of(given)
        try:
            with self.batch() if whole or len(facts) > 1 else nullcontext():
                for fact in facts:
                    step(self._engine, self._givens, fact, self.strict)
        finally:
            self._parts.clear()

    def _replace(self, givens: Givens) -> None:
        self._engine = self._built(givens)
        self._givens = givens
        self._parts.clear()

    def _kept(self, part: Callable[..., _Part], *arguments: object) -> _Part:
        """What answers questions of one kind, made of these when first asked for, and kept until a change."""
        found: _Part | None = self._parts.get(part)
        if found is None:
            found = self._parts[part] = part(*(arguments or (self._engine, self._givens)))
        return found

    def _around(self, *events: str) -> queries.graph.Neighbours:
        self.require(*events)
        return self._kept(queries.graph.Neighbours)

    def _decisions(self, profile: str = "full") -> queries.offline.Decisions:
        arguments = self._engine, self._givens, self._kept(Prover)
        return self._kept(queries.offline.Decisions, *arguments).in_profile(profile)

    def _drawing(self) -> queries.drawing.Drawing:
        return queries.drawing.drawing_of(self._givens, self.rules, around=self._pair_asked)

    def _check(self) -> None:
        """Assert that what evolution kept up to date is what a fresh microcosm would have. Slow."""
        self._engine._check(self._givens)
