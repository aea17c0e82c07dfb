"""Each kind of output is what the golden files say, and keeps the rules that hold for all of them."""

import json
import re

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.cli.messages import Status
from attacklab.cli.output import status_of
from attacklab.cli.settings import Settings
from attacklab.model.findings import Verdict
from attacklab.pytest_plugin.report import AuditedTest
from attacklab.reporting.sarif import Place
from tests.reporting.golden_files import FINDINGS, FOLDER, LOW_BITS, RAISES, SCREENS, golden_files

MADE = golden_files()
STATUSES = {"FAIL": Status.REFUTED, "PASS": Status.OK, "PROVED": Status.OK}


@pytest.mark.parametrize("name", MADE)
def test_an_output_is_its_golden_file(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")
    assert MADE[name] == written, "to write all anew: python -m tests.reporting.golden_files"


def test_there_is_no_golden_file_that_nothing_writes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(MADE)


def test_a_screen_has_fifteen_lines_at_most_of_eighty_columns_and_begins_with_its_status() -> None:
    for text in MADE["screens.txt"].split("\n# "):
        name, *lines = text.removeprefix("# ").splitlines()
        assert len(lines) <= 15, name
        assert all(len(line) <= 80 or "deep/" in line for line in lines), name
        assert STATUSES.get(lines[0].split()[0], Status.FAILED) is status_of(SCREENS[name.strip()]), name


def test_an_error_counts_beside_a_known_flaw() -> None:
    assert Settings(known=frozenset({"AL04"})).status_of((LOW_BITS, RAISES)) is Status.FAILED


def test_a_command_over_several_lines_is_read_by_a_shell_as_one() -> None:
    (command,) = re.findall(r"(?m)^Run again  ((?:.*\\\n)*.*)$", MADE["screens.txt"].partition("# pass\n")[0])
    assert " ".join(command.replace("\\\n", " ").split()) == next(
        one.replay for one in FINDINGS["fail"] if one.attack == "low_bit_laplace"
    )


def test_codes_are_distinct_and_a_sentence_fits_its_column() -> None:
    flaws = catalogue().values()
    codes = [flaw.code for flaw in flaws]  # a flaw that went takes its code with it
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"AL\d\d", code) for code in codes)
    assert all(len(flaw.title) <= 14 and len(flaw.sentence) <= 40 for flaw in flaws)
    assert len({flaw.title for flaw in flaws}) == len(flaws)


def test_nothing_that_people_read_is_steered_by_a_target() -> None:
    assert "<script>" not in MADE["hostile.html"]
    for name in ("screens.txt", "pytest.txt", "quiet.txt", "hostile.html", "hostile.sarif"):
        assert all(line.isprintable() for line in MADE[name].split("\n"))
    told = (
        MADE["screens.txt"]
        + MADE["pytest.txt"]
        + json.loads(MADE["hostile.sarif"])["runs"][0]["results"][0]["message"]["text"]
    )
    assert not any(word.startswith("::") for word in told.split())
    assert "##[" not in told


def test_a_page_needs_nothing_from_elsewhere() -> None:
    assert "default-src 'none'" in MADE["fail.html"]
    assert not re.search(r"<(script|link|img|iframe|object)|@import|url\(", MADE["fail.html"])
    assert all(address.startswith("https://") for address in re.findall(r'href="([^"]*)"', MADE["fail.html"]))


@pytest.mark.parametrize("name", SCREENS)
def test_a_test_travels_between_processes_unchanged_and_passes_only_where_all_was_decided(name: str) -> None:
    test = AuditedTest(test="t.py::t", place=Place("t.py", 3), findings=SCREENS[name], alpha=1e-6, trials=9, seed=0)
    assert AuditedTest.from_text(test.to_text()) == test
    verdicts = {one.verdict for one in SCREENS[name]}
    bad = {Verdict.VIOLATED, Verdict.ERROR, Verdict.INCONCLUSIVE} & verdicts or verdicts == {Verdict.NOT_APPLICABLE}
    assert test.skipped is (name == "untestable")
    assert test.failed is (bool(bad) and name != "untestable")
