"""The order of evaluation: absence is asked only of what is complete."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.engine.strata import CHECKED, Stratum, check, checksum, never_fire, saturating, strata
from microcosm.errors import RuleError
from microcosm.givens.relation import Relation
from microcosm.logic.rule import Assume, Judged, Judgement, MostAccurate, NoneWith, Not, Pred
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules

RULES = Path(__file__).parents[2] / "rules"
TEXT = "".join((RULES / f"{name}.rules").read_text("utf-8") for name in ("initial", "online"))
INITIAL, ONLINE, OFFLINE = Judgement.INITIAL, Judgement.ONLINE, Judgement.OFFLINE


def book(*rules: str) -> RuleBook:
    """Rules in short: `X: premise; premise => conclusion`."""
    text = ""
    for rule in rules:
        name, body = rule.split(":", 1)
        above, under = body.split("=>")
        text += f"rule {name}:\n{above.replace(';', chr(10))}\n---\n{under}\n"
    return parse_rules(text, "x.rules")


def preds(found: tuple[Stratum, ...]) -> list[set[str]]:
    return [{f"{j.turnstile}{r}" for j, r in stratum.preds} for stratum in found]


def fault(*rules: str) -> str:
    with pytest.raises(RuleError) as caught:
        strata(book(*rules))
    return str(caught.value)


def silent(*rules: str) -> dict[str, str]:
    return {rule.name: reason for rule, reason in never_fire(book(*rules))}


# strata


@pytest.mark.parametrize("profile", [None, "full", "paper"])
def test_the_shipped_rules_are_stratified(profile: str | None) -> None:
    """That of others is checked whenever they are used, and that of these here."""
    rules = read_rules().in_profile(profile)
    check(rules)
    assert checksum(rules) == CHECKED, (
        f"the shipped rules were edited: let CHECKED be 0x{checksum(rules):08X}"
    )


def test_shipped_rules_that_were_edited_are_checked() -> None:
    text = "\n".join(rule.text for rule in read_rules().rules)
    wrong = text.replace("|/-0", "|/-", 1) + "\nrule Not-Stratified:\n |/- a < b\n ---\n |- a < b\n"
    assert checksum(parse_rules(text)) == CHECKED
    with pytest.raises(RuleError, match="negation is not stratified"):
        strata(parse_rules(wrong))


def test_what_saturates_is_every_instance_that_assumes_nothing() -> None:
    shipped = read_rules()
    either = book("X: assume a < b or |- a < b; ||- c < d; ||- c > d => ||- a !< b")
    for rules in (shipped, parse_rules(TEXT), either):
        every = [i for i in rules.instances if not any(isinstance(p, Assume) for p in i.premises)]
        assert [*saturating(rules)] == every
    assert len(saturating(shipped)) < len(shipped.instances) // 3
    assert saturating(either)


def test_the_shipped_calculus() -> None:
    found = strata(parse_rules(TEXT))
    assert preds(found[-1:]) == [{"⊢?"}]
    assert {p for each in preds(found) for p in each} == {"⊢₀<", "⊢₀||", "⊢₀<>", "⊢<", "⊢||", "⊢<>", "⊢?"}
    recursive = {name for s in found if s.recursive for name in preds((s,))[0]}
    assert recursive == {"⊢₀<", "⊢₀||", "⊢₀<>", "⊢?"}
    assert [i.rule.name for i in found[0].instances] == ["Init", "In-Tr"]
    place = {name: at for at, each in enumerate(preds(found)) for name in each}
    assert place["⊢₀<"] < place["⊢<>"], "In-OK asks for the absence of the more accurate relation"


def test_predicates_that_depend_on_each_other_share_a_stratum() -> None:
    found = strata(
        book(
            "A: |- a < b => |- a || b",
            "B: |- a || b => |- a <> b",
            "C: |- a <> b; send(a) => |- a < b",
            "D: |- a <> b => ||- a <> b",
        )
    )
    assert preds(found) == [{"⊢<", "⊢||", "⊢<>"}, {"⊩<>"}]
    assert [i.rule.name for i in found[0].instances] == ["A", "B", "C"]
    assert [s.recursive for s in found] == [True, False]


def test_what_no_rule_concludes_stands_in_no_stratum() -> None:
    assert preds(strata(book("A: |- a < b; |/- a || b => ||- a < b"))) == [{"⊩<"}]


def test_a_wildcard_depends_on_every_relation_of_its_judgement() -> None:
    found = strata(
        book("A: |/-0 a _ b => |- a ? b", "B: matches(a, b) => |-0 a < b", "C: matches(b, a) => |-0 a || b")
    )
    assert preds(found)[-1] == {"⊢?"}


def test_assumptions_are_search_and_not_saturation() -> None:
    rules = (
        "A: matches(a, b) => ||- a <> b",
        "B: assume a R b; ||- c S d; ||- c T d where S incompatible T => ||- a !R b",
    )
    assert preds(strata(book(*rules))) == [{"⊩<>"}]
    assert "B concludes ⊩ a !< b from the absence of ⊩ c <> d" in fault(
        "A: ||- a !< b => ||- a <> b", "B: assume a < b; ||/- c <> d; e in M => ||- a !< b"
    )


def test_no_rules_have_no_strata() -> None:
    assert strata(RuleBook(())) == ()


# negation


def test_a_rule_that_denies_itself() -> None:
    assert (
        fault("Un-8: a in M; b in M => |- b ? a", "Un-9: a in M; b in M; |/- a ? b => |- a ? b")
        == """\
