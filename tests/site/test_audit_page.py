"""The page of an audit in a browser: wide on a screen, narrow on a phone, on paper."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attacklab.reporting.audit_page import audit_page
from tests.site.conftest import AXE
from tests.unit.attacklab.reporting.test_audit_page import NOT_DETECTED, VIOLATED, WHEN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = 390
PAPER = 718
"""A4 less its usual margins, at 96 dots an inch."""
BROKEN = """() => [...document.querySelectorAll('.over :is(td, th):not(.event)')].filter((cell) => {
  const words = document.createRange(), text = cell.firstChild;
  if (!text) return false;
  return [...text.data.matchAll(/\\S+/g)].some((word) => {
    words.setStart(text, word.index);
    words.setEnd(text, word.index + word[0].length);
    return words.getClientRects().length > 1;
  });
}).map((cell) => cell.textContent)"""
"""The cells in which a word or a number goes on in the next line."""


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens the page of an audit in a window so wide; keywords are those of a Playwright context."""
    file = tmp_path / "audit.html"
    file.write_text(audit_page([VIOLATED, NOT_DETECTED], WHEN), "utf-8")
    with contextlib.ExitStack() as stack:

        def open_page(width: int, **settings: Any) -> Page:
            context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
            stack.callback(context.close)
            page = context.new_page()
            page.goto(file.as_uri())
            return page

        yield open_page


@pytest.mark.parametrize("width", [1100, PHONE])
def test_no_number_is_broken_and_no_page_is_wider_than_the_screen(width: int, shown: Callable[..., Page]) -> None:
    page = shown(width)
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_on_paper_nothing_is_cut_or_broken(shown: Callable[..., Page]) -> None:
    page = shown(PAPER)
    page.emulate_media(media="print")
    assert page.evaluate(BROKEN) == []
    wide = "[...document.querySelectorAll('.over')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.evaluate(wide) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_grave_fault_of_accessibility(scheme: str, shown: Callable[..., Page]) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here; `make docs` installs it")
    page = shown(PHONE, color_scheme=scheme, bypass_csp=True)
    page.add_script_tag(path=AXE)
    faults = page.evaluate(
        "async () => (await axe.run(document, {preload: false})).violations.map((one) => [one.impact, one.id])"
    )
    assert [fault for fault in faults if fault[0] in ("serious", "critical")] == []
