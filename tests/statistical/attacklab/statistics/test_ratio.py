"""Bounds on ε by the ratio of two probabilities: enumerated where trials are few, never wrong too often where many."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attacklab.auditing.statistics.inference import assess
from attacklab.auditing.statistics.ratio import SPREAD, Reading, _asked_for, _of_share, readings
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

TOSSED = Reading(tossed=True, of_second=False, complement=False)
APART = Reading(tossed=False, of_second=False, complement=False)


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.9, 0.8), (0.1, 0.1), (0.3, 0.01), (1.0, 0.4)])
def test_a_bound_on_the_ratio_is_wrong_with_probability_at_most_alpha_whatever_the_rates(
    p: float, q: float, alpha: float
) -> None:
    """All counts that 24 fair coins can give, each with its probability."""
    tosses, wrong = 24, 0.0
    for more, less in itertools.product(range(tosses + 1), repeat=2):
        if more + less <= tosses and _of_share(more, less, alpha) > math.log(p / q) + 1e-12:
            wrong += stats.multinomial.pmf([more, less, tosses - more - less], tosses, [p / 2, q / 2, 1 - (p + q) / 2])
    assert wrong <= alpha * (1 + 1e-9)
    if p / q == 2 and alpha > 0.01:
        assert wrong > alpha / 20  # else it would be far from the ratio


def test_the_page_on_auditing_says_what_a_million_trials_prove_at_most() -> None:
    """An event that all outputs of one input show and none of the other's: ln(n/ln(1/α)), nearly."""
    page = (Path(__file__).parents[4] / "docs/how_to/auditing.md").read_text("utf-8")
    most = _of_share(1_000_000, 0, 1e-6)
    assert most == pytest.approx(math.log(1_000_000 / math.log(1e6)), abs=1e-4)
    assert f"prove ε = {most:.2f} at the very most" in page


def test_the_outputs_that_coins_ask_for_are_as_if_each_trial_had_tossed_one() -> None:
    """Of 20,000 samples, mean and variance lie within 6.2 of their standard errors: false alarm below 2.4e-9."""
    trials, p, q, samples = 400, 0.3, 0.1, 20_000
    rng = np.random.default_rng(5)
    hits = rng.binomial(trials, p, samples), rng.binomial(trials, q, samples)
    asked = np.array([_asked_for(int(first), int(second), trials, rng) for first, second in zip(*hits, strict=True)])
    tosses = 2 * trials - math.ceil(SPREAD * math.sqrt(2 * trials))
    for got, rate in zip(asked.T, (p / 2, q / 2), strict=True):
        law = stats.binom(tosses, rate)
        assert abs(got.mean() - law.mean()) < 6.2 * math.sqrt(law.var() / samples)
        kurtosis = float(law.stats("k")) + 2
        assert abs(got.var() - law.var()) < 6.2 * law.var() * math.sqrt(kurtosis / samples)
    assert abs(np.corrcoef(asked.T)[0, 1] + math.sqrt(p * q / ((2 - p) * (2 - q)))) < 6.2 / math.sqrt(samples)


def test_no_reading_is_wrong_more_often_than_alpha_allows() -> None:
    """More wrong bounds than this among 1,000 samples at α = 0.1 have a probability below 1e-9."""
    p, q, trials, alpha, samples = 0.05, 0.03, 20_000, 0.1, 1_000
    rng = np.random.default_rng(6)
    for reading in readings(0.0):
        first, second = (q, p) if reading.of_second else (p, q)
        if reading.complement:
            first, second = 1 - first, 1 - second
        drawn = zip(rng.binomial(trials, first, samples), rng.binomial(trials, second, samples), strict=True)
        found = [reading.epsilon(Counts(int(a), int(b), trials), 0.0, alpha, rng) for a, b in drawn]
        assert sum(one > math.log(p / q) for one in found) <= stats.binom.isf(1e-9, samples, alpha)
        assert np.median(found) > 0.5 * math.log(p / q)


def test_the_ratio_is_bounded_more_closely_than_by_two_intervals() -> None:
    """By at least a third of what two intervals take off, for rates that are not near 1."""
    counts, alpha, rng = Counts(11_000, 10_000, 1_000_000), 0.1, np.random.default_rng(7)
    seen = math.log(1.1)
    both = assess(PrivacyClaim(0.01), counts, alpha).epsilon_lower
    assert seen - TOSSED.epsilon(counts, 0.0, alpha, rng) < (seen - both) * 2 / 3


def test_near_certain_events_are_bounded_more_closely_apart() -> None:
    counts, rng = Counts(99_900, 50_000, 100_000), np.random.default_rng(8)
    apart, tossed = (one.epsilon(counts, 0.0, 1e-6, rng) for one in (APART, TOSSED))
    assert tossed < apart < math.log(99_900 / 50_000)


@pytest.mark.parametrize("alpha", [0.1, 1e-6])
def test_an_event_never_seen_on_one_side_gives_what_its_hits_allow(alpha: float) -> None:
    """All n hits come from one side with probability share^n, which is α at the bound."""
    hits = 1_000
    share = alpha ** (1 / hits)
    assert _of_share(hits, 0, alpha) == pytest.approx(math.log(share / (1 - share)), rel=1e-9)


def test_readings_mirror_each_other() -> None:
    counts, mirrored = Counts(70, 20, 100), Counts(20, 70, 100)
    for tossed in (False, True):
        one, other, complement = (
            Reading(tossed, *way).epsilon(seen, 0.0, 0.05, np.random.default_rng(9))
            for way, seen in (((False, False), counts), ((True, False), mirrored), ((True, True), counts))
        )
        assert one == other > 0
        by_hand = Reading(tossed, False, False)
        assert complement == by_hand.epsilon(Counts(80, 30, 100), 0.0, 0.05, np.random.default_rng(9))


def test_nothing_is_shown_by_nothing_and_at_a_delta_no_coin_is_tossed() -> None:
    rng = np.random.default_rng(10)
    for reading in readings(0.0):
        assert reading.epsilon(Counts(0, 0, 1), 0.0, 0.05, rng) == 0.0
        assert reading.epsilon(Counts(0, 0, 100), 0.0, 0.05, rng) == 0.0
    assert not any(reading.tossed for reading in readings(1e-6))
    with pytest.raises(ValueError, match="no coin is tossed"):
        TOSSED.epsilon(Counts(5, 1, 10), 0.01, 0.05, rng)
    counts = Counts(500, 0, 1_000)
    assert 0 < APART.epsilon(counts, 0.1, 0.05, rng) < APART.epsilon(counts, 0.0, 0.05, rng)
