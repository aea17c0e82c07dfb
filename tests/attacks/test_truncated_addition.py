"""Truncated addition: light outcomes lost in a short accumulator are caught; sound targets are not accused."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.auditing.referee import audit
from attacklab.model.findings import Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY64, FORMATS, Format
from mechanisms.exponential.naive import naive_exponential_low_precision
from tests.attacks.making import Release, scenarios_of, selection_of
from tests.ideal import ideal_exponential
from tests.narrow import TYPES

UNDECIDED = {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}


def accumulating(dtype: type) -> Release:
    """One uniform against a running sum that is kept in the given format, added up by a plain loop."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> np.ndarray:
        weights = np.exp(epsilon * (utilities - utilities.max()) / (2 * sensitivity)).astype(dtype)
        sums, running = [], dtype(0)
        for weight in weights:
            running = dtype(running + weight)
            sums.append(float(running))
        return np.searchsorted(sums, rng.random(trials) * sums[-1], side="right")

    return release


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.01, 1.0), (0.5, 3.7), (1.0, 1.0), (8.0, 0.3), (1e-9, 1e-290), (50.0, 1e306)]
)
def test_light_weights_are_lost_on_one_side_and_count_on_the_other(
    form: Format, epsilon: float, sensitivity: float
) -> None:
    target = selection_of(accumulating(TYPES[form]), epsilon, sensitivity)
    pair = TruncatedAddition.scenario(target, form, 4).pair

    def ratio(utilities: np.ndarray) -> float:
        """Light over heavy weight, in units of half an ulp of the heavy one's binade."""
        nats = epsilon * (utilities[0] - utilities[1]) / (2 * sensitivity)
        return math.exp(form.significand_bits * math.log(2) - nats)

    assert ratio(pair.second) <= 1 < ratio(pair.first)
    gap = pair.second[0] - pair.first[0]
    assert gap > 0
    assert (pair.first[1:] - pair.second[1:] == gap).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
@pytest.mark.parametrize("family", ["loop", "cumulative sum"])
def test_short_accumulators_are_caught(family: str, form: Format, epsilon: float) -> None:
    low_precision = partial(naive_exponential_low_precision, dtype=TYPES[form])
    release = accumulating(TYPES[form]) if family == "loop" else low_precision
    attack = TruncatedAddition(formats=(form,))
    (finding,) = audit(selection_of(release, epsilon), [attack], trials=20_000, seed=3, spend_all=True)
    assert (finding.verdict, finding.samples.counts.second) == (Verdict.VIOLATED, 0)
    assert finding.samples.counts.first > 1_000


def test_binary64_loses_outcomes_but_no_sample_shows_it() -> None:
    target = selection_of(accumulating(np.float64), 1.0)
    scenario = TruncatedAddition.scenario(target, BINARY64, 1 << 10)
    running = 1.0
    for utility in scenario.pair.second[1:].tolist():
        assert running + math.exp(utility / 2) == running
    counted = math.exp(scenario.pair.first[0] / 2)
    assert counted + math.exp(scenario.pair.first[1] / 2) > counted
    attack = TruncatedAddition(most_outcomes=1 << 10, formats=(BINARY64,))
    (finding,) = audit(target, [attack], trials=5_000)
    assert finding.verdict is Verdict.NOT_DETECTED


def by_weights(weights: Callable[[np.ndarray], Any]) -> Release:
    """One uniform double against sums of the weights that a function makes of ε·(u − max u)/(2Δu)."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> np.ndarray:
        made = weights(epsilon * (utilities - utilities.max()) / (2 * sensitivity))
        sums = np.cumsum(made, dtype=made.dtype).astype(float)
        drawn = np.searchsorted(sums, rng.random(trials) * sums[-1], side="right")
        return np.minimum(drawn, len(utilities) - 1)

    return release


def tickets(bits: int) -> Release:
    return by_weights(lambda nats: np.floor(np.exp(nats) * 2.0**bits))


def on_utilities(change: Callable[[np.ndarray], np.ndarray]) -> Release:
    """The ideal mechanism, on utilities that it changes first."""

    def release(utilities: np.ndarray, trials: int, rng: np.random.Generator, **parameters: float) -> np.ndarray:
        return ideal_exponential(change(utilities), trials, rng, **parameters)

    return release


DEEP: dict[str, Release] = {
    "tickets of 20 bits": tickets(20),
    "utilities in bins of 5": on_utilities(lambda utilities: 5 * np.floor(utilities / 5)),
}
FLOORED: dict[str, Release] = {
    "weights no lower than 0.001": by_weights(lambda nats: np.maximum(np.exp(nats), 1e-3)),
    "exponents no lower than -5": by_weights(lambda nats: np.exp(np.maximum(nats, -5.0))),
}


@pytest.mark.parametrize("release", DEEP.values(), ids=DEEP)
def test_weights_that_are_lost_deep_down_are_caught(release: Release) -> None:
    """On a ladder and by a sweep; what is lost nearer to the top is in the corpus."""
    findings = audit(selection_of(release, 1.0), [TruncatedAddition()], trials=100_000, seed=7)
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("release", FLOORED.values(), ids=FLOORED)
def test_floored_weights_keep_their_claim_and_are_not_accused(release: Release, epsilon: float) -> None:
    """Each audit raises a false alarm with probability at most 1e-9, at this fixed seed."""
    findings = audit(selection_of(release, epsilon), [TruncatedAddition()], alpha=1e-9, trials=20_000)
    assert findings
    assert {finding.verdict for finding in findings} <= UNDECIDED


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.01, 3.7), (1.0, 1.0), (50.0, 0.3), (1e-9, 1e-290), (1.0, 1e300)]
)
def test_pairs_are_found_at_every_scale(epsilon: float, sensitivity: float) -> None:
    """A pair cannot be made unless its utilities are neighbours."""
    assert scenarios_of(TruncatedAddition(), selection_of(tickets(20), epsilon, sensitivity))


def test_the_groups_of_a_ladder_lie_where_their_weights_are_powers_of_two() -> None:
    *_, ladder = scenarios_of(TruncatedAddition(), selection_of(tickets(20), 1.0))
    depths = -ladder.pair.second[1:] / 2
    groups, sizes = np.unique(depths, return_counts=True)
    for nats, size in zip(groups.tolist(), sizes.tolist(), strict=True):
        bits = round(nats / math.log(2))
        # The depth is the least that reaches the power of two, in units of at most a quarter of a nat.
        assert 0 <= nats - bits * math.log(2) < 0.25
        assert size == 2 ** (bits - 11)
    assert len(groups) == 10
    assert math.exp(-depths[0]) * 2.0**20 <= 1


def test_a_sound_target_is_spared_the_costly_forms() -> None:
    assert not scenarios_of(TruncatedAddition(), selection_of(ideal_exponential, 1.0))
