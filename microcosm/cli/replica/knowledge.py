"""What a replica knows: `replica init`, `query`, `import`, `export`, `exchange`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import pairwise
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output, reading
from microcosm.cli.output import counted
from microcosm.cli.reading import rulebook
from microcosm.errors import Contradiction, MicrocosmError, ReplicaError, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.core import open_store
from microcosm.replica.journal import Reader
from microcosm.replica.ledger.chain import can_sign
from microcosm.replica.replica import Replica, level
from microcosm.text.names import quote

if TYPE_CHECKING:
    from microcosm.replica.conflicts import Conflict

app = Typer()


@app.command("init")
def init(
    path: options.Journal,
    name: Annotated[str, Option(metavar="N", help="What the others call this replica.")],
    member: Annotated[
        list[str] | None, Option(metavar="N", help="A replica that takes part; once for each, this one too.")
    ] = None,
) -> int:
    """Make a new, empty replica.

    Removals are remembered until all members are known to have them, for ever where no member is stated.
    It gets a key of its own, with which it signs what it says; the secret stays in the journal.

    \b
    Example:
      microcosm replica init phone.journal --name phone --member phone --member laptop
    """
    from microcosm.replica.network.keys import check_name

    try:
        for each in (name, *(member or ())):
            check_name(each)
    except ReplicaError as error:
        raise exits.UsageError(f"--name and --member: {error}") from None
    if Path(path).exists() and not _nobodys(path):
        raise Undefined(f"{path}: there is something already; choose another path, or remove it")
    with opened(path, name, members=tuple(member or ())) as replica:
        key = replica.sign() if can_sign() else None
        fields = {"file": path, "name": name, "incarnation": replica.stream[1], "members": replica.members}
        return output.answer(
            {**fields, "author": key and key.hex()}, f"{output.printable(path)} is the replica {name}"
        )


def _nobodys(path: str) -> bool:
    """Whether there is a journal that has no replica yet: who began it was interrupted."""
    with suppress(MicrocosmError), Reader(path) as reader:
        return reader.last() == 0
    return False


@app.command("query")
def query(
    path: options.Journal,
    left: options.First,
    right: options.Second,
    offline: Annotated[
        bool, Option("--offline", help="What cannot be and what must be, as `microcosm offline`.")
    ] = False,
    possible: Annotated[
        bool, Option("--possible", help="What some world has, as `microcosm possible`.")
    ] = False,
    must_exist: options.MustExist = False,
) -> int:
    """What a replica knows of two events, with a proof.

    Answers and exits as `online` does; as `offline` or `possible` where asked so.

    \b
    Example:
      microcosm replica query phone.journal unshare view --offline
    """
    from microcosm.cli.commands.offline import decided, may_be
    from microcosm.cli.commands.online import verdict_of

    reading.distinct(left, right)
    if offline and possible:
        raise exits.UsageError("--offline and --possible are two questions; ask one at a time")
    with looked_into(path) as replica:
        known = replica.snapshot()
        if must_exist:
            known.require(left, right)
        if offline:
            return decided(known, left, right)
        return (may_be if possible else verdict_of)(known, [path], left, right)


@app.command("import")
def import_(path: options.Journal, file: options.File) -> int:
    """Take over what a microcosm file states, all of it or nothing.

    Its internal events happen at the replica, those of them that it does not know, in order; its external and
    refuted correspondences are learnt. Exit 1 where that contradicts what the replica knows.

    \b
    Example:
      microcosm replica import phone.journal album.mc
    """
    givens = reading.load([file]).givens
    left_out = [
        what
        for what in ("stamps", "clocks", "messages", "processes", "orderings", "tokens", "complete")
        if getattr(givens, what)
    ]
    with opened(path) as replica:
        try:
            events, facts = taken_over(replica, givens)
        except (Contradiction, Undefined) as error:
            exits.refusal(error, givens, about=file, code=exits.REFUTED)
            output.note("nothing was changed")
            return exits.REFUTED
        if left_out:
            output.warn(f"a replica takes over no {', '.join(left_out)}")
        fields = {"file": path, "events": events, "correspondences": facts, "left_out": left_out}
        new = f"new: {counted(events, 'internal event')}, {counted(facts, 'correspondence')}"
        return output.answer(fields, new)


@app.command("export")
def export(path: options.Journal, out: options.Out = None) -> int:
    """Write what a replica knows as a microcosm file; what is set aside is left out.

    Events of others that nothing relates to another are in lines `process NAME = EVENT`.

    \b
    Example:
      microcosm replica export phone.journal -o phone.mc
    """
    with looked_into(path) as replica:
        if replica.conflicts:
            output.warn(
                f"left out, as set aside: {counted(replica.counts()['quarantined'], 'correspondence')}"
            )
        if replica.twice:
            output.warn(
                f"left out, as more than one process claims it: {', '.join(map(quote, replica.twice))}"
            )
        output.write_givens(replica.snapshot().givens, out)
    return exits.HOLDS


@app.command("exchange")
def exchange(
    one: Annotated[str, Argument(metavar="A", help="The journal of a replica.")],
    other: Annotated[str, Argument(metavar="B", help="The journal of another.")],
) -> int:
    """Let two replicas on this machine tell each other what one of them lacks.

    Both know the same afterwards, but for what one of them has forgotten. Exit 0, whether or not they
    contradict each other; what does is set aside, and `replica status` shows it. Exit 1 where one of them
    turns out to be an older copy of itself, which it says.

    \b
    Example:
      microcosm replica exchange phone.journal laptop.journal
    """
    from microcosm.replica.network.status import divergences

    if realpath(one) == realpath(other):
        raise Undefined(f"{one} and {other} are one journal: name those of two replicas")
    with ExitStack() as stack:
        first, second = (stack.enter_context(opened(path)) for path in (one, other))
        if first.name == second.name:
            raise Undefined(f"both are replicas of the name {first.name}; each must have its own")
        before = [divergences(each) for each in (first, second)]
        traffic = level(first, second)
        summary = [
            f"{each.name}: {found['why']}"
            for each, known in zip((first, second), before, strict=True)
            for found in divergences(each)
            if found not in known
        ]
        for each in summary:
            output.warn(output.printable(each))
        code = exits.REFUTED if summary else exits.HOLDS
        same = first.digest() == second.digest()
        aside = [str(conflict) for conflict in first.conflicts]
        fields = {
            "messages": traffic.messages,
            "bytes": traffic.bytes,
            "new": list(traffic.new),
            "same": same,
            "digests": [first.digest(), second.digest()],
            "conflicts": aside,
            **({"diverged": summary} if summary else {}),
        }
        lines = [
            f"{r.name} takes {counted(n, 'evolution')}"
            for r, n in zip((first, second), traffic.new, strict=True)
        ]
        lines.append(f"{counted(traffic.messages, 'message')}, {counted(traffic.bytes, 'byte')}")
        forgotten = "they know the same, but for what one of them has forgotten"
        output.answer(fields, [*lines, "both know the same" if same else forgotten])
        for each in () if output.for_machines() else aside:
            output.warn(f"set aside, for it contradicts itself: {each}")
    return code


@contextmanager
def opened(path: str, name: str | None = None, **options_: Any) -> Iterator[Replica]:
    """The replica of a journal, closed afterwards; with a name a new one."""
    with closing(open_store(path, create=name is not None)) as store:
        yield Replica(store, name, rules=rulebook(), **options_)


@contextmanager
def looked_into(path: str) -> Iterator[Replica]:
    """The replica of a journal, as it is at this moment, whoever is using it; nothing can be changed."""
    with closing(Reader(path)) as store:
        yield Replica(store, rules=rulebook())


def taken_over(replica: Replica, givens: Givens) -> tuple[int, int]:
    """Append and learn what a microcosm is given; how many events and correspondences were new."""
    known = set(replica.known.givens.internal)
    events = [event for event in givens.internal if event not in known]
    with replica.transaction():
        for event in events:
            replica.local(event)
        at = {event: number for number, event in enumerate(replica.known.givens.internal)}
        for a, b in pairwise(givens.internal):
            if at.get(a, -1) > at.get(b, len(at)):  # they happened here the other way round
                replica.learn(Correspondence(a, Relation.BEFORE, b))
        facts = [*givens.external.values(), *givens.refuted.values()]
        return len(events), sum(len(replica.learn(fact)) for fact in facts)


def conflict_lines(conflict: Conflict) -> Iterator[str]:
    """What is set aside, with both sides."""
    yield from ("", output.printable(f"set aside, for it contradicts itself: {conflict}"))
    givens = Givens()
    for fact in (*conflict.facts, *conflict.orders):
        givens.add(fact)
    yield from exits.side_lines(Contradiction("", conflict.derivations()), sys.stdout, givens)
