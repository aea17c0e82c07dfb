"""Readings: what a few lines of a constructor do for all sizes somebody has read, and here it is bound to these lines.

Each file of `mechanisms/core`, and each that they import from `mechanisms`, says in its docstrings why it does what its
rule supposes. `readings.json` holds a hash of each file's syntax tree, docstrings left out. Where a file has changed,
every certificate is refused until somebody has read it again and says so by

    python checker/readings.py --write
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import ast
import hashlib
import json
from functools import cache

from checker.forms import Fields, Refused, read

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "mechanisms"
CORE = Path(PACKAGE, "core")
READ = Path(__file__).with_name("readings.json")
WRITE = "checker/readings.py --write"


@cache
def require_read(root: Path = ROOT, known: Path = READ) -> tuple[str, ...]:
    """Check that every file of the core is as somebody has read it.

    Returns:
        The files.

    Raises:
        Refused: one has changed, came, or went.
    """
    hashes = Fields(read(known), known.name)
    found = hashes_of(root)
    for path, digest in found.items():
        if hashes.take(path, str) != digest:
            raise Refused(f"{path} has changed since it was read; read it again, then run {WRITE}")
    hashes.done()
    return tuple(found)


def hashes_of(root: Path = ROOT) -> dict[str, str]:
    """Return the hash of each file of the core and of what they import from `mechanisms`, by its path."""
    waiting = sorted(path.relative_to(root) for path in (root / CORE).rglob("*.py"))
    if not waiting:
        raise Refused(f"there is no file in {CORE}")
    hashes: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        if path.as_posix() in hashes:
            continue
        tree = ast.parse((root / path).read_bytes())
        hashes[path.as_posix()] = hashlib.sha256(_written(tree).encode()).hexdigest()
        waiting += [there for name in _imported(tree) for there in _files(name, root)]
    return dict(sorted(hashes.items()))


def _written(node: object) -> str:
    """Write a syntax tree in one way on every version of Python: no places, no docstrings, no empty fields."""
    if isinstance(node, list):
        return f"[{','.join(_written(item) for item in node if not _is_docstring(item))}]"
    if isinstance(node, ast.AST):
        fields = [(name, getattr(node, name, None)) for name in sorted(node._fields)]
        kept = [f"{name}={_written(value)}" for name, value in fields if value is not None and value != []]
        if isinstance(node, ast.Constant):
            kept = [f"{type(node.value).__name__}={node.value!r}"]
        return f"{type(node).__name__}({','.join(kept)})"
    return repr(node)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE}


def _files(name: str, root: Path) -> list[Path]:
    path = Path(*name.split("."))
    return [file for file in (path.with_suffix(".py"), path / "__init__.py") if (root / file).is_file()]


def main(arguments: list[str]) -> int:
    """Say which files have to be read, or write that all have been."""
    found = hashes_of()
    if arguments == ["--write"]:
        READ.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        return 0
    if arguments:
        print("usage: python checker/readings.py [--write]", file=sys.stderr)
        return 2
    known = read(READ) if READ.is_file() else {}
    changed = [path for path in sorted({*found, *known}) if found.get(path) != known.get(path)]
    print("\n".join(f"to be read: {path}" for path in changed) or "all files are as they were read")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
