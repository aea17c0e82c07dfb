"""Readings: what a few lines of a constructor do for all sizes somebody has read, and here it is bound to these lines.

Each file of `mechanisms`, but for the naive twins that no exact mechanism imports, says in its docstrings why it does
what its rule supposes. `readings.json` holds a hash of each file's syntax tree, docstrings left out. Where a file has
changed, every certificate is refused until somebody has read it again and says so by

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
import tokenize
from functools import cache
from importlib.machinery import all_suffixes

from checker.forms import Fields, Refused, read

ROOT = Path(__file__).resolve().parents[1]
COPIES = {
    "mechanisms": "mechanisms.",
    "_mechanisms": "exactdp._mechanisms.",
    "exactdp/_mechanisms": "exactdp._mechanisms.",
}
"""Where the mechanisms are, in the repository, in `exactdp` or where that is installed, and their own name."""

READ = Path(__file__).with_name("readings.json")
WRITE = "checker/readings.py --write"


@cache
def require_read(root: Path = ROOT, known: Path = READ) -> dict[str, str]:
    """Check that every file of the mechanisms in a folder is as somebody has read it."""
    hashes = Fields(read(known), known.name)
    found = hashes_of(root)
    for path, digest in found.items():
        if hashes.take(path, str) != digest:
            raise Refused(f"{path} has changed since it was read; read it again, then run {WRITE}")
    hashes.done()
    return found


def hashes_of(root: Path = ROOT) -> dict[str, str]:
    """Return the hash of each file of the mechanisms in a folder, by its path in the repository."""
    for copy, own_name in COPIES.items():
        folder = root / copy
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
        if files:
            _require_sources_alone(folder if own_name == "mechanisms." else folder.parent)
            if own_name != "mechanisms.":
                _require_imports_alone(folder.parent / "__init__.py")
            kept = [file for file in files if not file.rpartition("/")[2].startswith("naive")]
            return {f"mechanisms/{file}": hash_of(folder / file, own_name) for file in kept}
    raise Refused(f"there is no file of {' or '.join(COPIES)} in {root}")


def _require_sources_alone(folder: Path) -> None:
    """Check that a folder holds nothing that Python would import in place of a file that is hashed."""
    compiled = tuple(suffix for suffix in all_suffixes() if suffix != ".py")
    for path in folder.rglob("*"):
        if path.is_symlink() or (path.name.endswith(compiled) and path.parent.name != "__pycache__"):
            raise Refused(
                f"{path} is a link or a compiled file, which Python may import in place of a file that was read"
            )


def _require_imports_alone(path: Path) -> None:
    """Check that what `exactdp` shows is its mechanisms' library as it is."""
    for node in ast.parse(path.read_bytes()).body if path.is_file() else []:
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        is_import = isinstance(node, ast.ImportFrom) and node.module == "exactdp._mechanisms.library"
        if not (is_list or _is_docstring(node) or is_import) or " as " in ast.unparse(node):
            raise Refused(f"{path} does more than to import the library")


def hash_of(path: Path, own_name: str | None = None) -> str:
    """Hash a file's syntax tree as Python reads it, in which a copy of the mechanisms has one name for itself alone."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        text = text.replace(own_name, "_own_copy.") if own_name else text
        return hashlib.sha256(_written(ast.parse(text)).encode()).hexdigest()
    except (OSError, ValueError, SyntaxError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error


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
