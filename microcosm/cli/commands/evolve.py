"""What changes microcosms or joins them: `evolve`, `merge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from microcosm.cli import exits, options, output
from microcosm.errors import Contradiction, TextError, Undefined
from microcosm.text.statement import unfit

if TYPE_CHECKING:
    from microcosm.state.microcosm import Microcosm

app = typer.Typer()

Step = tuple[str, str]
"""An option and its value, e.g. ("add", "a < b")."""


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
        list[str] | None, typer.Option("--internal", metavar="E", help="E becomes the last internal event.")
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="'A < B'", help="Add a correspondence.")
    ] = None,
    update: Annotated[
        list[str] | None, typer.Option("--update", metavar="'A < B'", help="Strengthen the given A <> B.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="'A < B'", help="Take back what is given.")
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option("--forget", metavar="E", help="Forget an event, keeping what follows of the others."),
    ] = None,
    out: options.Out = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """Evolve a microcosm, step by step or not at all.

    The steps are made in the order in which they are given here, all of them or none. The new microcosm
    goes to OUT or to standard output (--json: in its JSON form). Where a step is undefined or
    contradictory, the exit code is 1: OUT is left alone, standard output has the old state.

    \b
    Example:
      microcosm evolve album.mc --add 'upload < view' --update 'view < like' -o album.mc
    """
    from microcosm.cli import reading

    given = {"internal": internal, "add": add, "update": update, "remove": remove, "forget": forget}
    values = {name: iter(texts or ()) for name, texts in given.items()}
    steps: list[Step] = [(name, next(values[name])) for name in ctx.meta["order"] if name in values]
    givens, book = reading.givens_of(files, strict=strict), reading.rulebook(rules)
    old = givens.copy()
    try:
        known = reading.microcosm_of(givens, book, strict=strict)
        _evolve(known, steps)
    except (Contradiction, Undefined) as error:
        exits.refusal(error, old, code=exits.REFUTED, answered=out is None)
        output.note("nothing was changed")
        if out is None:
            output.write_givens(old, None, json)
        return exits.REFUTED
    output.write_givens(known.givens, out, json)
    return exits.HOLDS


def _evolve(known: Microcosm, steps: list[Step]) -> None:
    with known.batch():
        for name, value in steps:
            try:
                _step(known, name, value)
            except TextError as error:
                error.file = f"--{name}"
                raise


def _step(known: Microcosm, name: str, value: str) -> None:
    fault = unfit(value) if name in ("internal", "forget") else None
    if fault is not None:
        raise exits.UsageError(f"--{name}: {fault}")
    match name:
        case "internal":
            known.append(value)
        case "add":
            known.add(value)
        case "update":
            known.update(value)
        case "remove":
            known.remove(value)
        case _:
            known.forget(value)


@app.command("merge")
def merge(
    files: options.Files,
    out: options.Out = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """The union of what several microcosms know.

    Where one states that a message was sent and another that it was received, the sending comes first.
    Where they contradict each other, both derivations are shown and the exit code is 1.

    \b
    Example:
      microcosm merge phone.mc laptop.mc -o both.mc
    """
    from microcosm.cli import reading
    from microcosm.logic.derivation import proof_object

    reading.standard_input_once(files)
    first, *others = [reading.load([file], rules, strict=strict) for file in files]
    union = first.copy()
    about, told = "", first.givens
    try:
        for file, other in zip(files[1:], others, strict=True):
            about, told = f"{file} does not fit the others", other.givens
            union.merge(other, join=False)
        about = "the messages do not fit the order that is given"
        unjoined = union.merge()
    except (Contradiction, Undefined) as error:
        exits.refusal(error, union.givens, told, about=about, answered=True)
        if json:
            sides = [proof_object(side) for side in getattr(error, "derivations", ())]
            output.emit({"conflict": str(error), "derivations": sides})
        return exits.REFUTED
    for problem in unjoined:
        output.warn(f"{output.printable(problem)}: nothing was concluded from it")
    output.write_givens(union.givens, out, json)
    return exits.HOLDS
