"""The two ends of one message, which stand in different files: a message is sent before it is received.

That is so by definition, and names of messages are unique within an execution. So what several
processes recorded, each by itself, is put in order where they are merged. Nothing is concluded where a name
does not tell which sending a reception answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.givens.correspondence import Correspondence
from microcosm.givens.given_facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.message import Message
from microcosm.givens.relation import Relation


def join_messages(givens: Givens) -> list[str]:
    """Add `send < receive` for each message of which both ends are named; what could not be joined.

    An order that is given already is left as it is. A reception is not joined with several sendings of its
    message, nor with one to other receivers; each such message is reported once. Cost: linear in the
    messages.

    >>> givens = Givens(messages=[Message("send", "e", "m", "p"), Message("receive", "f", "m", "q")])
    >>> join_messages(givens), [str(fact) for fact in givens.external.values()]
    ([], ['e < f'])
    """
    if not any(True for _ in givens.tellers()):
        return []
    facts = GivenFacts(givens)
    reported: dict[str, str] = {}
    for message, sender, reception in ends(givens, reported):
        if next(facts.evidence(sender, Relation.BEFORE, reception), None) is None:
            givens.add(Correspondence(sender, Relation.BEFORE, reception, f"message {message}"))
    return list(reported.values())


def ends(givens: Givens, reported: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each message with the event that sent it and one that received it, where its name tells which.

    What a name does not tell is put into `reported`, under the name of the message.
    """
    sent: dict[str, dict[str, Message]] = {}
    for entry in givens.messages:
        if entry.kind == "send":
            sent.setdefault(entry.message, {})[entry.event] = entry
    for entry in givens.messages:
        if entry.kind != "receive" or entry.message not in sent:
            continue
        sendings = sent[entry.message].values()
        fit = [one.event for one in sendings if not one.receivers or entry.process in one.receivers]
        if len(fit) > 1:
            reported[entry.message] = f"message {entry.message} was sent by {' and by '.join(sorted(fit))}"
        elif not fit:
            reported[entry.message] = f"message {entry.message} was not sent to {entry.process}"
        elif fit[0] != entry.event:
            yield entry.message, fit[0], entry.event
