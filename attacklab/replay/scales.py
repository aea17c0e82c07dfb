"""The lines that set how wide some noise is, or how probable an outcome: read off the code, from the draw back.

Only lines that were run count, and of a class or a module only what is assigned once.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from attacklab.replay.session import Site
from attacklab.replay.statements import around_line, assignments, end_of, parameters_of, statements_of
from attacklab.replay.trail import Trail

MOST_HOPS = 4
"""So many assignments and calls are gone back."""

NOT_SCALES = {"size", "shape", "loc", "mean", "mu", "a", "k", "n"}
NOT_SCALES |= {"dtype", "device", "generator", "rng", "random_state"}
"""Arguments of samplers that do not say how wide the noise is, or how probable an outcome."""

SIZED = {"random", "random_sample", "standard_normal", "randn", "rand", "standard_cauchy", "standard_exponential"}
SIZED |= {"choice", "integers", "randint", "sample", "randn_like", "rand_like"}
"""Samplers whose arguments without a name are sizes or ends."""

MECHANISMS = {"epsilon", "delta", "sensitivity", "scale", "bounds", "range"}
"""By these arguments libraries of mechanisms are told how much noise to add."""

PLAIN = ("numpy.", "random.", "scipy.", "torch.", "jax.", "secrets.")
"""Libraries whose samplers take a scale."""


def scale_lines(
    drawn: Site, samplers: Collection[str], trails: tuple[Trail, Trail], named: Collection[tuple[str, int]]
) -> list[Site]:
    """The lines that set the scale of what is drawn at a line, or how probable it is, the nearest first.

    Args:
        drawn: the line.
        samplers: what draws there.
        trails: the runs of both inputs.
        named: lines that a finding names: if one of them calls the function that draws, it is that call.
    """
    _, around = around_line(drawn)
    if not around:
        return []
    executed = {step.site[:2] for trail in trails for step in trail.steps}
    level: list[tuple[ast.expr, Site]] = [(one, drawn) for one in _says_scale(around[0], drawn.line, samplers)]
    sites: list[Site] = []
    for _ in range(MOST_HOPS):
        level = [both for one, at in level for both in _defined(one, at, trails[0].callers, executed, named)]
        sites += [site for value, site in level if not isinstance(value, ast.Name)]  # else it has another name
    return [*dict.fromkeys(sites)]


def _says_scale(statement: ast.stmt, line: int, samplers: Collection[str]) -> Iterator[ast.expr]:
    """The parts of a statement that draws which say how wide the noise is, or how probable an outcome."""
    names = {sampler.rpartition(".")[2] for sampler in samplers}
    above = {inner: node for node in ast.walk(statement) for inner in ast.iter_child_nodes(node)}
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call) or not call.lineno <= line <= (call.end_lineno or line):
            continue
        if not all(sampler.startswith(PLAIN) for sampler in samplers):
            yield from (one.value for one in call.keywords if one.arg in MECHANISMS)
            yield call.func
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name not in names:
            continue
        keywords = [one for one in call.keywords if one.arg not in NOT_SCALES]
        if name not in SIZED:
            yield from call.args[1:2] or call.args[: 0 if keywords else 1]
        yield from (one.value for one in keywords)
        node: ast.AST = call
        while isinstance(upper := above.get(node), ast.BinOp | ast.UnaryOp | ast.Compare):
            if isinstance(upper, ast.BinOp) and not isinstance(upper.op, ast.Mult | ast.Div):
                break
            yield from (one for one in ast.iter_child_nodes(upper) if isinstance(one, ast.expr) and one is not node)
            node = upper


def _defined(
    expression: ast.expr,
    at: Site,
    callers: Mapping[tuple[str, str], list[Site]],
    executed: Collection[tuple[str, int]],
    named: Collection[tuple[str, int]],
) -> Iterator[tuple[ast.expr, Site]]:
    """The lines that give an expression's variables their values, with the expressions there.

    Of several calls that give an argument it is the one that the finding names, else the first.
    """
    function, _ = around_line(at)
    tree, statements = statements_of(at.file)
    around = [one for one in statements if one.lineno <= at.line <= end_of(one)]
    classes = [one for one in around if isinstance(one, ast.ClassDef)]
    outer = [one for one in around if isinstance(one, ast.FunctionDef)][:1]
    for name in dict.fromkeys(ast.unparse(node) for node in ast.walk(expression) if _is_variable(node)):
        is_given = function is not None and name in parameters_of(function)
        rows = _assigned([function] if is_given and function is not None else outer, name)
        rows = [row for row in rows if row[0] < at.line and (at.file, row[0]) in executed][-1:]
        if not rows and is_given and function is not None:
            lines = callers.get((at.file, function.name), [])
            caller = min(lines, key=lambda line: line[:2] not in named, default=at)
            argument = _argument(function, caller, name)
            if argument is not None:
                yield argument, caller
        elif not rows:
            outside = classes if "." in name else [one for one in tree.body if not hasattr(one, "body")]
            rows = _assigned(outside, name)
        if len(rows) == 1:  # else any of them may have been the last
            yield rows[0][1], at._replace(line=rows[0][0])


def _is_variable(node: ast.AST) -> bool:
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return is_own or (isinstance(node, ast.Name) and node.id != "self")


def _assigned(within: Collection[ast.stmt], name: str) -> list[tuple[int, ast.expr]]:
    """The lines that assign a variable, and what they assign to it."""
    rows = []
    for node, target, value in (row for statement in within for row in assignments(statement)):
        stored = [one for one in ast.walk(target) if isinstance(getattr(one, "ctx", None), ast.Store)]
        if any(_is_variable(one) and ast.unparse(one) == name for one in stored):
            rows.append((node.lineno, value))
    return sorted(rows, key=lambda row: row[0])


def _argument(function: ast.FunctionDef, caller: Site, name: str) -> ast.expr | None:
    """What a call at a line gives for a parameter; None for its default."""
    _, around = around_line(caller)
    for call in ast.walk(around[0]) if around else ():
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == function.name:
            names = [one for one in parameters_of(function) if one != "self"]
            given = dict(zip(names, call.args, strict=False)) | {one.arg: one.value for one in call.keywords if one.arg}
            return given.get(name)
    return None
