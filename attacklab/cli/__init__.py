"""The command line: `attacklab` and the name of one of `COMMANDS`.

To add a command, write a module in this package with a function `command` and add a line to `COMMANDS`. A command's
module is imported only when that command is used, so it may import at its top whatever it needs.

`Status` lists the exit statuses. A user's mistake ends in one line on standard error, and a bug ends in a traceback.
The status of both is 2.
"""

import importlib
import io
import os
import sys
import traceback
from importlib import metadata
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from attacklab.cli.messages import Status, say
from attacklab.model.errors import UsageError


class Command(NamedTuple):
    """A command."""

    name: str  # the word after `attacklab`
    module: str  # the name of its module in this package
    summary: str  # one line for `attacklab --help`, the first line of its function's docstring
    function: str = "command"  # the name of its function in that module


COMMANDS = (
    Command("list", "list_", "List what there is to attack or run; explain a flaw."),
    Command("run", "clone", "Run experiments (in a clone); write data, figures and a page.", "run"),
    Command("audit", "audit", "Run every attack that applies against a target."),
    Command("prove", "prove", "Decide a claim by exact laws or by a certificate."),
    Command("poc", "audit", "Write a finding as one script that shows it to a maintainer.", "poc"),
    Command("calibrate", "cases", "Hold a formula for noise to certified bounds.", "calibrate"),
    Command("demo", "clone", "Show attacks live, on naive and exact twins (in a clone).", "demo"),
    Command("challenge", "clone", "List challenges, or judge what was handed in (in a clone).", "challenge"),
    Command("vectors", "cases", "Hold a program to the test vectors.", "vectors"),
)


class _OnDemand(TyperGroup):
    """The group of all commands. It imports a command's module only when that command is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known, rest = super().resolve_command(ctx, args)
        return name, known and command_of(next(command for command in COMMANDS if command.name == name)), rest


class _Grouped(TyperCommand):
    """A command whose help shows its options by groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if described := parameter.get_help_record(ctx):
                group = getattr(parameter, "rich_help_panel", None) or f"{parameter.param_type_name.title()}s"
                groups.setdefault(group, []).append(described)
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


def _application(**rest: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **rest,
    )


def command_of(command: Command) -> Any:
    """Import a command's module, and return the command as a click command with its parameters."""
    alone, module = _application(), importlib.import_module(f"{__name__}.{command.module}")
    alone.command(command.name, cls=_Grouped)(getattr(module, command.function))
    return get_command(alone)


app = _application(
    cls=_OnDemand,
    help="Attack implementations of differential privacy, and say with what confidence they are broken.",
    no_args_is_help=True,
)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"attacklab {metadata.version('attacklab')}")
        raise typer.Exit(Status.OK)


VERSION = typer.Option("--version", help="Show the version and exit.", callback=_tell_version, is_eager=True)


@app.callback()
def _start(_version: Annotated[bool, VERSION] = False) -> None: ...


for _command in COMMANDS:
    app.command(_command.name, help=_command.summary)(lambda: None)


def _flush_output() -> None:
    """Write what is left to standard output, unless nobody reads it any more; raise OSError on a full disk."""
    try:
        sys.stdout.flush()
    except OSError as error:  # as the process ends it would be tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            _flush_output()
    except (UsageError, OSError) as error:
        names_file = isinstance(error, OSError) and error.filename and error.strerror
        say(f"{error.filename}: {error.strerror}" if names_file else str(error))  # type: ignore[union-attr]
    except SystemExit:
        raise
    except BaseException:  # a bug, whose status must not be that of a refuted claim
        traceback.print_exc()
    sys.exit(Status.FAILED)
