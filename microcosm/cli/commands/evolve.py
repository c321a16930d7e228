"""What changes microcosms, joins them, or puts two side by side: `evolve`, `merge`, `bisim`, `diff`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from typer import Argument, Option, Typer
from typer.core import TyperCommand

from microcosm.cli import exits, options, output, reading
from microcosm.cli.show.proofs import events_field
from microcosm.cli.show.verdict import statement, verdict_line, words_of
from microcosm.errors import Contradiction, Undefined
from microcosm.logic.derivation import Words, proof_object
from microcosm.text.names import quote
from microcosm.text.statement import unfit

if TYPE_CHECKING:
    from microcosm.compare.bisimilarity import Difference
    from microcosm.compare.difference import Comparison, Disagreement, News
    from microcosm.state.microcosm import Microcosm

app = Typer()

T = TypeVar("T")


class InOrder(TyperCommand):
    """A command that keeps the order of its options, of different names too, in `ctx.meta["order"]`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse as usual, and once more for the order."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta["order"] = [parameter.name for parameter in order]
        return super().parse_args(ctx, args)


@app.command("evolve", cls=InOrder)
def evolve(
    ctx: typer.Context,
    files: options.Files,
    internal: Annotated[
        list[str] | None, Option(metavar="E", help="E becomes the last internal event.")
    ] = None,
    add: Annotated[list[str] | None, Option(metavar="'A < B'", help="Add a correspondence.")] = None,
    update: Annotated[
        list[str] | None, Option(metavar="'A < B'", help="Strengthen the given A <> B.")
    ] = None,
    remove: Annotated[list[str] | None, Option(metavar="'A < B'", help="Take back what is given.")] = None,
    forget: Annotated[
        list[str] | None, Option(metavar="E", help="Forget an event, keeping what follows of the others.")
    ] = None,
    out: options.Out = None,
    strict: options.Strict = False,
) -> int:
    """Evolve a microcosm, step by step or not at all.

    The steps are made in the order in which they are given here, all of them or none. The new microcosm
    goes to OUT or to standard output (--json: in its JSON form, to both). Where a step is undefined or
    contradictory, the exit code is 1: OUT is left alone, standard output has the old state.

    \b
    Example:
      microcosm evolve album.mc --add 'upload < view' --update 'view < like' -o album.mc
    """
    given = {"internal": internal, "add": add, "update": update, "remove": remove, "forget": forget}
    values = {name: iter(texts or ()) for name, texts in given.items()}
    steps = [(name, next(values[name])) for name in ctx.meta["order"] if name in values]
    givens, book = reading.givens_of(files, strict=strict), reading.rulebook()
    old = givens.copy()
    try:
        known = reading.microcosm_of(givens, book, strict=strict)
        with known.batch():
            for name, value in steps:
                fault = unfit(value) if name in ("internal", "forget") else None
                if fault is not None:
                    raise exits.UsageError(f"--{name}: {fault}")
                with reading.said_in(f"--{name}"):
                    getattr(known, "append" if name == "internal" else name)(value)
    except (Contradiction, Undefined) as error:
        exits.refusal(error, old, code=exits.REFUTED, answered=out is None)
        output.note("nothing was changed")
        if out is None:
            output.write_givens(old, None)
        return exits.REFUTED
    output.write_givens(known.givens, out)
    return exits.HOLDS


@app.command("merge")
def merge(files: options.Files, out: options.Out = None, strict: options.Strict = False) -> int:
    """The union of what several microcosms know.

    Where one states that a message was sent and another that it was received, the sending comes first.
    Where they contradict each other, both derivations are shown and the exit code is 1.

    \b
    Example:
      microcosm merge phone.mc laptop.mc -o both.mc
    """
    reading.standard_input_once(files)
    first, *others = [reading.load([file], strict=strict) for file in files]
    union = first.copy()
    about, merged = "", first.givens
    try:
        for file, other in zip(files[1:], others, strict=True):
            about, merged = f"{file} does not fit the others", other.givens
            union.merge(other, join=False)
        about = "the messages do not fit the order that is given"
        unjoined = union.merge()
    except (Contradiction, Undefined) as error:
        exits.refusal(error, union.givens, merged, about=about, answered=True)
        if output.for_machines():
            sides = [proof_object(side) for side in getattr(error, "derivations", ())]
            output.emit({"conflict": str(error), "derivations": sides})
        return exits.REFUTED
    for problem in unjoined:
        output.warn(f"{output.printable(problem)}: nothing was concluded from it")
    for event in sorted({e for other in others for e in other.givens.internal if e not in union}):
        output.warn(f"{quote(event)} is a chain by itself and related to nothing: the union does not name it")
    output.write_givens(union.givens, out)
    return exits.HOLDS


One = Annotated[str, Argument(metavar="FILE", help=f"What to read: {options.WHAT}")]
Other = Annotated[str, Argument(metavar="FILE", help="Another one.")]

MOST_FACTS = 20
"""So many facts of a kind are told unless all are asked for."""


