"""Sliding structures: a window over growing indexes, from `first` up to `next` (Hybrid Buffering, 5.3).

An element is added at `next` and keeps its index for good; what is before `first` is forgotten. Every
operation takes amortised constant time, and memory follows the window, not the indexes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

SLACK = 32
"""Forgotten places are given back in one go, once there are more of them than these and than live ones."""


class SlidingArray(Generic[T]):
    """Elements by index; only the oldest can be removed.

    >>> u = SlidingArray[str](1)
    >>> u.add("a"), u.add("b")
    (1, 2)
    >>> u.remove(), u.first, u.next, u[2]
    ('a', 2, 3, 'b')
    """

    __slots__ = ("_items", "_skip", "first", "next")

    def __init__(self, base: int = 0) -> None:
        self.first = self.next = base
        self._items: list[T] = []
        self._skip = 0

    def __len__(self) -> int:
        return self.next - self.first

    def __iter__(self) -> Iterator[T]:
        """The elements, oldest first."""
        for at in range(self.first, self.next):
            yield self[at]

    def __getitem__(self, index: int) -> T:
        """The element at `first <= index < next`; `IndexError` outside."""
        if not self.first <= index < self.next:
            raise IndexError(index)
        return self._items[index - self.first + self._skip]

    def __setitem__(self, index: int, element: T) -> None:
        if not self.first <= index < self.next:
            raise IndexError(index)
        self._items[index - self.first + self._skip] = element

    @property
    def peek(self) -> T:
        """The oldest element; `IndexError` when there is none."""
        return self._items[self._skip]

    def add(self, element: T) -> int:
        """Append an element; its index. Cost: constant, amortised."""
        self._items.append(element)
        self.next += 1
        return self.next - 1

    def remove(self) -> T:
        """Remove and return the oldest element; `IndexError` when there is none.

        Cost: constant, amortised.
        """
        element = self._items[self._skip]
        self._skip += 1
        self.first += 1
        if self._skip > SLACK and self._skip > self.next - self.first:
            self.compact()
        return element

    def compact(self) -> None:
        """Give back all forgotten places at once. Cost: linear."""
        del self._items[: self._skip]
        self._skip = 0

    def _check(self) -> None:
        assert len(self._items) == self._skip + len(self)
        assert self._skip <= max(SLACK, len(self)) + 1


class SlidingMap(Generic[K]):
    """Keys by the order in which they were added; any can be removed, and leaves None behind.

    The sliding map of section 5.3 and its indexable one are the same here: one costs what the other does.

    >>> p = SlidingMap[str]()
    >>> for key in "abc": _ = p.add(key)
    >>> p.remove("b"), p.first, p[1], p[2], p.index("c"), p.index("b")
    (True, 0, None, 'c', 2, None)
    >>> p.remove("a"), p.first, p.remove("x")
    (True, 2, False)
    """

    __slots__ = ("_index", "_keys")

    def __init__(self, base: int = 0) -> None:
        self._index: dict[K, int] = {}
        self._keys = SlidingArray[K | None](base)

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[K]:
        """The keys, oldest first."""
        return iter(self._index)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    @property
    def first(self) -> int:
        """The index of the oldest key; `next` when there is none."""
        return self._keys.first

    @property
    def next(self) -> int:
        """The index that the next key will get."""
        return self._keys.next

    def __getitem__(self, index: int) -> K | None:
        """The key at an index of the window, or None where it was removed; `IndexError` outside."""
        return self._keys[index]

    def index(self, key: K) -> int | None:
        """The index of a key, or None. Cost: constant."""
        return self._index.get(key)

    def add(self, key: K) -> int:
        """Append a key that is not there; its index. Raises `ValueError` for one that is.

        Cost: constant, amortised.
        """
        if key in self._index:
            raise ValueError(f"{key!r} is there already")
        self._index[key] = at = self._keys.add(key)
        return at

    def remove(self, key: K) -> bool:
        """Remove a key; whether it was there. Cost: constant, amortised."""
        at = self._index.pop(key, None)
        if at is None:
            return False
        keys = self._keys
        keys[at] = None
        while len(keys) and keys.peek is None:
            keys.remove()
        return True

    def compact(self) -> None:
        """Give back all forgotten places at once. Cost: linear."""
        self._keys.compact()

    def _check(self) -> None:
        self._keys._check()
        assert {key: at for at, key in enumerate(self._keys, self.first) if key is not None} == self._index
        assert not len(self._keys) or self._keys.peek is not None
