"""All pages of a folder of reports as one page of HTML, for a browser without a network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }}
section {{ border-top: 1px solid #adb5bd; margin-top: 3rem; }}
img {{ max-width: 100%; height: auto; }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; }}
th, td {{ padding: .2rem .5rem; vertical-align: top; text-align: left; overflow-wrap: anywhere; }}
blockquote {{ border-left: .3rem solid #edb200; margin: 1rem 0; padding: 0 1rem; }}
</style>
{body}
</html>
"""


def lab_page(reports: Path, index: Path) -> str:
    """The index, and below it every page that it links.

    Args:
        reports: the folder, which is to hold the HTML too.
        index: its index.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    pages = [path for folder in (reports, reports / "measured") for path in sorted(folder.glob("*.md"))]
    anchors = {path: path.relative_to(reports).with_suffix("").as_posix() for path in pages}
    sections = []
    for path in [index, *(page for page in pages if page != index)]:
        tokens = markdown.parse(path.read_text(encoding="utf-8"))
        _lead(tokens, path.parent, reports, anchors)
        body = markdown.renderer.render(tokens, markdown.options, {})
        sections.append(f'<section id="{html.escape(anchors[path])}">\n{body}</section>')
    return PAGE.format(title="What the experiments found", body="\n".join(sections))


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
