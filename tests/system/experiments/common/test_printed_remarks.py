"""What textbooks and papers remark, and the lab computes: by another route, and at the records' own figures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate

from experiments import accuracy_of_means, printed_samplers
from experiments.common import definition_laws, mitigations, selection_laws
from experiments.targets import means
from tests.system.experiments.records import committed_record

ROWS = ((0, 0), (0, 1), (1, 0), (1, 1), (None, 0), (None, 1))


# The definition


@pytest.mark.parametrize("together", [True, False])
def test_no_mechanism_moves_beliefs_further_than_the_randomized_responses(together: bool) -> None:
    """Any yes or no with probabilities in [1/4, 3/4] is (ln 3)-DP; a thousand of these, by Bayes' rule."""
    rng, prior = np.random.default_rng(0), 1 / 64
    largest = float(definition_laws.belief_quotient(Fraction(1, 64), together=together))
    belief = {(0, 0): 1 - prior, (1, 1): prior, (0, 1): 0.0, (1, 0): 0.0}
    if not together:
        belief = {
            (a, b): (prior if a else 1 - prior) * (prior if b else 1 - prior) for a, b in product((0, 1), repeat=2)
        }
    for draw in range(1000):
        yes = dict(zip(ROWS, rng.uniform(0.25, 0.75, 6) if draw % 2 else rng.choice([0.25, 0.75], 6), strict=True))
        posteriors = []
        for told in (yes, {rows: yes[None, rows[1]] for rows in belief}):
            with_bit = sum(share * told[rows] for rows, share in belief.items() if rows[0])
            posteriors.append(with_bit / sum(share * told[rows] for rows, share in belief.items()))
        assert 1 / largest - 1e-12 <= posteriors[0] / posteriors[1] <= largest + 1e-12
    assert largest == pytest.approx(3 * (3 - 2 * prior) / (1 + 2 * prior) if together else 3 - 2 * prior)
    assert largest <= (9 if together else 3)


def test_the_sum_of_the_proof_is_needed_by_groups_and_the_theorem_allows_more() -> None:
    delta = Fraction(1, 1 << 20)
    for k, row in enumerate(definition_laws.group_deltas(delta, 5), 1):
        assert row["sum"] == float(delta * (3**k - 1) / 2)
        assert row["needed"] == pytest.approx(row["sum"], rel=1e-9)
        assert row["neighbours"] <= float(delta)
        assert row["theorem"] == float(k * 3 ** (k - 1) * delta)


def test_harm_to_somebody_is_what_going_through_all_outcomes_of_five_people_gives() -> None:
    delta, people = Fraction(1, 10), 5
    found = definition_laws.victims(delta, people)
    for name, share in (("each", float(delta)), ("loss", found["loss_of_one"])):
        summed = sum(
            math.prod(share if hit else 1 - share for hit in hits)
            for hits in product((False, True), repeat=people)
            if any(hits)
        )
        assert found[name] == pytest.approx(summed)
    ratio = (3 + delta) / (1 - delta)
    assert found["loss_of_one"] == float(ratio / (1 + ratio))
    assert (ratio - 3) / (1 + ratio) == delta, "randomized response of that ratio is (ln 3, δ)-DP, and no better"
    assert found["each"] <= found["one"] == 0.5


@pytest.mark.parametrize("power", [50, 53, 60])
def test_a_coin_in_doubles_comes_up_too_often_below_its_grid(power: int) -> None:
    found = definition_laws.catastrophe_deltas(power)
    assert found["naive"] == math.ceil(2.0 ** (53 - power)) / 2.0**53
    assert found["exact"] == found["claimed"] == 2.0**-power


def test_the_law_of_a_catastrophe_refutes_the_coin_in_doubles_and_proves_the_exact_one() -> None:
    findings = committed_record("definition")["findings"]
    assert [(finding["target"], finding["verdict"]) for finding in findings] == [
        ("naive_catastrophe", "violated"),
        ("exact_catastrophe", "proved"),
    ]


# Selections


def test_the_law_of_the_noisiest_index_is_the_sum_over_all_noise() -> None:
    utilities, noise = np.array([2, 0, 1]), np.arange(-40, 41)
    mass = math.tanh(0.5) * np.exp(-np.abs(noise.astype(float)))
    grids = np.meshgrid(*(noise + utility for utility in utilities), indexing="ij")
    winners = np.argmax(np.stack(grids), axis=0)  # the first of equal ones
    chances = np.einsum("i,j,k->ijk", mass, mass, mass)
    expected = [chances[winners == index].sum() for index in range(3)]
    assert selection_laws.index_law(utilities) == pytest.approx(expected, abs=1e-12)


