"""What a file that is handed in may do: compute. It may not look around, and it may not remember.

A judge that runs a program can be recognised by it: by modules that are loaded, by the stack, by how often it was
called. So files may import a few modules of pure computation only, reach nothing private, and a repair may keep nothing
between calls. These rules keep honest people honest; they are not a sandbox for hostile code, and the code runs in a
process of its own besides.
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

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


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
    repairs = any("repair" in _named(node) for node in ast.walk(tree))
    for node in ast.walk(tree):
        wrong = next(_wrong(node), None) or (next(_kept(node), None) if repairs else None)
        if wrong:
            raise UsageError(f"line {getattr(node, 'lineno', 1)}: {wrong}")
    if repairs:
        _require_no_variables(tree)
    return tree


def _named(node: ast.AST) -> set[str | None]:
    """The names that a part of a file could bind."""
    if isinstance(node, ast.alias):
        return {node.asname or node.name}
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.MatchAs | ast.MatchStar):
        return {node.name}
    return set()


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


def _kept(node: ast.AST) -> Iterator[str]:
    """What could be kept from one call to the next."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield f"{node.attr} is assigned to; a repair keeps nothing between calls"
    if isinstance(node, Definition):
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            if not isinstance(default, ast.Constant | ast.UnaryOp):
                yield "a default must be a number; a repair keeps nothing between calls"
        if not isinstance(node, ast.Lambda) and node.decorator_list:
            yield f"{node.name} has a decorator; a repair keeps nothing between calls"
    if isinstance(node, ast.ClassDef):
        yield "a class could keep something between calls; use functions"


def _require_no_variables(tree: ast.Module) -> None:
    changeable = (ast.Call, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom | ast.Expr):
            continue
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            raise UsageError(
                f"line {statement.lineno}: outside functions, a file with a repair has constants and imports"
            )
        if any(isinstance(node, changeable) for node in ast.walk(statement)):
            raise UsageError(
                f"line {statement.lineno}: a value that can change could be kept between calls; move it into a function"
            )
