"""The regression over all numbers: small effects that add up, and what two numbers show only together."""

from __future__ import annotations

import numpy as np
import pytest

from attacklab.attacks.black_box.candidate_events import RARITIES, candidate_events
from attacklab.attacks.black_box.regression import IN_PAIRS, patterns, regressed, regressed_on_sums
from attacklab.attacks.black_box.scores import Learning
from attacklab.attacks.features import numbers
from attacklab.model.claims import PrivacyClaim

SIZE = 1 << 14


def learned(first: np.ndarray, second: np.ndarray) -> Learning:
    return Learning(np.concatenate([first, second]), np.repeat([True, False], [len(first), len(second)]))


def apart(scores: np.ndarray, of_first: np.ndarray) -> float:
    """The probability that an output of the first input has a larger score than one of the second; ties count half."""
    ordered = np.sort(scores[~of_first])
    below = np.searchsorted(ordered, scores[of_first], "left") + np.searchsorted(ordered, scores[of_first], "right")
    return float(below.mean() / 2 / len(ordered))


def laplace(rng: np.random.Generator, answer: float) -> np.ndarray:
    return answer + rng.laplace(0.0, 4.0, (SIZE, 10))


def test_it_tells_many_noisy_answers_apart_nearly_as_well_as_their_law_does() -> None:
    """The exact log likelihood ratio is at 0.73 here. Fresh outputs: a standard error is 0.003."""
    rng = np.random.default_rng(11)
    learning, fresh = (learned(laplace(rng, 1.0), laplace(rng, 0.0)) for _ in range(2))
    score = regressed(numbers(learning.outputs), learning)
    exact = (np.abs(fresh.outputs) - np.abs(fresh.outputs - 1)).sum(axis=1)
    assert apart(exact, fresh.of_first) - apart(score.of(fresh.outputs), fresh.of_first) < 0.03
    assert apart(score.of(fresh.outputs), fresh.of_first) > 0.65


@pytest.mark.parametrize("shift", [0.1, np.where(np.arange(20) < 10, 0.5, -0.5)])
def test_sums_show_effects_too_small_for_a_weight_of_each_number(shift: float | np.ndarray) -> None:
    """All 20 numbers move one way, by a weight of two standard errors each; or half of them clearly the other way."""
    rng = np.random.default_rng(16)
    noise = rng.laplace(0.0, 4.0, (4, SIZE, 20))
    learning, fresh = learned(noise[0] + shift, noise[1]), learned(noise[2] + shift, noise[3])
    found = numbers(learning.outputs)
    exact = (np.abs(fresh.outputs) - np.abs(fresh.outputs - shift)).sum(axis=1)
    on_sums, on_each = (
        np.corrcoef(exact, model(found, learning).of(fresh.outputs))[0, 1] for model in (regressed_on_sums, regressed)
    )
    assert on_sums > 0.95
    assert on_sums > on_each


def crossed(rng: np.random.Generator, *, alike: bool) -> np.ndarray:
    """Two fair bits that are alike or not in three of four outputs, and a third number of pure noise."""
    one = rng.integers(0, 2, SIZE)
    same = (rng.random(SIZE) < 0.75) == alike
    return np.column_stack([one, np.where(same, one, 1 - one), rng.standard_normal(SIZE)])


def test_what_two_numbers_show_only_together_is_seen_by_their_product_and_by_their_pattern() -> None:
    """No number by itself differs between the inputs; the two patterns differ by 3 to 1."""
    rng = np.random.default_rng(12)
    learning, fresh = (learned(crossed(rng, alike=True), crossed(rng, alike=False)) for _ in range(2))
    found = numbers(learning.outputs)
    assert len(found) <= IN_PAIRS
    assert apart(regressed(found, learning).of(fresh.outputs), fresh.of_first) > 0.7
    codes = patterns(found, learning)(fresh.outputs)
    assert len(np.unique(codes)) == 4


def test_to_prove_an_epsilon_events_are_ranked_by_it() -> None:
    """That it is above 0 refutes 0.1 sooner; "a three", at a ratio of 20, promises more, by ten standard errors."""
    rng = np.random.default_rng(15)
    first, second = (rng.choice(4, SIZE, p=law) for law in ([0.2, 0.5, 0.26, 0.04], [0.6, 0.3, 0.098, 0.002]))
    refuting, proving = (
        candidate_events(first, second, [PrivacyClaim(0.1)], 1, proving=way)[0] for way in (False, True)
    )
    values = np.arange(4)
    assert proving.event.contains(values).tolist() in ([False, False, False, True], [True, True, True, False])
    assert refuting.event.contains(values).tolist() in ([False, True, True, True], [True, False, False, False])
    assert 1.5 < proving.clarity < np.log(20)


def test_to_prove_an_epsilon_rare_events_of_a_score_are_offered_beside_common_ones() -> None:
    rng = np.random.default_rng(17)
    first, second = (rng.normal(mean, 1.0, SIZE) for mean in (0.0, 0.2))
    offered = candidate_events(first, second, [PrivacyClaim(0.1)], 8, proving=True)
    shares = np.array([candidate.event.contains(np.concatenate([first, second])).mean() for candidate in offered])
    rare = np.minimum(shares, 1 - shares)
    assert all((rare <= rarity * 1.1).any() for rarity in RARITIES)
    assert rare.max() > RARITIES[2]
