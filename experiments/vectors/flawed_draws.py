"""Selections, noise and means in floating point, as they answer requests about vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.vectors.program import Skipped
from experiments.vectors import naive_twins
from experiments.vectors.flawed_answers import Answers, by_law, by_samples, clamped, epsilon
from mechanisms.laplace.naive import naive_laplace_numpy, naive_randomized_response, naive_two_sided_geometric


def selection(mechanism: Callable[..., Any], name: str = "exponential", *, bare: bool = False) -> Answers:
    """A naive selection; `bare` without clamping, which is how it overflows."""

    def release(of: Mapping[str, Any], utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        low, high = map(float, of.get("range", (0, 0)))
        given = utilities if bare or low == high else clamped(low, high, utilities)
        return mechanism(np.array(given, dtype=float), trials, rng, epsilon=epsilon(of))

    return {(type_, name): by_samples(release) for type_ in ("law", "pair", "special")}


def selection_by_law(mechanism: Callable[..., Any], *, bare: bool = False) -> Answers:
    """A naive selection that compares one uniform number with thresholds; see `selection`."""

    def release(of: Mapping[str, Any], utilities: Any, trials: int, rng: np.random.Generator) -> Any:
        return mechanism(np.array(utilities, dtype=float), trials, rng, epsilon=epsilon(of))

    asked = {(type_, "exponential"): by_law(release) for type_ in ("law", "pair")}
    special = ("special", "exponential")
    return {**asked, special: selection(mechanism, bare=bare)[special]}


def rounded_response(of: Mapping[str, Any], truth: bool, trials: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Randomized response, the probability rounded to a double."""
    return naive_randomized_response(truth, trials, rng, epsilon=float(of["epsilon"]))


def counted_in_loops(of: Mapping[str, Any], answer: Any, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Both variates counted in loops, for scales at which that ends."""
    ratio = of.get("ratio", of.get("decay"))
    spent = -np.log(float(ratio)) if ratio else of.get("epsilon") or 1 / of["scale"]
    if spent < SLOWEST:
        raise Skipped
    noisy = naive_two_sided_geometric(_whole(of, answer), trials, rng, epsilon=float(spent))
    return np.clip(noisy, of["lower"], of["upper"]) if "lower" in of else noisy


SLOWEST = Fraction(1, 100)
"""A loop of more than a hundred steps on average is not run."""


def _whole(of: Mapping[str, Any], answer: Any) -> int:
    return min(max(answer, of["lower"]), of["upper"]) if "lower" in of else int(answer or 0)


def noise_by_logarithm(of: Mapping[str, Any], answer: Any, trials: int, rng: np.random.Generator) -> list[int]:
    """Integer noise by the logarithm of one uniform number, with a fair sign and 0 twice."""
    scale = -1 / np.log(float(of["ratio"])) if "ratio" in of else float(of.get("scale", 1 / of.get("epsilon", 1)))
    return [(answer or 0) + naive_twins.by_logarithm(scale, rng) for _ in range(trials)]


def float_noise(of: Mapping[str, Any], answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Laplace noise of numpy; special answers are clamped first."""
    given = clamped(-(2.0**51), 2.0**51, answer) if "step" in of else float(answer)
    return naive_laplace_numpy(given, trials, rng, epsilon=float(of["epsilon"]))


def short_noise(of: Mapping[str, Any], answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Laplace noise of generators seeded anew from a clock, as `naive_laplace_clock_seeded` has it."""
    given = clamped(-(2.0**51), 2.0**51, answer) if "step" in of else float(answer)
    seeds = rng.integers(1 << 16, size=trials)
    noise = [np.random.RandomState(int(seed)).laplace(0.0, 1 / float(of["epsilon"])) for seed in seeds]
    return given + np.array(noise)


NOISE = (("pair", "discrete_laplace_on_integers"), ("special", "discrete_laplace_on_a_grid"))
