"""Contracts of exact mechanisms: what each noise releases, what the checker accepts, and that no data make one fail."""

import json
import math
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab import PrivacyClaim, SeededBits
from checker.check import check
from checker.forms import Refused
from experiments import targets
from mechanisms.core.certificate import certificate
from mechanisms.core.claims import ApproximateDP, Claim, ZeroConcentratedDP
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.term import Mechanism, Relation, encoded
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import (
    exact_exponential,
    exact_exponential_base2,
    exact_exponential_fixed_work,
    exact_exponential_zcdp,
)
from mechanisms.local_sensitivity.exact import (
    exact_median_ptr,
    exact_median_smooth,
    exact_ptr_mean,
    exact_sample_aggregate,
    exact_smooth_mean,
    exact_sum_over_count,
)
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max
from mechanisms.partition_selection.exact import exact_partition_selection
from mechanisms.quantile.exact import exact_quantile
from mechanisms.quantile.naive import naive_quantile_half_sensitivity
from mechanisms.sparse_vector.exact import exact_above_threshold
from mechanisms.subsampling.exact import exact_poisson_count, exact_sampled_count
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum, exact_narrow_sum
from mechanisms.summation.moments import exact_agreeing_pairs
from tests.mechanisms.core.scripted_noise import scripted
from tests.mechanisms.terms import TARGETS, TERMS, data_of, outputs

ONE, FOUR_THIRDS = ApproximateDP(Fraction(1)), ApproximateDP(Fraction(4, 3))
SMALL_DELTA = ApproximateDP(Fraction(1), Fraction(1, 10**6))
NARROW: dict[str, Any] = {"lower": 1.0, "upper": 1 + 2.0**-48, "grid": Grid(-56)}
WHOLE: dict[str, Any] = {"lower": -2, "upper": 3, "grid": Grid(0)}
QUARTERS: dict[str, Any] = {"lower": -2, "upper": 3, "grid": Grid(-2), "epsilon": 0.5}
AGES: dict[str, Any] = {"lower": 0, "upper": 100, "grid": Grid(-14), "epsilon": 1}
MOVED: dict[Relation, int] = {"add-remove": 12, "substitute": 20, "add-remove or substitute": 20}
"""How many quarters one record of a sum moves it."""

mean_of_any = exact_bounded_mean(epsilon=2, lower=0, upper=100, grid=Grid(0))
mean_of_three = exact_bounded_mean(epsilon=2, lower=0, upper=100, grid=Grid(-1), relation="substitute")
from_five = exact_sum_over_count(epsilon=1, lower=5, upper=25, grid=Grid(0))
people = partial(exact_sample_aggregate, epsilon=1, lower=20, upper=80, grid=Grid(0))

RUNS: list[tuple[Mechanism, Any, tuple[int, ...], float, list[float]]] = [
    *(
        (exact_bounded_sum(relation=relation, **QUARTERS), [1.0, 2.9, -8.0, math.nan], (7,), 7 / 4, [2 * steps])
        for relation, steps in MOVED.items()
    ),
    (mean_of_any, [50.0] * 3, (0, 0), 50, [100, 1]),
    (mean_of_any, [50.0] * 3, (30, 3), 30, [100, 1]),
    (mean_of_any, [50.0] * 3, (1000, -5), 100, [100, 1]),
    (mean_of_any, [50.0] * 3, (-200, 0), 0, [100, 1]),
    (mean_of_three, [50.0] * 3, (12,), 52, [100]),
    # Noise of 2^11 steps of 2^−56 is eight ranges, and the records count from the lower bound.
    (exact_narrow_sum(epsilon=Fraction(1, 8), **NARROW), [1.0, NARROW["upper"]] * 2, (0,), 4 + 2.0**-47, [2**11]),
    (exact_narrow_sum(epsilon=Fraction(1, 8), **NARROW), [1.0] * 1024, (2**52,), 1024.0625, [2**11]),
    (from_five, [10.0, 20.0], (0, 0), 15, [40, 2]),
    (from_five, [10.0, 20.0], (-100, 0), 5, [40, 2]),
    (from_five, [10.0, 20.0], (100, 0), 25, [40, 2]),
    (from_five, [10.0, 20.0], (-15, 3), 6, [40, 2]),
    # One of four chunks answers 80, the others the middle of the range.
    (people(statistic=np.max, chunks=4, key=b"k"), [("Ada", 80), ("Ada", 20)], (2,), 20 + (60 + 90 + 2) / 4, [60]),
]
"""Terms, data, noise, what is released, and the scales of the noise in steps."""


