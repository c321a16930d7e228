"""Journals that are put back from older copies, or run twice, in a simulation; and an operator.

Copies are taken at commits, before or after them, as a person might copy files; later a process is killed and
goes on from such a copy, or another one begins with it beside the first, elsewhere. The operator does what
the page says once somebody says that he diverged: a clone is stopped, and whoever forgot is replaced, as
another incarnation; and who forgot that somebody was replaced, is told so again. What becomes of it is judged
like everything else, but for the incarnations that were replaced, some of whose messages may be lost; and no
chain that anybody knows may be of two copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from microcosm.replica.ledger.dots import Stream
from microcosm.replica.ledger.evolution import Append, decode
from microcosm.replica.network.process import Fence, Member
from microcosm.replica.replica import Replica
from tests.replica.clockwork import NEVER
from tests.replica.simulated import World
from tests.replica.simulated_node import Files, Node

LOOKS = 0.5
"""Seconds after which the operator looks again."""


class Branch:
    """The events of one copy of a journal, those included that it shares with another."""

    def __init__(self, parent: Branch | None = None, begun: float = NEVER) -> None:
        self.parent, self.begun = parent, begun
        self.log: set[str] = set()
        self.noted: dict[Stream, int] = dict(parent.noted) if parent is not None else {}
        self.opened: Replica | None = None
        """The replica that its journal was opened as last."""

    def reopened(self, replica: Replica) -> None:
        """Its journal was opened: what had not been committed has not happened."""
        if self.opened is None:
            self.log = {event for branch, _ in self.line() for event in branch.log}
        chains = replica.ledger.chains.items()
        there = {event for stream, chain in chains if stream[0] == replica.name for event in chain.values()}
        doubted = map(decode, replica._disputed())  # what it will say again
        self.log &= there | {each.event for each in doubted if isinstance(each, Append)}
        self.opened = replica

    def line(self) -> Iterator[tuple[Branch, float]]:
        """This copy and those that it comes from, and until when what happened in each is in this one."""
        branch, until = self, NEVER
        while True:
            yield branch, until
            if branch.parent is None:
                return
            branch, until = branch.parent, min(until, branch.begun)


class Kept(NamedTuple):
    """A copy of a journal's files."""

    path: Path
    incarnation: int
    branch: Branch


