"""Naive mechanisms follow their textbooks to the eye; each of a list breaks its claim, and its exact twin does not.

An event is fixed beforehand and judged on fresh outputs of each input: the claim is false if a Clopper-Pearson lower
bound of P[E] is greater than e^ε·(upper bound of Q[E]) + δ. Each bound fails with probability 1e-9.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from attacklab.attacks.samplers import NUMPY, reachable
from attacklab.model.claims import PrivacyClaim
from experiments import targets
from experiments.targets import partitions, quantiles
from experiments.targets.quantiles import LOWER, UPPER
from mechanisms.core.term import Relation
from mechanisms.exponential.naive import naive_exponential, naive_exponential_stabilised
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat
from mechanisms.laplace import naive as laplace
from mechanisms.noisy_max.naive import naive_exponential_noisy_max, naive_gumbel_noisy_max, naive_laplace_noisy_max
from mechanisms.sparse_vector.naive import (
    naive_above_threshold,
    naive_above_threshold_endless,
    naive_above_threshold_unscaled,
)
from mechanisms.summation.naive import (
    correctly_rounded_sum,
    naive_bounded_sum,
    pairwise_sum,
    sequential_sum,
    sum_sensitivity,
    wrapping_sum,
)

TRIALS = 20_000


def rng(seed: int = 8) -> np.random.Generator:
    return np.random.default_rng(seed)


def is_from_interval(output: float, left: float, right: float) -> bool:
    """Whether a double is left + (right − left)·U in doubles, for one of the 2^53 uniforms near it."""
    width = right - left
    middle = round((output - left) / width * 2**53)
    near = range(max(middle - 4, 0), min(middle + 4, (1 << 53) - 1) + 1)
    return any(left + width * (leading * 2.0**-53) == output for leading in near)


def only_beside_a_record(output: float) -> bool:
    """Whether it can come of the interval from 0.1 to 60.1 and not of that from 0 to 60.1."""
    return 0.1 < output < 60.1 and is_from_interval(output, 0.1, 60.1) and not is_from_interval(output, LOWER, 60.1)


def only_of_six(output: Any) -> bool:
    """Whether a noisy count can be that of six people and not that of five."""
    noisy = np.array([float(dict(output).get("ash", math.nan))])
    return bool(reachable(noisy, 6.0, 1.0, NUMPY)[0] and not reachable(noisy, 5.0, 1.0, NUMPY)[0])


class Broken(NamedTuple):
    """Two inputs, an event of one output that is likelier on the first, the sound twin, and how often to draw."""

    likelier: Any
    other: Any
    event: Callable[[Any], bool]
    twin: str
    trials: int = TRIALS


FAR, LEFT_END, MANY = quantiles.PAIRS
PRESENCE, COUNT, ORDER = partitions.PAIRS
YES, NO = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
ONLY_SECOND = (False, True)
KEYS = "exact_partition_selection"
BROKEN = {
    "naive_quantile": Broken(LEFT_END.first, LEFT_END.second, only_beside_a_record, "exact_quantile"),
    "naive_quantile_half_sensitivity": Broken(FAR.second, FAR.first, lambda output: output < 50, "exact_quantile"),
    "naive_quantile_midpoint": Broken(
        LEFT_END.first, LEFT_END.second, lambda output: output == (0.1 + 60.1) / 2, "exact_quantile"
    ),
    "naive_quantile_unscaled": Broken(MANY.first, MANY.second, math.isnan, "exact_quantile"),
    "naive_partition_selection": Broken(
        ORDER.first, ORDER.second, lambda keys: [*dict(keys)][:2] == ["beech", "ash"], KEYS
    ),
    "naive_partition_selection_sorted": Broken(COUNT.first, COUNT.second, only_of_six, KEYS, 1_000),
    "naive_partition_selection_own_count": Broken(
        PRESENCE.first, PRESENCE.second, lambda keys: "elm" in dict(keys), KEYS
    ),
    "naive_partition_selection_geometric": Broken(
        PRESENCE.first, PRESENCE.second, lambda keys: "elm" in dict(keys), KEYS, 50_000
    ),
    "naive_poisson_count": Broken(
        np.ones(3, dtype=int), np.ones(2, dtype=int), lambda count: count > 1, "exact_poisson_count", 150_000
    ),
    "naive_sampled_count": Broken(YES, NO, lambda count: count > 2, "exact_sampled_count", 150_000),
    "naive_shuffled_response": Broken(YES, NO, lambda answers: answers[-1] == 1, "exact_shuffled_response", 150_000),
    "naive_query_session": Broken(True, False, lambda answers: tuple(answers) == (1, 1), "exact_query_session", 40_000),
    "naive_above_threshold_noiseless": Broken(
        [0.0, 1.0], [1.0, 0.0], lambda said: tuple(said) == ONLY_SECOND, "exact_above_threshold"
    ),
}
"""Naive targets, and on which pair which event shows that they lose more than they claim."""


def excess(name: str, row: Broken, trials: int, seed: int) -> float:
    """By how much P[E] exceeds e^ε·Q[E] + δ at the least."""
    target = getattr(targets, name)()
    assert isinstance(target.claim, PrivacyClaim)
    hits = [sum(map(row.event, target.release(side, trials, rng(seed)))) for side in (row.likelier, row.other)]
    least, most = (stats.binomtest(count, trials).proportion_ci(1 - 2e-9, "exact") for count in hits)
    return float(least.low - (math.exp(target.claim.epsilon) * most.high + target.claim.delta))


@pytest.mark.parametrize("name", BROKEN)
def test_a_naive_mechanism_breaks_its_claim_and_its_exact_twin_is_not_accused(name: str) -> None:
    row = BROKEN[name]
    assert excess(name, row, row.trials, seed=1) > 0
    assert excess(row.twin, row, 1_000, seed=2) <= 0


# Their laws.


NORMALS = (box_muller, polar, ziggurat, inverse_cdf)
REALS: list[tuple[Callable[..., Any], str]] = [
    *(
        (sampler, "norm")
        for sampler in (*NORMALS, partial(box_muller, dtype=np.float32), partial(ziggurat, dtype=np.float32))
    ),
    *(
        (lambda count, rng, made=made: (made(3.0, count, rng, epsilon=0.5, sensitivity=2.0) - 3.0) / 4.0, "laplace")
        for made in (laplace.naive_laplace_inverse_cdf, laplace.naive_laplace_numpy, laplace.naive_laplace_numpy_legacy)
    ),
]


@pytest.mark.parametrize(("sampler", "cdf"), REALS)
def test_every_sampler_has_the_law_of_its_textbook(sampler: Callable[..., Any], cdf: str) -> None:
    """Kolmogorov–Smirnov at 20 000 draws; each of the nine fails by chance with probability 1e-9."""
    drawn = sampler(TRIALS, rng(5))
    assert drawn.shape == (TRIALS,)
    assert stats.kstest(drawn.astype(np.float64), cdf).pvalue > 1e-9


WEIGHTS = np.exp([0.0, 1.0, 1.5])
CHOICES: dict[str, tuple[Callable[..., Any], dict[int, float]]] = {
    **{
        f"{made.__name__}, monotone {monotone}": (
            partial(made, [3.0, 1.0], epsilon=1.5, sensitivity=1.5, monotone=monotone), {1: worse(1.0 + monotone)},
        )
        for made, worse in (
            (naive_laplace_noisy_max, lambda gap: (2 + gap) * math.exp(-gap) / 4),
            (naive_gumbel_noisy_max, lambda gap: 1 / (1 + math.exp(gap))),
            (naive_exponential_noisy_max, lambda gap: math.exp(-gap) / 2),
        )
        for monotone in (False, True)
    },
    **{
        made.__name__: (partial(made, [0.0, 2.0, 3.0], epsilon=1.0), dict(enumerate(WEIGHTS / WEIGHTS.sum())))
        for made in (naive_exponential, naive_exponential_stabilised)
    },
    "naive_two_sided_geometric": (
        partial(laplace.naive_two_sided_geometric, 7, epsilon=1.0, sensitivity=2.0),
        {7 + noise: stats.dlaplace.pmf(noise, 0.5) for noise in range(-5, 6)},
    ),
    **{
        f"naive_randomized_response, {truth}": (
            partial(laplace.naive_randomized_response, truth, epsilon=1.0), {not truth: 1 / (1 + math.e)},
        )
        for truth in (False, True)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_each_outcome_comes_as_often_as_the_formula_says(name: str) -> None:
    """20 000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    release, masses = CHOICES[name]
    outputs = np.asarray(release(TRIALS, rng(11)))
    for outcome, mass in masses.items():
        assert abs(np.mean(outputs == outcome) - mass) < 0.025


