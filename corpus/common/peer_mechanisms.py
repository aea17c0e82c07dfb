"""The mechanisms on which StatDP and DP-Sniper were measured, written anew from their papers.

Each has the parameters of DP-Sniper's evaluation: the claim ε = 0.1, five answers for histograms and noisy max, ten
for sparse vectors and prefix sums. Neighbours are those of that evaluation too: for most mechanisms every answer may
move by 1, for histograms one answer. Noise is numpy's, as it was there, but rounded to multiples of 2^−10. Answers are
whole numbers, so that this is post-processing; without it low bits of the noise lose far more than the algorithms.

Source: Ding, Wang, Wang, Zhang and Kifer 2018, algorithms 5 to 10; Lyu, Su and Li 2017, 'Understanding the Sparse
Vector Technique', figure 1; Balcer and Vadhan 2018, algorithm 4.8; Erlingsson, Pihur and Korolova 2014, 'RAPPOR',
steps 1 to 3; Wang, Ding, Wang, Kifer and Zhang 2019, 'Shadow Execution'; Bichsel and others 2021, 'DP-Sniper', table 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Pattern, Queries
from attacklab.model.targets import Outputs, Target

Doubles: TypeAlias = NDArray[np.float64]

CLAIM = 0.1
"""The ε that every mechanism claims."""

HALF, QUARTER = CLAIM / 2, CLAIM / 4

BINS, QUERIES = 5, 10

STEPS = 1 << 10
"""Noise is rounded to multiples of 1/STEPS."""
NOT_ABOVE, STOPPED = -1000.0, -2000.0
"""In a vector of numbers: the output for a query below the threshold, and for one after the mechanism stopped."""

NOTHING = -1
"""In a vector of 0s and 1s: the output for a query after the mechanism stopped."""

FILTER_BITS, HASHES = 20, 4
"""The size of RAPPOR's Bloom filter in bits, and the number of its hash functions."""


@dataclass(frozen=True)
class Peer:
    """A mechanism under its papers' name, its inputs, and the least ε that it really keeps; inf if it keeps none.

    `published` is the lower bound on ε that DP-Sniper proved at 90 % confidence; `statdp` is StatDP's, if recorded.
    """

    name: str
    release: Callable[[Doubles, int, np.random.Generator], Outputs]
    domain: Domain
    epsilon: float
    published: float
    statdp: float | None = None

    def target(self) -> Target:
        """Return the mechanism as a target with the claim of the benchmark."""
        return Target.dataset(self.release, epsilon=CLAIM, name=self.name, domain=self.domain)


def _rounded(noise: Doubles) -> Doubles:
    return np.asarray(np.round(noise * STEPS) / STEPS)


def _noisy(answers: Doubles, trials: int, rng: np.random.Generator, scale: float) -> Doubles:
    """Return all answers with Laplace noise of a scale, shape (trials, answers)."""
    return np.asarray(answers + _rounded(rng.laplace(0.0, scale, (trials, len(answers)))))


def noisy_max(answers: Doubles, trials: int, rng: np.random.Generator, *, exponential: bool, value: bool) -> Outputs:
    """Return the index of the largest noisy answer, or its value, which the proof of noisy max does not cover."""
    shape = trials, len(answers)
    noise = rng.exponential(2 / CLAIM, shape) if exponential else rng.laplace(0.0, 2 / CLAIM, shape)
    noisy = answers + _rounded(noise)
    return np.asarray(noisy.max(axis=1) if value else noisy.argmax(axis=1))