class Restoring(World):
    """A world whose operator copies journals, puts them back, and replaces who diverged."""

    def __init__(self, folder: Path, names: str, seed: int, **options: Any) -> None:
        self.branches: dict[str, Branch] = {}
        self.moments: dict[str, list[tuple[Branch, float, int]]] = {}
        """In which copy, and when, events happened, and which of all this was."""
        self.known_at: dict[str, int] = {}
        """Which time of those is meant where the event is known."""
        self.born: dict[str, list[Branch]] = {}
        """The copies in which an event happened."""
        self.kept: dict[str, list[Kept]] = {}
        self.excused: set[str] = set()
        """Processes that were replaced."""
        self.put_backs = self.clones = self.copies = 0
        self.gone: list[Fence] = []
        """All incarnations that were replaced, or evicted for another reason."""
        self._held: set[str] = set()
        super().__init__(folder, names, seed, **options)
        fixed = patch("microcosm.replica.changes.randbits", self.random.getrandbits)
        fixed.start()
        self._let_random_be = fixed.stop
        self.at(LOOKS, self.operate)

    def close(self) -> None:
        """Let go of all journals, and of what incarnations are drawn from."""
        self._let_random_be()
        super().close()

    def looked(self, node: Node) -> None:
        """See which events are new, and in which copy they have happened."""
        super().looked(node)
        branch = self.branches.setdefault(node.place, Branch())
        if branch.opened is not node.replica:
            branch.reopened(node.replica)
        stream = node.replica.stream
        chain = node.replica.ledger.chains.get(stream, {})
        last = node.replica.seen().last(stream)
        for number in range(min(branch.noted.get(stream, 0), last) + 1, last + 1):
            event = chain.get(number)
            if event is not None and event in branch.log:
                self.again.add(event)
            elif event is not None:
                branch.log.add(event)
                self.born.setdefault(event, []).append(branch)
        branch.noted[stream] = last

    def happens(self, node: Node, event: str) -> None:
        super().happens(node, event)
        branch = self.branches.setdefault(node.place, Branch())
        self.moments.setdefault(event, []).append((branch, self.now, self.happened))

    def receivers(self, message: str) -> tuple[str, ...]:
        return self.to[message][self._at(f"c:{message}", message.rsplit(".", 2)[0])]

    def moment(self, event: str, device: str) -> int:
        return self.moments[event][self._at(event, device)][2] if event in self.moments else 0

    def line_to(self, event: str) -> list[str]:
        name = event[2:].rsplit(".", 2)[0]
        at = self._at(event, name) if event in self.moments else -1
        if at < 0:
            return []
        copy, _, last = self.moments[event][at]
        line = dict(copy.line())
        return [
            each
            for each, moments in self.moments.items()
            if any(where in line and when <= line[where] and n <= last for where, when, n in moments)
        ]

    def elsewhere(self, event: str) -> bool:
        name = event[2:].rsplit(".", 2)[0]
        return event in self.moments and self._in_line(event, self.branches[name]) < 0

    def known(self, chains: Mapping[Stream, Sequence[str]]) -> None:
        """See of which copies the chains are: the journal as it is now, or the first one that fits."""
        self.known_at = {}
        for (device, _), events in chains.items():
            happened = [event for event in events if event in self.moments]
            others = [branch for event in happened for branch, _, _ in self.moments[event]]
            for branch in dict.fromkeys([self.branches[device], *others] if happened else ()):
                found = [self._in_line(event, branch) for event in happened]
                if -1 not in found:
                    self.known_at |= zip(happened, found, strict=True)
                    break

    def _at(self, event: str, place: str) -> int:
        """Which time an event happened of those that are meant where it is known.

        Where no copy has all of its chain: the last one that the journal of a place, as it is now, may have.
        """
        found = self.known_at.get(event)
        return self._in_line(event, self.branches[place]) if found is None else found

    def _in_line(self, event: str, copy: Branch) -> int:
        """The last time that an event happened in the newest copy that a copy comes from in which it did; -1
        if there is none."""
        moments = self.moments[event]
        for branch, until in copy.line():
            found = [at for at, (where, when, _) in enumerate(moments) if where is branch and when < until]
            if found:
                return found[-1]
        return -1

    # -- copies --------------------------------------------------------------------------------------------

    def keep(self, node: Node) -> None:
        """Copy its files at one of its next commits."""
        if isinstance(node.files, Files):
            node.files.fuse, node.files.after = self.random.randrange(4), self.random.random() < 0.5
            node.files.instead = lambda: self.keep_now(node)

    def keep_now(self, node: Node) -> None:
        assert isinstance(node.files, Files)
        self.copies += 1
        path = node.files.folder / f"kept-{self.copies}"
        node.files.keep(path)
        self.kept.setdefault(node.place, []).append(
            Kept(path, node.incarnation, Branch(self.branches[node.place], self.now))
        )

    def put_back(self, name: str, kept: Kept | None = None) -> None:
        """Kill it, and let it go on from an older copy of this incarnation, if there is one."""
        node = self.nodes[name]
        some = [each for each in self.kept.get(name, []) if each.incarnation == node.incarnation]
        if not node.up or not some or not isinstance(node.files, Files):
            return
        if kept is None or kept not in some:
            kept = self.random.choice(some)
        self.keep_now(node)  # it may come back, too
        self.kill(node)
        node.files.put_back(kept.path)
        self.branches[name] = Branch(kept.branch)
        self.put_backs += 1

    def clone(self, name: str) -> None:
        """Let another process run with a copy of a journal, elsewhere, under the same name."""
        node, place = self.nodes[name], f"{name}'"
        if place in self.nodes or not node.up or name in self._held:
            return
        self.keep_now(node)
        kept = self.kept[name][-1]
        twin = self.nodes[place] = Node(self, name, len(self.places), place)
        twin.incarnation = node.incarnation
        assert isinstance(twin.files, Files)
        twin.files.lives = self.clones * 1000  # no life has the files of an earlier clone's
        twin.files.put_back(kept.path)
        self.places[place] = twin.address
        self.branches[place] = Branch(kept.branch)
        self.clones += 1
        self.restart(twin)

    def restorations(self, seconds: float, count: int, names: str) -> None:
        """So many of each, at random moments: copies put back, alone or all at once, or run beside."""
        random = self.random

        def some(action: Callable[[str], object], times: int) -> None:
            for _ in range(times):
                name = random.choice(names)
                self.at(random.uniform(0, seconds), lambda name=name: action(name))  # type: ignore[misc]

        some(lambda name: self.act(name, self.keep), 4 * count)
        some(self.put_back, count)
        some(self.clone, count)
        some(self.back_and_forth, count)
        for _ in range(count):
            at = random.uniform(0, seconds)
            for name in names:
                self.at(at, lambda name=name: self.put_back(name))  # type: ignore[misc]

    def back_and_forth(self, name: str) -> None:
        """Two copies run one after the other: an older one, and after a while the one of before again."""
        self.put_back(name)
        newest = self.kept.get(name, [None])[-1]
        if newest is not None:
            self.at(self.random.uniform(0.5, 2.0), lambda: self.put_back(name, newest))

    # -- the operator --------------------------------------------------------------------------------------

    def operate(self) -> None:
        """See who says that he diverged, and do something about it."""
        for node in [*self.nodes.values()]:
            if node.up and node.place in self.nodes:
                said = node.replica.divergences
                names = {str(each["member"]) for each in said} | ({node.name} if said else set())
                for name in names:
                    self.stop(f"{name}'")
                if any(each.get("mine") or "dot" in each for each in said):
                    self.replace(node.name)
                for fence in self.gone:
                    if self._knows(node, fence) and fence.name != node.name:
                        self.act(node.place, lambda node, fence=fence: self._give_up(node, fence))  # type: ignore[misc]
                for other in self.nodes.values():
                    if other.name != node.name and other.name not in self._named(node):
                        self.meet(node, other)
        self.at(LOOKS, self.operate)

    def stop(self, place: str) -> None:
        """A clone ends for good."""
        twin = self.nodes.pop(place, None)
        if twin is not None:
            twin.files.kill()
            twin.up = False

    def replace(self, name: str) -> None:
        """Go on as another incarnation; all others give the old one up, and add the new one."""
        node = self.nodes[name]
        if name in self._held:
            return
        self._held.add(name)
        fence = Fence(name, node.incarnation)
        self.gone.append(fence)
        self.excused.add(f"{name}.{node.incarnation}")
        node.incarnation += 1
        self.kill(node, 0.0)

        def once() -> None:
            left_out = {name, *self._held, *self.evicting}
            others = [each for each in self.nodes.values() if each.name not in left_out]
            for other in others:  # who is being replaced, or evicted, too, is told when it is back
                self.act(other.place, lambda other: self._give_up(other, fence))
            if all(each.up and not self._knows(each, fence) for each in others):
                self._held.discard(name)
                self.restart(node)
                for other in others:
                    self.meet(other, node)
            else:
                self.at(0.2, once)

        once()

    def rejoin(self, name: str) -> None:
        self.gone.append(Fence(name, self.nodes[name].incarnation))
        super().rejoin(name)

    def retire(self, name: str) -> None:
        self.gone.append(Fence(name, self.nodes[name].incarnation))
        super().retire(name)

    def restart(self, node: Node) -> None:
        if node.name not in self._held:
            super().restart(node)

    def quiet(self) -> bool:
        said = (each for node in self.nodes.values() if node.up for each in node.replica.divergences)
        clones = any(node.place != node.name for node in self.nodes.values())
        return (
            not self._held
            and not clones
            and not any(each.get("mine") or "dot" in each for each in said)
            and super().quiet()
        )

    def _named(self, node: Node) -> dict[str, Member]:
        return node.endpoint.durable.process.membership.named

    def _knows(self, node: Node, fence: Fence) -> bool:
        member = self._named(node).get(fence.name)
        known = (fence.incarnation,) if fence.name in self.nodes else (None, fence.incarnation)
        return member is not None and member.remembered in known

    def _give_up(self, node: Node, fence: Fence) -> None:
        if self._knows(node, fence):
            node.endpoint.evict(fence.name, self.now)
        node.replica.settle_divergences(fence.name)

    # -- judging -------------------------------------------------------------------------------------------

    def mixed(self) -> list[str]:
        """Chains that somebody knows, and that are of two copies of a journal; dots that name two things."""
        found, meant = [], dict[Any, tuple[str, object]]()
        for node in self.nodes.values():
            for stream, events in node.replica.chains().items():
                plain = [event for event in events if len(self.born.get(event, ())) == 1]
                for one, other in pairwise(plain):
                    if one not in self.born[other][0].log:
                        found.append(f"{node.name}: {one} < {other} of {stream} happened in two copies")
            for dot, evolution in node.replica.ledger.held.items():
                first, said = meant.setdefault(dot, (node.name, evolution))
                if said != evolution:
                    found.append(f"{dot} is {said} at {first}, and {evolution} at {node.name}")
        return found
