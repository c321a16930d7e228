"""The program `microcosm`: its commands, and the one place where whatever goes wrong becomes an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple, get_args

import typer
from typer.core import TyperGroup

from microcosm import tuning
from microcosm.cli import exits, options, output
from microcosm.cli.parsing import ASKED, COMPLAINT, SETTINGS, VARIABLE, answered, as_written, complaint
from microcosm.errors import DISTRIBUTION
from microcosm.files import other_project

NAME = "microcosm"


class Entry(NamedTuple):
    """Where a command is written, below `microcosm.cli`, and what the overview of all commands says of it."""

    module: str
    summary: str


OVERVIEW = {
    "Ask": {
        "demo": Entry("commands.help", "A tour in one screen."),
        "online": Entry("commands.online", "The verdict on two events, and its proof."),
        "offline": Entry("commands.offline", "What cannot be and what must be of two events."),
        "why": Entry("commands.online", "Why the verdict is what it is, in words and as a tree."),
        "why-not": Entry("commands.online", "Why a relation is not the verdict, rule by rule."),
        "possible": Entry("commands.offline", "Which of <, > and || can be true of two events."),
        "table": Entry("commands.table", "The verdicts on all pairs of events."),
        "verify": Entry("commands.verify", "Check a proof, or a whole answer, with the kernel."),
        "check": Entry("commands.offline", "Whether all that is given can be true together."),
        "repl": Entry("session.repl", "Ask and change a microcosm in a session."),
    },
    "Questions about a whole log": {
        "find": Entry("commands.questions", "Find the events, or tuples of them, that match."),
        "assert": Entry("commands.questions", "Each question holds, is violated or stays open."),
        "settle": Entry("commands.questions", "Which observations would decide what is open."),
    },
    "Change and compare": {
        "evolve": Entry("commands.evolve", "Evolve a microcosm, step by step or not at all."),
        "merge": Entry("commands.evolve", "The union of what several microcosms know."),
        "bisim": Entry("commands.evolve", "Whether two microcosms will ever deduce differently."),
        "diff": Entry("commands.evolve", "What each of two microcosms knows that the other does not."),
    },
    "Logs": {
        "events": Entry("commands.logs", "The events of a log, with their words, in natural order."),
        "extract": Entry("commands.logs", "The microcosm of a log."),
        "collect": Entry("commands.logs", "Receive the spans of running programs, over OTLP."),
        "trace": Entry("commands.logs", "Convert a log to the own format, JSON lines or Parquet."),
    },
    "See": {
        "page": Entry("commands.page", "One HTML file: what a log knows, what it does not, and why."),
        "view": Entry("commands.page", "The same page in a browser, with a session behind it."),
        "draw": Entry("commands.page", "A small drawing: SVG, DOT or Mermaid."),
    },
    "Orderings and protocols": {
        "order": Entry("commands.order", "Which message orderings a log keeps, and could have kept."),
        "simulate": Entry("commands.simulate", "Run a delivery protocol on a simulated network."),
        "explore": Entry("commands.simulate", "Follow every interleaving of a few messages."),
    },
    "Replicas, Spark and the rest": {
        "replica": Entry("replica.files", "A durable microcosm that exchanges what it knows."),
        "spark": Entry("commands.spark", "Many microcosms and traces at once, on Spark."),
        "rules": Entry("commands.rules", "The rules of the calculus: list, show, check them."),
        "doctor": Entry("commands.help", "What this installation can do."),
        "help": Entry("commands.help", "What a command does; all of it as a manual page."),
    },
}
"""The commands as the overview groups them. Only the module of the one that is asked for is loaded."""

COMMANDS = {name: entry for group in OVERVIEW.values() for name, entry in group.items()}

_MICROCOSMS: Mapping[str, Any] = options.READERS_OF_LOGS | options.READERS_OF_MICROCOSMS
ASKING: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        ("online", "offline", "why", "why-not", "possible", "table", "check", "events", "draw"), _MICROCOSMS
    ),
    **dict.fromkeys(("verify", "evolve", "merge", "bisim", "diff", "extract", "repl", "view"), _MICROCOSMS),
    **dict.fromkeys(("find", "assert", "settle", "page"), _MICROCOSMS),
    **dict.fromkeys(("trace", "order"), options.READERS_OF_LOGS),
}
"""The commands that read logs, and what they are told of how."""

GROUPS = ("rules", "spark", "replica")
"""Those that have commands of their own."""


class Commands(TyperGroup):
    """The commands, each loaded when asked for; an exception that leaves one becomes a line and a code."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of all commands, as the overview has them."""
        return [*COMMANDS]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """The command of a name, None where there is none."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.add_command(loaded(cmd_name), cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """The overview of `--help`, which loads no command."""
        for title, entries in OVERVIEW.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that the arguments ask for. What nobody knows is answered with what is near."""
        name, *_ = args
        if name not in COMMANDS and name[:1].isalnum():
            near = [repr(each) for each in get_close_matches(name, COMMANDS)]
            meant = f" Did you mean {', '.join(near)}?" if near else ""
            ctx.fail(f"there is no command {name!r}.{meant}" if meant else f"there is no command {name!r}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was asked for; its exit code."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, COMPLAINT):
            raise
        except Exception as error:
            return exits.failure(error, ctx.meta[ASKED])