@pytest.mark.parametrize("records", [[], [50.0] * 4, [10.0, 20.0, 20.0, 90.0]])
@pytest.mark.parametrize("name", ["naive_quantile", "naive_quantile_unscaled"])
def test_intervals_are_chosen_as_the_formula_says(name: str, records: list[float]) -> None:
    """As above: an interval weighs its width times e^(−|i − α·n|/2)."""
    outputs = getattr(targets, name)().release(np.array(records), TRIALS, rng(4))
    ends = [LOWER, *sorted(records), UPPER]
    weights = [
        (right - left) * math.exp(-abs(i - 0.75 * len(records)) / 2) for i, (left, right) in enumerate(pairwise(ends))
    ]
    for (left, right), weight in zip(pairwise(ends), weights, strict=True):
        assert abs(np.mean((left <= outputs) & (outputs < right)) - weight / sum(weights)) < 0.025


@pytest.mark.parametrize(
    ("mechanism", "public", "scales"),
    [
        (naive_above_threshold, {"positives": 2}, (2.0, 8.0)),
        (naive_above_threshold_unscaled, {"positives": 2}, (4.0, 4 / 3)),
        (naive_above_threshold_endless, {}, (2.0, 2.0)),
    ],
)
def test_reports_follow_the_noise_that_the_paper_prints(
    mechanism: Callable[..., Any], public: dict[str, int], scales: tuple[float, float]
) -> None:
    """The probability of (below, above, above) and of (below, below, below), by numerical integration at ε = 1."""
    answers = np.array([0.0, 2.0, -1.0])
    rows = mechanism(answers, TRIALS, rng(), threshold=0.5, epsilon=1.0, **public)
    bars = np.linspace(-50 * scales[0], 50 * scales[0], 200_001)
    density = stats.laplace.pdf(bars, 0, scales[0])
    above = [stats.laplace.sf(0.5 + bars, answer, scales[1]) for answer in answers]
    for report in ((False, True, True), (False, False, False)):
        chances = [one if said else 1 - one for one, said in zip(above, report, strict=True)]
        ideal = float(np.sum(density * np.prod(chances, axis=0))) * (bars[1] - bars[0])
        assert abs(np.mean((rows == report).all(axis=1)) - ideal) < 0.025


