"""`attacklab prove --exec`: a program is proved, refuted, or told in one line what it did."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DRAWING = Path(__file__).parents[1] / "processes" / "drawing.py"

Ran = tuple[int, Any, str]


@pytest.fixture
def prove(attacklab: Callable[[str], tuple[int, str, str]], tmp_path: Path) -> Callable[..., Ran]:
    """Runs the command; gives its status, its finding (or None) and its messages."""

    def run(name: str, *options: str) -> Ran:
        program = shlex.join([sys.executable, str(DRAWING), name])
        status, _, messages = attacklab(shlex.join(["prove", "--exec", program, *options, "--json", "found.json"]))
        record = tmp_path / "found.json"
        return status, json.loads(record.read_text("utf-8"))["findings"][0] if record.is_file() else None, messages

    return run


@pytest.mark.parametrize(("epsilon", "verdict", "status"), [("1.1", "proved", 0), ("1.0", "violated", 1)])
def test_a_program_is_proved_or_refuted(epsilon: str, verdict: str, status: int, prove: Callable[..., Ran]) -> None:
    ended, finding, messages = prove("sound", "--kind", "noise", "--epsilon", epsilon)
    assert (ended, finding["verdict"], messages) == (status, verdict, "")
    assert finding["attack"] == "exact_law"
    assert f"--kind noise --epsilon {epsilon}" in finding["replay"]
    assert shlex.split(finding["replay"])[:3] == ["attacklab", "prove", "--exec"]


def test_a_program_that_cannot_be_proved_is_an_error_finding_with_its_reason(prove: Callable[..., Ran]) -> None:
    ended, finding, _ = prove("dies", "--kind", "noise", "--epsilon", "1", "--first", "0", "--second", "1")
    assert (ended, finding["verdict"]) == (2, "error")
    assert "the pool of entropy is empty" in finding["reason"]
    assert finding["replay"].endswith("--first 0 --second 1")


def test_a_program_that_ends_too_early_is_told_to_go_on(prove: Callable[..., Ran]) -> None:
    ended, finding, _ = prove("answers_once", "--kind", "noise", "--epsilon", "1")
    assert (ended, finding["verdict"]) == (2, "error")
    assert "exited with status 0 before answering; let it answer one request after another until" in finding["reason"]


def test_a_program_that_says_nothing_is_told_of_when_the_time_is_up(prove: Callable[..., Ran]) -> None:
    ended, finding, _ = prove("hangs", "--kind", "noise", "--epsilon", "1", "--seconds", "3")
    assert (ended, finding["verdict"]) == (2, "inconclusive")
    assert finding["reason"].startswith("3 s were not enough (reached: the law of the first input")
    assert finding["reason"].endswith(
        "; the program was asked to go on and wrote nothing; make sure that it flushes each line, and ends"
    )


def test_a_program_whose_claim_covers_work_is_refused_in_one_line(prove: Callable[..., Ran]) -> None:
    ended, finding, messages = prove("sound", "--kind", "noise", "--epsilon", "1.1", "--covers", "work")
    assert (ended, finding) == (2, None)
    assert "takes are not counted" in messages
    assert len(messages.splitlines()) == 1
