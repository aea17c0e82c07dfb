"""The groups of options in the help, and the options that several commands have.

A command declares its other options itself, named as its parameters are. Each help text says what the option sets, in
which unit, and what holds without it.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from typer import Option

CLAIM, INPUTS, BUDGET, WHERE, OUTPUT = "Claim", "Inputs", "Budget", "Where it runs", "Output"
"""The groups of options in the help."""


def option(group: str, help_: str, *names: str, **rest: Any) -> Any:
    """An option of a group in the help."""
    return Option(*names, help=help_, rich_help_panel=group, **rest)


Alpha: TypeAlias = Annotated[float, option(BUDGET, "Probability of a false alarm in the whole run")]
Seed: TypeAlias = Annotated[int, option(BUDGET, "Seed of all randomness", min=0, metavar="N")]
Language: TypeAlias = Annotated[str, Option("--language", help="en for English, zh for Chinese")]
Json: TypeAlias = Annotated[
    str | None, option(OUTPUT, "Write the findings to this file, or to standard output for -", metavar="FILE")
]
Verbose: TypeAlias = Annotated[
    bool | None, option(OUTPUT, "Print all findings, or the first line only", "--verbose/--quiet", "-v/-q")
]
