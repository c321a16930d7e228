"""Many questions at once: the online verdicts of many pairs, as an iterable, an array or an Arrow table.

Everything here asks the same engine as a single question. numpy and pyarrow are optional: arrays and tables
come from whoever has them, and pairs of names need neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from microcosm.engine.engine import Engine
from microcosm.engine.lowering import online
from microcosm.engine.views import Closure
from microcosm.errors import Undefined
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.labels import Labels

if TYPE_CHECKING:
    from microcosm.order.label_arrays import LabelArrays
    from microcosm.state.microcosm import Microcosm

VERDICTS = (
    Relation.BEFORE,
    Relation.AFTER,
    Relation.CONCURRENT,
    Relation.RELATED,
    Relation.UNKNOWN,
    Relation.SILENT,
)
"""What the numbers in an array of verdicts stand for."""

CHUNK = 1 << 16
"""So many pairs of an iterable are looked at together."""

BEFORE, AFTER, LATER = range(3)


class Bulk:
    """What answers many questions about one microcosm: made when first asked, valid until it changes."""

    def __init__(self, known: Microcosm) -> None:
        self._engine: Engine = known._engine
        self._known = known
        self._arrays: LabelArrays | None = None
        self._names: list[str] = []
        self._position: Any = None  # of each of these names
        self._rank: dict[str, int] | None = None

    def stated(self, row: int) -> Iterator[str]:
        """The events of a row of bits, in the order in which the givens name them."""
        if self._rank is None:
            self._rank = {name: rank for rank, name in enumerate(self._known.givens.named())}
        names = self._engine.universe.names
        return iter(sorted([names[at] for at in bits(row)], key=self._rank.__getitem__))

    def verdicts(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Relation]:
        """The verdict of each pair of names, in their order; lazily, some thousand at a time."""
        position = self._engine.universe.position
        vacant = self._engine.universe.vacant
        remaining = iter(pairs)
        while chunk := list(islice(remaining, CHUNK)):
            left = [position.get(a, 0) for a, _ in chunk]
            right = [position.get(b, 0) for _, b in chunk]
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

        left, right = (table.column(at).to_pylist() for at in (0, 1))
        signs = [verdict.value for verdict in self.verdicts(zip(left, right, strict=True))]
        return table.append_column("verdict", pa.array(signs, pa.string()))

    def codes(self, pairs: Any) -> Any:
        """For a numpy array of shape (k, 2), of places in `Microcosm.events`: places in `VERDICTS`."""
        import numpy as np

        if self._position is None:
            self._names, at = self._known.events, self._engine.universe.position
            self._position = np.array([at[name] for name in self._names], dtype=np.int64)
        names = self._names
        pairs = np.asarray(pairs)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise Undefined("pairs of places are an array of integers with two columns")
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(names)):
            raise Undefined(f"a place is from 0 to {len(names) - 1}: there are {len(names)} events")
        same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
        if len(same):
            raise _same(names[int(pairs[same[0], 0])])
        places = self._position[pairs]
        codes = np.array(self._ordered(places[:, 0], places[:, 1]), dtype=np.int8)
        number = {verdict: code for code, verdict in enumerate(VERDICTS)}
        for place in np.flatnonzero(codes == LATER).tolist():
            a, b = pairs[place].tolist()
            codes[place] = number[self._engine.verdict(names[a], names[b])]
        return codes

    def _ordered(self, left: Any, right: Any) -> Any:
        """For each pair of positions 0 where `<` is judged, 1 where `>`, else 2."""
        judged = self._engine.memo.judged(online(Relation.BEFORE))
        if isinstance(judged, Closure) and isinstance(judged.order, Labels):
            arrays = self._label_arrays(judged.order)
            if arrays is not None:
                return _by_arrays(arrays, left, right)
        holds = judged.holds
        return [
            BEFORE if holds(x, y) else AFTER if holds(y, x) else LATER
            for x, y in zip(_listed(left), _listed(right), strict=True)
        ]

    def _label_arrays(self, labels: Labels) -> LabelArrays | None:
        if self._arrays is None:
            from microcosm.order.label_arrays import LabelArrays

            try:
                self._arrays = LabelArrays(labels)
            except ImportError:
                return None
        return self._arrays


def _by_arrays(arrays: LabelArrays, left: Any, right: Any) -> Any:
    import numpy as np

    left, right = np.asarray(left), np.asarray(right)
    before, after = arrays.before(left, right), arrays.before(right, left)
    return np.where(before, BEFORE, np.where(after, AFTER, LATER))


def _listed(positions: Any) -> Sequence[int]:
    return positions if isinstance(positions, list) else list(positions.tolist())


def _same(event: str) -> Undefined:
    return Undefined(f"an event stands in no relation to itself: {event}")