x.rules:6:1: negation is not stratified: Un-9 concludes ⊢ a ? b from the absence of ⊢ a ? b
  rule Un-9:
  ^
Absence may be asked only of a judgement that does not depend on the rule's own conclusion."""
    )


def test_a_cycle_is_shown_in_words_and_shortest() -> None:
    said = fault(
        "A: |/- a || b => |- a < b",
        "B: |- c <> d => |- c || d",
        "C: |- b > a => |- a <> b",
        "D: |- b || a => |- a <> b",
        "E: |- a || b; |- b < c => |- a || c",
    )
    assert said.split("\n")[0] == (
        "x.rules:1:1: negation is not stratified: A concludes ⊢ a < b from the absence of ⊢ a || b; "
        "E concludes ⊢ a || c from ⊢ b < c"
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("N: |/- a _ b => |- a ? b", "N concludes ⊢ a ? b from the absence of ⊢ a _ b"),
        ("N: a in M; b in M; no e in M with a in M, |- e ? a => |- a ? b", "from the absence of ⊢ e ? a"),
        ("N: |- a R b where R in <>, R is most accurate => |- b < a", "from the absence of ⊢ a < b"),
    ],
)
def test_every_kind_of_absence_counts(rule: str, message: str) -> None:
    assert message in fault(rule)


def test_absence_in_a_rule_of_evolution_is_of_the_microcosm_before() -> None:
    text = "rule X:\n|/- a _ b\n--- + a R b\n|- a R b"
    assert strata(parse_rules(text)) == ()


MADE = st.lists(
    st.tuples(
        st.sampled_from(["|-0", "|-", "||-"]), st.sampled_from(["<", "||", "<>", "?"]),
        st.lists(st.tuples(st.sampled_from(["|-0", "|-", "||-", "|/-0", "|/-", "||/-"]),
                           st.sampled_from(["<", "||", "<>", "?", "_"])), max_size=2),
    ),
    max_size=9,
)  # fmt: skip


def edges(rules: RuleBook) -> list[tuple[Pred, Pred, bool]]:
    """What depends on what, and whether on its absence: written again, and plainly."""

    def pred(judged: Judged) -> Pred:
        assert isinstance(judged.relation, Relation)
        return judged.judgement, judged.relation

    concluded = [pred(i.conclusion) for i in rules.instances]
    found = []
    for instance in rules.instances:
        for premise in instance.premises:
            assert not isinstance(premise, NoneWith | MostAccurate | Assume), "not in MADE"
            body = premise.body if isinstance(premise, Not) else premise
            if isinstance(body, Judged):
                meant = [p for p in concluded if p[0] is body.judgement and body.relation in ("_", p[1])]
                found += [(pred(instance.conclusion), p, isinstance(premise, Not)) for p in meant]
    return found


@given(MADE)
@settings(max_examples=150, deadline=None)
def test_strata_agree_with_a_graph_library(
    made: list[tuple[str, str, list[tuple[str, str]]]],
) -> None:
    text = ""
    for at, (turnstile, relation, premises) in enumerate(made):
        lines = "".join(f"{sign} a {r} b\n" for sign, r in premises)
        text += f"rule R-{at}:\na in M\nb in M\n{lines}---\n{turnstile} a {relation} b\n"
    rules = parse_rules(text)
    graph: nx.DiGraph[Pred] = nx.DiGraph()
    graph.add_nodes_from((i.conclusion.judgement, i.conclusion.relation) for i in rules.instances)
    graph.add_edges_from((head, source) for head, source, _ in edges(rules))
    together = {pred: at for at, c in enumerate(nx.strongly_connected_components(graph)) for pred in c}
    stratified = all(
        together[head] != together[source] for head, source, negative in edges(rules) if negative
    )
    try:
        found = strata(rules)
    except RuleError:
        assert not stratified
        return
    assert stratified
    place = {pred: at for at, stratum in enumerate(found) for pred in stratum.preds}
    assert place.keys() == set(graph)
    for one in graph:
        for other in graph:
            assert (place[one] == place[other]) == (together[one] == together[other])
    for head, source, negative in edges(rules):
        assert place[source] <= place[head]
        assert not negative or place[source] < place[head]
    assert sorted(i.rule.name for s in found for i in s.instances) == sorted(
        i.rule.name for i in rules.instances
    )
    for stratum in found:
        inside = [e for e in edges(rules) if e[0] in stratum.preds and e[1] in stratum.preds]
        assert stratum.recursive == bool(inside)


