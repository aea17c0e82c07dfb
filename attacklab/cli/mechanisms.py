"""Find what looks like a mechanism in a Python file. The source is parsed, not run."""

import ast
import contextlib
import shlex
from pathlib import Path

from attacklab.loading.targets import CLAIM_PARAMETERS

NUMBERS = {"answer", "count", "n", "number", "total", "true_answer", "true_count", "true_value", "value", "x"}
"""Parameter names that mean that the parameter is one number."""

AFTER_INPUT: tuple[list[str], ...] = ([], ["rng"], ["trials", "rng"])
"""The parameters that may follow the input: none or `rng` for one output, `trials` and `rng` for a release."""

NOISE = ("random", "rng", "noise", "secrets", "laplace", "gauss")
"""Words that mark the source of a function that draws random numbers."""


def line_of(target: str) -> int:
    """Return the line of FILE.py that defines the last part of NAME in FILE.py:NAME; 1 if it is not found."""
    return next((made.lineno for made in _named(target)), 1)


def takes_one_number(target: str) -> bool:
    """Whether the function FILE.py:NAME has one number as its input, by its first parameter's name or type."""
    return any(map(_is_of_number, _named(target)))


def commands_for(file: Path) -> list[str]:
    """Return an audit command for each target, and each function of one input whose source has a word of `NOISE`."""
    commands = []
    for name, made in _defined(file).items():
        is_target = isinstance(made, ast.Assign) and ast.unparse(made.value).startswith("Target.")
        required, source = [each.arg for each in _required(made)], ast.unparse(made).lower()
        draws = bool(required) and required[1:] in AFTER_INPUT and any(word in source for word in NOISE)
        if is_target or (draws and not name.rpartition(".")[2].startswith("_")):
            kind = "noise" if _is_of_number(made) else "dataset --pairs PAIRS.json"
            options = "" if is_target else f" --kind {kind} --epsilon EPSILON"
            commands.append(f"attacklab audit {shlex.quote(f'{file}:{name}')}{options}")
    return commands


def _is_of_number(made: ast.stmt) -> bool:
    required = _required(made)
    names = [parameter.arg for parameter in required]
    if not names or names[0] in ("epsilon", *CLAIM_PARAMETERS) or names[1:] not in AFTER_INPUT:
        return False
    annotation = required[0].annotation
    return ast.unparse(annotation) in ("float", "int") if annotation else names[0] in NUMBERS


def _required(made: ast.stmt) -> list[ast.arg]:
    """Return a function's parameters without a default, except `self`, `cls` and `bits`; empty for other statements."""
    if not isinstance(made, ast.FunctionDef):
        return []
    parameters = [*made.args.posonlyargs, *made.args.args]
    required = parameters[: len(parameters) - len(made.args.defaults)]
    return [parameter for parameter in required if parameter.arg not in ("self", "cls", "bits")]


def _named(target: str) -> list[ast.stmt]:
    file, _, name = target.rpartition(":")
    last = name.rpartition(".")[2]
    known = _defined(Path(file)) if file.endswith(".py") else {}
    return [made for known_name, made in known.items() if known_name.rpartition(".")[2] == last]


def _defined(file: Path) -> dict[str, ast.stmt]:
    """Return the functions, variables and methods of a file by name; a method as OBJECT.NAME, or else CLASS.NAME."""
    body: list[ast.stmt] = []
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
        body = ast.parse(file.read_bytes()).body
    variables = {
        name.id: made
        for made in body
        if isinstance(made, ast.Assign)
        for name in made.targets
        if isinstance(name, ast.Name)
    }
    defined: dict[str, ast.stmt] = {made.name: made for made in body if isinstance(made, ast.FunctionDef)}
    for made in body:
        if isinstance(made, ast.ClassDef):
            objects = [
                name for name, value in variables.items() if ast.unparse(value.value).startswith(f"{made.name}(")
            ]
            methods = [method for method in made.body if isinstance(method, ast.FunctionDef)]
            defined |= {f"{owner}.{method.name}": method for owner in objects or [made.name] for method in methods}
    return defined | variables
