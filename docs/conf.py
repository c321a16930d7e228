"""The site of these pages: `sphinx-build -W -n docs OUT`.

What leads out of `docs/`, into the checkout, becomes a link to the repository; docstrings, which are plain
sentences with `names`, become what Sphinx reads; and the page of the commands is written by the program.
"""

from __future__ import annotations

import re
import sys
from html import escape
from math import log10
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import tomllib

from pygments.lexer import RegexLexer
from pygments.token import Comment, Generic, Keyword, Name, Operator, Text

from microcosm import __version__

ROOT = Path(__file__).parents[1]
META = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = META["urls"]["Source"]

project = "microcosm"
author = META["authors"][0]["name"]
project_copyright = f"2026, {author}"
version = release = __version__
html_title = "microcosm"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["notebooks/*"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_html_meta = {"description": META["description"]}
suppress_warnings = ["myst.header"]  # a page may begin with what a block of it shows

smartquotes = False  # `--help` has two hyphens
toc_object_entries = False  # hundreds, in each page's navigation
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
default_role = None
# Types of other libraries and of inner modules have no page here.
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "source_repository": SOURCE,
    "source_branch": "main",
    "source_directory": "docs/",
    "light_css_variables": {"color-brand-primary": "#1d4f91", "color-brand-content": "#1d4f91"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f8", "color-brand-content": "#8ab4f8"},
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


class Microcosm(RegexLexer):
    """`.mc` files, questions and rules, for colours only."""

    name = "mc"
    tokens = {  # noqa: RUF012
        "root": [
            (r"#.*?$", Comment.Single),
            (
                r"\b(internal|clock|token|send|receive|stamp|ordering|complete|event|state|rule|where)\b",
                Keyword,
            ),
            (r"\|\||<>|<|>|\?|:=|\|-0|\|\|-|\|-", Operator),
            (r"\w+", Name),
            (r".|\n", Text),
        ]
    }


class Session(RegexLexer):
    """What is typed after `$ `, and what comes out."""

    name = "console"
    tokens = {  # noqa: RUF012
        "root": [(r"^\$ ", Generic.Prompt, "typed"), (r"^> .*\n", Generic.Strong), (r".*\n", Generic.Output)],
        "typed": [(r"[^\n]+", Text), (r"\n", Text, "#pop")],
    }


INCLUDED = {
    "project/changelog": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
    "reference/rules": "rules/README.md",
}
"""Pages of the site that end with a file of the checkout."""

GENERATED = {"reference/commands": "every_command", "reference/schemas": "every_schema"}
"""Pages of the site that end with what the program says of itself."""

NAMED = re.compile(r"^```(?P<kind>\w+) (?P<name>[^\s{}]+)$", re.MULTILINE)
"""The beginning of a block that stands for a file."""

BY_DAY = re.compile(r"!\[(?P<said>[^\]]*)\]\((?P<path>[^)]+)-light\.png\)")
"""A picture of which there is one for the dark as well."""

LINK = re.compile(r"\]\((?P<path>(?!https?:|#|/|mailto:)[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def with_links(text: str, file: Path, folder: Path) -> str:
    """The text of a file whose links lead to pages of the site, or, out of `docs/`, to the repository."""

    def link(found: re.Match[str]) -> str:
        target = (file.parent / found["path"]).resolve()
        anchor = found["anchor"] or ""
        if target.is_relative_to(folder):
            return f"](/{target.relative_to(folder)}{anchor})" if file.parent == ROOT else found[0]
        if not target.is_relative_to(ROOT):
            return found[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({SOURCE}/{kind}/main/{target.relative_to(ROOT)}{anchor})"

    return LINK.sub(link, text)


def read(app: Any, docname: str, source: list[str]) -> None:
    """What a page is before it is parsed: its text, with what the checkout and the program add to it."""
    folder = Path(app.srcdir).resolve()
    source[0] = with_links(source[0], folder / f"{docname}.md", folder)
    if docname in INCLUDED:
        file = ROOT / INCLUDED[docname]
        title, _, text = file.read_text(encoding="utf-8").partition("\n")
        if title.removeprefix("# ") not in source[0]:
            text = f"#{title}\n{text}"
        source[0] += "\n" + with_links(text, file, folder)
    if docname in GENERATED:
        sys.path.insert(0, str(folder))
        import generated

        source[0] += getattr(generated, GENERATED[docname])()
    source[0] = NAMED.sub(r"```{code-block} \g<kind>\n:caption: \g<name>\n", source[0])
    source[0] = BY_DAY.sub(
        r"![\g<said>](\g<path>-light.png){.only-light}![\g<said>](\g<path>-dark.png){.only-dark}", source[0]
    )
    if docname == "benchmarks/results":
        source[0] = TABLE.sub(lambda found: found[0] + bars(found[0]), source[0])


TABLE = re.compile(r"^\| case \| subject .*\n(?:\|.*\n)+", re.MULTILINE)
WIDTH, ROW, LEFT, SPAN = 720, 16, 330, 300


def bars(table: str) -> str:
    """A table of the benchmarks as a plot: a bar a line, its length the logarithm of the ratio. Plain SVG."""
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]
    found = [
        (case, subject, float(ratio.replace(",", ""))) for case, subject, _, ratio, _ in rows if number(ratio)
    ]
    if len(found) < 2:
        return ""
    logs = [log10(ratio) for _, _, ratio in found if ratio > 0]
    low, high = min(0.0, *logs), max(1.0, *logs)
    scale = SPAN / (high - low)
    lines, y, last = [], 0, None
    for case, subject, ratio in found:
        if case != last:
            y, last = y + ROW + 4, case
            lines.append(f'<text x="0" y="{y - 4}" font-weight="bold">{escape(case)}</text>')
        at, zero = (log10(ratio or 1) - low) * scale, -low * scale
        lines.append(
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(subject)}</text>'
            f'<rect x="{LEFT + min(at, zero):.0f}" y="{y + 2}" height="{ROW - 4}" '
            f'width="{max(abs(at - zero), 2):.0f}"/>'
            f'<text x="{LEFT + max(at, zero) + 6:.0f}" y="{y + 12}">{ratio:g}</text>'
        )
        y += ROW
    picture = "".join(lines)
    about = "The ratios of the table above, as bars on a logarithmic scale"
    return (
        "\n```{raw} html\n"
        f'<details class="plot"><summary>As a plot</summary><div><svg viewBox="0 0 {WIDTH} {y + 4}" '
        f'width="{WIDTH}" '
        f'role="img" aria-label="{about}">{picture}</svg></div></details>\n```\n'
    )


def number(text: str) -> bool:
    """Whether a cell holds one."""
    return bool(re.fullmatch(r"[\d.,]+", text))


def plain(app: Any, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """A docstring for Sphinx: what is in back quotes is code, a block is itself, as is every other sign."""
    found: list[str] = []
    block = session = False
    for line in lines:
        session = bool(line.strip()) and (session or line.startswith(">>>"))
        indented = line.startswith("    ")
        if indented and not block and not line.lstrip().startswith(">>>"):
            found += ["::", ""]
        block = indented or (block and not line.strip())
        if block or session:
            found.append(line)
            continue
        parts = re.split(r"(``.+?``|`[^`]+`)", line)
        found.append(
            "".join(
                f"``{part.strip('`')}``" if at % 2 else re.sub(r"([*|\\_])", r"\\\1", part)
                for at, part in enumerate(parts)
            )
        )
    lines[:] = found


def reachable(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """What scrolls by itself can be reached by the keyboard."""
    body = context.get("body", "")
    body = body.replace('<div class="highlight"><pre>', '<div class="highlight"><pre tabindex="0">')
    body = re.sub(r"<p>(?=(<a [^>]*>)?<img )", '<p class="picture" tabindex="0">', body)
    context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.add_lexer("mc", Microcosm)
    app.add_lexer("console", Session)
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain)
    app.connect("html-page-context", reachable)
