"""The program `microcosm`: its commands, and the one place where whatever goes wrong becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from microcosm.cli import exits, options, output

CLICK_EXCEPTION: type[Exception] = typer.BadParameter.__mro__[2]
"""What every complaint of the option parser is; typer keeps its name to itself."""

NAME = "microcosm"

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

COMMANDS = {
    "demo": "commands.demo",
    "online": "commands.online",
    "offline": "commands.offline",
    "why": "commands.online",
    "why-not": "commands.online",
    "possible": "commands.offline",
    "table": "commands.table",
    "verify": "commands.verify",
    "check": "commands.offline",
    "find": "commands.questions",
    "assert": "commands.questions",
    "settle": "commands.questions",
    "events": "commands.events",
    "draw": "commands.draw",
    "evolve": "commands.evolve",
    "merge": "commands.evolve",
    "bisim": "commands.bisim",
    "diff": "commands.bisim",
    "extract": "commands.logs",
    "trace": "commands.logs",
    "order": "commands.order",
    "simulate": "commands.simulate",
    "explore": "commands.explore",
    "rules": "commands.rules",
    "spark": "commands.spark",
    "replica": "replica.files",
    "doctor": "commands.demo",
    "repl": "commands.repl",
}
"""Each command, in the order of the help, and its module: only the one that is asked for is loaded."""

_LOGS = (options.readers_of_logs,)
_MICROCOSMS = (options.readers_of_logs, options.readers_of_microcosms)
ASKING: dict[str, tuple[Callable[..., None], ...]] = {
    **dict.fromkeys(
        ("online", "offline", "why", "why-not", "possible", "table", "check", "events", "draw"), _MICROCOSMS
    ),
    **dict.fromkeys(("verify", "evolve", "merge", "bisim", "diff", "extract", "repl"), _MICROCOSMS),
    **dict.fromkeys(("find", "assert", "settle"), _MICROCOSMS),
    **dict.fromkeys(("trace", "order"), _LOGS),
}
"""The commands that read logs, and what they are told of how."""

GROUPS = ("rules", "spark", "replica")
"""Those that have commands of their own."""


TEXTS_AND_FLAGS = (str, list[str], bool)


class AsTyped:
    """Takes the texts and flags of the command line as they are.

    Typer would have pydantic check that each text is one, which doubles the time to start.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value itself; no value of an option that may be repeated is an empty tuple."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


class Commands(TyperGroup):
    """The commands; an exception that leaves one becomes a line on standard error and an exit code."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for; its exit code."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, CLICK_EXCEPTION):
            raise
        except Exception as error:
            return exits.failure(error, " ".join(filter(None, (NAME, ctx.invoked_subcommand))))


def _version(asked: bool) -> None:
    if asked:
        import microcosm

        output.say(f"{NAME} {microcosm.__version__}")
        raise typer.Exit


def describe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Which of two events came first, are they concurrent, or do we not know? With a proof.

    A microcosm is a small file of what is known about events: `unshare < upload`.
    Ask with `microcosm online FILE A B`; start with `microcosm demo`.

    Exit codes: 0 holds, found or decided; 1 refuted, different or inconsistent; 2 usage;
    3 unknown, silent or undecided; 4 bad input.
    """


def program(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line as typer knows it, with these commands."""
    app = typer.Typer(
        name=NAME,
        cls=Commands,
        callback=describe,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=SETTINGS,
    )
    for name in names:
        part: typer.Typer = import_module(f"microcosm.cli.{COMMANDS[name]}").app
        if name in GROUPS:
            app.add_typer(part, name=name)
        else:
            app.registered_commands += [each for each in part.registered_commands if each.name == name]
    return app


def _hush(asked: bool) -> None:
    output.hush(asked)


def _shared(
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            "--quiet",
            callback=_hush,
            expose_value=False,
            help="No notes and no warnings; errors are said.",
        ),
    ] = False,
) -> None:
    """What every command takes beside what is its own."""


def _share(command: Any, shared: Sequence[Any], name: str = "", *, inside: bool = False) -> None:
    """Give the shared options to a command, or to those of a group."""
    parts = getattr(command, "commands", None)
    if parts is None:
        command.params += shared
        for group in ASKING.get(name, ()) if not inside else ():
            command.params += _options_of(group)
    for called, part in (parts or {}).items():
        _share(part, shared, called, inside=bool(name))


def _options_of(function: Callable[..., None]) -> Sequence[Any]:
    """The options that a function declares."""
    only = typer.Typer(add_completion=False)
    only.command()(function)
    return tuple(typer.main.get_command(only).params)


def _as_written(command: Any) -> None:
    for parameter in command.get_params(typer.Context(command, **SETTINGS)):
        if hasattr(parameter, "_runtime_param") and parameter.type_descriptor.annotation in TEXTS_AND_FLAGS:
            parameter._runtime_param = AsTyped()
        if "..." in (parameter.metavar or ""):  # it says itself how often what may stand
            parameter.get_usage_pieces = lambda ctx, written=parameter.metavar: [written]
    for part in getattr(command, "commands", {}).values():
        _as_written(part)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: of this process) and return its exit code; never raises."""
    output.prepare()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        output.finish()
    except (Exception, KeyboardInterrupt) as error:
        code = exits.failure(error, NAME)
        output.tell_warnings()
    finally:
        options.forget_logs()  # whoever reads a log after this, in the same process, says how
    return code


def _run(arguments: list[str]) -> int:
    asked = arguments[0] if arguments else ""
    arguments = [f"{options.COMPLETE}=" if each == options.COMPLETE else each for each in arguments]
    command = typer.main.get_command(program([asked] if asked in COMMANDS else COMMANDS))
    _share(command, _options_of(_shared))
    _as_written(command)
    try:
        code = command.main(arguments, prog_name=NAME, standalone_mode=False)
    except SystemExit as stop:  # shell completion has answered
        code = stop.code
    except CLICK_EXCEPTION as error:
        return _usage(error)
    if code == exits.INTERRUPTED:  # typer has caught the interrupt, and said nothing
        return exits.failure(KeyboardInterrupt(), NAME)
    return code if isinstance(code, int) else exits.HOLDS


def _usage(error: Exception) -> int:
    """A complaint of the option parser: how the command is used, and what was wrong."""
    context = getattr(error, "ctx", None)
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        output.complain(said)
    elif context is None:
        output.complain(f"error: {said}")
    else:
        output.complain(f"error: {said}", context.get_usage(), f"Try `{context.command_path} --help`.")
    return exits.USAGE
