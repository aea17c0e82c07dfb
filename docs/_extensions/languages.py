"""The two languages of the site: a link from each page to itself in the other, a search that finds Chinese, and a theme
that speaks it.

The pages of `translated_pages` in conf.py have to be translated whole, except for what their code cells say and print.
The others stay English, and open with a line in Chinese that says so.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po
from docutils import nodes
from jinja2.ext import Extension
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.search.zh import SearchChinese
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.matching import Matcher
from sphinx.util.nodes import extract_messages

LANGUAGES = {"en": ("English", "en", "Language"), "zh_CN": ("中文", "zh-CN", "语言")}
"""Folder of the site → its language: its own name, its code in HTML, and its word for 'language'."""

THEME = {"zh_CN": tomllib.loads(Path(__file__).with_name("theme_zh_CN.toml").read_text("utf-8"))}
"""What the theme's templates say in English only, as it stands in them, and in other languages."""
NAVIGATION = {"zh_CN": ("Toggle navigation of ", "展开或收起：")}
FOLDED = {"zh_CN": {"nb_code_prompt_show": "显示代码", "nb_code_prompt_hide": "收起代码"}}
"""What a folded cell of code is called, by the name of the setting."""
SILENT = ('<summary aria-label="Toggle hidden content">', "<summary>")
"""A folded cell's label hides from a screen reader what the summary says; it is left out."""


GUIDE = "docs/reference/reading_reports"
"""The page that says how to read pages that are not translated."""
UNTRANSLATED = {"zh_CN": ("本页目前只有英文版。", "各部分、各列和各种判定的含义，见《怎样阅读报告》。")}
"""What a page says that is not translated; and what its link to the guide says."""

_logger = logging.getLogger(__name__)


class SearchPairs(SearchChinese):
    """Chinese without a dictionary: every two characters that follow one another are a word."""

    language_name = "English"  # of the stemmer: Sphinx 9.0 asks for a ChineseStemmer, which it does not ship
    js_splitter_code = """
function splitQuery(query) {
  const words = query.match(/[a-zA-Z0-9_]+/g) || [];
  for (const run of query.match(/[\\u4e00-\\u9fff]+/g) || [])
    for (let at = 0; at < Math.max(run.length - 1, 1); at++) words.push(run.slice(at, at + 2));
  return words;
}
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 - Sphinx's name
        """The words of a text, as `splitQuery` has them."""
        runs = re.findall(r"[\u4e00-\u9fff]+", input)
        pairs = [run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))]
        return super().split(input) + pairs


class _Chinese(Extension):
    """Templates as they are read, with `THEME` put in."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002 - Jinja's
        for english, chinese in THEME["zh_CN"].items():
            source = source.replace(english, chinese)
        return source


def _name_folded_cells(_app: Sphinx, config: Config) -> None:
    for name, text in FOLDED.get(config.language, {}).items():
        config[name] = text


def _speak(app: Sphinx) -> None:
    if app.config.language in THEME and app.builder.format == "html":
        app.builder.templates.environment.add_extension(_Chinese)


class _Untranslated(SphinxTransform):
    """Warns of each message of a page that has to be translated, and is not."""

    default_priority = 15  # before Sphinx puts the translation in place

    def apply(self, **_: Any) -> None:
        page = self.env.current_document.docname
        if self.config.language not in THEME or not Matcher(self.config.translated_pages)(page):
            return
        known = translations(_folder(self.env) / f"{page}.po")
        body = [child for child in self.document if not isinstance(child, nodes.field_list | nodes.docinfo)]
        for node, message in (found for part in body for found in extract_messages(part)):
            if not known.get(message) and not _is_in_a_cell(node):
                _logger.warning("%r has no translation; add it to %s.po", message[:80], page, location=node)


def _is_in_a_cell(node: nodes.Node | None) -> bool:
    """Whether a node is of a cell, with its code and pictures, which are the same in all languages."""
    while isinstance(node, nodes.Element) and "nb_element" not in node:
        node = node.parent
    return isinstance(node, nodes.Element)


def translations(path: Path) -> dict[str, str]:
    """The messages of a page and their translations; none where there is no file."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file, abort_invalid=True) if entry.id}


def _folder(env: BuildEnvironment) -> Path:
    return Path(env.srcdir, env.config.locale_dirs[0], env.config.language, "LC_MESSAGES")


def _keep_anchors(app: Sphinx, document: nodes.document) -> None:
    """Keep the anchors of the English headings, which the parser replaced by those of translated headings."""
    if slugs := getattr(document, "myst_slugs", None):
        app.env.metadata[app.env.current_document.docname]["myst_slugs"] = slugs


def _check_files(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of translations of no page."""
    wanted = Matcher(env.config.translated_pages)
    for path in sorted(_folder(env).rglob("*.po")):
        page = path.relative_to(_folder(env)).with_suffix("").as_posix()
        if page not in env.found_docs or not wanted(page):
            _logger.warning("%s.po translates no page of `translated_pages` in conf.py; remove it", page)


def _context(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    _, code, label = LANGUAGES[app.config.language]
    if page in app.env.found_docs and not Matcher(app.config.translated_pages)(page) and code != "en":
        context["untranslated"], context["guide_label"] = UNTRANSLATED[app.config.language]
        context["guide"] = GUIDE if GUIDE in app.env.found_docs else None
        context["body"] = f'<div lang="en">\n{context["body"]}</div>\n'
    others = [(name, tag, folder) for folder, (name, tag, _) in LANGUAGES.items() if folder != app.config.language]
    context.update(language=code, languages_label=label, other_languages=others)
    if app.config.language in NAVIGATION and "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(*NAVIGATION[app.config.language])
    if "body" in context:  # Sphinx calls the caption of a list of pages a heading, and does not say of which level
        context["body"] = context["body"].replace('role="heading">', 'role="heading" aria-level="2">')
        context["body"] = context["body"].replace(*SILENT)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.add_config_value("translated_pages", [], "env", list)
    app.add_transform(_Untranslated)
    app.add_search_language(SearchPairs)
    app.connect("config-inited", _name_folded_cells)
    app.connect("builder-inited", _speak)
    app.connect("doctree-read", _keep_anchors)
    app.connect("env-check-consistency", _check_files)
    app.connect("html-page-context", _context, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
