"""Many questions at once: the verdicts of many pairs, as an iterable, an array or an Arrow table.

Everything here asks the same engine as a single question. numpy and pyarrow are optional: arrays and tables
come from whoever has them, and pairs of names need neither.

That a log is complete lets offline decision making conclude that two events are concurrent, and is no online
rule (theory/reading-orderings.md). So verdicts stay those of the paper, and whoever answers people asks
`Concluded`: where the online verdict is `?` or silence, and a rule about complete logs concludes `||`, that
is shown, marked as concluded offline. No other offline rule is asked, so that a row of it is a few row
operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from microcosm import tuning
from microcosm.engine.body import Body, LiteralSource
from microcosm.engine.engine import VERDICTS, Engine
from microcosm.engine.lowering import Program, online
from microcosm.engine.memo import View
from microcosm.errors import MissingLibrary, Undefined
from microcosm.givens.event_table import EventRow, EventTable
from microcosm.givens.exact import json_text
from microcosm.givens.facts import COMPLETE
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import expect_text, pair_of, read_relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.order.bits import bits
from microcosm.order.labels import Labels
from microcosm.order.order import Closure
from microcosm.queries.graph import Neighbours
from microcosm.text.names import quote
from microcosm.text.statement import readable

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from microcosm.engine.prove import Prover
    from microcosm.order.chain_cover import LabelArrays
    from microcosm.queries.possible import PairsLeft


BEFORE, AFTER, LATER = range(3)

SHOWN, WIDE = 200, 40
"""So many pairs of a table are printed, and so many events of it shown in a notebook."""


class Batch:
    """What answers many questions of one engine: made when first asked, valid until the givens change.

    Cost of a pair: that of a single question; a tenth of it where happens-before is kept as labels and
    numpy is there. Raises `Undefined` where the two events of a pair are one.
    """

    def __init__(self, engine: Engine, givens: Givens) -> None:
        self._engine, self._givens = engine, givens

    def online_many(self, pairs: Any) -> Any:
        """The verdicts on an Arrow table, an array, or an iterable of pairs. Raises `Undefined`."""
        if hasattr(pairs, "append_column"):
            return self.table(pairs)
        return self.codes(pairs) if hasattr(pairs, "dtype") else self.verdicts(pairs)

    def verdicts(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Relation]:
        """The verdict of each pair of names, in their order; lazily, some thousand at a time."""
        position = self._engine.universe.position
        vacant = self._engine.universe.vacant
        remaining = iter(pairs)
        while chunk := list(islice(remaining, tuning.PAIRS_TOGETHER)):
            try:
                if str in map(type, chunk):
                    raise TypeError
                left = [position.get(a, 0) for a, _ in chunk]
                right = [position.get(b, 0) for _, b in chunk]
            except (TypeError, ValueError):  # what cannot be hashed is no text, and a text is no pair
                expect_text(*chain.from_iterable(map(pair_of, chunk)))
                raise
            codes = _listed(self._ordered(left, right))
            for (a, b), x, y, code in zip(chunk, left, right, codes, strict=True):
                if a == b:
                    raise _same(a)
                if code < LATER and x not in vacant and y not in vacant:
                    yield VERDICTS[code]
                else:
                    yield self._engine.verdict(a, b)

    def table(self, table: Any) -> Any:
        """An Arrow table of two columns of names with a third, `verdict`: its sign, null for silence."""
        import pyarrow as pa

        if table.num_columns < 2:
            raise Undefined("a table of pairs has two columns of names")
        if "verdict" in table.column_names:
            raise Undefined("there is a column `verdict` already: drop it, or give it another name")
        left, right = (table.column(at).to_pylist() for at in (0, 1))
        signs = [verdict.value for verdict in self.verdicts(zip(left, right, strict=True))]
        return table.append_column("verdict", pa.array(signs, pa.string()))

    def codes(self, pairs: Any) -> Any:
        """For a numpy array of shape (k, 2), of places in `Microcosm.events`: places in `VERDICTS`."""
        import numpy as np

        names, position = self._places
        pairs = np.asarray(pairs)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise Undefined("pairs of places are an array of integers with two columns")
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(names)):
            raise Undefined(f"a place is from 0 to {len(names) - 1}: there are {len(names)} events")
        same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
        if len(same):
            raise _same(names[int(pairs[same[0], 0])])
        places = position[pairs]
        codes = np.array(self._ordered(places[:, 0], places[:, 1]), dtype=np.int8)
        number = {verdict: code for code, verdict in enumerate(VERDICTS)}
        for place in np.flatnonzero(codes == LATER).tolist():
            a, b = pairs[place].tolist()
            codes[place] = number[self._engine.verdict(names[a], names[b])]
        return codes

    def _ordered(self, left: Any, right: Any) -> Any:
        """For each pair of positions 0 where `<` is judged, 1 where `>`, else 2."""
        if (arrays := self._arrays) is not None:
            import numpy as np

            left, right = np.asarray(left), np.asarray(right)
            before, after = arrays.before(left, right), arrays.before(right, left)
            return np.where(before, BEFORE, np.where(after, AFTER, LATER))
        holds = self._engine.memo.judged(online(Relation.BEFORE)).holds
        return [
            BEFORE if holds(x, y) else AFTER if holds(y, x) else LATER
            for x, y in zip(_listed(left), _listed(right), strict=True)
        ]

    @cached_property
    def _arrays(self) -> LabelArrays | None:
        """Happens-before as arrays, where it is kept as labels and numpy is there."""
        from microcosm.order.chain_cover import LabelArrays

        judged = self._engine.memo.judged(online(Relation.BEFORE))
        if not (isinstance(judged, Closure) and isinstance(judged.order, Labels)):
            return None
        with suppress(ImportError):
            return LabelArrays(judged.order.cover)
        return None

    @cached_property
    def _places(self) -> tuple[list[str], Any]:
        """Every event, sorted, and as an array its position in the engine."""
        import numpy as np

        names, at = sorted(self._givens.named()), self._engine.universe.position
        return names, np.array([at[name] for name in names], dtype=np.int64)


class VerdictTable:
    """The online verdict of every pair of some events, the first before the second in their order.

    Or what else `rows` says of them, as `Engine.rows` does. To be iterated over, as `(a, b, verdict)`, as
    often as one likes until the givens change. Cost: each time one saturation, then some row operations an
    event and 50 nanoseconds a pair.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> table = VerdictTable(Engine(read_rules(), read_givens("a < b < c")), ["a", "b", "c"])
    >>> len(table)
    3
    >>> print(table)
    a < b
    a < c
    b < c
    """

    def __init__(
        self,
        engine: Engine,
        events: list[str],
        rows: Callable[[Sequence[str]], Iterable[Mapping[Any, int]]] | None = None,
    ) -> None:
        self._engine, self._events = engine, events
        self._rows = engine.rows if rows is None else rows

    def __len__(self) -> int:
        return len(self._events) * (len(self._events) - 1) // 2

    def __bool__(self) -> bool:
        return True  # of one event, too

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        return chain.from_iterable(zip(repeat(a), others, row) for a, others, row in self.rows())

    def rows(self) -> Iterator[tuple[str, list[str], Iterator[Any]]]:
        """Each event, those after it in the order of the table, and the verdict on it and each of them.

        What is written row by row needs no step of Python a pair. Cost: as to iterate, or less.
        """
        rows = self._engine.verdict_rows(self._events, self._rows(self._events))
        for at, row in enumerate(rows, 1):
            yield self._events[at - 1], self._events[at:], row

    def counts(self) -> Counter[Any]:
        """How many pairs have each verdict. Cost: one saturation, and some row operations an event."""
        found = Counter[Any]()
        for row in self._rows(self._events):
            found.update({verdict: later.bit_count() for verdict, later in row.items() if later})
        return found

    def of(self, verdict: Relation | str | None) -> Iterator[tuple[str, str]]:
        """The pairs with one verdict, in the order of the table. Cost: as `counts`, and n log n a row."""
        return ((a, b) for a, b, _ in self.of_any(read_relation(verdict)))

    def of_any(self, *wanted: Any) -> Iterator[tuple[str, str, Any]]:
        """The pairs with one of some verdicts, and which, in the order of the table. Cost: as `of`."""
        names, position = self._events, self._engine.universe.position
        rank = {position[name]: number for number, name in enumerate(names)}
        for a, row in zip(names, self._rows(names), strict=True):
            found = {rank[at]: verdict for verdict in wanted for at in bits(row.get(verdict, 0))}
            yield from ((a, names[number], found[number]) for number in sorted(found))

    def to_arrow(self) -> pyarrow.Table:
        """Columns `left`, `right`, `verdict`: its sign, null for silence. Raises `MissingLibrary`."""
        pa = _arrow()
        return pa.table({name: pa.array(column, pa.string()) for name, column in self._columns().items()})

    def to_pandas(self) -> pandas.DataFrame:
        """Columns `left`, `right`, `verdict`: its sign, None for silence. Raises `MissingLibrary`."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingLibrary("data frames", ("pandas",), "frames") from None
        return pd.DataFrame(self._columns(), dtype=object)

    def _columns(self) -> dict[str, list[str | None]]:
        columns: dict[str, list[str | None]] = {"left": [], "right": [], "verdict": []}
        for a, b, verdict in self:
            for column, cell in zip(columns.values(), (a, b, verdict.value), strict=True):
                column.append(cell)
        return columns

    def __repr__(self) -> str:
        return f"<VerdictTable of {len(self._events):,} events, {len(self):,} pairs>"

    def __str__(self) -> str:
        lines = [f"{quote(a)} {_sign(verdict)} {quote(b)}" for a, b, verdict in islice(self, SHOWN)]
        return "\n".join(lines + ["…"] * (len(self) > SHOWN))

    def _repr_html_(self) -> str:
        """A row and a column for each of the first events, with the verdict on the two."""
        shown = self._events[:WIDE]
        verdicts = {(a, b): r for a, b, r in VerdictTable(self._engine, shown)}
        verdicts |= {(b, a): r.converse for (a, b), r in verdicts.items()}
        rows = [["", *shown]]
        rows += [[a, *("" if a == b else _sign(verdicts[a, b]) for b in shown)] for a in shown]
        return html_table(rows, f"{len(self._events) - WIDE:,} more" if len(self._events) > WIDE else "")


