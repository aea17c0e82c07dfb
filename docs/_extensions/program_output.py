"""What the lab's programs print and draw, in the language of the page.

Outputs of cells, and blocks of `console` and of `text`, stay as a reader's own screen shows them: in English. Under
each stands what its sentences say. One catalogue has them, docs/locale/LANGUAGE/program_output.po: patterns, with a
name in braces for each part that varies. Its entries in the context `figure` are labels of the reports' figures, which
are drawn once, in English: where a translated page shows such a figure, it shows a copy with labels in its language. A
build fails on a printed sentence or a label that has no entry, and on an entry that is on no page.
"""

from __future__ import annotations

import ast
import html
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from babel.messages.pofile import read_po
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.matching import Matcher

LABEL = {"zh_CN": "译文"}
"""What stands before the sentences, by the language of the site."""
CATALOGUE = "program_output.po"
PRINTED = ("console", "text")
"""The languages of blocks that show what a program prints."""
PRINTS = "printed sentences"
"""What Sphinx remembers of a page under this name: the patterns that fit, and the labels of its figures."""

FIGURES = "reports/figures/"
"""Where figures with labels in English are."""

_LABEL = re.compile(r"(<text\b[^>]*>)([^<]*)(?=</text>)")
_WORDS = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")
_NAME = re.compile(r"\{(\w+)\}")
_JOINED = {";": "；", ":": "：", "": ""}
"""What joins two parts of a sentence, as printed and in Chinese; nothing joins them after a colon."""
_PROSE = re.compile(r"(?<![\w./-])[A-Za-z]{2,}(?:,? [a-z]{2,}){2,}(?![\w./(=])")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pattern:
    """A sentence that programs print, or a part of one.

    Attributes:
        sentence: the sentence, with a name in braces for each part that varies.
        meaning: what it says in another language, with the same names.
    """

    sentence: str
    meaning: str

    def __post_init__(self) -> None:
        if sorted(_NAME.findall(self.sentence)) != sorted(_NAME.findall(self.meaning)):
            message = f"{self.meaning!r} has not the same names in braces as {self.sentence!r}"
            raise ValueError(message)

    @property
    def words(self) -> list[str]:
        """What stands between the names."""
        return _NAME.split(self.sentence)[::2]

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Where a text has this sentence; it may run over several lines, if the others are indented."""
        if all(" ".join(words.split()) in " ".join(text.split()) for words in self.words):
            parts = _NAME.split(self.sentence)
            expressions = [re.sub(r"\\? ", r"\\s+", re.escape(part)) for part in parts]
            for place in range(1, len(parts), 2):
                over_lines = r"\n(?= )" if parts[0] or place > 1 else r"(?!)"
                expressions[place] = rf"(?P<{parts[place]}>(?=\S)(?:[^\n;]|{over_lines})+?)"
            end = r"(?!\w)" if parts[-1] else r"(?![\w-]|[.,:]\S|\.)"
            yield from re.finditer(rf"(?<![\w-]){''.join(expressions)}{end}", text)

    def meant(self, match: re.Match[str]) -> str:
        """What the sentence says where it was found."""
        return self.meaning.format(**{name: " ".join(part.split()) for name, part in match.groupdict().items()})


@dataclass(frozen=True)
class Reading:
    """What a printed text says.

    Attributes:
        lines: its meaning, a line for each sentence.
        used: the patterns that fit.
        unknown: its sentences that no pattern fits.
    """

    lines: Sequence[str]
    used: frozenset[Pattern]
    unknown: Sequence[str]


def read(text: str, patterns: Iterable[Pattern]) -> Reading:
    """What a printed text says, in its order.

    Of patterns that fit the same place the one with the most words of its own is taken. Parts of a sentence share a
    line, and no line is repeated.
    """
    rest = text
    matches = {}
    for pattern in sorted(patterns, key=lambda pattern: -len("".join(pattern.words))):
        for match in pattern.found(rest):
            matches[match.start()] = match, pattern
            rest = rest[: match.start()] + "\n" * len(match[0]) + rest[match.end() :]
    lines: list[str] = []
    end = 0
    for start, (match, pattern) in sorted(matches.items()):
        sign = _JOINED.get(text[end:start].strip()) if lines else None
        if sign is not None and (sign or lines[-1].endswith("：")):
            lines[-1] += sign + pattern.meant(match)
        else:
            lines.append(pattern.meant(match))
        end = match.end()
    used = frozenset(pattern for _, pattern in matches.values())
    left = "\n".join(line for line in rest.split("\n") if not line.startswith("$ ") and not _is_code(line))
    return Reading(list(dict.fromkeys(lines)), used, _PROSE.findall(left))


def _is_code(line: str) -> bool:
    """Whether a line quotes Python, perhaps after a label that ends in a colon."""
    try:
        ast.parse(line.rpartition("：")[2].strip())
    except SyntaxError:
        return False
    return True


class _Figures(SphinxTransform):
    """Shows figures with labels in the language of the page."""

    default_priority = 400  # after Sphinx has put the translation in place, before it looks for files

    def apply(self, **_: object) -> None:
        page = self.env.current_document.docname
        if not _is_explained(self.env, page):
            return
        labels = _labels(_path(self.env))
        for image in self.document.findall(nodes.image):
            name, path = self.env.relfn2path(image["uri"], page)
            if name.startswith(FIGURES):
                self.env.note_dependency(path)
                copy = Path(self.env.doctreedir, name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(self._translated(Path(path).read_text("utf-8"), labels, page), "utf-8")
                image["uri"] = f"/{os.path.relpath(copy, self.env.srcdir)}"

    def _translated(self, figure: str, labels: Mapping[str, str], page: str) -> str:
        known = self.env.metadata[page].setdefault(PRINTS, set())

        def translated(found: re.Match[str]) -> str:
            label = html.unescape(found[2])
            if label in labels:
                known.add(label)
            elif _WORDS.search(label):
                _logger.warning("%r labels a figure, and is not in %s; add it", label, CATALOGUE, location=page)
            return found[1] + html.escape(labels.get(label, label), quote=False)

        return _LABEL.sub(translated, figure)


def _explain(app: Sphinx, document: nodes.document) -> None:
    """Put under each printed text of a page what it says."""
    env, page = app.env, app.env.current_document.docname
    if not _is_explained(env, page):
        return
    env.note_dependency(str(_path(env)))
    patterns = _patterns(_path(env))
    for block in list(document.findall(_is_printed)):
        reading = read(block.astext(), patterns)
        env.metadata[page].setdefault(PRINTS, set()).update(pattern.sentence for pattern in reading.used)
        for sentence in reading.unknown:
            shown = textwrap.shorten(sentence, 80, placeholder=" …")
            _logger.warning("%r is printed, and no pattern of %s fits it; add one", shown, CATALOGUE, location=page)
        if reading.lines:
            label = nodes.inline("", LABEL[env.config.language], classes=["label"])
            paragraphs = [nodes.paragraph("", line) for line in reading.lines]
            paragraphs[0].insert(0, label)
            block.parent.insert(block.parent.index(block) + 1, nodes.container("", *paragraphs, classes=["meaning"]))


def _is_explained(env: BuildEnvironment, page: str) -> bool:
    return _path(env).is_file() and Matcher(env.config.translated_pages)(page)


def _is_printed(node: nodes.Node) -> bool:
    return isinstance(node, nodes.literal_block) and (node.get("language") in PRINTED or "stream" in node["classes"])


def _check_entries(_app: Sphinx, env: BuildEnvironment) -> None:
    path = _path(env)
    if path.is_file():
        used = set().union(*(facts.get(PRINTS, ()) for facts in env.metadata.values()))
        for sentence in (*(pattern.sentence for pattern in _patterns(path)), *_labels(path)):
            if sentence not in used:
                _logger.warning("%r, in %s, is on no page; remove it", sentence, CATALOGUE)


def _patterns(path: Path) -> list[Pattern]:
    return [Pattern(sentence, meaning) for context, sentence, meaning in _entries(path) if context is None]


def _labels(path: Path) -> dict[str, str]:
    return {label: meaning for context, label, meaning in _entries(path) if context == "figure"}


def _entries(path: Path) -> Iterator[tuple[str | None, str, str]]:
    """The context, the English and the translation of each entry."""
    with path.open("rb") as file:
        for entry in read_po(file, abort_invalid=True):
            if entry.id:
                yield entry.context, str(entry.id), str(entry.string)


def _path(env: BuildEnvironment) -> Path:
    return Path(env.srcdir, env.config.locale_dirs[0], env.config.language, CATALOGUE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.add_transform(_Figures)
    app.connect("doctree-read", _explain)
    app.connect("env-check-consistency", _check_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
