"""Questions about one pair of events: `online`, `why`, `why-not`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from shlex import join
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output, reading
from microcosm.cli.show import verdict as show
from microcosm.cli.show.proofs import events_field

if TYPE_CHECKING:
    from microcosm.givens.relation import Relation
    from microcosm.logic.derivation import Derivation
    from microcosm.state.microcosm import Microcosm


app = Typer()


@app.command("online")
def online(asked: options.Pair, strict: options.Strict = False, must_exist: options.MustExist = False) -> int:
    """The verdict on two events, and its proof.

    The verdict is < (A happens before B), >, || (concurrent), <> (causally related, direction not
    known), ? (unknown), or silence, where no rule says anything. Exit 0, or 3 for ? and silence.

    \b
    Example:
      microcosm online album.mc unshare upload
    """
    known, files, pair = reading.pair_in(asked, strict=strict, must_exist=must_exist)
    return verdict_of(known, files, *pair)


def verdict_of(known: Microcosm, files: Sequence[str], left: str, right: str) -> int:
    """Answer with the verdict on two events of what some files give, and its proof; the exit code."""
    with output.progress("proving"):
        verdict, offline = show.stands(known, left, right)
        proof = show.proof_of(known, left, right, offline=offline)
    lines = chain(
        show.verdict_lines(left, verdict, right, show.words_of(known)), show.proof_below(known, proof)
    )
    return _answered(known, files, left, verdict, right, proof, offline, lines)


def _answered(
    known: Microcosm,
    files: Sequence[str],
    left: str,
    verdict: Relation,
    right: str,
    proof: Derivation | None,
    offline: bool,
    lines: Iterable[str],
) -> int:
    """Answer with a verdict, or `lines` that say it; the exit code.

    People are told that it was concluded offline, too, and what would settle one that says nothing. Of events
    that are not known, and where no world fits, it is warned.
    """
    from microcosm.cli.show.offline import warn_if_inconsistent

    show.note_unknown_events(known, left, right)
    warn_if_inconsistent(known, files)

    def fields() -> dict[str, object]:
        named = show.unknown_events(known, left, right) | events_field(known, left, right, proofs=[proof])
        return show.verdict_fields(left, right, verdict, proof, offline) | named

    def all_lines() -> Iterator[str]:
        yield from lines
        for more in (show.by_complete(known) if offline else None, show.hint(known, left, verdict, right)):
            yield from ("", *show.prose(more)) if more else ()

    return output.answer(fields, all_lines(), show.verdict_exit(verdict))


@app.command("why")
def why(
    asked: options.Pair,
    since: Annotated[
        str | None,
        Option(
            metavar="'C < D'",
            help="Explain through what this given brought (Strng, Weak); 'c <> d := c < d' for an update "
            "(Up-S, Up-W).",
        ),
    ] = None,
    offline: Annotated[
        bool, Option("--offline", help="Why the offline verdict is what it is (see `offline`).")
    ] = False,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Why the verdict is what it is, in words and as a tree.

    Exits as `online` does: 0, or 3 for ? and silence.

    \b
    Examples:
      microcosm why album.mc unshare view
      microcosm why album.mc unshare view --since 'upload < view'
    """
    if offline:
        from microcosm.cli.commands import offline as decisions

        if since is not None:
            raise exits.UsageError("--since explains an online verdict, not an offline one")
        return decisions.offline(asked, strict=strict, must_exist=must_exist)
    change = None if since is None else reading.change(since)
    known, files, (left, right) = reading.pair_in(asked, strict=strict, must_exist=must_exist)
    verdict, offline = show.stands(known, left, right)
    proof = None if change is None else known.explain_evolution(left, right, change[0], update=change[1])
    if proof is None:
        with output.progress("proving"):
            proof = show.proof_of(known, left, right, offline=offline)
        if since is not None and proof is not None:
            output.note(f"no evolution rule leads to this verdict from what was judged without {since}")
    lines = _explained(known, files, left, verdict, right, proof)
    return _answered(known, files, left, verdict, right, proof, offline, lines)


@app.command("why-not")
def why_not(
    asked: Annotated[
        list[str],
        Argument(
            metavar="FILE... 'A < B'",
            help=f"What to read: {options.WHAT} Then what does not hold: events and one of < > || <> ?; A B "
            "asks of A < B.",
        ),
    ],
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Why a relation is not the verdict, rule by rule.

    Each rule that could conclude it is shown with its premises, those that hold and those that do not.
    Exit 0 if it does not hold, 1 if it does.

    \b
    Examples:
      microcosm why-not album.mc 'view < upload'
      microcosm why-not album.mc 'upload ? "log in"'
    """
    files, stated = reading.relation_asked(asked)
    known = reading.load(files, strict=strict)
    left, right = reading.pair_of(known, stated.left, stated.right, must_exist=must_exist)
    show.note_unknown_events(known, left, right)
    holds, fields, lines = show.why_not(known, left, stated.relation, right)
    return output.answer(fields, lines, exits.holding(not holds))


def _explained(
    known: Microcosm, files: list[str], left: str, verdict: Relation, right: str, proof: Derivation | None
) -> Iterator[str]:
    """Why a verdict is what it is; where nothing proves it, how to ask what each rule lacks."""
    if proof is not None:
        yield from show.explained(known, left, verdict, right, proof)
        return
    yield from show.verdict_lines(left, verdict, right, show.words_of(known))
    question = show.statement(left, "<", right)
    yield from ("", "What each rule lacks:", f"  {join(['microcosm', 'why-not', *files, question])}")
