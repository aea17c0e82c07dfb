"""The judge of challenges: reference solutions pass, attacks on sound mechanisms and broken twins do not, nor cheats.

Attacks run with a fixed seed. With a fair one a judgement errs with probability 1e-9 at most.
"""

from __future__ import annotations

import itertools
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.model.errors import UsageError
from challenges import CHALLENGES, grade, listed
from challenges.rules import parsed
from challenges.texts import TEXTS
from tests.system.challenges.files import SOLUTIONS, attack_of, handed_in

ROOT = Path(__file__).parents[3]
BROKEN = {
    "nearest_depot": 1,
    "add_noise": 3,
    "top_category": 4,
    "total": 6,
    "cheapest_plan": 8,
    "average": 9,
    "metered_count": 10,
    "average_basket": 11,
}
SOUND = {"survey_answer": 2, "best_candidate": 5, "count_people": 7}


def test_there_is_a_solution_for_each_challenge() -> None:
    assert {challenge.name: number for number, challenge in enumerate(CHALLENGES, 1)} == BROKEN | SOUND
    assert set(SOLUTIONS) == set(BROKEN | SOUND)


def test_the_languages_say_the_same_things() -> None:
    def places(text: str) -> set[str | None]:
        return {place for _, place, _, _ in string.Formatter().parse(text) if place is not None}

    english, chinese = TEXTS["en"], TEXTS["zh"]
    assert list(english) == list(chinese)
    assert all(places(english[key]) == places(chinese[key]) for key in english)
    assert all(f"{challenge.name}_hint" in english for challenge in CHALLENGES)


def test_the_list_names_each_challenge_and_its_claim() -> None:
    for language in TEXTS:
        for row, challenge in zip(listed(language)[1:-1], CHALLENGES, strict=True):
            assert challenge.name in row
            assert f"ε = {challenge.claim.epsilon:g}" in row


def test_each_input_on_which_a_repair_must_be_accurate_has_a_neighbour() -> None:
    for seed, challenge in itertools.product(range(10), CHALLENGES):
        rng = np.random.default_rng(seed)
        assert all(challenge.pair(use.first, use.second) for use in challenge.uses(rng))
        assert all(challenge.pair(*two) for two in challenge.hard(rng))


def test_pairs_near_a_given_one_are_neighbouring_too_and_of_other_lengths() -> None:
    pairs: list[tuple[int, Any, Any, set[int]]] = [
        (1, [1.0] * 8, [0.0] * 8, {6, 7, 9}),
        (4, [1], [], {2}),
        (4, [3] * 200, [3] * 199, set(range(150, 200))),
        (6, [5.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 0.0], {3, 5}),
        (9, [0.5], [0.5, 0.5], {2}),
        (10, 3, 4, set()),
        (11, [0.0] * 8, [0.0] * 7, {6, 7, 9}),
    ]
    for number, first, second, lengths in pairs:
        challenge = CHALLENGES[number - 1]
        nearby = challenge.nearby(challenge.pair(first, second), np.random.default_rng(1))
        assert {len(pair.first) for pair in nearby} <= lengths
        assert bool(nearby) == bool(lengths)


def test_a_pair_that_is_not_neighbouring_within_the_domain_is_refused() -> None:
    pairs: list[tuple[int, Any, Any]] = [
        (3, 0.0, 1.5),
        (3, 0.0, float("inf")),
        (3, 2000.0, 2000.5),
        (4, [1], [2]),
        (6, [1.0], [1.0, 2.0]),
        (6, [1.0], [5000.0]),
        (8, [1, 2], [3, 2]),
        (8, [1.5], [1.0]),
        (9, [0.5], []),
        (10, 20, 21),
        (11, [0.0], [0.0, 101.0]),
    ]
    for number, first, second in pairs:
        with pytest.raises(UsageError):
            CHALLENGES[number - 1].pair(first, second)


