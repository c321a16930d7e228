"""Labels as numpy arrays: many questions at once. Optional; the answers are those of `Labels.before`."""

from __future__ import annotations

from typing import Any

from microcosm.order.chain_cover import FIELD, UNPLACED
from microcosm.order.labels import Labels

Array = Any
"""A numpy array of integers, or of truth values."""


class LabelArrays:
    """A copy of labels as they stand. Cost: linear in them; a question is some memory accesses.

    Raises `ImportError` without numpy. Memory: 4 bytes for each chain and distinct vector, 12 an event.

    >>> LabelArrays(Labels(3, [(0, 1), (1, 2)])).before([0, 2], [2, 0]).tolist()
    [True, False]
    """

    def __init__(self, labels: Labels) -> None:
        import numpy as np

        cover = labels.cover
        width = len(cover.chains) + 1  # the last component is that of no chain, and 0
        self._chain = np.array([width - 1 if c == UNPLACED else c for c in cover.chain], dtype=np.int32)
        self._index = np.array(cover.index, dtype=np.uint32)
        number: dict[int, int] = {}
        rows = [number.setdefault(id(vector), len(number)) for vector in cover.vector]
        distinct = {id(vector): vector for vector in cover.vector}
        size = width * FIELD // 8
        packed = b"".join([distinct[key].to_bytes(size, "little") for key in number])
        self._known = np.frombuffer(packed, dtype="<u4").reshape(len(number), width)
        self._row = np.array(rows, dtype=np.int32)
        self._np = np

    def before(self, a: Array, b: Array) -> Array:
        """Whether a[i] < b[i], for two sequences of positions of one length."""
        np = self._np
        a, b = np.asarray(a), np.asarray(b)
        chain = self._chain[a]
        known = np.where(chain == self._chain[b], self._index[b], self._known[self._row[b], chain])
        return self._index[a] < known