@pytest.mark.parametrize(("term", "data", "noise", "output", "scales"), RUNS)
def test_a_release_is_the_formula_with_noise_of_the_scales_that_the_claim_needs(
    term: Mechanism, data: Any, noise: tuple[int, ...], output: float, scales: list[float]
) -> None:
    assert scripted(term, data, noise) == (output, scales)


EITHER, ADDED, REPLACED = "records, one added, removed or replaced", "records, one added or removed", "one replaced"
ONE_WAY = "apart, all in one direction"
CHOSEN: list[dict[str, Any]] = [{}, {"sensitivity": 0.5}, {"utility_range": (-2, 2.5)}]
SELECTIONS: dict[partial[Mechanism], Claim] = {
    partial(exact_exponential, epsilon=1): ONE,
    partial(exact_exponential_zcdp, epsilon=1): ZeroConcentratedDP(Fraction(1, 8)),
    partial(exact_exponential_base2, eta=BaseTwoEta.from_epsilon(1, y=16)): ONE,
    partial(exact_exponential_fixed_work, epsilon=1): ONE,
    partial(exact_exponential_noisy_max, epsilon=Fraction(4, 3)): FOUR_THIRDS,
    partial(exact_exponential_noisy_max, epsilon=Fraction(4, 3), monotone=True): FOUR_THIRDS,
    partial(exact_laplace_noisy_max, epsilon=Fraction(4, 3)): FOUR_THIRDS,
    partial(exact_laplace_noisy_max, epsilon=Fraction(4, 3), monotone=True): FOUR_THIRDS,
}
CLAIMED: list[tuple[Mechanism, Claim, str]] = [
    *(
        (make(**{"utility_range": (-8, 8), **public}), claim, ONE_WAY if "monotone" in make.keywords else "apart")
        for make, claim in SELECTIONS.items()
        for public in CHOSEN
    ),
    (exact_bounded_sum(epsilon=1, **WHOLE), ONE, EITHER),
    (exact_bounded_mean(epsilon=1, **WHOLE), ONE, EITHER),
    (exact_bounded_mean(epsilon=1, relation="substitute", **WHOLE), ONE, REPLACED),
    (exact_narrow_sum(epsilon=1, **{**NARROW, "grid": Grid(-50)}), ONE, REPLACED),
    (exact_agreeing_pairs(epsilon=1, cells="ab"), ONE, ADDED),
    (exact_agreeing_pairs(epsilon=1, cells="ab", relation="substitute"), ONE, REPLACED),
    (exact_sum_over_count(**AGES), ONE, ADDED),
    (people(statistic=np.mean, chunks=600, key=b"k", named=False), ONE, ADDED),
    (exact_smooth_mean(delta=1e-6, **AGES), SMALL_DELTA, ADDED),
    (exact_ptr_mean(delta=1e-6, bound=0.005, **AGES), SMALL_DELTA, ADDED),
    (exact_median_smooth(delta=1e-6, **AGES), SMALL_DELTA, EITHER),
    (exact_median_ptr(delta=1e-6, bound=1, **AGES), SMALL_DELTA, EITHER),
    (exact_quantile(epsilon=1, quantile=Fraction(3, 4), **WHOLE), ONE, ADDED),
]
"""Terms, what they promise, and how the checker's statement of their neighbours ends, but for functions it names."""


@pytest.mark.parametrize(("term", "claim", "neighbours"), CLAIMED)
def test_the_checker_accepts_the_claim(term: Mechanism, claim: Claim, neighbours: str) -> None:
    assert term.claim.within(claim)
    statement = check(json.loads(json.dumps(certificate("term", term)))).statement
    assert statement.partition(", if ")[0].endswith(neighbours)


def test_every_exact_target_is_of_a_term() -> None:
    assert {name for name in targets.__all__ if name.startswith("exact_")} <= set(TERMS)


@pytest.mark.parametrize("name", TERMS)
def test_a_term_claims_what_its_target_claims_for_the_same_neighbours(name: str) -> None:
    """Claims of other kinds are compared where certificates are proved."""
    target, term = TARGETS[name], TERMS[name]
    assert target.relation is None or target.relation in (term.relation or "").split(" or ")
    if isinstance(target.claim, PrivacyClaim) and name.startswith("exact_"):
        promised = ApproximateDP(Fraction(target.claim.epsilon), Fraction(target.claim.delta))
        assert term.claim.within(promised)


DATA: dict[str, Any] = {"number": 1.25, "numbers": [0.0, 1.0, 0.25, 1.0], "keys": ["ash", "elm", "ash"], "bit": True}