def truncated_geometric(answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
    """Return noisy counts of at most five people, by the table of `GeoSample`; ε is ln(1 + 2^−GEOMETRIC_BITS)."""
    count, people, base = int(answers[0]), BINS, 1 << GEOMETRIC_BITS
    total = (2 * base + 1) * (base + 1) ** (people - 1)
    below = [base ** (count - z) * (base + 1) ** (people - (count - z)) for z in range(count)]
    above = [total - base ** (z - count + 1) * (base + 1) ** (people - 1 - (z - count)) for z in range(count, people)]
    return np.searchsorted([*below, *above, total], rng.integers(1, total, trials, endpoint=True))


GEOMETRIC_BITS = math.ceil(math.log(2 / CLAIM))


@dataclass(frozen=True)
class SparseVector:
    """A published variant of the sparse vector technique.

    A scale of 0 means no noise. It stops after `most` answers above the threshold, or never; it may show their values.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    most: int | None = 1
    gives_value: bool = False

    def __call__(self, answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
        """Return one row of outputs for each trial."""
        bar = self.threshold + _rounded(rng.laplace(0.0, self.threshold_scale, trials))[:, np.newaxis]
        noisy = _noisy(answers, trials, rng, self.query_scale) if self.query_scale else np.tile(answers, (trials, 1))
        above = noisy >= bar
        rows = np.where(above, noisy, NOT_ABOVE) if self.gives_value else above.astype(np.int64)
        if self.most is not None:  # with one answer above at most, a threshold drawn anew is never used
            rows[_after(above, self.most)] = STOPPED if self.gives_value else NOTHING
        return rows


def _after(above: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Return a mask of the answers that come after `most` answers above the threshold."""
    return np.asarray(np.cumsum(above, axis=1) - above >= most)


def numerical_sparse_vector(answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
    """Return up to two answers above a noisy threshold with fresh noise, 0 below it, and NOT_ABOVE after them."""
    bar = 1.0 + _rounded(rng.laplace(0.0, 3 / CLAIM, (trials, 1)))
    above = _noisy(answers, trials, rng, 12 / CLAIM) >= bar
    rows = np.where(above, _noisy(answers, trials, rng, 6 / CLAIM), 0.0)
    rows[_after(above, 2)] = NOT_ABOVE
    return rows


def bloom_filter(value: int) -> NDArray[np.bool_]:
    """Return the filter of a value. The filters of 0 and 1 differ in six bits, as they did in the evaluation."""
    filter_ = np.zeros(FILTER_BITS, dtype=bool)
    filter_[[(3 * value + hash_ * (1 + 2 * value)) % FILTER_BITS for hash_ in range(HASHES)]] = True
    return filter_


def rappor(
    answers: Doubles, trials: int, rng: np.random.Generator, *, flipped: float, rates: tuple[float, float] | None
) -> Outputs:
    """Return a value's Bloom filter with randomised bits; if `rates` is not None, they are randomised once more."""
    bits = np.tile(bloom_filter(int(answers[0])), (trials, 1))
    drawn = rng.random(bits.shape)
    bits = np.where(drawn < flipped / 2, True, np.where(drawn < flipped, False, bits))
    if rates is not None:
        bits = rng.random(bits.shape) < np.where(bits, rates[1], rates[0])
    return np.asarray(bits, dtype=np.int64)


def sparse_vectors_in_parallel(answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
    """Return the outputs of two broken variants side by side; each stops after two answers above the threshold."""
    first = SparseVector(1.0, 1 / HALF, 1 / QUARTER, 2, gives_value=True)
    second = SparseVector(1.0, 1 / QUARTER, 1 / (3 * QUARTER), 2)
    return np.hstack([first(answers, trials, rng), second(answers, trials, rng)])


def _answers(size: int, *patterns: Pattern, **numbers: Any) -> Domain:
    return Domain(shape=Queries(size=size, patterns=patterns or tuple(Pattern)), **numbers)


ONE = _answers(1)
COUNTS = _answers(BINS, Pattern.ONE)
ANSWERS, LONG = _answers(BINS), _answers(QUERIES)
VALUES = _answers(1, bounds=(0, 1), integers=True)
COUNT = _answers(1, bounds=(0, BINS), integers=True)

PER_BIT = math.log(0.5125 / 0.4875), math.log(0.525 / 0.475)
"""ln(P[report 1 | filter has 1]/P[report 1 | filter has 0]) of one bit, for RAPPOR and for one-time RAPPOR."""

PEERS = (
    Peer("Laplace", partial(_noisy, scale=1 / CLAIM), ONE, 0.1, 0.0968, 0.0998),
    Peer("TruncatedGeometric", truncated_geometric, COUNT, math.log1p(2.0**-GEOMETRIC_BITS), 0.1156, 0.1159),
    Peer("NoisyHist1", partial(_noisy, scale=1 / CLAIM), COUNTS, 0.1, 0.0978, 0.0828),
    Peer("NoisyHist2", partial(_noisy, scale=CLAIM), COUNTS, 10.0, 4.6020, 9.7169),
    Peer("ReportNoisyMax1", partial(noisy_max, exponential=False, value=False), ANSWERS, 0.1, 0.0923, 0.0920),
    Peer("ReportNoisyMax2", partial(noisy_max, exponential=True, value=False), ANSWERS, 0.1, 0.0975),
    Peer("ReportNoisyMax3", partial(noisy_max, exponential=False, value=True), ANSWERS, BINS * HALF, 0.2478),
    Peer("ReportNoisyMax4", partial(noisy_max, exponential=True, value=True), ANSWERS, math.inf, 0.3463),
    Peer("SVT1", SparseVector(0.5, 1 / HALF, 2 / HALF), LONG, 0.1, 0.0858),
    Peer("SVT2", SparseVector(1.0, 1 / HALF, 2 / HALF), LONG, 0.1, 0.0859),
    Peer("SVT3", SparseVector(1.0, 1 / HALF, 1 / HALF, gives_value=True), LONG, math.inf, 0.1716),
    Peer("SVT4", SparseVector(1.0, 1 / QUARTER, 1 / (3 * QUARTER)), LONG, 1.75 * CLAIM, 0.1687),
    Peer("SVT5", SparseVector(1.0, 1 / HALF, 0.0, most=None), LONG, math.inf, 1.7612),
    Peer("SVT6", SparseVector(1.0, 1 / HALF, 1 / HALF, most=None), LONG, math.inf, 0.2720),
    Peer("RAPPOR", partial(rappor, flipped=0.75, rates=(0.45, 0.55)), VALUES, 6 * PER_BIT[0], 0.2930),
    Peer("OneTimeRAPPOR", partial(rappor, flipped=0.95, rates=None), VALUES, 6 * PER_BIT[1], 0.5978),
    # One answer twenty times, each with its share of the budget.
    Peer("LaplaceParallel", lambda it, n, rng: _noisy(np.repeat(it, 20), n, rng, 20 / CLAIM), ONE, 0.1, 0.0350),
    Peer("SVT34Parallel", sparse_vectors_in_parallel, LONG, math.inf, 0.2610),
    Peer("PrefixSum", lambda it, n, rng: _noisy(it, n, rng, 1 / CLAIM).cumsum(axis=1), LONG, QUERIES * CLAIM, 0.5040),
    Peer("NumericalSVT", numerical_sparse_vector, LONG, 0.1, 0.0343),
)
