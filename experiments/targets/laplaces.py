"""Laplace mechanisms as targets."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.targets import Target
from experiments.targets.making import GRID, exactly, noise
from mechanisms.laplace import naive as naive_laplace_family
from mechanisms.laplace.exact import exact_discrete_laplace as discrete_laplace_reference
from mechanisms.laplace.inversion import exact_discrete_laplace_fast
from mechanisms.laplace.rounded_ideal import exact_rounded_laplace as rounded_laplace_reference
from mechanisms.laplace.rounded_ideal import exact_rounded_laplace_fast


def naive_laplace_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, textbook inverse CDF."""
    return noise(naive_laplace_family.naive_laplace_inverse_cdf, epsilon)


def naive_laplace_numpy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's Generator.laplace."""
    return noise(naive_laplace_family.naive_laplace_numpy, epsilon)


def naive_laplace_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's legacy RandomState.laplace."""
    return noise(naive_laplace_family.naive_laplace_numpy_legacy, epsilon)


def exact_rounded_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid, exact."""
    parameters: dict[str, Any] = {"epsilon": Fraction(epsilon), "grid": GRID}
    target = Target.noise(
        exactly(exact_rounded_laplace_fast, **parameters), epsilon=epsilon, name="exact_rounded_laplace"
    )
    return target.exact(partial(rounded_laplace_reference, **parameters))


def exact_discrete_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, discrete noise on a public grid, exact."""
    parameters: dict[str, Any] = {"epsilon": Fraction(epsilon), "grid": GRID}
    target = Target.noise(
        exactly(exact_discrete_laplace_fast, **parameters), epsilon=epsilon, name="exact_discrete_laplace"
    )
    return target.exact(partial(discrete_laplace_reference, **parameters))
