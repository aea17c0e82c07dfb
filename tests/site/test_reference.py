"""The reference of the built site has all that it is written from: flaws, commands, fields of a finding, functions."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest

import attacklab
from attacklab.auditing.flaws import catalogue
from attacklab.cli import COMMANDS, command_of
from attacklab.model.findings import Finding
from tests.site.built import LANGUAGES, SITE, html, needs_site

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
