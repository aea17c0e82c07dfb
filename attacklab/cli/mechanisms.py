"""What in a file looks like a mechanism, read from its source: nothing of it runs."""

from __future__ import annotations

import ast
import contextlib
import shlex
from pathlib import Path

from attacklab.model.loading import CLAIM_PARAMETERS

NUMBERS = {"answer", "count", "n", "number", "total", "true_answer", "true_count", "true_value", "value", "x"}
"""Names of a parameter that takes one number."""

AFTER_INPUT: tuple[list[str], ...] = ([], ["rng"], ["trials", "rng"])
"""The parameters after the input, of a function of one value and of a release function."""

NOISE = ("random", "rng", "noise", "secrets", "laplace", "gauss")
"""Words in the source of a function that draws."""


def line_of(file: Path, name: str) -> int:
    """The line that defines the last word of a dotted name; 1 where that is not seen."""
    return next((made.lineno for made in _named(file, name)), 1)


def takes_one_number(file: Path, name: str) -> bool:
    """Whether a function has one number as its input, by the name or the type of its first parameter."""
    return any(_is_of_number(_required(made)) for made in _named(file, name))


def commands_for(file: Path) -> list[str]:
    """A command for each target of a file, and for each function that looks like a mechanism."""
    commands = []
    for name, made in _defined(file).items():
        required, last = _required(made), name.rpartition(".")[2]
        if isinstance(made, ast.Assign) and ast.unparse(made.value).startswith("Target."):
            options = ""
        elif required and [one.arg for one in required[1:]] in AFTER_INPUT and _draws(made) and last[0] != "_":
            options = (
                f" --kind {'noise' if _is_of_number(required) else 'dataset --pairs PAIRS.json'} --epsilon EPSILON"
            )
        else:
            continue
        commands.append(f"attacklab audit {shlex.quote(f'{file}:{name}')}{options}")
    return commands


def _draws(made: ast.stmt) -> bool:
    source = ast.unparse(made).lower()
    return any(word in source for word in NOISE)


def _is_of_number(required: list[ast.arg]) -> bool:
    names = [one.arg for one in required]
    if not names or names[0] in CLAIM_PARAMETERS or names[1:] not in AFTER_INPUT:
        return False
    annotation = required[0].annotation
    return ast.unparse(annotation) in ("float", "int") if annotation else names[0] in NUMBERS


def _required(made: ast.stmt) -> list[ast.arg]:
    """The parameters of a function that have no default, without `self`."""
    if not isinstance(made, ast.FunctionDef):
        return []
    parameters = [*made.args.posonlyargs, *made.args.args]
    required = parameters[: len(parameters) - len(made.args.defaults)]
    return [one for one in required if one.arg not in ("self", "cls", "bits")]


def _named(file: Path, name: str) -> list[ast.stmt]:
    last = name.rpartition(".")[2]
    return [made for known, made in _defined(file).items() if known.rpartition(".")[2] == last]


def _defined(file: Path) -> dict[str, ast.stmt]:
    """The functions, methods and variables of a file, by name."""
    defined: dict[str, ast.stmt] = {}
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
        for made in ast.parse(file.read_bytes()).body:
            if isinstance(made, ast.ClassDef):
                methods = (method for method in made.body if isinstance(method, ast.FunctionDef))
                defined |= {f"{made.name}.{method.name}": method for method in methods}
            elif isinstance(made, ast.FunctionDef):
                defined[made.name] = made
            elif isinstance(made, ast.Assign):
                defined |= {name.id: made for name in made.targets if isinstance(name, ast.Name)}
    return defined
