"""All pages of a folder of reports as one page of HTML, for a browser without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attacklab.model.errors import from_extra
from attacklab.reporting.rendering import render

with from_extra("pages"):
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def lab_page(reports: Path, index: Path) -> str:
    """The index, and below it every page that it links.

    Args:
        reports: the folder, which is to hold the HTML too.
        index: its index.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    pages = [path for folder in (reports, reports / "measured") for path in sorted(folder.glob("*.md"))]
    anchors = {path: path.relative_to(reports).with_suffix("").as_posix() for path in pages}
    sections = {}
    for path in [index, *(page for page in pages if page != index)]:
        tokens = markdown.parse(path.read_text(encoding="utf-8"))
        _lead(tokens, path.parent, reports, anchors)
        sections[anchors[path]] = markdown.renderer.render(tokens, markdown.options, {})
    return render("lab_page.html", sections=sections)


def _lead(tokens: Sequence[Token], folder: Path, reports: Path, anchors: dict[Path, str]) -> None:
    """Make links lead to sections of the page, and paths start where the page is."""
    for token in tokens:
        for name in ("href", "src"):
            address = str(token.attrs.get(name, ""))
            if address and "://" not in address:
                path = Path(folder, address)
                path = next((page for page in anchors if page.resolve() == path.resolve()), path)
                token.attrs[name] = f"#{anchors[path]}" if path in anchors else path.relative_to(reports).as_posix()
        _lead(token.children or (), folder, reports, anchors)