def loaded(name: str) -> Any:
    """The command of a name, with the options that it shares with others."""
    part: typer.Typer = import_module(f"microcosm.cli.{COMMANDS[name].module}").app
    one = typer.Typer(context_settings=SETTINGS, rich_markup_mode=None, add_completion=False)
    one.callback()(lambda: None)  # or typer would take a single command for the whole program
    if name in GROUPS:
        one.add_typer(part, name=name)
    else:
        one.registered_commands += [each for each in part.registered_commands if each.name == name]
    command: Any = vars(typer.main.get_command(one))["commands"][name]
    _share(command, _options_of(options.COMMON), name)
    as_written(command)
    return command


def _version(wanted: bool) -> None:
    if wanted:
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

    The calculus is that of Worlds of Events (ICE 2016), doi:10.4204/EPTCS.223.8.
    """


def _share(command: Any, shared: Sequence[Any], name: str = "") -> None:
    """Give the shared options to a command of a name, or to those of a group."""
    parts = getattr(command, "commands", None)
    if parts is None:
        command.params += shared
        command.params += _options_of(ASKING.get(name, {}))
    for part in (parts or {}).values():
        _share(part, shared)


def _options_of(shared: Mapping[str, Any]) -> Sequence[Any]:
    """The options of a table, as if they were the parameters of a command."""

    def nothing(**_: object) -> None: ...

    parameters = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, annotation=kind, default=False if bool in get_args(kind) else None
        )
        for name, kind in shared.items()
    ]
    nothing.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    only = typer.Typer(add_completion=False)
    only.command()(nothing)
    return tuple(typer.main.get_command(only).params)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: of this process) and return its exit code; never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    output.prepare(machine="--json" in arguments)
    usual = gc.get_threshold()
    gc.set_threshold(tuning.COLLECTED_EVERY, *usual[1:])
    if argv is None:  # the program ends with it: what is left then goes all at once, without a look at it
        atexit.register(gc.freeze)
    try:
        code = _run(arguments)
        _warn_of_the_other()
        output.finish()
    except (Exception, KeyboardInterrupt) as error:
        code = exits.failure(error, NAME)
        output.tell_warnings()
    finally:
        if argv is None:  # the program ends: nobody need look for garbage in what is left
            gc.freeze()
        else:
            gc.unfreeze()  # what the command kept
        gc.set_threshold(*usual)
        options.forget()  # whoever reads something after this, in the same process, says how
    return code


def _warn_of_the_other() -> None:
    """Say so where another project's package of the same name was installed over this one."""
    other = other_project()
    if other is not None:
        output.warn(
            f"`microcosm` {other}, which is installed as well, is another project and writes into the same"
            f" package: pip uninstall microcosm, then pip install --force-reinstall {DISTRIBUTION}"
        )


@cache
def whole() -> Any:
    """All commands as one, each loaded when it is first asked for."""
    app = typer.Typer(
        name=NAME,
        cls=Commands,
        callback=describe,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=SETTINGS,
    )
    command = typer.main.get_command(app)
    as_written(command)
    return command


def _run(arguments: list[str]) -> int:
    arguments = [f"{each}=" if each in options.VALUED else each for each in arguments]
    command = whole()
    if VARIABLE in os.environ and answered(lambda: _run_command(command, arguments)):
        return exits.HOLDS
    return _run_command(command, arguments)


def _run_command(command: Any, arguments: list[str]) -> int:
    try:
        code = command.main(arguments, prog_name=NAME, standalone_mode=False)
    except SystemExit as stop:  # shell completion has answered, or typer found nobody to read its help
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        code = stop.code
    except COMPLAINT as error:
        return _usage(error)
    if code == exits.INTERRUPTED:  # typer has caught the interrupt, and said nothing
        return exits.failure(KeyboardInterrupt(), NAME)
    return code if isinstance(code, int) else exits.HOLDS


def _usage(error: Exception) -> int:
    """A complaint of the option parser: what was wrong, and how the command is used."""
    context = getattr(error, "ctx", None)
    message = complaint(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        output.complain(message)
    elif context is None:
        exits.say_fault(f"error: {message}", fields={"error": message}, code=exits.USAGE)
    else:
        usage, hint = context.get_usage(), f"Try `{context.command_path} --help`."
        fields = {"error": message, "usage": usage.removeprefix("Usage: "), "hint": hint}
        exits.say_fault(f"error: {message}", usage, hint, fields=fields, code=exits.USAGE)
    return exits.USAGE