@pytest.mark.parametrize("name", TERMS)
def test_a_term_releases_as_often_as_it_is_asked_to_and_is_json_down_to_its_leaves(name: str) -> None:
    assert json.loads(json.dumps(encoded(TERMS[name])))["is"]
    data = DATA[data_of(name)]
    for trials in (0, 1, 5):
        assert len(TARGETS[name].release(data, trials, np.random.default_rng(trials))) == trials
    first = outputs(name, data, 1)
    assert outputs(name, data, 1) == first
    has_noise = any(outputs(name, data, seed) != first for seed in range(40))
    assert has_noise or name in ("exact_ptr_mean", "exact_median_ptr")  # which answer nothing on so few records


NUMBERS = [math.nan, math.inf, -math.inf, 1.7e308, -1e308, 5e-324, -0.0, 10**400, Fraction(1, 10**40), True]
EXTREMES: dict[str, list[Any]] = {
    "number": NUMBERS,
    "numbers": [*([number] * 4 for number in NUMBERS), NUMBERS[:4], NUMBERS[3:7], NUMBERS[6:]],
    "keys": [[], [""], ["\ud800", "é", "e\u0301"] * 9],
    "bit": [],
}


@pytest.mark.parametrize("name", TERMS)
def test_no_data_make_a_term_fail(name: str) -> None:
    """Where neighbours have more records or fewer, there may be any number of them."""
    sort = data_of(name)
    any_size = [[], [50.0], [1e6] * 40] if sort == "numbers" and "add-remove" in (TERMS[name].relation or "") else []
    with np.errstate(all="raise"):
        for data in EXTREMES[sort] + any_size:
            assert "nan" not in outputs(name, data)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_what_is_refused_does_not_tell_who_is_in_the_sample(size: int) -> None:
    for place in range(4):
        records: list[Any] = [1, 0, 1, 0]
        records[place] = "1"
        for seed in range(8):
            for term in (
                exact_poisson_count(epsilon=1, rate=0.01),
                exact_sampled_count(epsilon=1, size=size, records=4),
            ):
                with pytest.raises(TypeError, match="records must be"):
                    term.release(records, SeededBits(seed))


PUBLIC: dict[str, Any] = {
    "threshold": 1,
    "positives": 3,
    "epsilon_threshold": Fraction(1, 2),
    "epsilon_answers": 0.25,
    "sensitivity": Fraction(5, 3),
    "grid": Grid(-2),
}


def test_scales_grow_with_the_positives_and_with_the_steps_that_answers_move() -> None:
    """⌈(5/3)/(1/4)⌉ = 7 steps: 7/ε₁, 2·3·7/ε₂ and 3·7/ε₃; the claim is the sum of all ε."""
    term = exact_above_threshold(**PUBLIC)
    assert (term.threshold_law, term.answer_law) == (DiscreteLaplace(Fraction(14)), DiscreteLaplace(Fraction(168)))
    assert (term.value_law, term.claim) == (None, ApproximateDP(Fraction(3, 4)))
    with_values = exact_above_threshold(**PUBLIC, epsilon_values=Fraction(1, 5))
    assert with_values.value_law == DiscreteLaplace(Fraction(105))
    assert with_values.claim == ApproximateDP(Fraction(19, 20))


def reached(threshold: int, epsilon: Fraction) -> Any:
    """P[1 + N ≥ T] by mpmath, to 60 digits."""
    with mpmath.workdps(60):
        rate = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.exp(-rate * (threshold - 1)) / (1 + mpmath.exp(-rate))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 7), Fraction(5), Fraction(1, 1000)])
@pytest.mark.parametrize("delta", [Fraction(1, 128), Fraction(49, 100), Fraction(1, 10**12)])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: Fraction, delta: Fraction) -> None:
    term = exact_partition_selection(epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        most = mpmath.mpf(delta.numerator) / delta.denominator
        assert reached(term.threshold, epsilon) <= most
        assert term.threshold == 2 or reached(term.threshold - 1, epsilon) > most
    assert term.claim.epsilon == epsilon
    assert term.claim.delta <= delta


def test_a_delta_just_below_what_a_threshold_gives_takes_the_next_one() -> None:
    """The double nearest to e^(−5)/(1 + e^(−1)) lies below it, and the next one above."""
    near = float(reached(6, Fraction(1)))
    doubles = sorted([near, math.nextafter(near, 1), math.nextafter(near, 0)])
    thresholds = [exact_partition_selection(epsilon=1, delta=delta).threshold for delta in doubles]
    assert thresholds == [7 if delta < reached(6, Fraction(1)) else 6 for delta in doubles]
    assert set(thresholds) == {6, 7}


def test_a_quantile_with_the_sensitivity_of_a_median_has_no_rule() -> None:
    naive = naive_quantile_half_sensitivity(epsilon=1, quantile=Fraction(3, 4), **WHOLE)
    with pytest.raises(Refused, match="no rule for utilities"):
        check(json.loads(json.dumps(certificate("a quantile", naive))))
