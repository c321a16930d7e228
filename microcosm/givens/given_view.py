"""Givens to be looked at and not changed: what a microcosm shows of what it knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypeVar, overload

from microcosm.errors import Undefined
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.message import Told
from microcosm.givens.order_columns import Links

Member = TypeVar("Member")

READ_ONLY = "givens are read only: evolve the microcosm (`add`, `update`, …), or take a `copy()` of them"


class GivenView(Givens):
    """The givens `of` somebody; whoever changes them here is refused.

    `copy` gives givens that may be changed. Cost: none to make, a call for each member that is looked up.

    >>> given = Givens(internal=["a", "b"])
    >>> view = GivenView(given)
    >>> view == given, view.internal[-1], view.copy().internal
    (True, 'b', ['a', 'b'])
    >>> view.internal.append("c")
    Traceback (most recent call last):
    ...
    AttributeError: 'ListView' object has no attribute 'append'
    """

    __slots__ = ("_of",)
    _of: Givens

    def __init__(self, of: Givens) -> None:
        object.__setattr__(self, "_of", of)

    if not TYPE_CHECKING:

        def __new__(cls, of=None, **fields):
            """A view; of fields, as `dataclasses.replace` has them, givens that may be changed."""
            if of is None:
                return Givens(**{name: _changeable(value) for name, value in fields.items()})
            return super().__new__(cls)

        # The types are those of `Givens`, less what would change them.
        name = property(lambda self: self._of.name)
        internal = property(lambda self: ListView(self._of.internal))
        external = property(lambda self: MappingProxyType(self._of.external))
        refuted = property(lambda self: MappingProxyType(self._of.refuted))
        stamps = property(lambda self: MappingProxyType(self._of.stamps))
        clocks = property(lambda self: MappingProxyType(self._of.clocks))
        messages = property(lambda self: ListView(self._of.messages))
        orderings = property(lambda self: ListView(self._of.orderings))
        complete = property(lambda self: self._of.complete)
        tokens = property(lambda self: MappingProxyType(self._of.tokens))
        events = property(lambda self: self._of.events)
        links = property(lambda self: self._of.links)
        told = property(lambda self: self._of.told)

        def __setattr__(self, name: str, value: object) -> None:
            raise Undefined(READ_ONLY)

        def __delattr__(self, name: str) -> None:
            raise Undefined(READ_ONLY)

    def copy(self) -> Givens:
        """An independent copy, which may be changed. Cost: linear."""
        return self._of.copy()

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        return Givens.copy, (self._of,)

    def link(self, links: Links) -> NoReturn:
        """Refused."""
        raise Undefined(READ_ONLY)

    def tell(self, told: Told) -> NoReturn:
        """Refused."""
        raise Undefined(READ_ONLY)

    def add(self, correspondence: Correspondence) -> NoReturn:
        """Refused."""
        raise Undefined(READ_ONLY)

    __hash__ = None  # type: ignore[assignment]  # as of `Givens`, which change

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Givens):
            return NotImplemented
        return self._of == (other._of if isinstance(other, GivenView) else other)

    def __repr__(self) -> str:
        return repr(self._of)


class ListView(Sequence[Member]):
    """A list to be looked at."""

    __slots__ = ("_of",)

    def __init__(self, of: list[Member]) -> None:
        self._of = of

    @overload
    def __getitem__(self, at: int) -> Member: ...
    @overload
    def __getitem__(self, at: slice) -> list[Member]: ...
    def __getitem__(self, at: int | slice) -> Member | list[Member]:
        return self._of[at]

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._of)

    def __contains__(self, member: object) -> bool:
        return member in self._of

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | ListView):
            return NotImplemented
        return self._of == (other._of if isinstance(other, ListView) else other)

    def __add__(self, other: list[Member]) -> list[Member]:
        return self._of + other

    def __repr__(self) -> str:
        return repr(self._of)


def _changeable(value: object) -> object:
    """A list or dictionary of its own for the view of one."""
    if isinstance(value, ListView):
        return list(value)
    return dict(value) if isinstance(value, MappingProxyType) else value
