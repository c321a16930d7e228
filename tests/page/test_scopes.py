"""Names made short mean the variables that they meant: a browser is told the same by random scripts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm.page.shorten import shortened

NAMES = ("a", "b", "say", "event", "B", "lane")
"""Few, and some of them short: what is declared hides what is outside, and new names meet old ones."""

Names = tuple[str, ...]

RUN = """(script) => {
    const told = [];
    try { new Function('print', `'use strict';${script}`)((...all) => told.push(all.join())); }
    catch (error) { told.push(error.name); }
    return told;
}"""
"""What a script tells, and the kind of fault that ends it."""


def expression(random: Random, known: Names, depth: int = 2) -> str:
    """An expression whose value depends on what the names mean that are in scope."""
    name, new, kind = random.choice(known), random.choice(NAMES), random.randrange(8)
    if not depth:
        return random.choice([name, f"({name})", f"[{name}, 1][0]", f"({{{name}}}).{name}", f"`${{{name}}}`"])
    within, value = expression(random, (*known, new), depth - 1), expression(random, known, depth - 1)
    return (
        f"({new} => {within})({value})",
        f"((x, {{y: {new} = 6}}) => {within})(1, {{z: {value}}})",
        f"(({new}, [c = {name}, ...rest] = [, 2]) => [{within}, c, rest].join())({value})"
        if new != name
        else value,
        f"[{name}, 2].map(({new}) => {within}).join()",
        f"({name} ? ({new}) => {within} : ({new}) => {new} + {name})({value})",
        f"({{{new}: {value}, async: ({new}) => {{ const z = {within}; return z; }}}}).async(5)",
        f"`x${{({new} => `${{{within}}}!`)({value})}} ${{{name}}}`",
        f"(({value}) + {name})",
    )[kind]


def block(random: Random, known: Names, depth: int, declared: Names = ()) -> str:
    """Statements that tell what is in scope and declare more, but for names `declared` with the block."""
    new = [name for name in random.sample(NAMES, 3) if name not in declared][: random.randrange(3)]
    inside, lines = without(known, *new), []
    for name in new:
        form = random.choice(["const {} = {};", "let {{ x: {} = {} }} = {{}};", "let [{} = {}] = [];"])
        lines.append(form.format(name, expression(random, inside)))
        inside = (*inside, name)
    return " ".join([*lines, *(statement(random, inside, depth) for _ in range(random.randrange(1, 4)))])


def without(known: Names, *hidden: str) -> Names:
    """The names that are in scope where others are declared only later."""
    return tuple(name for name in known if name not in hidden) or ("both",)


def statement(random: Random, known: Names, depth: int) -> str:
    """A statement that tells what is in scope; further in there is more."""
    name, new, kind = random.choice(known), random.choice(NAMES), random.randrange(12 if depth else 1)
    outside, more = without(known, new), (*known, new)
    value, told = expression(random, outside), expression(random, more)
    if kind == 0:
        return f"print({expression(random, known)});"
    if kind < 4:
        body = block(random, more, depth - 1)
        return (
            f"for (const {new} of [1, {value}]) {{ {body} }}",
            f"for (const {new} of [{value}]) if ({new}) print({told}); else {{ {body} }}",
            f"for (let {new} = 0, n = 2; {new} < n; {new}++) print({told});",
        )[kind - 1]
    if kind < 7:
        body = block(random, known, depth - 1)
        return (
            f"{{ {body} }}",
            f"if ({name}) {{ {body} }} else print({value});",
            f"for (const [k, {new}] of [[1, {value}]]) for (let i = 0; i < 2; i++) print({told}, k);",
        )[kind - 4]
    if kind == 7:
        body = block(random, (*outside, "x"), depth - 1, ("x", new))
        return f"{{ function {new}(x) {{ {body} }} {new}({value}); }}"
    body = block(random, more, depth - 1, (new,))
    return (
        f"try {{ throw {value}; }} catch ({new}) {{ {body} }}",
        f"(({new}) => {{ {body} }})({value});",
        f"(({{ x, y: {new} = x }}) => {{ {body} }})({{x: {value}}});",
        f"new (class {{ constructor({new}) {{ {body} }} run({new}) {{ print({told}); }} }})({value}).run(2);",
    )[kind - 8]


def script(random: Random) -> str:
    """A script whose functions share names, and calls of them."""
    shared = ("both", "B", "lane")
    return (
        "const both = 7, lane = 'lane';\nlet B = 11;\n"
        f"function one(a) {{ {block(random, (*shared, 'a'), 2, ('a',))} }}\n"
        f"function other(event, b = 4) {{ {block(random, (*shared, 'event', 'b'), 2, ('event', 'b'))} }}\n"
        "one(2);\nother(3);\none(B);\n"
    )


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Any:
    return chromium.new_page()


@pytest.mark.browser
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_scripts_say_what_they_said(tab: Any, random: Random) -> None:
    text = script(random)
    told = tab.evaluate(RUN, text)
    assert not any(one.endswith("Error") for one in told)
    assert tab.evaluate(RUN, shortened(text)[0]) == told
