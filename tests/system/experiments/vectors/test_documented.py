"""What the page promises of the files: the consumer that it shows, and what each type asks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import pytest

from attacklab.vectors.checking import JUDGES
from tests.system.experiments.vector_files import FOLDER

PAGE = (FOLDER.parent / "docs" / "reference" / "vectors.md").read_text(encoding="utf-8")
LONGEST = 30


def test_the_consumer_on_the_page_finds_the_flaw_of_its_formula_and_none_in_a_sound_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(shown.strip().splitlines()) <= LONGEST
    monkeypatch.chdir(FOLDER.parent)
    names: dict[str, Any] = {}
    exec(shown, names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out.splitlines()
    assert 1 <= len(printed) < 16
    assert all("The noise is" in line for line in printed)

    def is_safe(case: Mapping[str, Any]) -> bool:
        given = {name: names["read"](value) for name, value in case["parameters"].items()}
        scale = math.nextafter(given["sensitivity"] / given["epsilon"], math.inf)
        return bool(scale >= names["read"](case["limit"]))

    assert not list(names["failures"]("vectors/calibration.json", "laplace_scale", is_safe))


def test_the_page_says_for_every_type_when_a_case_passes() -> None:
    (table,) = re.findall(r"\| type \| a case passes if \|\n\|---\|---\|\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", table)) == JUDGES.keys()


def test_every_note_says_what_goes_wrong_and_links_to_more(files: Mapping[str, Any]) -> None:
    for file in files.values():
        for flag, note in file["notes"].items():
            assert note["links"], flag
            assert note["bug_type"].isupper()
            assert len(note["description"].split()) > 4, flag
            assert len(note["effect"].split()) > 4, flag
