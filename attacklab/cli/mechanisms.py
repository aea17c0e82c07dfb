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


def line_of(file: Path, name: str) -> int:
    """Return the line that defines the last part of a dotted name; 1 if it is not found."""
    return next((made.lineno for made in _named(file, name)), 1)


def takes_one_number(file: Path, name: str) -> bool:
    """Whether a function has one number as its input, by the name or the type of its first parameter."""
    return any(_is_of_number(made) for made in _named(file, name))


def commands_for(file: Path) -> list[str]:
    """Return an audit command for each target in a file, and for each function that looks like a mechanism."""
    commands = []
    for name, made in _defined(file).items():
        options = ""
        if not (isinstance(made, ast.Assign) and ast.unparse(made.value).startswith("Target.")):
            if not _looks_like_mechanism(made) or name.rpartition(".")[2].startswith("_"):
                continue
            options = f" --kind {'noise' if _is_of_number(made) else 'dataset --pairs PAIRS.json'} --epsilon EPSILON"
        commands.append(f"attacklab audit {shlex.quote(f'{file}:{name}')}{options}")
    return commands


def _looks_like_mechanism(made: ast.stmt) -> bool:
    """Whether a statement defines a function of one input whose source has a word of `NOISE`."""
    required, source = _required(made), ast.unparse(made).lower()
    return (
        bool(required) and [each.arg for each in required[1:]] in AFTER_INPUT and any(map(source.__contains__, NOISE))
    )


def _is_of_number(made: ast.stmt) -> bool:
    required = _required(made)
    names = [parameter.arg for parameter in required]
    if not names or names[0] in CLAIM_PARAMETERS or names[1:] not in AFTER_INPUT:
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


def _named(file: Path, name: str) -> list[ast.stmt]:
    last = name.rpartition(".")[2]
    return [made for known, made in _defined(file).items() if known.rpartition(".")[2] == last]


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
    defined: dict[str, ast.stmt] = {}
    for made in body:
        if isinstance(made, ast.FunctionDef):
            defined[made.name] = made
        elif isinstance(made, ast.ClassDef):
            objects = [
                name for name, value in variables.items() if ast.unparse(value.value).startswith(f"{made.name}(")
            ]
            methods = [method for method in made.body if isinstance(method, ast.FunctionDef)]
            owners = objects or [made.name]
            defined |= {f"{owner}.{method.name}": method for owner in owners for method in methods}
    return defined | variables
