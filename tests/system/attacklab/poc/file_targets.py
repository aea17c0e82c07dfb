"""Targets that import numpy only: a naive one of a few flaws, and an exact or sound one beside it."""

import numpy as np

STEP = 2.0**-10


def naive_laplace(answer, trials, rng):
    """Floating-point noise on a floating-point answer."""
    return answer + rng.laplace(0.0, 1.0, trials)


def exact_laplace(answer, trials, rng):
    """Whole steps of noise on an answer that is rounded to whole steps."""
    noise = rng.geometric(-np.expm1(-STEP), (2, trials))
    return (round(answer / STEP) + noise[0] - noise[1]) * STEP


def naive_one(value):
    """The same for one value, with a generator of its own that is always the same."""
    return value + float(np.random.default_rng(7).laplace())


def exact_one(value):
    """One value with fresh noise."""
    return float(exact_laplace(value, 1, np.random.default_rng())[0])


def naive_lattice(answer, trials, rng):
    """Integer noise that is even half of the time where it should not be."""
    noise = rng.geometric(0.6, (2, trials))
    return np.floor(answer) + np.where(rng.random(trials) < 0.5, 2.0 * (noise[0] - noise[1]), 0.0)


def exact_lattice(answer, trials, rng):
    """Two-sided geometric noise of ε = 1."""
    noise = rng.geometric(-np.expm1(-1.0), (2, trials))
    return np.floor(answer) + (noise[0] - noise[1])


def naive_bit(value, bits):
    """A sampler: randomised response that tells the truth too often."""
    return value if bits.take(4) else 1 - value


def exact_bit(value, bits):
    """A sampler: randomised response with e^ε = 2.2."""
    return value if bits.take(4) < 11 else 1 - value
