"""Figures that one can touch: the directive `{touchable} NAME` puts the figure docs/_static/figures/NAME.js on a page.

A figure that plays several games is put there as `{touchable} NAME GAME`, with that game's data and words.

The page carries the figure's data and its texts in both languages, so that nothing is fetched and files work as well as
a server. The page's language decides which texts are shown. Only pages with a figure load the scripts.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent.parent / "_static" / "figures"
SHARED = "figure.js"
STYLE = "figures.css"
TEXTS = FOLDER / "texts.json"


def block(name: str, language: str, game: str = "") -> str:
    """The HTML of a figure, which its script fills.

    Args:
        name: the figure's name.
        game: which of its games, if it plays several.
        language: of the sentences that are shown where no script runs: "en" or "zh".

    Raises:
        KeyError: there is no figure of this name, or no such game.
    """
    written = json.loads(TEXTS.read_text("utf-8"))
    data = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    texts = {code: found[name] | (found[f"{name}.{game}"] if game else {}) for code, found in written.items()}
    contents = {"texts": texts, "data": data[game] if game else data}
    embedded = json.dumps(contents, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    title, about = (html.escape(texts[language][key]) for key in ("title", "about"))
    needed = html.escape(written[language]["page"]["noscript"])
    return (
        f'<figure class="touchable" data-figure="{name}" aria-label="{title}">\n'
        f'<script type="application/json">{embedded}</script>\n'
        f"<noscript><p><strong>{title}</strong> {about} {needed}</p></noscript>\n"
        "</figure>"
    )


class Touchable(SphinxDirective):
    """A touchable figure, by its name and that of its game."""

    required_arguments: ClassVar[int] = 1
    optional_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """The figure as raw HTML; other formats leave it out."""
        name, game = (*self.arguments, "")[:2]
        for file in (TEXTS, FOLDER / f"{name}.json"):
            self.env.note_dependency(str(file))
        language = "zh" if self.config.language.startswith("zh") else "en"
        return [nodes.raw("", block(name, language, game), format="html", touchable=name)]


def _load(app: Sphinx, _page: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None) -> None:
    if doctree is None:
        return
    names = [node["touchable"] for node in doctree.findall(nodes.raw) if "touchable" in node]
    if names:
        app.add_css_file(f"figures/{STYLE}")
        for script in (SHARED, *(f"{name}.js" for name in names)):
            app.add_js_file(f"figures/{script}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call what stands above."""
    app.add_directive("touchable", Touchable)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
