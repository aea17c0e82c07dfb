"""Digests of the code that made a report: one for each package of the checkout that its experiment imports.

Docstrings, comments and layout do not count, nor do data files. Imports are read from the source, not run, so that a
digest costs seconds. They are followed: `from attacklab.auditing.referee import audit` counts the module
`attacklab.auditing.referee` and what it imports. A package's `__init__` counts only if something is imported from it.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

LETTERS = 12
"""How many hexadecimal digits of a digest are kept."""


def code_of(tree: ast.AST) -> str:
    """Return a module's syntax tree as text. First remove docstrings and other bare strings from `tree`, in place."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, field, None), list):
                setattr(node, field, [statement for statement in statements if not _is_text(statement)])
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def digests(root: Path, module: str) -> Mapping[str, str]:
    """Return a digest of each top-level package of the checkout that a module imports, directly or through others.

    Args:
        root: the checkout.
        module: the dotted name of a module in it.

    Returns:
        Digests by the packages' names; empty if the checkout has no such module.
    """
    reached: dict[str, str] = {}
    waiting = [module] if _file(root, module) else []
    while waiting:
        name = waiting.pop()
        file = _file(root, name)
        if name not in reached and file is not None:
            reached[name], imported = _read(root, name, file, file.stat().st_mtime_ns)
            waiting += imported
    rooms: dict[str, list[str]] = {}
    for name in sorted(reached):
        rooms.setdefault(name.partition(".")[0], []).append(f"{name} {reached[name]}")
    return {room: _digest("\n".join(lines)) for room, lines in rooms.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


def _file(root: Path, module: str) -> Path | None:
    """Return the file of a module of the checkout; None for a module from elsewhere."""
    path = root / module.replace(".", "/")
    candidates = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in candidates if file.is_file()), None)


@functools.cache
def _read(root: Path, name: str, file: Path, changed: int) -> tuple[str, list[str]]:  # noqa: ARG001 - when it was read
    """Return the digest of a module, and the names of the modules that it may import."""
    tree = ast.parse(file.read_bytes())
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    imported = list(_imported(root, package, tree))
    return _digest(code_of(tree)), imported


def _imported(root: Path, package: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inside = f"{home}.{alias.name}"
                yield inside if _file(root, inside) else home