# rules that can never fire


def test_every_shipped_rule_can_fire() -> None:
    assert never_fire(parse_rules(TEXT)) == []


def test_without_init_nothing_initial_fires() -> None:
    [init] = [rule for rule in parse_rules(TEXT).rules if rule.name == "Init"]
    found = {rule.name: reason for rule, reason in never_fire(parse_rules(TEXT.replace(init.text, "")))}
    assert found.keys() == {"In-Tr", "Co-Sym", "CR-Sym", "In-OK", "Weak", "Un-1", "Up-S", "Up-W", "Un-2"}
    assert found["In-Tr"] == "its premise ⊢₀ a < b is concluded only by In-Tr"
    assert "⊢ a || e" in found["Un-1"]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("X: |- a < b => ||- a < b", "its premise ⊢ a < b is concluded by no rule"),
        ("X: |-0 a _ b => |- a ? b", "its premise ⊢₀ a _ b is concluded by no rule"),
        ("X: f(a, b); |- a R b where R in <, || => ||- a R b",
         "its premise ⊢ a < b is concluded by no rule and its premise ⊢ a || b is concluded by no rule"),
        ("X: given a R b where R in ? => |- a R b", "its premise given a ? b never holds"),
        ("X: given a < a => |- a ? b", ""),
        ("X: given a < a; b in M => |- a ? b", "given a < a relates an event to itself"),
        ("X: a in M; a not in M; b in M => |- a ? b", "its premise a in M never holds"),
        ("X: a in M => |- a ? a", "⊢ a ? a relates an event to itself"),
        ("X: f(a, b) where R in <, R incompatible < => |- a R b", "its conditions exclude each other"),
    ],
)  # fmt: skip
def test_why_a_rule_never_fires(rule: str, reason: str) -> None:
    if not reason:
        with pytest.raises(RuleError):
            book(rule)
        return
    assert silent(rule) == {"X": reason}


def test_one_way_to_fire_is_enough() -> None:
    assert silent("X: |- a < b or f(a, b) => ||- a < b", "Y: ||- a R b where R in <, ? => ||- b ? a") == {}


def test_rules_that_only_feed_each_other_never_fire() -> None:
    assert silent(
        "A: |- a < b => |- a || b", "B: |- a || b => |- a < b", "C: b in M; |- a < b => ||- a < b"
    ) == {
        "A": "its premise ⊢ a < b is concluded only by B",
        "B": "its premise ⊢ a || b is concluded only by A",
        "C": "its premise ⊢ a < b is concluded only by B",
    }


def test_a_rule_of_evolution_may_never_fire() -> None:
    text = "rule X:\n|- a <> b\n--- + a < b\n|- a < b"
    assert [reason for _, reason in never_fire(parse_rules(text))] == [
        "its premise ⊢ a <> b is concluded by no rule"
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("X: |- a < b => ||- a !< a", "X concludes ⊩ a !< a, of an event and itself"),
        ("X: foo(a, b) => |- a < b", "X: `foo` is no base predicate"),
        ("X: |- a < b; send(a, b) => |- a < b", "X: `send` is said of 1, not of 2"),
        ("X: |- a < b; not matches(a) => |- a < b", "X: `matches` is said of 2, not of 1"),
        ("X: |- a < b; no e in M with matches(e) => |- a < b", "X: `matches` is said of 2, not of 1"),
        (
            "X: assume a R b; ||- c S d; ||- c T d where S incompatible T => ||- a T b",
            "X concludes the relation T, which only follows from what it assumes",
        ),
    ],
)
def test_a_rule_that_no_answer_can_rest_on_is_refused(rule: str, message: str) -> None:
    """Before anything is asked: its proofs would be refused, or the search would not end."""
    assert fault(rule).split("\n")[0] == f"x.rules:1:1: {message}"
