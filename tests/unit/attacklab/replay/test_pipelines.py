"""Broken pipelines are named at the right line, or as not judged; sound ones are not accused."""

from __future__ import annotations

import linecache
import warnings

import pytest

from attacklab.model.findings import Finding, Severity, Verdict
from attacklab.replay import replay
from tests.unit.attacklab.replay.broken import BROKEN
from tests.unit.attacklab.replay.sound import SOUND, Row
from tests.unit.attacklab.replay.unjudged import UNJUDGED

MIXED = ("budget_twice_in_a_quotient", "noisy_max_shows_the_value")
"""Their outputs mix noisy numbers, so that what they spend is a note."""


def _replayed(row: Row) -> list[Finding]:
    function, claim, first, second = row
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        return replay(function, [(first, second)], **claim)


def test_there_are_so_many_broken_and_sound_ones() -> None:
    assert (len(BROKEN), len(UNJUDGED), len(SOUND)) == (209, 39, 189)


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row[0].__name__)
def test_a_broken_pipeline_is_named_at_its_line(row: Row) -> None:
    worst = _replayed(row)[0]
    assert worst.verdict is Verdict.VIOLATED
    assert worst.severity is (Severity.ACCOUNTING if row[0].__name__ in MIXED else Severity.CLAIM)
    assert "# flaw" in linecache.getline(worst.witness.file, worst.witness.line)
    assert Finding.from_json(worst.to_json()) == worst


@pytest.mark.parametrize("row", UNJUDGED, ids=lambda row: row[0].__name__)
def test_a_broken_pipeline_whose_leak_has_no_law_is_not_passed(row: Row) -> None:
    (finding,) = _replayed(row)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "not judged: " in finding.reason or "but not where nothing is watched" in finding.reason


@pytest.mark.parametrize("row", SOUND, ids=lambda row: row[0].__name__)
def test_a_sound_pipeline_is_not_accused(row: Row) -> None:
    verdicts = {finding.verdict for finding in _replayed(row)}
    assert verdicts == {Verdict.NOT_DETECTED}
