"""Certificates: what is stated of an exact mechanism for every pair of neighbours, with the evidence, as JSON.

A certificate proves nothing by itself. The checker, a program of its own in `checker/`, accepts or refuses it; it
shares no code with this module, and its `checker/core/certificate.py` says what each field means.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

SCHEMA = "attacklab-certificate/1"


@dataclass(frozen=True)
class Draft:
    """What somebody who knows a mechanism says of it, before it is bound to its sources.

    Args:
        theorem: the theorem of the checker that applies.
        functions: the functions that run, by their role in the theorem.
        parameters: the public parameters that they are called with.
        neighbours: which inputs are neighbours, in the theorem's words.
        claim: what is promised, as JSON.
        evidence: what the theorem's checker asks for, as JSON.
    """

    theorem: str
    functions: Mapping[str, Callable[..., Any]]
    parameters: Mapping[str, Any]
    neighbours: str
    claim: Mapping[str, Any]
    evidence: Mapping[str, Any] = field(default_factory=dict)


def certificate(mechanism: str, draft: Draft) -> dict[str, Any]:
    """Bind a draft to the sources of its functions.

    Args:
        mechanism: the name of what is proved.
        draft: the statement and its evidence.

    Returns:
        The certificate, to be written as JSON.
    """
    objects = [*draft.functions.values(), *_objects(draft.parameters)]
    modules = {inspect.getmodule(one if callable(one) else type(one)) for one in objects}
    return {
        "schema": SCHEMA,
        "mechanism": mechanism,
        "theorem": draft.theorem,
        "functions": {role: _name(function) for role, function in draft.functions.items()},
        "parameters": encoded(draft.parameters),
        "neighbours": draft.neighbours,
        "claim": dict(draft.claim),
        "sources": _sources([module for module in modules if module is not None]),
        "evidence": dict(draft.evidence),
    }


def to_text(written: Mapping[str, Any]) -> str:
    """Return the text of a certificate, the same for the same certificate."""
    return json.dumps(written, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def encoded(value: Any) -> Any:
    """Encode a public parameter as JSON; `checker.core.certificate.decoded` reads it.

    Raises:
        TypeError: it is of a type that certificates have no form for.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Fraction):
        return {"rational": str(value)}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {name: encoded(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {"of": _name(type(value))} | {
            one.name: encoded(getattr(value, one.name)) for one in fields(value) if one.init
        }
    raise TypeError(f"a certificate has no form for a parameter of type {type(value).__name__}")


def _name(one: Callable[..., Any]) -> str:
    return f"{one.__module__}:{one.__qualname__}"


def _objects(value: Any) -> list[Any]:
    """Return the objects with fields among some parameters, and theirs."""
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in _objects(item)]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _objects(item)]
    if is_dataclass(value):
        return [value, *(found for one in fields(value) for found in _objects(getattr(value, one.name)))]
    return []


def _sources(modules: list[Any]) -> dict[str, str]:
    """Return the SHA-256 of the files of some modules, and of all that they import from their own packages, by path."""
    files: dict[str, str] = {}
    for top in {module.__name__.partition(".")[0] for module in modules}:
        root = Path(sys.modules[top].__file__).parents[hasattr(sys.modules[top], "__path__")]  # type: ignore[arg-type]
        own = [module for module in modules if module.__name__.partition(".")[0] == top]
        waiting = [Path(module.__file__).relative_to(root) for module in own]
        while waiting:
            path = waiting.pop()
            if path.as_posix() in files or not (root / path).is_file():
                continue
            content = (root / path).read_bytes()
            files[path.as_posix()] = hashlib.sha256(content).hexdigest()
            folder = path.parent.parent if path.name == "__init__.py" else path.parent
            waiting += [] if folder == Path() else [folder / "__init__.py"]
            waiting += [found for name in _imported(content) if name.partition(".")[0] == top for found in _files(name)]
    return dict(sorted(files.items()))


def _imported(content: bytes) -> list[str]:
    """Return the names that a source file imports, wherever it does: modules, and what may be modules."""
    found: list[str] = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def _files(module: str) -> list[Path]:
    """Return the files that a module may be."""
    path = Path(*module.split("."))
    return [path.with_suffix(".py"), path / "__init__.py"]
