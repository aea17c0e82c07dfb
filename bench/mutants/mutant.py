"""What a mutant is: one edit of one module, named by the text that it edits, so that it is the same when code moves."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Mutant:
    """One edit.

    Args:
        module: the path of the module below `mechanisms`, without its ending.
        function: the function or method that is edited, by its qualified name; empty for the module itself.
        before: the line that is edited.
        after: what it becomes.
        text: the whole text of the module's mutant.
        thought_up: whether somebody wrote it rather than an operator.
        effect: what it changes, if somebody said so.
        keeps: what holds all the same, and why; see `Written`.
    """

    module: str
    function: str
    before: str
    after: str
    text: str
    thought_up: bool = False
    effect: str = ""
    keeps: str = ""

    @property
    def key(self) -> str:
        """Ten digits that name the edit."""
        named = "\n".join((self.module, self.function, self.before, self.after))
        return hashlib.sha256(named.encode()).hexdigest()[:10]

    @property
    def path(self) -> str:
        """The file, below the repository's root."""
        return f"mechanisms/{self.module}.py"


@dataclass(frozen=True)
class Written:
    """A mutant that somebody thought up.

    Args:
        module: as for `Mutant`.
        function: as for `Mutant`.
        before: what is replaced, which the function's source has once.
        after: what replaces it.
        effect: what it changes.
        keeps: what holds all the same, and why: "law: …" if the law of every target is the same at its parameters,
            "claim: …" if the law changes and no claim fails; empty if a claim fails.
    """

    module: str
    function: str
    before: str
    after: str
    effect: str
    keeps: str = ""

    def applied_to(self, source: str) -> Mutant:
        """Make the mutant of a module's text.

        Raises:
            ValueError: the function is not there, or it does not have the text exactly once.
        """
        start, end = _extent(source, self.function)
        within = source[start:end]
        if within.count(self.before) != 1:
            raise ValueError(f"{self.module}:{self.function} has {self.before!r} {within.count(self.before)} times")
        changed = source[:start] + within.replace(self.before, self.after) + source[end:]
        ast.parse(changed)
        return Mutant(self.module, self.function, self.before, self.after, changed, True, self.effect, self.keeps)


def _extent(source: str, function: str) -> tuple[int, int]:
    """Return where a function begins and ends, the whole module if its name is empty."""
    if not function:
        return 0, len(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    node: ast.AST = ast.parse(source)
    for name in function.split("."):
        found = [one for one in ast.iter_child_nodes(node) if getattr(one, "name", None) == name]
        if not found:
            raise ValueError(f"there is no {function}")
        node = found[0]
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        raise ValueError(f"{function} is not a function or a class")
    return starts[node.lineno - 1], starts[node.end_lineno or node.lineno]