@app.command("bisim")
def bisim(
    one: One,
    other: Other,
    backward: Annotated[
        bool, Option("--backward", help="Under removals, in place of additions and updates.")
    ] = False,
    strict: options.Strict = False,
) -> int:
    """Whether two microcosms will ever deduce differently.

    They will not, whatever both are told, if every pair has the same verdict in both. With --backward
    the same is taken away from both: then they must be given the same. Exit 0 if bisimilar, 1 if not,
    with a pair of events and its two verdicts, and a shortest path of removals that leads there.

    With --json: bisimilar, and witness, which is null or has pair, verdicts, path (a list of objects such
    as {"remove": ["a", "<", "b"]}, made in each file that has it; empty where the two differ at once) and
    given (null, or with --backward a statement of one file only, and the number of that file). Where no
    removals tell the two apart, pair, verdicts and path are null.

    \b
    Examples:
      microcosm bisim phone.mc laptop.mc
      microcosm bisim phone.mc laptop.mc --backward
    """
    from microcosm.compare.bisimilarity import bisimilar

    left, right = _load(one, other, strict)
    found = bisimilar(left, right, backward)
    witness = found.witness

    def fields() -> dict[str, object]:
        pair = () if witness is None or witness.pair is None else witness.pair
        named = events_field(right, *pair) | events_field(left, *pair)
        return {"bisimilar": found.holds, "witness": witness and _witness_fields(witness), **named}

    lines = _difference(witness, _shown(one, other), backward, words_of(left, right))
    return output.answer(fields, lines, exits.holding(found.holds))


@app.command("diff")
def diff(
    one: One,
    other: Other,
    every: Annotated[bool, Option("--all", help=f"Tell all facts, not the first {MOST_FACTS}.")] = False,
    strict: options.Strict = False,
) -> int:
    """What each of two microcosms knows that the other does not.

    The most informative facts come first: those that would decide the most pairs in the other
    microcosm. Orders that follow from others are not told. A fact that the other microcosm contradicts
    is marked as refused there; whether all facts can be true together, `microcosm merge` says. Exit 0 if
    they know the same, 1 if not.

    With --json: news, a list for each file of what it could tell the other, with fact (["a", "<", "b"]),
    instead ("<>", or null where the other knows nothing of the pair) and decides (0: the other refuses it);
    more, for each file the number of pairs of which it knows more; conflicts, with pair and verdicts, which
    cannot both be true.

    \b
    Example:
      microcosm diff phone.mc laptop.mc
    """
    from microcosm.compare.difference import difference

    left, right = _load(one, other, strict)
    found = difference(left, right)
    lines = _compared(found, _shown(one, other), None if every else MOST_FACTS, words_of(left, right))
    return output.answer(found.to_json, lines, exits.holding(found.same))


def _load(one: str, other: str, strict: bool) -> tuple[Microcosm, Microcosm]:
    reading.standard_input_once([one, other])
    return reading.load([one], strict=strict), reading.load([other], strict=strict)


def _shown(one: str, other: str) -> tuple[str, str]:
    return output.printable(one), output.printable(other)


def _witness_fields(witness: Difference) -> dict[str, object]:
    verdicts, path, given = witness.verdicts, witness.path, witness.given
    return {
        "pair": None if witness.pair is None else list(witness.pair),
        "verdicts": None if verdicts is None else [verdict.value for verdict in verdicts],
        "path": None if path is None else [{"remove": [f.left, str(f.relation), f.right]} for f in path],
        "given": None if given is None else {"file": given.to, "statement": given.statement},
    }


def _difference(
    witness: Difference | None, files: tuple[str, str], backward: bool, words: Words
) -> Iterator[str]:
    how = "backward bisimilar" if backward else "bisimilar"
    if witness is None:
        same = "they are given the same" if backward else "every pair of events has the same verdict in both"
        yield f"{' and '.join(files)} are {how}: {same}"
        return

    yield f"{' and '.join(files)} are not {how}"
    given = witness.given
    if given is not None:
        yield f"given in {files[given.to - 1]} only: {output.printable(given.statement)}"
    if witness.path is None:
        known = "" if options.rules() is None else "were found that "
        yield f"no removals {known}lead to different verdicts: only the givens tell the two apart"
    elif witness.path:
        gone = [output.printable(statement(f.left, str(f.relation), f.right, words)) for f in witness.path]
        yield f"after removing {output.listed(gone)} wherever {'they are' if gone[1:] else 'it is'} given:"
    if witness.pair is not None and witness.verdicts is not None:
        left, right = witness.pair
        for file, verdict in zip(files, witness.verdicts, strict=True):
            shown = output.printable(verdict_line(left, verdict, right, words))
            yield f"  {file:{max(map(len, files))}}  {shown}"


def _compared(found: Comparison, files: tuple[str, str], most: int | None, words: Words) -> Iterator[str]:
    if found.same:
        yield f"{' and '.join(files)} know the same"
    for at, items in enumerate(found.news):
        if items:
            pairs = output.counted(found.more[at], "pair")
            yield f"{files[at]} knows more about {pairs}; it could tell {files[1 - at]}:"
            yield from _cut(items, most, lambda item: _news_line(item, words))
    if found.conflicts:
        yield f"{output.counted(len(found.conflicts), 'conflict')}: these cannot both be true"
        yield from _cut(found.conflicts, most, lambda each: _conflict_line(each, files, words))


def _news_line(item: News, words: Words) -> str:
    fact = item.fact
    text = output.printable(statement(fact.left, str(fact.relation), fact.right, words))
    notes = [f"decides {output.counted(item.decides, 'pair')}"] if item.decides > 1 else []
    notes += [] if item.decides else ["refused there, where it contradicts what is known of others"]
    notes += ["known as <> there"] if item.instead is not None else []
    return f"  {text}   ({', '.join(notes)})" if notes else f"  {text}"


def _conflict_line(each: Disagreement, files: tuple[str, str], words: Words) -> str:
    sides = (output.printable(statement(each.left, str(v), each.right, words)) for v in each.verdicts)
    return "  " + ", ".join(f"{side} in {file}" for side, file in zip(sides, files, strict=True))


def _cut(told: Sequence[T], most: int | None, line: Callable[[T], str]) -> Iterator[str]:
    yield from map(line, told[:most])
    if most is not None and len(told) > most:
        yield f"  and {len(told) - most:,} more; --all tells them"