def test_an_index_costs_one_epsilon_for_counts_and_two_for_other_scores() -> None:
    found = committed_record("noisy_max_laws")["measured"]["in_general"]
    assert max(found["index"]["counts"]) <= 1 + 1e-9
    assert 1.99 < max(found["index"]["any"]) <= 2 + 1e-9
    assert found["scores"] == pytest.approx(list(selection_laws.OUTCOMES), rel=1e-6)


def test_the_shares_of_growing_ranges_approach_what_the_tail_of_the_weights_leaves() -> None:
    power, size = 1 / math.log(2), selection_laws.RANGES[-1]
    share = selection_laws.near(selection_laws.WEIGHTS["log_2"], size)
    within = 1 + 2 * sum((1 + d) ** -power for d in range(1, selection_laws.NEAR + 1))
    tails = [2 * (size + start) ** (1 - power) / (power - 1) for start in (1, 2)]
    lower, upper = (within / (within / share + tail) for tail in tails)
    assert lower <= selection_laws.limit_near()["log_2"] <= upper


# Mitigations, and what Ilvento 2020 proves of bits and of rounding


def test_retries_follow_from_the_bits_of_the_sum() -> None:
    for low in (-6, -7, -8, -15, -16, -31, -32):
        needed = max(0, math.ceil(math.log2((1 - low) / mitigations.FIRST_PRECISION)))
        assert mitigations.retries((0, low)) == needed


def test_mitigations_leak_what_arithmetic_by_hand_says() -> None:
    found = committed_record("truncated_addition")["measured"]["mitigations"]
    cases = found["cases"]
    for name in ("flag", "retry", "underflow"):
        assert (cases[name]["advantage"], cases[name]["needed"]) == (1, None)
    assert (2.0**54 + 2, 2.0**54 + 3) == (2.0**54, 2.0**54 + 4)
    assert cases["coarse"]["advantage"] == pytest.approx(math.tanh(1.0), abs=1e-12)
    assert cases["coarse"]["exact"] == pytest.approx(math.tanh(0.25), abs=1e-12)
    for low, needed in zip(found["lows"], found["needed"], strict=True):
        counts = [2**53 - math.ceil(2.0**53 / (1 + math.exp(gap / 2))) for gap in (low + 2, low)]
        assert needed >= math.log(counts[0] / counts[1]) - 1e-6


def test_rounding_changes_a_probability_by_what_all_roundings_say() -> None:
    """Two outcomes, one far dearer: each rounding multiplies by (1 − f/2)·2^f or (1 + f)·2^−f at most."""
    largest = 0.0
    for own, other in product(printed_samplers.FRACTIONS, repeat=2):
        rounded = 0.0
        for up, other_up in product((0, 1), repeat=2):
            chance = (own if up else 1 - own) * (other if other_up else 1 - other)
            rounded += chance / (1 + 2.0 ** (60 + up - other_up))
        largest = max(largest, rounded * (1 + 2.0 ** (60 + own - other)))
    assert printed_samplers.rounding_change(1.0, 1) == pytest.approx(largest)
    fractions = np.linspace(0, 1, 1001)
    bound = max((1 - fractions / 2) * 2**fractions) * max((1 + fractions) / 2**fractions)
    assert largest <= bound
    assert round(100 * (largest - 1), 1) == round(100 * (bound - 1), 1) == 12.7


# Accuracy of means


def test_errors_of_means_are_those_of_draws_and_of_integrals() -> None:
    measured = committed_record("accuracy_of_means")["measured"]
    mean, errors = measured["mean"], measured["errors"]
    assert measured["distance"] == 12_562 == next(k for k in range(40_000) if 100 / (means.PEOPLE - k + 1) >= 0.005)
    assert round(measured["threshold"], 3) == 10.737
    for name, expected in (
        ("exact_sum_over_count", measured["sum_over_count"]),
        ("exact_ptr_mean", measured["magic"]),
        ("naive_ptr_mean", 0.005 / mean),
    ):
        assert errors[name]["mean"] / 100 == pytest.approx(expected, rel=0.05)
    density = lambda x: abs(0.3 + x) * math.exp(-abs(x) / 0.2) / 0.4  # noqa: E731 - an integrand
    integral = sum(integrate.quad(density, *ends)[0] for ends in ((-10, -0.3), (-0.3, 0), (0, 10)))
    assert accuracy_of_means.noisy_error(0.3, 0.2) == pytest.approx(integral)
