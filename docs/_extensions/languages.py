"""The two languages of the site: a link from each page to itself in the other, and a search that finds Chinese."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

LANGUAGES = {"en": ("English", "en", "Language"), "zh_CN": ("中文", "zh-CN", "语言")}
"""Folder of the site → its language: its own name, its code in HTML, and its word for 'language'."""


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


def _context(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    _, code, label = LANGUAGES[app.config.language]
    others = [(name, other, folder) for folder, (name, other, _) in LANGUAGES.items() if folder != app.config.language]
    context.update(language=code, languages_label=label, other_languages=others)
    if "body" in context:  # Sphinx calls the caption of a list of pages a heading, and does not say of which level
        context["body"] = context["body"].replace('role="heading">', 'role="heading" aria-level="2">')


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.add_search_language(SearchPairs)
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
