"""Lost weights: whatever loses light outcomes at some depth is caught, and what keeps or floors them is not accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attacklab.attacks.truncated_addition import TruncatedAddition
from attacklab.auditing.referee import audit
from attacklab.model.domains import Domain
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from mechanisms.noisy_max.naive import naive_exponential_noisy_max, naive_gumbel_noisy_max
from tests.statistical.attacklab.attacks.making import Release, scenarios_of, selection_of
from tests.unit.attacklab.ideal import ideal_exponential


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


def without_those_below(least: float) -> Release:
    return by_weights(lambda nats: np.where(np.exp(nats) < least, 0.0, np.exp(nats)))


def summed_in(dtype: Any) -> Release:
    return by_weights(lambda nats: np.exp(nats).astype(dtype))


def by_uniforms_of(bits: int) -> Release:
    """A uniform number with few bits against the shares added up."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> np.ndarray:
        sums = np.cumsum(np.exp(epsilon * (utilities - utilities.max()) / (2 * sensitivity)))
        drawn = np.searchsorted(sums / sums[-1], rng.integers(0, 1 << bits, trials) / (1 << bits), side="right")
        return np.minimum(drawn, len(utilities) - 1)

    return release


def gumbel_in(dtype: Any, bits: int) -> Release:
    """Gumbel noise from uniforms of so many bits, added in the given format."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> np.ndarray:
        exponents = (epsilon * utilities / (2 * sensitivity)).astype(dtype)
        drawn = np.empty(trials, dtype=int)
        for rows in np.array_split(np.arange(trials), -(-trials * len(utilities) // (1 << 18))):
            uniforms = (rng.integers(0, 1 << bits, (len(rows), len(utilities))) / (1 << bits)).astype(dtype)
            with np.errstate(all="ignore"):
                drawn[rows] = np.argmax(exponents - np.log(-np.log(uniforms)), axis=1)
        return drawn

    return release


def among_the_best(count: int) -> Release:
    def weights(nats: np.ndarray) -> np.ndarray:
        made = np.zeros(len(nats))
        best = np.argsort(-nats, kind="stable")[:count]
        made[best] = np.exp(nats[best])
        return made

    return by_weights(weights)


RATIO = Fraction(8, 5)


def exact_tickets(
    utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
) -> np.ndarray:
    """Integer tickets in the ratio of (8/5)^u for whole utilities u, at ε = 1: as many as it takes to lose none."""
    assert (epsilon, sensitivity) == (1.0, 1.0)
    whole = [math.floor(utility) for utility in utilities.tolist()]
    low, high = min(whole), max(whole)
    tickets_of = {one: RATIO.numerator ** (one - low) * RATIO.denominator ** (high - one) for one in set(whole)}
    sums = np.cumsum(np.array([tickets_of[one] for one in whole], dtype=object))
    total, size = int(sums[-1]), int(sums[-1]).bit_length() // 8 + 9
    drawn = [int.from_bytes(rng.bytes(size)) * total >> 8 * size for _ in range(trials)]
    return np.searchsorted(sums, np.array(drawn, dtype=object), side="right").astype(int)


def on_utilities(change: Callable[[np.ndarray], np.ndarray]) -> Release:
    """The ideal mechanism, on utilities that it changes first."""

    def release(utilities: np.ndarray, trials: int, rng: np.random.Generator, **parameters: float) -> np.ndarray:
        return ideal_exponential(change(utilities), trials, rng, **parameters)

    return release


BROKEN: dict[str, tuple[Release, tuple[float, ...]]] = {
    "tickets of 4 bits": (tickets(4), (0.1, 1.0, 4.0)),
    "tickets of 16 bits": (tickets(16), (0.1, 1.0, 4.0)),
    "tickets of 20 bits": (tickets(20), (0.1, 1.0, 4.0)),
    "tickets of 24 bits": (tickets(24), (0.1, 1.0, 4.0)),
    "weights below 0.001 dropped": (without_those_below(1e-3), (0.1, 1.0, 4.0)),
    "weights below 0.00001 dropped": (without_those_below(1e-5), (0.1, 1.0, 4.0)),
    "weights below 0.000001 dropped": (without_those_below(1e-6), (1.0, 4.0)),
    "three decimals": (by_weights(lambda nats: np.round(np.exp(nats) / np.exp(nats).sum(), 3)), (0.1, 1.0, 4.0)),
    "weights added in binary16": (summed_in(np.float16), (0.1, 1.0, 4.0)),
    "weights added in bfloat16": (summed_in(ml_dtypes.bfloat16), (0.1, 1.0, 4.0)),
    "weights added in binary32": (summed_in(np.float32), (0.1, 1.0, 4.0)),
    "uniforms of 8 bits": (by_uniforms_of(8), (0.1, 1.0, 4.0)),
    "uniforms of 15 bits": (by_uniforms_of(15), (0.1, 1.0)),
    "a table of 10 entries": (by_weights(lambda nats: np.where(nats > -5, np.exp(np.round(nats, 9)), 0.0)), (1.0, 4.0)),
    "a table that wraps around": (by_weights(lambda nats: np.exp(np.fmod(nats, 6.0))), (0.1, 1.0, 4.0)),
    "utilities in bins of 5": (on_utilities(lambda utilities: 5 * np.floor(utilities / 5)), (0.1, 1.0)),
    "utilities rounded to even": (on_utilities(lambda utilities: 4 * np.round(utilities / 4)), (1.0,)),
    "the 10 best alone": (among_the_best(10), (0.1, 1.0, 4.0)),
    "Gumbel noise in binary16": (gumbel_in(np.float16, 11), (1.0, 4.0)),
}

SOUND: dict[str, Release] = {
    "ideal": ideal_exponential,
    "weights no lower than 0.001": by_weights(lambda nats: np.maximum(np.exp(nats), 1e-3)),
    "exponents no lower than -5": by_weights(lambda nats: np.exp(np.maximum(nats, -5.0))),
    "weights in binary64": by_weights(np.exp),
    "whole utilities": on_utilities(lambda utilities: np.floor(utilities + 0.5)),
    "permute and flip": naive_exponential_noisy_max,
}


def judged(release: Release, epsilon: float, sensitivity: float = 1.0) -> list[Finding]:
    return audit(selection_of(release, epsilon, sensitivity), [TruncatedAddition()], trials=100_000, seed=7)


@pytest.mark.parametrize(
    ("name", "epsilon"), [(name, epsilon) for name, (_, epsilons) in BROKEN.items() for epsilon in epsilons]
)
def test_weights_that_are_lost_at_any_depth_are_caught(name: str, epsilon: float) -> None:
    assert Verdict.VIOLATED in {finding.verdict for finding in judged(BROKEN[name][0], epsilon)}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", [name for name in SOUND if name != "permute and flip"])
def test_floored_and_capped_weights_keep_their_claim_and_are_not_accused(name: str, epsilon: float) -> None:
    """Each audit raises a false alarm with probability at most 1e-9, at this fixed seed."""
    findings = audit(selection_of(SOUND[name], epsilon), [TruncatedAddition()], alpha=1e-9, trials=20_000)
    assert findings
    assert {finding.verdict for finding in findings} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("release", [naive_gumbel_noisy_max, naive_exponential_noisy_max, exact_tickets])
def test_noisy_max_and_exact_tickets_are_not_accused(release: Release) -> None:
    """Each audit raises a false alarm with probability at most 1e-9, at this fixed seed."""
    target = selection_of(release, 1.0)
    findings = audit(target, [TruncatedAddition(most_outcomes=256)], alpha=1e-9, trials=10_000)
    assert {finding.verdict for finding in findings} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(0.01, 3.7), (1.0, 1.0), (50.0, 0.3), (1e-9, 1e-290), (1.0, 1e300)]
)
def test_every_pair_is_one_of_neighbours(epsilon: float, sensitivity: float) -> None:
    scenarios = scenarios_of(TruncatedAddition(), selection_of(tickets(20), epsilon, sensitivity))
    assert scenarios
    for scenario in scenarios:
        sides = scenario.pair.first.tolist(), scenario.pair.second.tolist()
        moves = {abs(Fraction(a) - Fraction(b)) for a, b in set(zip(*sides, strict=True))}
        assert 0 < max(moves) <= Fraction(sensitivity)


def test_the_groups_of_a_ladder_lie_where_their_weights_are_powers_of_two() -> None:
    *_, ladder, _ = scenarios_of(TruncatedAddition(), selection_of(tickets(20), 1.0))
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
    (halves,) = scenarios_of(TruncatedAddition(), selection_of(ideal_exponential, 1.0))
    assert len(halves.pair.first) == 64


def test_no_more_outcomes_are_tried_than_are_asked_for() -> None:
    seen = []

    def release(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        seen.append(len(utilities))
        return ideal_exponential(utilities, trials, rng, epsilon=1.0)

    audit(Target.selection(release, epsilon=1.0), [TruncatedAddition(most_outcomes=16)], trials=100)
    assert max(seen) == 17


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_domain_is_kept_to(epsilon: float) -> None:
    """An audit of the sound target raises a false alarm with probability at most 1e-9, at this fixed seed."""
    domain = Domain(integers=True, non_negative=True, bounds=(0, 1 << 20))

    def only_within(release: Release) -> Target:
        def release_within(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> Any:
            assert utilities.dtype == np.int64
            assert 0 <= utilities.min() <= utilities.max() <= 1 << 20
            return release(utilities.astype(float), trials, rng, epsilon=epsilon, sensitivity=1.0)

        return Target.selection(release_within, epsilon=epsilon, domain=domain)

    broken = audit(only_within(tickets(12)), [TruncatedAddition()])
    assert Verdict.VIOLATED in {finding.verdict for finding in broken}
    sound = audit(only_within(ideal_exponential), [TruncatedAddition()], alpha=1e-9, trials=10_000)
    assert {finding.verdict for finding in sound} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}