@pytest.mark.parametrize("mechanism", [naive_above_threshold, naive_above_threshold_unscaled])
def test_nothing_is_reported_after_the_last_positive(mechanism: Callable[..., Any]) -> None:
    rows = mechanism(np.full(9, 1e6), 100, rng(), threshold=0.0, positives=3, epsilon=1.0)
    assert rows.tolist() == [[True] * 3 + [False] * 6] * 100


# Their arithmetic.


@pytest.mark.parametrize("truth", [False, True])
def test_a_response_is_never_a_lie_at_a_large_epsilon_and_always_where_the_exponential_overflows(truth: bool) -> None:
    for epsilon, told in ((40.0, truth), (710.0, not truth)):
        assert (laplace.naive_randomized_response(truth, 1000, rng(1), epsilon=epsilon) == told).all()


@pytest.mark.parametrize("utilities", [[-4000.0, -4001.0], [4000.0, 0.0], [4000.0, 4000.0], [0.0, math.nan]], ids=str)
def test_vanished_overflowed_and_undefined_weights_give_no_outcome(utilities: list[float]) -> None:
    assert naive_exponential(utilities, 3, np.random.default_rng(0), epsilon=0.5) == [None] * 3


@pytest.mark.parametrize("sampler", NORMALS)
def test_the_mechanism_adds_scaled_normals_to_the_answer(sampler: Sampler) -> None:
    outputs = naive_gaussian(3.0, 9, np.random.default_rng(8), sigma=0.7, sampler=sampler)
    normals = sampler(9, np.random.default_rng(8))
    assert np.array_equal(outputs, 3.0 + 0.7 * normals)


def test_the_orders_of_summation_are_what_they_say() -> None:
    """2^53, 1, 1, −2^53: sequentially both ones are lost, pairwise the halves 2^53 and 1 − 2^53 leave 1."""
    records = np.array([2.0**53, 1.0, 1.0, -(2.0**53)])
    assert sequential_sum(records) == 0
    assert pairwise_sum(records) == 1
    assert correctly_rounded_sum(records) == 2


def test_a_machine_integer_wraps_around_where_one_record_crosses_its_end() -> None:
    assert wrapping_sum(np.array([100.0, 27.0]), np.int8) == 127
    assert wrapping_sum(np.array([100.0, 28.0]), np.int8) == -128
    assert wrapping_sum(np.array([2.0**31 - 1, 1.0])) == -(2.0**31)


@pytest.mark.parametrize(("lower", "upper"), [(0, 3), (-2, 1), (2, 5), (-4, -1)])
def test_the_sensitivity_is_the_largest_move_over_every_pair_of_neighbours(lower: int, upper: int) -> None:
    datasets = list(itertools.product(range(lower, upper + 1), repeat=2))
    removal = max(abs(sum(records) - records[0]) for records in datasets)
    substitution = max(abs(sum(one) - sum(other)) for one in datasets for other in datasets if one[1] == other[1])
    assert sum_sensitivity(lower, upper, "add-remove") == removal
    assert sum_sensitivity(lower, upper, "substitute") == substitution


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 3.0), ("substitute", 4.0)])
def test_the_sum_is_of_clipped_records_with_noise_of_the_declared_scale(relation: Relation, sensitivity: float) -> None:
    outputs = naive_bounded_sum(
        np.array([-7.0, 0.5, 9.0]), 5, np.random.default_rng(2), epsilon=0.5, lower=-1, upper=3, relation=relation
    )
    noise = np.random.default_rng(2).laplace(0, sensitivity / 0.5, 5)
    assert np.array_equal(outputs, 2.5 + noise)
