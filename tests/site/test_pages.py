"""Every page of the built site in a real browser: it loads from the site alone, and people of all kinds can read it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.site.built import LANGUAGES, MADE, ROOT, SITE, needs_site, pages
from tests.site.conftest import AXE, SCREEN, Visit

pytestmark = needs_site

PHONE = {"width": 390, "height": 844}
MESSAGES = ROOT / "docs" / "locale" / "zh_CN" / "LC_MESSAGES"
CHINESE = [name for name in pages() if (MESSAGES / f"{name}.po").is_file()]
UNTRANSLATED = "docs/reference/command_line"
"""One of the pages that are the same in both languages but for what stands around them."""
EVERY = [f"en/{name}.html" for name in (*pages(), *MADE)] + [
    f"zh_CN/{name}.html" for name in (*CHINESE, UNTRANSLATED, *MADE)
]
GRAVE = ("serious", "critical")

COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on how an element is drawn, and take most of the time."""

_SHOW_NEW_STYLES = """
() => {
  const drawn = (one) => [one.tagName, one.getAttribute("class"), one.style.cssText, one.rowIndex % 2].join(" ");
  const style = (one) => (one === document.documentElement ? "" : style(one.parentElement) + ">" + drawn(one));
  const seen = new Set(JSON.parse(localStorage.styles ?? "[]"));
  const shown = new Set();
  for (const one of document.body.querySelectorAll("*")) {
    const written = [...one.childNodes].some((part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
    if (!written || seen.has(style(one))) continue;
    seen.add(style(one));
    for (let part = one; part; part = part.parentElement) shown.add(part);
  }
  localStorage.styles = JSON.stringify([...seen]);
  for (const one of document.body.querySelectorAll("*"))
    if (!shown.has(one) && shown.has(one.parentElement)) {
      one.style.setProperty("display", "none", "important");
      one.replaceChildren();
    }
  return shown.size > 0;
}
"""
"""Hides what is written as something on this page or an earlier one is: in the same elements, classes and styles.

Gives whether anything else is left.
"""

_FAULTS = """
async (options) => (await axe.run(document, options)).violations.map((found) => [
  found.impact, found.id, found.nodes.map((node) => node.html.slice(0, 200) + " " + node.any.map((one) => one.message))
])
"""
_WIDER_THAN_THE_WINDOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("path", EVERY)
def test_a_page_loads_alone_and_is_accessible_by_day_by_night_and_on_a_phone(
    path: str, turn_to: Callable[[str], Visit], address: str
) -> None:
    visited = turn_to(path)
    page = visited.page
    page.wait_for_function("!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)")
    page.add_script_tag(url=f"{address}/{AXE.relative_to(SITE).as_posix()}")
    without_colours = {"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in COLOURS}}
    assert _grave(page.evaluate(_FAULTS, without_colours)) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate(_WIDER_THAN_THE_WINDOW) == 0
    page.set_viewport_size(SCREEN)
    for scheme in ("light", "dark") if page.evaluate(_SHOW_NEW_STYLES) else ():
        page.emulate_media(color_scheme=scheme)
        assert _grave(page.evaluate(_FAULTS, {"runOnly": COLOURS})) == []
    assert (visited.errors, visited.outside) == ([], [])


@pytest.mark.parametrize(
    ("language", "query", "expected"),
    [("en", "underflows", "zero_rounding"), ("zh_CN", "局部敏感度", "docs/reference/glossary.html")],
)
def test_the_search_finds_a_word(language: str, query: str, expected: str, visit: Callable[..., Visit]) -> None:
    visited = visit(f"{language}/search.html?q={query}")
    visited.page.wait_for_selector(f"#search-results li a[href*='{expected}']")
    assert visited.errors == []


def test_the_switch_leads_to_the_same_page_and_back(visit: Callable[..., Visit]) -> None:
    page = visit("en/docs/explanations/threat_model.html").page
    page.click("nav.languages >> text=中文")
    assert page.url.endswith("/zh_CN/docs/explanations/threat_model.html")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.click("nav.languages >> text=English")
    assert page.url.endswith("/en/docs/explanations/threat_model.html")


def test_the_projector_steps_through_a_page_by_one_key_without_navigation(visit: Callable[..., Visit]) -> None:
    visited = visit("en/docs/lessons/lecturer.html")
    page = visited.page
    steps = "[...document.querySelectorAll('.step')].map((one) => one.textContent.slice(0, 40))"
    assert page.evaluate(steps) == []
    page.keyboard.press("p")
    first = page.evaluate(steps)
    assert first[0].startswith("For lecturers")
    assert not page.locator(".sidebar-drawer").is_visible()
    assert page.evaluate(_WIDER_THAN_THE_WINDOW) == 0
    page.keyboard.press("Space")
    second = page.evaluate(steps)
    assert len(second) == 1
    assert second != first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(steps) == first
    page.keyboard.press("Escape")
    assert page.evaluate(steps) == []
    assert page.locator(".sidebar-drawer").is_visible()
    page.get_by_role("button", name="Projector").click()
    assert page.evaluate(steps) == first
    assert visited.errors == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_handout_is_printed_on_one_page(language: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{language}/docs/lessons/handout.html").page
    page.wait_for_selector("mjx-container svg")
    printed = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm"))
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_cards_and_slides_show_a_picture_of_every_lesson(language: str, visit: Callable[..., Visit]) -> None:
    for name, kind in (("index", "lessons"), ("slides", "slides")):
        page = visit(f"{language}/docs/lessons/{name}.html").page
        pictures = page.locator(f"ul.{kind} > li .picture img")
        assert pictures.count() == page.locator(f"ul.{kind} > li").count() == 12
        assert all(source.endswith(".svg") for source in pictures.evaluate_all("all => all.map((one) => one.src)"))
        assert all(pictures.evaluate_all("all => all.map((one) => one.complete && one.naturalWidth > 0)"))
    linked = pictures.evaluate_all("all => all.map((one) => one.closest('a').href === one.src)")
    assert linked == [True] * 12


def _grave(faults: list[list[Any]]) -> list[list[Any]]:
    return [fault for fault in faults if fault[0] in GRAVE]
