"""Scripts made shorter mean what they meant: by examples; as TypeScript reads them; and within their budget.

That pages do what they did is held by all tests of this folder: they open pages as they are written.
"""

from __future__ import annotations

import gzip

import pytest

from microcosm.page import write
from microcosm.page.shorten import shortened
from tests.page.conftest import DECLARED

BUDGET = 30 * 1024
"""Bytes of the scripts of a page, gzipped; also of one with a session behind it."""

EXAMPLES = {
    "const two = 2; // why\n/** @param {number} all */\nfunction half(all) { return all / two; }": (
        "let B=a=>a/A,A=2;"
    ),
    "const from = ({ at, to: far = at, ...rest }) => ({ at, far, rest: [at, ] });": (
        "let A=({at:a,to:b=a,...c})=>({at:a,far:b,rest:[a]});"
    ),
    "function f(x) {\n const g = { run(y) { return x.y?.x + +y; }, async x() {}, async: x};\n return g;\n}": (
        "let A=a=>{let b={run(b){return a.y?.x+ +b},async x(){},async:a};return b};"
    ),
    "function f(a, b) { return `${a}:${`${b}${{b}.b}`} a` + 'a' + /[/a]b\\/(?<b>)/u.test(a) / 2; }": (
        "let A=(a,b)=>`${a}:${`${b}${{b}.b}`} a`+'a'+/[/a]b\\/(?<b>)/u.test(a)/2;"
    ),
    "class Pen {\n  constructor() { this.dash = []; }\n  *out(i) { yield i in this; }\n}\nnew Pen();": (
        "class A{constructor(){this.dash=[]}*out(a){yield a in this}}new A();"
    ),
    "function f(i, text) {\n  for (; i--; ) text = text ? { i } : -1 - -i;\n  return typeof text;\n}": (
        "let A=(a,b)=>{for(;a--;)b=b?{i:a}:-1- -a;return typeof b};"
    ),
    "const a = 1;\nlet b = [2];\nf(b);\nconst c = 3;\n"
    "for (let i = 0;;) { const d = i; let e; e = d; const g = e; }": (
        "let B=1,A=[2];C(A);let D=3;for(let a=0;;){let b=a,c;c=b;let d=c}"
    ),
    "function f(a) {\n const b = /** @type {any} */ (a);\n const c = (d) => (d.e(1000)) * (b + 0.5);\n"
    " c.e?.(b);\n return (c) ?? [({})];\n}": (
        "let A=a=>{let b=a,c=a=>(a.e(1e3))*(b+.5);c.e?.(b);return(c)??[{}]};"
    ),
    "const app = {\n MOST: 3,\n say(x) { app.said = x; },\n async ask() {}, said: '',\n};\n"
    "const MOST = 12;\napp.say(MOST);": ("let C=3,A=a=>{B=a},D=async()=>{},B='';A(12);"),
    "const same = 1;\nfunction f() { const same = Math.max(2); return same; }\nf(same);": (
        "let A=()=>{let a=Math.max(2);return a},B=1;A(B);"
    ),
}


@pytest.mark.parametrize("script", EXAMPLES)
def test_names_are_short_and_mean_the_same(script: str) -> None:
    assert shortened(script)[0] == EXAMPLES[script]


def test_what_functions_share_has_one_name_and_what_they_do_not_begins_anew() -> None:
    script = "let shared = 1;\nfunction f(own) { shared = own; }\nfunction g(other) { return other; }"
    text, names = shortened(script)
    assert text == "let B=a=>{A=a},C=a=>a,A=1;"
    assert names == {"shared": "A", "f": "B", "g": "C"}


def test_many_names_are_all_different() -> None:
    many = [f"name{i}" for i in range(900)]
    text, _ = shortened(f"function f({', '.join(many)}) {{ return [{', '.join(reversed(many))}]; }}")
    parameters, returned = text.removeprefix("let A=(").removesuffix("];").split(")=>[")
    assert parameters.split(",") == returned.split(",")[::-1]
    assert len({*parameters.split(",")}) == 900
    assert not {"do", "if", "in", "of", "A"} & {*parameters.split(",")}


def test_no_name_is_declared_twice_for_all() -> None:
    names = DECLARED.findall(write.sources(live=True))
    assert len(names) > 200
    assert sorted(names) == sorted({*names})


def test_the_scripts_of_a_page_are_within_their_budget() -> None:
    for live in (False, True):
        assert len(gzip.compress(write.scripts(live=live).encode(), 9)) <= BUDGET
