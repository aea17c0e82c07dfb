"""Each naive quantile breaks its claim on a pair of its own, and the exact one does not.

Events are fixed beforehand and judged on 20,000 fresh outputs of each input, at ε = 1: the claim is false if a
Clopper-Pearson lower bound of P[E] is greater than e·(upper bound of Q[E]). Each bound fails with probability 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from attacklab.laws import Limits
from attacklab.laws.proof import prove
from attacklab.model.findings import Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from experiments import targets
from experiments.targets.quantiles import LOWER, PAIRS, UPPER
from tests.statistical.mechanisms.clopper_pearson import bounds

TRIALS = 20_000
Event = Callable[[float], bool]


def excess(target: Target, name: str, *, seed: int) -> float:
    """By how much P[E] exceeds e·Q[E] at the least, where P is the law that the event is of."""
    pair, first, event = BROKEN[name]
    rng = np.random.default_rng(seed)
    likelier, other = (pair.first, pair.second) if first else (pair.second, pair.first)
    hits = [sum(map(event, target.release(records, TRIALS, rng).tolist())) for records in (likelier, other)]
    return bounds(hits[0], TRIALS)[0] - math.e * bounds(hits[1], TRIALS)[1]


def can_be(output: float, left: float, right: float) -> bool:
    """Whether a double is left + (right − left)·U in doubles, for one of the 2^53 uniforms near it."""
    width = right - left
    middle = round((output - left) / width * 2**53)
    near = range(max(middle - 4, 0), min(middle + 4, (1 << 53) - 1) + 1)
    return any(left + width * (leading * 2.0**-53) == output for leading in near)


def only_beside_a_record(output: float) -> bool:
    """Whether it can come of the interval from 0.1 to 60.1 and not of that from 0 to 60.1."""
    return 0.1 < output < 60.1 and can_be(output, 0.1, 60.1) and not can_be(output, LOWER, 60.1)


FAR, LEFT_END, MANY = PAIRS
BROKEN: dict[str, tuple[NeighbouringPair, bool, Event]] = {
    "naive_quantile": (LEFT_END, True, only_beside_a_record),
    "naive_quantile_half_sensitivity": (FAR, False, lambda output: output < 50),
    "naive_quantile_midpoint": (LEFT_END, True, lambda output: output == (0.1 + 60.1) / 2),
    "naive_quantile_unscaled": (MANY, True, math.isnan),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_naive_quantile_breaks_its_claim_on_its_pair(name: str) -> None:
    assert excess(getattr(targets, name)(), name, seed=1) > 0


@pytest.mark.parametrize("name", BROKEN)
def test_the_exact_one_is_not_accused_by_the_same_pair_and_event(name: str) -> None:
    assert excess(targets.exact_quantile(), name, seed=2) <= 0


def test_every_output_of_an_interval_is_one_that_it_can_make() -> None:
    """Else the event of the low bits would be one of errors of `can_be`."""
    outputs = targets.naive_quantile().release(LEFT_END.first, 5_000, np.random.default_rng(3))
    between = [output for output in outputs.tolist() if 0.1 < output < 60.1]
    assert len(between) > 1_000
    assert all(can_be(output, 0.1, 60.1) for output in between)


@pytest.mark.parametrize("name", [*BROKEN, "exact_quantile"])
def test_the_pairs_are_neighbours_that_the_target_declares(name: str) -> None:
    target = getattr(targets, name)()
    assert target.pairs == PAIRS
    assert all(target.covers(pair) for pair in target.pairs)


def densities(records: list[float], quantile: float, rate: float) -> list[tuple[float, float, float]]:
    """The intervals of positive width with their probabilities, by the formula."""
    ends = [LOWER, *sorted(records), UPPER]
    weights = [
        (right - left) * math.exp(-rate * abs(i - quantile * len(records)))
        for i, (left, right) in enumerate(pairwise(ends))
    ]
    return [(ends[i], ends[i + 1], weight / sum(weights)) for i, weight in enumerate(weights) if weight]


@pytest.mark.parametrize(("name", "rate"), [("naive_quantile", 0.5), ("naive_quantile_unscaled", 0.5)])
@pytest.mark.parametrize("records", [[], [50.0] * 4, [10.0, 20.0, 20.0, 90.0]])
def test_intervals_are_chosen_as_the_formula_says(name: str, rate: float, records: list[float]) -> None:
    """20,000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    outputs = getattr(targets, name)().release(np.array(records), TRIALS, np.random.default_rng(4))
    for left, right, probability in densities(records, 0.75, rate):
        assert abs(np.mean((left <= outputs) & (outputs < right)) - probability) < 0.025


def test_an_exact_law_refutes_the_sensitivity_of_a_median_for_another_quantile() -> None:
    target = targets.naive_quantile_half_sensitivity()
    assert prove(target, FAR, limits=Limits(unresolved=Fraction(1, 1 << 30))).verdict is Verdict.VIOLATED


def test_both_paths_with_the_median_s_sensitivity_have_one_law() -> None:
    """2,000 draws each stray from a probability by 0.08 with probability below 2·e^−25 (Hoeffding)."""
    target, records = targets.naive_quantile_half_sensitivity(), [50.0] * 4
    assert target.sampler is not None
    weights = np.exp(-np.where(np.arange(26) * 4 < 50, 12, 4) / 4)
    below = weights[:13].sum() / weights.sum()
    bits = SeededBits(np.random.default_rng(6))
    one_by_one = np.array([target.sampler(records, bits) for _ in range(2_000)])
    for released in (one_by_one, target.release(records, 2_000, np.random.default_rng(7))):
        assert abs(np.mean(released < 50) - below) < 0.08
