"""The built site, read without a browser: every page and link is there, and the reference is complete."""

import importlib
import json
import pkgutil
import re
from dataclasses import fields
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import attacklab
from attacklab.auditing.flaws import catalogue
from attacklab.cli import COMMANDS, command_of
from attacklab.model.findings import Finding
from tests.site.built import LANGUAGES, MADE, SITE, html, needs_site, pages

pytestmark = needs_site
ROOT = Path(__file__).parents[2]
REFERENCE = [SITE / language / "docs" / "reference" for language in LANGUAGES]


@pytest.mark.parametrize("reference", REFERENCE, ids=LANGUAGES)
def test_every_flaw_has_a_section(reference: Path) -> None:
    anchors = html(reference / "flaws.html").anchors
    assert {flaw.replace("_", "-") for flaw in catalogue()} <= anchors


@pytest.mark.parametrize("reference", REFERENCE, ids=LANGUAGES)
def test_every_option_of_every_command_is_described(reference: Path) -> None:
    page = (reference / "command_line.html").read_text("utf-8")
    for command in COMMANDS:
        for parameter in command_of(command).params:
            assert all(option in page for option in parameter.opts if option.startswith("-")), command.name


@pytest.mark.parametrize("reference", REFERENCE, ids=LANGUAGES)
def test_every_field_of_a_finding_is_described(reference: Path) -> None:
    page = (reference / "findings.html").read_text("utf-8")
    described = {field.name: f">{field.name}</span>" in page for field in fields(Finding)}
    assert all(described.values()), described


@pytest.mark.parametrize("reference", REFERENCE, ids=LANGUAGES)
def test_every_public_name_of_the_package_is_described(reference: Path) -> None:
    anchors = html(reference / "api" / "attacklab.html").anchors
    described = {anchor.rpartition(".")[2] for anchor in anchors if anchor.startswith("attacklab")}
    assert set(attacklab.__all__) <= described


def test_every_module_of_every_mechanism_is_described() -> None:
    found = [
        module.name
        for module in pkgutil.walk_packages(importlib.import_module("mechanisms").__path__, "mechanisms.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ]
    anchors = {anchor for page in (REFERENCE[0] / "api").glob("*.html") for anchor in html(page).anchors}
    assert {f"module-{name}" for name in found} <= anchors


@pytest.mark.parametrize("reference", REFERENCE, ids=LANGUAGES)
def test_every_environment_has_a_dossier_with_all_that_was_published_of_it(reference: Path) -> None:
    rows = json.loads((ROOT / "reports" / "measured" / "libraries.json").read_text("utf-8"))["timings"]["rows"]
    names = {path.stem for path in (ROOT / "environments").glob("*.txt")} | {"numpy", "scipy"}
    for name in names:
        page = (reference / "dossiers" / f"{name}.html").read_text("utf-8")
        published = [row for row in rows if (row["environment"] or row["library"]) == name]
        assert page.count("known flaw</a>") == sum(row["link"] is not None for row in published), name
        assert ("Not audited yet" in page) == (not published), name
        assert {row["mechanism"] for row in published} <= set(re.findall(r"<td><p>(\w+)</p></td>", page)), name


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


PAGE = (ROOT / "docs" / "explanations" / "what_to_sign.md").read_text("utf-8")


def test_the_page_names_every_file_that_has_to_be_read() -> None:
    core = [Path(path) for path in json.loads((ROOT / "checker" / "readings.json").read_bytes()) if "/core/" in path]
    files = [path.stem for path in core]
    assert [name for name in files if f"`{name}`" not in PAGE and name != "__init__"] == []
