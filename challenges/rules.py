"""What a file that is handed in may do: compute. It may not look around.

A judge that runs a program can be recognised by it: by modules that are loaded, by the stack. So files may import a few
modules of pure computation only, and reach nothing private. These rules keep honest people honest; they are not a
sandbox for hostile code, and the code runs in a process of its own besides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attacklab.model.errors import UsageError

_IMPORTS = """
__future__ bisect challenges.library collections collections.abc decimal fractions functools itertools math numpy
numpy.typing operator typing
"""
_FORBIDDEN = """
attrgetter breakpoint builtins compile ctypeslib ForwardRef cache cached_property delattr dir dump dumps eval exec
exit f2py fromfile fromregex genfromtxt get_type_hints getattr globals help id input inspect lib load loads loadtxt
locals lru_cache memmap methodcaller open os print quit save savetxt savez savez_compressed setattr sys test testing
tofile update_wrapper vars wraps
"""
IMPORTS, FORBIDDEN = frozenset(_IMPORTS.split()), frozenset(_FORBIDDEN.split())
LONGEST = 100_000
"""Characters of a file."""


def parsed(source: str) -> ast.Module:
    """The file as a syntax tree, if it keeps the rules.

    Raises:
        UsageError: it is not Python, or breaks a rule; the message says where.
    """
    if len(source) > LONGEST:
        raise UsageError(f"has {len(source)} characters; hand in at most {LONGEST}")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise UsageError(f"{where}cannot be read as Python: {getattr(error, 'msg', error)}") from None
    for node in ast.walk(tree):
        for wrong in _wrong(node):
            raise UsageError(f"line {getattr(node, 'lineno', 1)}: {wrong}")
    return tree


def _wrong(node: ast.AST) -> Iterator[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name not in IMPORTS:
                yield _import(alias.name)
            if alias.name == "challenges.library" and not alias.asname:  # which would name the whole package
                yield f"write import {alias.name} as library"
    elif isinstance(node, ast.ImportFrom):
        if node.level or node.module not in IMPORTS:
            yield _import(node.module or "." * node.level)
        names = [alias.name for alias in node.names if node.module != "__future__"]
    elif isinstance(node, ast.Name):
        names = [node.id]
    elif isinstance(node, ast.Attribute):
        names = [node.attr]
        if node.attr.startswith("_"):
            yield f"{node.attr} is private; use public names only"
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield "global and nonlocal are not allowed; return what you compute"
    for name in names:
        if name in FORBIDDEN or (name.startswith("__") and name.endswith("__")):
            yield f"{name} is not allowed; a file may only compute"


def _import(name: str) -> str:
    return f"{name} cannot be imported; use {', '.join(sorted(IMPORTS - {'__future__'}))}"
