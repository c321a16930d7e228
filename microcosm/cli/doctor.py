"""`doctor`: which parts are there, and what each missing one disables."""

from __future__ import annotations

import typer

from microcosm.cli import exits, options, output

app = typer.Typer()


@app.command("doctor")
def doctor(json: options.Json = False, rules: options.Rules = None) -> int:
    """What this installation can do: Python, Java, Spark and the extras, and what each missing part disables.

    Exit 0, whatever is missing: only what is named beside it does not work.

    \b
    Example:
      microcosm doctor
    """
    from microcosm.spark.parts import parts

    found = list(parts())
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