class Beside:
    """A table of pairs, and beside its events others of a log: one verdict, `open`, on each and any other.

    It is iterated over, as the table, in the sorted order of all. Cost: as of the table, and a step for each
    pair of which one is of the others.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> table = VerdictTable(Engine(read_rules(), read_givens("a < c")), ["a", "c"])
    >>> [f"{a} {verdict} {b}" for a, b, verdict in Beside(table, ["a", "c"], ["b"], Relation.UNKNOWN)]
    ['a ? b', 'a < c', 'b ? c']
    """

    def __init__(self, table: VerdictTable | PairsLeft, own: list[str], others: list[str], open: Any) -> None:
        self._table, self._others, self._open = table, {*others}, open
        self.names = sorted([*own, *others])

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        return chain.from_iterable(zip(repeat(a), others, row) for a, others, row in self.rows())

    def rows(self) -> Iterator[tuple[str, list[str], Iterable[Any]]]:
        """Each event, those after it, and the verdict on it and each of them."""
        rows, others = iter(self._table.rows()), self._others
        for number, a in enumerate(self.names, 1):
            later = self.names[number:]
            if a in others:
                yield a, later, repeat(self._open, len(later))
            else:
                told = iter(next(rows)[2])
                yield a, later, [self._open if b in others else next(told) for b in later]

    def counts(self) -> Counter[Any]:
        """How many pairs have each verdict. Cost: as of the table."""
        many, more = len(self.names), len(self._others)
        return self._table.counts() + Counter({self._open: more * (many - more) + more * (more - 1) // 2})


def html_table(rows: Iterable[Sequence[str]], foot: str = "") -> str:
    """Rows of text as an HTML table, the first row and column as heads; everything is escaped.

    Cost: linear in the text.
    """
    lines = []
    for number, row in enumerate(rows):
        kinds = ("th" if number == 0 or at == 0 else "td" for at in range(len(row)))
        lines.append("".join(f"<{k}>{readable(cell)}</{k}>" for k, cell in zip(kinds, row, strict=True)))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{body}</table>" + (f"<p>{readable(foot)}</p>" if foot else "")


def _sign(verdict: Relation) -> str:
    return "·" if verdict is Relation.SILENT else str(verdict)


def _listed(positions: Any) -> Sequence[int]:
    return positions if isinstance(positions, list) else list(positions.tolist())


def _same(event: str) -> Undefined:
    return Undefined(f"an event stands in no relation to itself: {event}")


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingLibrary("Arrow tables", ("pyarrow",), "bulk") from None
    return pyarrow


def events_to_arrow(table: EventTable | None) -> pyarrow.Table:
    """What a log says of its events as columns, called as the fields of a row. Raises `MissingLibrary`.

    Attributes and times are JSON; what is not known is null. Cost: linear.
    """
    pa = _arrow()
    columns: dict[str, list[object]] = {name: [] for name in EventRow._fields}
    for row in table or ():
        for name, value in zip(EventRow._fields, row, strict=True):
            if name in ("attributes", "time"):
                empty = value is None or value == {}
                entry = dict(row.attributes) if name == "attributes" else value
                columns[name].append(None if empty else json_text(entry))
            else:
                columns[name].append(None if value in ("", 0) and name != "label" else value)
    kinds = dict.fromkeys(EventRow._fields, pa.string()) | {"seq": pa.int64(), "line": pa.int64()}
    return pa.table({name: pa.array(column, kinds[name]) for name, column in columns.items()})


class ConcludedOffline(Enum):
    """What is concluded of a pair offline, where online decision making does not decide it."""

    APART = "||"

    def __str__(self) -> str:
        """With a mark: `||*`."""
        return f"{self.value}*"


Shown: TypeAlias = Relation | ConcludedOffline
"""What is shown of a pair: its online verdict, or what a complete log lets conclude."""

_CONCURRENT = (Judgement.OFFLINE, Relation.CONCURRENT)
_COMPLETE = LiteralSource("base", name=COMPLETE)


class Concluded:
    """What a log that is said to be complete tells of the pairs that are undecided online.

    Nothing where the rules in force conclude nothing from that alone. Valid until the givens change. Cost:
    that of the order of the log, once; of a row a few row operations.

    >>> from microcosm.state.microcosm import Microcosm
    >>> known = Microcosm.parse("a < b \\n a < c \\n complete").concluded
    >>> known.verdict("b", "c"), known.verdict("a", "c"), [*known.with_verdict(Relation.CONCURRENT, "b")]
    (<ConcludedOffline.APART: '||'>, Relation.BEFORE, ['c'])
    """

    def __init__(self, engine: Engine, around: Neighbours, prover: Prover) -> None:
        self._engine, self._around, self._prover = engine, around, prover
        self._bodies = concluding_concurrency(engine.memo.program)

    def __reduce__(self) -> tuple[object, ...]:
        return Concluded, (self._engine, self._around, self._prover)

    def verdict(self, a: str, b: str) -> Shown:
        """What is shown of two distinct events. Cost: as online, and a row where that decides nothing."""
        found = self._engine.verdict(a, b)
        if found in (Relation.UNKNOWN, Relation.SILENT) and self._concluded(a, b):
            return ConcludedOffline.APART
        return found

    def proof(self, a: str, b: str) -> Derivation | None:
        """The derivation of `||- a || b` from the log's being complete; None where that does not follow.

        Cost: a row.
        """
        if not self._concluded(a, b):
            return None
        at = self._engine.universe.position
        return self._prover.steps.step(self._engine.memo, self._bodies, (_CONCURRENT, at[a], at[b]))

    def apart(self, event: str) -> list[str]:
        """The events that are undecided beside one online, and concluded to be concurrent with it."""
        return [*self._around.named(self._row(event) & self._around.undecided(event))]

    def with_verdict(self, relation: Relation, event: str) -> Iterator[str]:
        """The events of which a relation to `event` is shown; among the concurrent ones also those `apart`.

        Cost: as of the online verdict; for `?` and silence only what is not concluded is asked about.
        """
        if relation not in (Relation.CONCURRENT, Relation.UNKNOWN, Relation.SILENT):
            return self._around.with_verdict(relation, event)
        concluded = self._row(event) & self._around.undecided(event)
        return self._around.with_verdict(relation, event, concluded)

    def rows(self, names: Sequence[str]) -> Iterator[dict[Shown, int]]:
        """As `Engine.rows`, with what is concluded in a set of its own, and no more in `?` or silence."""
        for name, told in zip(names, self._engine.rows(names), strict=True):
            concluded = self._row(name) & (told[Relation.UNKNOWN] | told[Relation.SILENT])
            yield {
                **{verdict: row & ~concluded for verdict, row in told.items()},
                ConcludedOffline.APART: concluded,
            }

    def table(self, names: list[str]) -> VerdictTable:
        """What is shown of every pair of some events, the first before the second in their order."""
        return VerdictTable(self._engine, names, self.rows)

    def _concluded(self, a: str, b: str) -> bool:
        at = self._engine.universe.position.get(b, -1)
        return at >= 0 and a != b and bool(self._row(a) >> at & 1)

    def _row(self, event: str) -> int:
        at = self._engine.universe.position.get(event, -1)
        return self._view.row(at) if at >= 0 and self._engine.mentions(event) else 0

    @cached_property
    def _view(self) -> View:
        return View(self._bodies, self._engine.memo)


def concluding_concurrency(program: Program) -> tuple[Body, ...]:
    """The rules that conclude `||` of two events from `complete(a, b)`, and from nothing else that
    holds. Cost: linear in the rules.
    """
    return tuple(
        body
        for body in program.concluding.get(_CONCURRENT, ())
        if {pair.source for pair in body.pairs if pair.positive} == {_COMPLETE}
        and not (body.nones or body.ones)
        and all(pair.ends <= {0, 1} for pair in body.pairs)
    )
