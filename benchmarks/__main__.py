"""Runs the benchmarks: `python -m benchmarks [--quick] [--only NAME] [--json FILE] [--write-docs]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import (
    closure,
    collect,
    commands,
    exact,
    increments,
    journal,
    labels,
    online_table,
    orderings,
    page,
    plots,
    protocols,
    questions,
    reading,
    record,
    refutation,
    replica,
    spark,
    startup,
    transport,
    year,
)
from benchmarks.measure import Line, machine

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks" / "results.md"
ALL = {
    module.NAME.replace(" ", "-"): module
    for module in (
        *(startup, commands, closure, online_table, labels, increments, questions, refutation, exact),
        *(protocols, orderings, reading, journal, page, replica, transport, record, collect, year, spark),
    )
}
COLUMNS = ("case", "subject", "median", "ratio", "runs")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Peers side by side.")
    option = parser.add_argument
    option("--quick", action="store_true", help="small inputs and few rounds: does it run at all?")
    option("--only", choices=ALL, action="append", help="one of the benchmarks (may be repeated)")
    option("--json", metavar="FILE", help="write the results there as well; - is standard output")
    option(
        "--write-docs",
        action="store_true",
        help="write docs/benchmarks/results.md as far as this goes, and plots.md",
    )
    asked = parser.parse_args()
    lines: list[Line] = []
    for name in asked.only or ALL:
        print(f"measuring {name} …", file=sys.stderr)
        lines += ALL[name].run(quick=asked.quick)
    results = json.dumps({"machine": machine(), "lines": [line.to_json() for line in lines]}, indent=1)
    if asked.json == "-":
        print(results)
    else:
        show(lines)
    if asked.json and asked.json != "-":
        Path(asked.json).write_text(results + "\n", encoding="utf-8")
    if asked.write_docs:
        before = DOCS.read_text(encoding="utf-8") if DOCS.exists() else ""
        DOCS.write_text(written := page(lines, before), encoding="utf-8")
        DOCS.with_name("plots.md").write_text(plots.page(written), encoding="utf-8")
    return 0


def cells(line: Line) -> tuple[str, ...]:
    return line.case, line.subject, duration(line.seconds), f"{line.ratio:.3g}", str(line.runs)


def duration(seconds: float) -> str:
    """Three digits, and a unit that suits them.

    >>> duration(0.00123), duration(1.5), duration(2.5e-7)
    ('1.23 ms', '1.5 s', '250 ns')
    """
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    size, unit = next((u for u in units if seconds >= u[0]), units[-1])
    return f"{seconds / size:.3g} {unit}"


def show(lines: list[Line]) -> None:
    """The table, one part a benchmark; by rich where it is there."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for line in lines:
            print("\t".join((line.benchmark, *cells(line))))
        return
    for benchmark in dict.fromkeys(line.benchmark for line in lines):
        table = Table(*COLUMNS, title=benchmark)
        for line in lines:
            if line.benchmark == benchmark:
                table.add_row(*cells(line))
        Console().print(table)


def page(lines: list[Line], before: str = "") -> str:
    """The page `docs/benchmarks/results.md`; what was not measured now stays as it was before."""
    text = [
        "# Results",
        "",
        "Written by `python -m benchmarks --write-docs`; do not edit. Medians of paired runs: in each round",
        "all subjects of a case take their turn, and their answers are compared. *Ratio* is to the first",
        "subject of the case. Times are of the processor (whole processes: of the clock); they differ from",
        "machine to machine and from run to run, and ratios are steadier.",
        "",
        *(f"- {what}: {value}" for what, value in machine().items()),
        "",
    ]
    sections = dict(section.split("\n", 1) for section in before.split("\n## ")[1:])
    for name, module in ALL.items():
        mine = [line for line in lines if line.benchmark == module.NAME]
        if mine:
            table = ["| " + " | ".join(COLUMNS) + " |", "|---|---|--:|--:|--:|"]
            table += ["| " + " | ".join(cells(line)) + " |" for line in mine]
            sections[name] = "\n".join(["", (module.__doc__ or "").strip(), "", *table])
        if name in sections:
            text += [f"## {name}", sections[name].rstrip(), ""]
    return "\n".join(text)


if __name__ == "__main__":
    sys.exit(main())
