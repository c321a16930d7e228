"""`doctor`: which parts are there, and what each missing one disables."""

from __future__ import annotations

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()


@app.command("doctor")
def doctor(json: options.Json = False, rules: options.Rules = None) -> int:
    """What this installation can do: Python, SQLite, Java, Spark, the extras, and what is missing for what.

    Exit 0, whatever is missing: only what is named beside it does not work.

    \b
    Example:
      microcosm doctor
    """
    import sqlite3

    from microcosm.replica.journal.disk import wal_reset_bug
    from microcosm.spark.installation import Part, parts

    python, *others = parts()
    found = [python, Part("SQLite", True, sqlite3.sqlite_version, ""), *others]
    if wal_reset_bug(sqlite3.sqlite_version_info):
        output.warn(
            f"SQLite {sqlite3.sqlite_version} can damage a database that two connections write or checkpoint"
            " at once (3.7.0 to 3.51.2); a journal is safe as long as no other program opens it"
        )
    if json:
        output.emit(
            {
                "parts": [
                    {
                        "name": part.name,
                        "present": part.present,
                        "version": part.version,
                        "where": part.where,
                        "disables": None if part.present else part.disables,
                        "remedy": None if part.present else part.remedy,
                    }
                    for part in found
                ]
            }
        )
        return exits.HOLDS
    width = max(len(part.name) for part in found)
    for part in found:
        if part.present:
            output.say(f"{part.name:{width}}  {part.version}  {output.printable(part.where)}".rstrip())
        else:
            output.say(f"{part.name:{width}}  missing: {part.disables}", f"{'':{width}}  {part.remedy}")
    return exits.HOLDS
