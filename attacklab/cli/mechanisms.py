"""What in a file looks like a mechanism, read from its source: nothing of it runs."""

from __future__ import annotations

import ast
import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path

from attacklab.model.loading import CLAIM_PARAMETERS

NUMBERS = {"answer", "count", "n", "number", "total", "true_answer", "true_count", "true_value", "value", "x"}
"""Names of a parameter that takes one number."""

AFTER_INPUT: tuple[list[str], ...] = ([], ["rng"], ["trials", "rng"])
"""The parameters after the input, of a function of one value and of a release function."""


def line_of(file: Path, name: str) -> int:
    """The line that defines the last word of a dotted name; 1 where that is not seen."""
    return next((line for known, line, _ in _defined(file) if known.rpartition(".")[2] == name.rpartition(".")[2]), 1)


def takes_one_number(file: Path, name: str) -> bool:
    """Whether a function has one number as its input, by the name or the type of its first parameter."""
    return any(
        _is_of_number(made) for known, _, made in _defined(file) if known.rpartition(".")[2] == name.rpartition(".")[2]
    )


def commands_for(file: Path) -> list[str]:
    """A command for each target of a file, and for each function that looks like a mechanism."""
    return [
        f"attacklab audit {shlex.quote(f'{file}:{name}')}{_options(made)}"
        for name, _, made in _defined(file)
        if _looks(name, made)
    ]


def _looks(name: str, made: ast.stmt) -> bool:
    if isinstance(made, ast.Assign):
        called = made.value.func if isinstance(made.value, ast.Call) else None
        return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "Target"
    draws = any(word in ast.unparse(made).lower() for word in ("random", "rng", "noise", "secrets", "laplace", "gauss"))
    return (
        not name.rpartition(".")[2].startswith("_")
        and draws
        and [one.arg for one in _required(made)[1:]] in AFTER_INPUT
        and bool(_required(made))
    )


def _options(made: ast.stmt) -> str:
    if isinstance(made, ast.Assign):
        return ""
    return f" --kind {'noise' if _is_of_number(made) else 'dataset --pairs PAIRS.json'} --epsilon EPSILON"


def _is_of_number(made: ast.stmt) -> bool:
    required = _required(made)
    names = [one.arg for one in required]
    if not names or names[0] in CLAIM_PARAMETERS or names[1:] not in AFTER_INPUT:
        return False
    written = ast.unparse(required[0].annotation) if required[0].annotation else ""
    return written in ("float", "int") if written else names[0] in NUMBERS


def _required(made: ast.stmt) -> list[ast.arg]:
    """The parameters of a function that have no default, without `self`."""
    if not isinstance(made, ast.FunctionDef):
        return []
    parameters = [*made.args.posonlyargs, *made.args.args]
    required = parameters[: len(parameters) - len(made.args.defaults)]
    return [one for one in required if one.arg not in ("self", "cls", "bits")]


def _defined(file: Path) -> Iterator[tuple[str, int, ast.stmt]]:
    """What a file defines: names, lines and statements; methods as `Class.method`, after all else."""
    tree = ast.Module([], [])
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
        tree = ast.parse(file.read_bytes())
    for made in tree.body:
        if isinstance(made, ast.FunctionDef | ast.ClassDef):
            yield made.name, made.lineno, made
        elif isinstance(made, ast.Assign):
            yield from ((one.id, made.lineno, made) for one in made.targets if isinstance(one, ast.Name))
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = (made for made in owner.body if isinstance(made, ast.FunctionDef))
            yield from ((f"{owner.name}.{made.name}", made.lineno, made) for made in methods)
