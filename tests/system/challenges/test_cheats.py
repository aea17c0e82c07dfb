"""The judge of challenges against students who would rather outwit it: each of these files fails, and says why.

Seeded. With a fair seed a cheat on a broken mechanism passes as rarely as the advantage that it keeps is missed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.laws import enumerate_law
from attacklab.model.errors import UsageError
from challenges import CHALLENGES, Grade, grade, library
from challenges.child import BLOCK, draw
from challenges.laws import with_bits
from tests.system.challenges.files import attack_of, handed_in

ATTACK = "challenge = {number}\n\n\ndef pair():\n    return {pair}\n\n\ndef event(outputs):\n    {event}\n"
"""Challenge 7 is sound."""


def graded(folder: Path, source: str, **options: Any) -> Grade:
    return grade(handed_in(folder, source), seed=8, **options)


def repaired(name: str, *lines: str) -> str:
    """A reference attack with a repair, which may call the original by its name."""
    takes_bits = next(challenge.takes_bits for challenge in CHALLENGES if challenge.name == name)
    given = "given, bits" if takes_bits else "given, size, rng"
    body = "".join(f"    {line}\n" for line in lines)
    return f"from challenges.library import {name}\n{attack_of(name)}\n\ndef repair({given}):\n{body}"


# What a file is not shown


def test_a_repair_is_always_asked_for_as_many_outputs() -> None:
    outputs, _, _ = draw(CHALLENGES[2], lambda _given, size, _rng: np.full(size, size), 0.0, [1, 2])
    assert outputs.tolist() == [BLOCK] * 2 * BLOCK


def test_a_sampler_sees_the_same_source_when_it_is_drawn_from_and_when_it_is_proved() -> None:
    def looks(_: int, bits: Any) -> str:
        bits.take(1)
        return f"{type(bits)} {sorted(dir(bits))} {hasattr(bits, 'taken')}"

    (proved,) = enumerate_law(with_bits, looks, 0)
    assert set(draw(CHALLENGES[6], looks, 0, [1])[0].tolist()) == {proved}


def test_a_loop_that_is_drawn_counts_the_bits_of_all_its_rounds() -> None:
    _, taken, _ = draw(CHALLENGES[1], library.survey_answer, 2, range(10))
    assert set(taken.tolist()) >= {3, 6}
    assert not np.any(taken % 3)


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.name)
def test_no_constant_is_accurate_enough(challenge: Any) -> None:
    """On some input every constant has an error greater than the bound: outputs in range, or a fine grid of numbers."""
    for seed in range(5):
        uses = challenge.uses(np.random.default_rng(seed))
        shortest = min(np.size(use.first) for use in uses)
        constants = np.r_[-1:5] if shortest > 4 or np.ndim(uses[0].first) == 0 else np.r_[:shortest]
        if challenge.name in ("add_noise", "total", "average", "count_people", "metered_count", "average_basket"):
            truth = {"total": np.sum, "average": np.mean, "average_basket": np.mean}.get(challenge.name, float)
            constants = np.concatenate([truth(use.first) + use.bound * np.linspace(-1, 1, 41) for use in uses])
        worst = np.zeros(len(constants))
        for use in uses:
            outputs = np.column_stack([constants, constants]) if challenge.tells_bits else constants
            worst = np.maximum(worst, challenge.errors(use.first, outputs) / use.bound)
        assert worst.min() > 1, uses


# Attacks


EVENTS = (
    ("return np.arange(len(outputs)) < len(outputs) // 2", "differently for the same output"),
    ("calls.append(0)\n    return np.full(len(outputs), len(calls) % 2 == 0)", "differently for the same output"),
    ("raise SystemExit", "event raised SystemExit"),
    ("return np.zeros(10**12, dtype=bool)", "event raised"),
)


def test_an_event_that_looks_at_more_than_an_output_is_refused(tmp_path: Path) -> None:
    for event, said in EVENTS:
        source = "import numpy as np\n\ncalls = []\n" + ATTACK.format(number=3, pair="0, 1", event=event)
        with pytest.raises(UsageError, match=said):
            graded(tmp_path, source)


def test_an_event_that_prints_and_answers_by_what_all_outputs_have_in_common_gains_nothing(tmp_path: Path) -> None:
    event = "np.info(np.mean)\n    return np.full(len(outputs), outputs.mean() > 0)"
    found = graded(tmp_path, "import numpy as np\n\n" + ATTACK.format(number=7, pair="0, 1", event=event))
    assert not found.passed
    assert "advantage 0.000" in found.lines[1]


def test_a_pair_that_nobody_claims_anything_of_is_refused_in_one_line(tmp_path: Path) -> None:
    for pair in ("0, 2", "19, float('nan')", "0, 1, 2", "'0', '1'"):
        with pytest.raises(UsageError) as refused:
            graded(tmp_path, ATTACK.format(number=7, pair=pair, event="return outputs > 0"))
        assert "\n" not in str(refused.value)


# Verdicts


def test_a_verdict_is_on_the_mechanism_as_it_stands_and_not_as_the_file_leaves_it(tmp_path: Path) -> None:
    pairs = "def pairs():\n    return [([0, 1], [1, 0]), ([2, 1], [1, 2]), ([3, 4], [4, 3])]\n"
    mended = "import challenges.library as library\n\nlibrary.choices.WEIGHT_BITS = 30\n"
    source = f'{mended}challenge = 8\nverdict = "sound"\n\n\n{pairs}'
    found = graded(tmp_path, source)
    assert not found.passed
    assert "but not for others" in found.lines[1]


def test_a_verdict_has_a_limited_number_of_pairs(tmp_path: Path) -> None:
    source = 'challenge = 7\nverdict = "sound"\n\n\ndef pairs():\n    return [(0, 1)] * 101\n'
    with pytest.raises(UsageError, match="give at most 100"):
        graded(tmp_path, source)


# Repairs


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("total", ["return np.full(size, 4_000)"], "mean error"),
        ("add_noise", ["return add_noise(given, size, rng, epsilon=4.0)"], "refute"),
        (
            "nearest_depot",
            [
                "if len(given) == 4_000:",
                "    return np.zeros(size, dtype=int)",
                "return nearest_depot(given, size, rng)",
            ],
            "refute",
        ),
        (
            "total",
            ["if list(given) in map(list, pair()):", "    given = [0.0]", "return total(given, size, rng)"],
            "refute",
        ),
        (
            "average",
            [
                "if len(given) < 600:",
                "    return np.full(size, 0.5 if len(given) < 3 else np.nan)",
                "return np.mean(given) + rng.geometric(0.02, size) / 600 - rng.geometric(0.02, size) / 600",
            ],
            "fails",
        ),
        (
            "cheapest_plan",
            ["if min(given) > 20:", "    return bits.take(1) % len(given)", "return cheapest_plan(given, bits)"],
            "Exact laws do not prove|mean error",
        ),
        ("metered_count", ["return metered_count(given, bits)[0], 4"], "not the number of random bits"),
        (
            "average_basket",
            [
                "total = np.sum(given) + rng.laplace(0, 100, size)",
                "return total / np.maximum(len(given) + rng.laplace(0, 1, size), 1)",
            ],
            "refute",
        ),
        (
            "average_basket",
            ["limit = max(given)", "return (np.sum(given) + rng.laplace(0, 2 * limit, size)) / len(given)"],
            "refute",
        ),
        (
            "average_basket",
            [
                "if len(given) > 500:",
                "    return np.mean(given) + rng.laplace(0, 0.01, size)",
                "return 50 + rng.laplace(0, 200, size)",
            ],
            "refute",
        ),
        ("average_basket", ["return 50 + rng.laplace(0, 200, size)"], "mean error"),
    ],
)
def test_a_repair_that_only_looks_like_one_fails(name: str, lines: list[str], said: str, tmp_path: Path) -> None:
    found = graded(tmp_path, repaired(name, *lines))
    assert not found.passed
    assert re.search(said, found.lines[-3]), found.lines


COUNTED = (
    "noise = rng.geometric(0.001, size) - rng.geometric(0.001, size)",
    "return given + 0.0 * noise if calls < 16 else np.rint(given) + 1.0 * noise",
)
"""Accurate in the first blocks, which are held to the bound, and noisy in all others, which are attacked."""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [
                "calls = int(np.random.get_state()[1][0])",
                "np.random.seed(calls + 1 if calls < 1_000_000 else 0)",
                *COUNTED,
            ],
            "differently",
        ),
        (["calls = next(repair.calls)", *COUNTED, "", "repair.calls = iter(range(10**6))"], "differently"),
        (["return np.rint(given * 64 + 64 * np.random.laplace(size=size)) / 64"], "differently"),
        (["return np.zeros((size, 10**9))"], "repair raised"),
        (["return rng.laplace(size=size - 1)"], "one output for each"),
        (["return np.full(size, np.nan)"], "not finite"),
        (["raise SystemExit"], "repair raised SystemExit"),
    ],
)
def test_a_repair_that_remembers_or_does_not_answer_is_refused(lines: list[str], said: str, tmp_path: Path) -> None:
    source = repaired("add_noise", *lines).replace("    repair.calls =", "\nrepair.calls =")
    with pytest.raises(UsageError, match=said) as refused:
        graded(tmp_path, source)
    assert "\n" not in str(refused.value)


def test_a_repair_is_attacked_by_the_pair_that_refuted_the_mechanism(tmp_path: Path) -> None:
    source = repaired("nearest_depot", "return nearest_depot(given, size, rng)")
    two_faced = source.replace(
        "def pair():\n",
        "def pair():\n    asked = np.random.get_state()[1][0] == 7\n    np.random.seed(7)\n"
        "    if asked:\n        return [0.0], [0.0]\n",
    )
    found = graded(tmp_path, two_faced)
    assert not found.passed
    assert "Your own attack" in found.lines[1]
