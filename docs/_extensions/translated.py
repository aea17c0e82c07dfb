"""Pages that have to be translated whole: a build in another language warns of each message that is not.

Messages are those that `sphinx-build -b gettext` extracts, which extracts them from these pages only. `make docs` fails
on warnings. What code cells say belongs to them: it is put in place before the cells run.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from code_messages import CELL, messages, translated
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.matching import Matcher
from sphinx.util.nodes import extract_messages

SOURCE = "en"
GUIDE = "docs/reference/reading_reports"
"""The page that says how to read pages that are not translated."""
UNTRANSLATED = {"zh_CN": ("本页目前只有英文版。", "各部分、各列和各种判定的含义，见《怎样阅读报告》。")}
"""What a page says that need not be translated, and is not; and what its link to the guide says."""

LANGUAGE_CELL = """```{{code-cell}} ipython3
:tags: [remove-cell]

from experiments.common.lessons import speak

speak({language!r})
```

"""
"""The first cell of a lesson in another language than that of the sources: its pictures speak that language, too."""

_logger = logging.getLogger(__name__)


def faults(messages: dict[str, Any], catalog: Catalog) -> Iterator[tuple[str, Any, str]]:
    """What is wrong with the translation of a page.

    Args:
        messages: what the page says, and where.
        catalog: its translation.

    Yields:
        For each fault the message, where it stands (None if nowhere), and what is wrong.
    """
    for message, place in messages.items():
        translation = catalog.get(message)
        if translation is None or not str(translation.string).strip():
            yield message, place, "has no translation; add it"
        elif translation.fuzzy:
            yield message, place, "has a fuzzy translation; mend it and remove the mark"
    unused = [entry for entry in catalog if entry.id and entry.id not in messages]
    for entry in (*unused, *catalog.obsolete.values()):
        yield str(entry.id), None, "is not on the page any more; remove it"


class _Check(SphinxTransform):
    """Compares a page with its translation."""

    default_priority = 15  # before Sphinx puts the translation in place

    def apply(self, **_: Any) -> None:
        page = self.env.current_document.docname
        path = _folder(self.env) / f"{page}.po"
        if self.config.language == SOURCE or not _is_translated(self.env)(page):
            return
        body = [child for child in self.document if not isinstance(child, nodes.field_list | nodes.docinfo)]
        texts: dict[str, Any] = {message: node for part in body for node, message in extract_messages(part)}
        texts |= dict.fromkeys(messages(Path(self.env.doc2path(page)).read_text("utf-8")))
        for message, place, fault in faults(texts, _read(path)):
            shown = textwrap.shorten(message, 80, placeholder=" …")
            _logger.warning("%r %s, in %s", shown, fault, _shown(path), location=place or page)


class CodeMessages(nodes.Element, addnodes.translatable):
    """Stands for what the code cells of a page say, where messages are extracted."""

    def preserve_original_messages(self) -> None:
        """They are never replaced here."""

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Leave the page as it is: cells are translated before they run."""

    def extract_original_messages(self) -> Sequence[str]:
        """What the cells say."""
        texts: Sequence[str] = self["messages"]
        return texts


def translations_of(env: BuildEnvironment, page: str) -> dict[str, str]:
    """The messages of a page and their translations; none in the language of the sources."""
    entries = _read(_folder(env) / f"{page}.po") if env.config.language != SOURCE else Catalog()
    return {str(entry.id): str(entry.string) for entry in entries if entry.id and entry.string and not entry.fuzzy}


def _extract_from_cells(app: Sphinx, document: nodes.document) -> None:
    """Let the builder that extracts messages find those of code cells."""
    if app.builder.name == "gettext":
        path = Path(app.env.doc2path(app.env.current_document.docname))
        node = CodeMessages(messages=messages(path.read_text("utf-8")))
        node.source, node.line = str(path), 1
        document += node


def _keep_anchors(app: Sphinx, document: nodes.document) -> None:
    """Keep the anchors of the sources' headings, which the parser replaced by those of translated headings."""
    if slugs := getattr(document, "myst_slugs", None):
        app.env.metadata[app.env.current_document.docname]["myst_slugs"] = slugs


def _translate_cells(app: Sphinx, page: str, content: list[str]) -> None:
    """Translate what the code cells of a page say, before anything else reads the page."""
    if app.config.language == SOURCE or not _is_translated(app.env)(page) or not CELL.search(content[0]):
        return
    path = _folder(app.env) / f"{page}.po"
    translations = translations_of(app.env, page)
    texts = messages(content[0])
    try:
        text = translated(content[0], {message: translations[message] for message in texts if message in translations})
    except ValueError as error:
        _logger.warning("%s, in %s", error, _shown(path), location=page)
        return
    if "experiments.common.lessons" in text:
        at = CELL.search(text).start()  # type: ignore[union-attr] # it has a cell
        text = text[:at] + LANGUAGE_CELL.format(language=app.config.language.partition("_")[0]) + text[at:]
    content[0] = text


def _check_files(_app: Sphinx, env: BuildEnvironment) -> None:
    """Compare the names of pages and of files with translations."""
    if env.config.language == SOURCE:
        return
    for pattern in env.config.translated_pages:
        if not any(map(Matcher([pattern]), env.found_docs)):
            _logger.warning("no page is called %r; mend `translated_pages` in conf.py", pattern)
    for path in sorted(_folder(env).rglob("*.po")):
        page = path.relative_to(_folder(env)).with_suffix("").as_posix()
        if page not in env.found_docs or not _is_translated(env)(page):
            _logger.warning("%s translates no page of `translated_pages` in conf.py; name it there", _shown(path))


def _extract_only_these(app: Sphinx) -> None:
    if app.builder.name == "gettext":
        app.config.include_patterns = [f"{pattern}.md" for pattern in app.config.translated_pages]


def _context(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    if page in app.env.found_docs and not _is_translated(app.env)(page) and app.config.language in UNTRANSLATED:
        context["untranslated"], context["guide_label"] = UNTRANSLATED[app.config.language]
        context["guide"] = GUIDE if GUIDE in app.env.found_docs else None
        context["body"] = f'<div lang="{SOURCE}">\n{context["body"]}</div>\n'


def _folder(env: BuildEnvironment) -> Path:
    return Path(env.srcdir, env.config.locale_dirs[0], env.config.language, "LC_MESSAGES")


def _is_translated(env: BuildEnvironment) -> Matcher:
    return Matcher(env.config.translated_pages)


def _read(path: Path) -> Catalog:
    if not path.is_file():
        return Catalog()
    with path.open("rb") as file:
        return read_po(file, abort_invalid=True)


def _shown(path: Path) -> str:
    return "/".join(path.parts[path.parts.index("LC_MESSAGES") - 1 :])


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.add_config_value("translated_pages", [], "env", list)
    app.add_transform(_Check)
    app.connect("builder-inited", _extract_only_these)
    app.connect("source-read", _translate_cells)
    app.connect("doctree-read", _extract_from_cells)
    app.connect("doctree-read", _keep_anchors)
    app.connect("env-check-consistency", _check_files)
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
