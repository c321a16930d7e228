"""A microcosm: what one device knows about causality, what follows from it, and how it evolves.

Seed 003, Definitions 2.3, 2.5 and 3.1. The two profiles differ in evolution only: the strict one keeps
the paper's conditions, the default one lets a more accurate judgement supersede a `<>` that is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from microcosm import files
from microcosm.givens.exact import json_text
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.state.evolve import Evolving
from microcosm.text.mc_reader import givens_to_json, read_givens, write_mc

if TYPE_CHECKING:
    import networkx

    from microcosm.givens.givens import Givens
    from microcosm.queries.batch import Bulk


class Microcosm(Evolving):
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
        from microcosm.queries.graph import from_networkx

        return cls(from_networkx(graph), strict=strict, rules=rules)

    def copy(self) -> Microcosm:
        """An independent microcosm with the same givens."""
        return Microcosm(self._givens, strict=self.strict, rules=self.rules)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Microcosm:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """As what is given, and the rules where they are not the shipped ones."""
        rules = None if self.rules is read_rules() else self.rules
        return _unpickled, (self._givens, self.strict, rules)

    # -- many answers ----------------------------------------------------------------------------------

    def online_many(self, pairs: Any) -> Any:
        """The verdicts of online decision making on many pairs.

        For an iterable of pairs of names: an iterator of `Relation`. For an integer array of shape (k, 2), of
        places in `events`: an array of places in `microcosm.queries.batch.VERDICTS`. For an Arrow table whose
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
        from microcosm.queries.neighbours import past

        return past(self, event)

    def future(self, event: str) -> Iterator[str]:
        """The events after an event."""
        from microcosm.queries.neighbours import future

        return future(self, event)

    def concurrent(self, event: str) -> Iterator[str]:
        """The events known to be concurrent with an event."""
        from microcosm.queries.neighbours import concurrent

        return concurrent(self, event)

    def unknown(self, event: str) -> Iterator[str]:
        """The events that are `?` to an event."""
        from microcosm.queries.neighbours import with_verdict

        return with_verdict(self, Relation.UNKNOWN, event)

    def silent(self, event: str) -> Iterator[str]:
        """The events that no rule says anything of, beside an event."""
        from microcosm.queries.neighbours import with_verdict

        return with_verdict(self, Relation.SILENT, event)

    def between(self, first: str, last: str) -> Iterator[str]:
        """The events after one and before another."""
        from microcosm.queries.neighbours import between

        return between(self, first, last)

    def frontier(self, a: str, b: str) -> tuple[list[str], list[str]]:
        """The last events before both of two events, and the first events after both."""
        from microcosm.queries.neighbours import frontier

        return frontier(self, a, b)

    def longest_chain(self, first: str | None = None, last: str | None = None) -> list[str]:
        """A longest chain of events, each before the next; from `first` and to `last` where given."""
        from microcosm.queries.hasse import longest_chain

        return longest_chain(self, first, last)

    def hasse(self) -> networkx.DiGraph[str]:
        """Happens-before without the pairs that others imply (its transitive reduction), over all events."""
        from microcosm.queries.graph import hasse

        return hasse(self)

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
            files.write_text(path, json_text(self.to_json(), indent=1) + "\n")
        else:
            files.write_text(path, self.to_text())

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A multigraph of the givens: an edge a → b keyed by its sign for each given, with its `source`.

        The internal chain stands as consecutive `<` edges; `||` and `<>` as one edge, as stated.
        Clocks and tokens are node attributes `clock` and `tokens`.
        """
        from microcosm.queries.graph import to_networkx

        return to_networkx(self._givens)

    def __repr__(self) -> str:
        given = self._givens
        name = f" {given.name!r}" if given.name else ""
        counts = {
            "internal events": len(given.internal),
            "correspondences": given.externals,
            "clocks": len(given.clocks),
            "tokens": len(given.tokens),
        }
        shown = [f"{n} {what}" for at, (what, n) in enumerate(counts.items()) if n or at < 2]
        return f"<Microcosm{name}: {', '.join(shown)}>"

    def _repr_svg_(self) -> str:
        """A space-time diagram where processes are known, else a Hasse diagram; of the first events only."""
        from microcosm.queries import drawing
        from microcosm.queries.drawing_model import sketch

        drawn = sketch(self._givens, self.rules)
        return drawing.space_time(drawn) if drawn.process else drawing.hasse(drawn)

    def _repr_html_(self) -> str:
        """What notebooks show: `repr`, and both diagrams."""
        from microcosm.queries import drawing
        from microcosm.queries.drawing_model import sketch

        return drawing.html(repr(self), sketch(self._givens, self.rules))

    # -- inside --------------------------------------------------------------------------------

    @property
    def _bulk(self) -> Bulk:
        if self._many is None:
            from microcosm.queries.batch import Bulk

            self._many = Bulk(self)
        return self._many


def _unpickled(givens: Givens, strict: bool, rules: RuleBook | None) -> Microcosm:
    return Microcosm(givens, strict=strict, rules=rules)
