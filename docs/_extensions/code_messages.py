"""What the code cells of a page say to a reader, by comments and by strings, and how they say it in another language.

A message is the text of a comment, or that of a string as it stands between its quotes, without spaces at the ends.
A string is a message if it has a word and is printed, labels a picture, is a docstring, or contains a space. The places
in braces of an f-string are part of its message, and a translation has to keep them. The cells of a translated page are
the same programs: every string equal to a message is replaced, keys among them, and a translation that changes anything
else is refused.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?P<options>---\n.*?\n---\n|(?::[^\n]*\n)*)(?P<source>.*?)^```$", re.M | re.S
)
LABELS = ("label", "title", "xlabel", "ylabel")
SETTERS = ("set_title", "set_xlabel", "set_ylabel")

_LITERAL = re.compile(r"(?P<before>[fF]?(?P<quote>\"\"\"|'''|\"|'))(?P<text>.*)(?P=quote)", re.S)
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIELD = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_ALTERNATIVE = re.compile(r"^ +alt: (.*)$", re.M)
_FORMULA = re.compile(r"\$[^$]*\$")


@dataclass(frozen=True)
class _Piece:
    """A comment or a string of a cell: its text, where that text stands in the source, and whether a reader sees it."""

    text: str
    start: int
    end: int
    shown: bool


def messages(page: str) -> list[str]:
    """What the cells that a page shows say, each message once, in their order; and what is said of their pictures.

    Raises:
        SyntaxError: a cell is not Python.
    """
    shown = [cell for cell in CELL.finditer(page) if "remove-cell" not in cell["options"]]
    texts = [
        message
        for cell in shown
        for message in (
            *_ALTERNATIVE.findall(cell["options"]),
            *(piece.text for piece in _pieces(cell["source"]) if piece.shown),
        )
    ]
    return list(dict.fromkeys(texts))


def translated(page: str, translations: Mapping[str, str]) -> str:
    """The page with the comments and strings of its cells translated; those without a translation stay.

    Raises:
        ValueError: a translation would change the program.
        SyntaxError: a cell is not Python.
    """
    return CELL.sub(
        lambda cell: (
            cell[0][: cell.start("source") - cell.start()]
            + _translated_cell(cell["source"], translations)
            + cell[0][cell.end("source") - cell.start() :]
        ),
        page,
    )


def _translated_cell(source: str, translations: Mapping[str, str]) -> str:
    before = ast.dump(_Shape().visit(ast.parse(source)))
    result = source
    for piece in sorted(_pieces(source), key=lambda piece: piece.start, reverse=True):
        if piece.text in translations:
            translation = translations[piece.text]
            result = result[: piece.start] + translation + result[piece.end :]
            if not _is_same(before, result):
                hint = "keep the places in braces, and use no straight quotes"
                message = f"{translation!r} for {piece.text!r} changes the program; {hint}"
                raise ValueError(message)
    return result


def _is_same(shape: str, source: str) -> bool:
    try:
        return ast.dump(_Shape().visit(ast.parse(source))) == shape
    except SyntaxError:
        return False


class _Shape(ast.NodeTransformer):
    """A program without the text of its strings; the places in an f-string count, and not their order."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        fields = [value for value in node.values if isinstance(value, ast.FormattedValue)]
        return ast.JoinedStr(sorted(fields, key=ast.dump))


def _pieces(source: str) -> Iterator[_Piece]:
    """The comments and strings of a cell."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("# ")
            end = starts[token.end[0] - 1] + token.end[1]
            yield _Piece(text, end - len(text), end, _WORD.search(text) is not None)
    tree = ast.parse(source)
    shown, options = set(_shown(tree)), set(_options(tree))
    for node in _strings(tree):
        ends = ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        first, last = (starts[row - 1] + len(lines[row - 1].encode()[:column].decode()) for row, column in ends)
        if match := _LITERAL.fullmatch(source[first:last]):
            text = match["text"].strip()
            start = first + match.start("text") + match["text"].index(text)
            prose = _FORMULA.sub("", _FIELD.sub("", text) if isinstance(node, ast.JoinedStr) else text)
            is_shown = (node in shown or " " in text) and node not in options and _WORD.search(prose) is not None
            yield _Piece(text, start, start + len(text), is_shown)


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings of a program, and not those within f-strings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            yield child
        else:
            yield from _strings(child)


def _shown(tree: ast.AST) -> Iterator[ast.AST]:
    """What is printed, labels a picture, or is a docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
        elif isinstance(node, ast.keyword) and node.arg in LABELS:
            yield node.value
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name == "print" or name in SETTERS:
                for argument in node.args:
                    yield from (argument.body, argument.orelse) if isinstance(argument, ast.IfExp) else (argument,)


def _options(tree: ast.AST) -> Iterator[ast.AST]:
    """Values of Matplotlib's options that contain a space."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "loc")