BREAKS = (
    ("def event(:", "line 1: cannot be read as Python"),
    ("import sys", "sys cannot be imported"),
    ("import attacklab", "attacklab cannot be imported"),
    ("from challenges import library", "challenges cannot be imported"),
    ("import challenges.library", "write import challenges.library as library"),
    ("from functools import update_wrapper", "update_wrapper is not allowed"),
    ("import typing\ntyping.get_type_hints", "get_type_hints is not allowed"),
    ("from challenges.library import os", "os is not allowed"),
    ("import numpy\nx = numpy.lib", "line 2: lib is not allowed"),
    ("x = (1).__class__", "__class__ is private"),
    ("getattr(1, 'real')", "getattr is not allowed"),
    ("x = 1\ndef event(o):\n    global x", "global and nonlocal"),
)


def test_a_file_that_breaks_a_rule_is_refused_with_the_line() -> None:
    for source, said in BREAKS:
        with pytest.raises(UsageError, match=r"^line ") as refused:
            parsed(source)
        assert said in str(refused.value)


def test_every_solution_keeps_the_rules() -> None:
    for path in SOLUTIONS.values():
        assert parsed(path.read_text("utf-8")).body


def test_an_attack_that_passes_and_a_cheat_that_does_not(tmp_path: Path) -> None:
    path = handed_in(tmp_path, attack_of("cheapest_plan"))
    assert grade(path, seed=1).passed
    blind = attack_of("cheapest_plan").replace("outputs == 1", "outputs > 5")
    found = grade(handed_in(tmp_path, blind), seed=1)
    assert not found.passed
    assert TEXTS["en"]["cheapest_plan_hint"] in found.lines[-2]


@pytest.mark.parametrize("name", SOUND | BROKEN)
def test_a_reference_solution_passes(name: str) -> None:
    """A verdict on a sound mechanism; of a broken one an attack and a repair."""
    judged = grade(SOLUTIONS[name], seed=3)
    assert judged.passed, judged.lines


def test_the_same_verdict_and_the_same_attack_fail_on_the_other_mechanism(tmp_path: Path) -> None:
    verdict = SOLUTIONS["best_candidate"].read_text("utf-8").replace("challenge = 5", "challenge = 8")
    assert not grade(handed_in(tmp_path, verdict), seed=5).passed
    attack = attack_of("cheapest_plan").replace("challenge = 8", "challenge = 5")
    assert not grade(handed_in(tmp_path, attack), seed=5).passed


UNJUDGED = (
    ("challenge = 12\n", "which challenge"),
    ("challenge = 3\n", "defines no event and no pair"),
    ("challenge = 1 / 0\n", "ZeroDivisionError"),
    (
        "challenge = 3\n\n\ndef pair():\n    return 0, 1\n\n\ndef event(outputs):\n    while True:\n        pass\n",
        "time limit",
    ),
    (
        "challenge = 3\n\n\ndef pair():\n    return 0, 1\n\n\ndef event(outputs):\n    return 1\n",
        "one bool an output",
    ),
    (
        "import numpy as np\n\nchallenge = 3\n\n\ndef pair():\n    return 0, 1\n\n\n"
        "def event(outputs):\n    return outputs > np.median(outputs)\n",
        "differently for the same output",
    ),
)


def test_a_file_that_cannot_be_judged_is_refused_in_one_line(tmp_path: Path) -> None:
    for source, said in UNJUDGED:
        with pytest.raises(UsageError) as refused:
            grade(handed_in(tmp_path, source), seed=7, seconds=2.0 if said == "time limit" else 10.0)
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_command_line_says_by_its_status_whether_a_file_passes(tmp_path: Path) -> None:
    def status(source: str) -> tuple[int, str, str]:
        path = handed_in(tmp_path, source)
        command = [sys.executable, "-m", "attacklab", "challenge", "check", str(path), "--language", "zh"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
        return done.returncode, done.stdout, done.stderr

    passed = status(SOLUTIONS["survey_answer"].read_text("utf-8"))
    assert (passed[0], passed[1].splitlines()[-1]) == (0, "通过")
    failed = status(attack_of("cheapest_plan").replace("== 1", "> 5"))
    assert (failed[0], failed[1].splitlines()[-1]) == (1, "未通过")
    refused = status("def event(:")
    assert (refused[0], len(refused[2].splitlines())) == (2, 1)
