"""Which certificates a mutant touches: those whose functions can come to run the edited one, by the names in sources.

Names are followed through definitions and imports; an attribute that is not of an imported module stands for every
method or property of that name in the certificate's sources. So too much is found rather than too little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.mutants.listing import ROOT
from bench.mutants.mutant import Mutant

Place = tuple[str, str]
"""A module, below `mechanisms`, and a function, class or constant in it, by its qualified name."""


@dataclass
class _Module:
    """The definitions of a module, and what its names stand for."""

    places: dict[str, ast.AST] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


def reached(certificate: Mapping[str, Any], root: Path) -> set[Place]:
    """Find all that the functions of a certificate, and the classes of its parameters, can come to run."""
    modules = {_name_of(path): _read(root / path) for path in certificate["sources"]}
    waiting = [_place(name) for name in certificate["functions"].values()]
    waiting += [_place(name) for name in _classes(certificate["parameters"])]
    found: set[Place] = set()
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        if place[1] not in modules[place[0]].places:
            waiting += _followed(modules[place[0]].imported.get(place[1], ("", "")), modules)
            continue
        found.add(place)
        waiting += _named_in(place, modules)
    return found


def touched(mutant: Mutant, places: set[Place]) -> bool:
    """Say whether a mutant's edit lies in one of these places."""
    if mutant.function:
        parts = mutant.function.split(".")
        first = 2 if parts[0].strip("_")[0].isupper() else 1  # of a class, a method counts and the class does not
        return any((mutant.module, ".".join(parts[:length])) in places for length in range(first, len(parts) + 1))
    edited = _edited(ast.parse((ROOT / mutant.path).read_bytes()).body, ast.parse(mutant.text).body)
    return any(module == mutant.module and (edited is None or name in edited) for module, name in places)


def _edited(before: list[ast.stmt], after: list[ast.stmt]) -> set[str] | None:
    """Find the constants of a module that an edit changes; None if it changes something else, and so everything."""
    changed = [one for one, other in zip(before, after, strict=False) if ast.dump(one) != ast.dump(other)]
    if len(before) != len(after) or not all(isinstance(one, ast.Assign | ast.AnnAssign | ast.With) for one in changed):
        return None
    nodes = [node for one in changed for node in ast.walk(one) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def _read(path: Path) -> _Module:
    module = _Module()
    for statement in ast.parse(path.read_bytes()).body:
        _define(statement, "", module)
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                module.imported[alias.asname or alias.name] = (statement.module, alias.name)
    return module


def _define(statement: ast.stmt, outer: str, module: _Module) -> None:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        name = f"{outer}.{statement.name}".lstrip(".")
        module.places[name] = statement
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                _define(inner, name, module)
    elif isinstance(statement, ast.With):
        for inner in statement.body:
            _define(inner, outer, module)
    elif isinstance(statement, ast.Assign | ast.AnnAssign) and not outer:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                module.places[node.id] = statement


def _named_in(place: Place, modules: Mapping[str, _Module]) -> Iterator[Place]:
    """Find what a definition names; of a class, its own statements and those methods that Python calls by itself."""
    name, qualified = place
    module = modules[name]
    definition = module.places[qualified]
    nodes: list[ast.AST] = [definition]
    if isinstance(definition, ast.ClassDef):
        nodes = [one for one in definition.body if not isinstance(one, ast.FunctionDef)] + list(definition.bases)
        yield from ((name, one) for one in module.places if one.startswith(f"{qualified}.__"))
    for node in (inner for one in nodes for inner in ast.walk(one)):
        if isinstance(node, ast.Name) and node.id in module.places:
            yield name, node.id
        elif isinstance(node, ast.Name) and node.id in module.imported:
            yield from _followed(module.imported[node.id], modules)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in module.imported:
                source, alias = module.imported[node.value.id]
                if _below(f"{source}.{alias}") in modules:
                    yield _below(f"{source}.{alias}"), node.attr
                    continue
            for other, content in modules.items():
                yield from ((other, one) for one in content.places if one.endswith(f".{node.attr}"))


def _followed(imported: tuple[str, str], modules: Mapping[str, _Module]) -> Iterator[Place]:
    source, name = imported
    if _below(source) in modules:
        yield _below(source), name


def _below(module: str) -> str:
    return module.removeprefix("mechanisms.").replace(".", "/")


def _name_of(path: str) -> str:
    return path.removeprefix("mechanisms/").removesuffix(".py")


def _place(name: str) -> Place:
    module, _, function = name.partition(":")
    return _below(module), function


def _classes(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("of"), str):
            yield value["of"]
        for item in value.values():
            yield from _classes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _classes(item)
