"""Targets whose noise comes from a generator that can be predicted, and one whose noise cannot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.laplace import exact as laplace

CLOCK_VALUES = range(1 << 16)
"""The values that the clock can show, one of which seeds the generator."""


@named
def naive_laplace_clock_seeded(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's legacy generator, seeded for each answer from a clock of 2^16 values."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        generator = np.random.RandomState()
        noise = np.empty(trials)
        for trial, seed in enumerate(rng.integers(CLOCK_VALUES.start, CLOCK_VALUES.stop, trials)):
            generator.seed(seed)
            noise[trial] = generator.laplace(0.0, 1 / epsilon)
        return answer + noise

    return Target.noise(release, epsilon=epsilon)


ONE_PERSON = NeighbouringPair.utilities([1.0, 0.0], [0.0, 0.0], sensitivity=1.0)
"""A histogram of two counts, with and without one person."""


@named
def naive_histogram(epsilon: float = 1.0) -> Target:
    """Noisy histogram, numpy's legacy generator."""

    def release(counts: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        generator = np.random.RandomState(int(rng.integers(2**32)))
        return counts + generator.laplace(0.0, 1 / epsilon, (trials, len(counts)))

    return Target.dataset(release, epsilon=epsilon, pairs=(ONE_PERSON,))


@named
def exact_histogram(epsilon: float = 1.0) -> Target:
    """Noisy histogram, discrete Laplace noise from fair bits, exact."""
    return of_term(Target.dataset, laplace.exact_histogram(epsilon=epsilon), epsilon=epsilon, pairs=(ONE_PERSON,))
