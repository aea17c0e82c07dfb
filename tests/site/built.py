"""Which pages the site has, and what stands on them, read without a browser."""

import functools
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
needs_site = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="there is no site yet; run `make docs`")
LANGUAGES = ("en", "zh_CN")
SOURCES = (
    "docs/*.md",
    "docs/[!_.]*/**/*.md",
    "mechanisms/*/README.md",
    "checker/README.md",
    "vectors/clients/README.md",
    "reports/**/*.md",
)
MADE = ("genindex", "search", "py-modindex")
"""Pages that Sphinx makes, besides one for each document."""


@functools.cache
def pages() -> tuple[str, ...]:
    """The names of all documents, as Sphinx has them."""
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern)} | {ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"}
    return tuple(sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in found))


@dataclass
class Html(HTMLParser):
    """What matters of one page.

    Attributes:
        anchors: the names within it that a link may lead to.
        links: where its links lead.
        loaded: what it loads: pictures, scripts, style sheets, frames.
    """

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links and loads."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload", "prefetch"):
            self.loaded.append(found["href"])
        elif "src" in found:
            self.loaded.append(found["src"])


@functools.cache
def html(path: Path) -> Html:
    """A page of the built site."""
    page = Html()
    page.feed(path.read_text("utf-8"))
    return page
