"""The code that a certificate covers: a hash of each file; for each function from outside, its name and file's hash.

The hash is of the syntax tree without docstrings. The checker computes it with its own program.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import tokenize
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = __name__.rpartition(".core.")[0]
"""The package of this copy of the code. Hashes replace it by `_own_copy`, and names by `mechanisms`."""

NAME = "mechanisms"

ROOT = Path(__file__).resolve().parents[1]


@cache
def code_hashes() -> dict[str, str]:
    """Return {path: hash} for all files of the package except naive twins, which no exact mechanism runs."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    kept = [file for file in files if not file.rpartition("/")[2].startswith("naive")]
    return {f"{NAME}/{file}": _hash(ROOT / file) for file in kept}


def is_of_core(kind: type) -> bool:
    """Whether a class is defined in this package's `core`; the checker knows the rules of these classes by name."""
    module = sys.modules.get(kind.__module__)
    return kind.__module__.startswith(f"{PACKAGE}.core.") and getattr(module, kind.__qualname__, None) is kind


def named(function: Callable[..., Any] | type) -> tuple[str, str | None]:
    """Return `module:name` of a function or a class, and the hash of its file, or None if that is not a `.py` file."""
    if hasattr(function, "cache_info"):
        raise TypeError(f"{function!r} keeps what it returned, where 1 and True are one; give it without its cache")
    place, path = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    module: Any = sys.modules.get(str(place))
    found = module
    for name in str(path).split("."):
        found = getattr(found, name, None)
    if found is not function or (place == "__main__" and not hasattr(module, "__file__")):
        raise TypeError(f"{function!r} needs a name in a module that has a file; write a function on a module's level")
    file = getattr(module, "__file__", None) or ""
    return f"{place}:{path}".replace(f"{PACKAGE}.", f"{NAME}."), _hash(Path(file)) if file.endswith(".py") else None


@cache
def _hash(path: Path) -> str:
    with tokenize.open(path) as file:  # as Python reads it, whatever encoding it names
        text = file.read()
    if path.is_relative_to(ROOT):
        text = text.replace(f"{PACKAGE}.", "_own_copy.")
    return hashlib.sha256(_written(ast.parse(text)).encode()).hexdigest()


def _written(node: object) -> str:
    """Return a syntax tree, without docstrings, as text that is the same on every version of Python."""
    if isinstance(node, list):
        return f"[{','.join(_written(item) for item in node if not _is_docstring(item))}]"
    if isinstance(node, ast.Constant):
        return f"Constant({type(node.value).__name__}={node.value!r})"
    if isinstance(node, ast.AST):
        fields = [(name, getattr(node, name, None)) for name in sorted(node._fields)]
        kept = [f"{name}={_written(value)}" for name, value in fields if value is not None and value != []]
        return f"{type(node).__name__}({','.join(kept)})"
    return repr(node)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
