"""The judge of challenges: reference solutions pass, and originals in place of a repair and senseless files fail.

Attacks run with a fixed seed. With a fair one a judgement errs with probability 1e-9 at most.
"""

import string
import sys
from pathlib import Path

import pytest

from attacklab.model.errors import UsageError
from challenges import CHALLENGES, grade, listed
from challenges.texts import TEXTS
from tests.running import run

pytestmark = pytest.mark.slow

SOLUTIONS = {path.stem: path for path in (Path(__file__).parent / "solutions").glob("[a-z]*.py")}
SOUND = ("survey_answer", "best_candidate", "count_people")


def handed_in(folder: Path, source: str) -> Path:
    path = folder / "mine.py"
    path.write_text(source, "utf-8")
    return path


def test_each_challenge_has_a_solution_and_a_line_in_each_language_with_the_same_places() -> None:
    assert SOLUTIONS.keys() == {challenge.name for challenge in CHALLENGES}
    places = [
        {key: {place[1] for place in string.Formatter().parse(said)} for key, said in TEXTS[of].items()} for of in TEXTS
    ]
    assert places[0] == places[1]
    for language in TEXTS:
        for row, challenge in zip(listed(language)[1:-1], CHALLENGES, strict=True):
            assert f"{challenge.name} " in row
            assert f"ε = {challenge.claim.epsilon:g}" in row


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_reference_solution_passes_and_the_original_as_a_repair_does_not(name: str, tmp_path: Path) -> None:
    """Nor does an attack on a sound mechanism."""
    judged = grade(SOLUTIONS[name], seed=3)
    assert judged.passed, judged.lines
    source = SOLUTIONS[name].read_text("utf-8")
    original = f"from challenges.library import {name} as repair\n"
    attack = source.partition("def repair")[0].partition("def below")[0] + original
    if name in SOUND:
        events = "def pair(): return pairs()[0]\ndef event(outputs): return outputs == 0\n"
        attack = source.replace('verdict = "sound"', "") + events
    failed = grade(handed_in(tmp_path, attack), seed=3)
    assert not failed.passed
    assert failed.lines[-1] == "NOT PASSED"


@pytest.mark.parametrize(
    ("name", "whole", "less"),
    [("survey_answer", "(0, 1), (0, 4), (2, 3)", "(0, 1), (1, 0)"), ("total", "-1 / 4097", "-1 / 4097e4")],
    ids=["two pairs", "useless"],
)
def test_a_proof_of_few_pairs_and_a_repair_of_no_use_do_not_pass(
    name: str, whole: str, less: str, tmp_path: Path
) -> None:
    source = SOLUTIONS[name].read_text("utf-8")
    assert whole in source
    assert not grade(handed_in(tmp_path, source.replace(whole, less)), seed=3).passed


PAIR = "challenge = 3\ndef pair():\n    return 0, {}\ndef event(outputs):\n    {}\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def event(:", "SyntaxError"),
        ("challenge = 12\n", "must name a challenge"),
        ("challenge = 3\n", "must define event and pair"),
        ("challenge = 1 / 0\n", "ZeroDivisionError"),
        (PAIR.format("1", "return 1"), "one bool for each output"),
        (PAIR.format("1", "raise SystemExit"), "event raised SystemExit"),
        (PAIR.format("1, 2", "return outputs > 0"), "a pair is two inputs"),
        (PAIR.format("1.5", "return outputs > 0"), "1.5"),
        (PAIR.format("float('inf')", "return outputs > 0"), "takes numbers from"),
        (PAIR.format("1", "while True: pass"), "a loop that never ends"),
    ],
)
def test_a_file_that_cannot_be_judged_is_refused_in_one_line(source: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        grade(handed_in(tmp_path, source), seed=7, seconds=8.0 if "while" in source else 600.0)
    assert "\n" not in str(refused.value)


def test_the_command_line_says_by_its_status_whether_a_file_passes(tmp_path: Path) -> None:
    blind = PAIR.format("1", "print('hello'); return outputs > 5000")
    for source, status, said in ((SOLUTIONS["survey_answer"].read_text("utf-8"), 0, "通过"), (blind, 1, "未通过")):
        path = handed_in(tmp_path, source)
        command = [sys.executable, "-m", "attacklab", "challenge", str(path), "--language", "zh"]
        done = run(command)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (status, said)
