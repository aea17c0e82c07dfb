"""Every page of the built site is there, in both languages, and every link on it leads somewhere within the site."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.built import LANGUAGES, MADE, SITE, html, needs_site, pages

pytestmark = needs_site


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_site_has_a_page_for_each_document_and_no_other(language: str) -> None:
    folder = SITE / language
    built = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.html")}
    assert built - set(MADE) == set(pages())


@pytest.mark.parametrize("name", pages())
def test_every_link_holds_nothing_comes_from_another_host_and_the_other_language_is_a_link_away(name: str) -> None:
    for here, there in (LANGUAGES, LANGUAGES[::-1]):
        path = SITE / here / f"{name}.html"
        page = html(path)
        assert [link for link in [*page.links, *page.loaded] if not _holds(path, link)] == []
        assert [address for address in page.loaded if urlsplit(address).netloc] == []
        aims = {(path.parent / link).resolve() for link in page.links if there in link}
        assert SITE.resolve() / there / f"{name}.html" in aims


def test_the_first_page_leads_to_both_languages() -> None:
    assert html(SITE / "index.html").links == [f"{language}/docs/index.html" for language in LANGUAGES]


def _holds(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return parts.scheme in ("https", "http", "mailto", "data")
    aim = path.parent / unquote(parts.path) if parts.path else path
    if not aim.is_file():
        return False
    return not parts.fragment or aim.suffix != ".html" or unquote(parts.fragment) in html(aim).anchors
