"""Tumult Core (`tmlt.core`): its measurements that add noise to a number.

They take scales as exact numbers and draw from the processor's or the operating system's generator, which cannot be
seeded. Laplace and Gaussian noise are drawn by inverting the distribution in interval arithmetic until only one double
is left; noise over the integers is exact, and cuts off a fraction of the answer.

Its Gaussian measurements promise ρ-zCDP, and mechanisms whose names end in `_zcdp` claim the ρ that they declare.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

DISTRIBUTION = "tmlt.core"
UNSEEDED = True


def _double(answer: float) -> float:
    """Return the answer as a double; raise ValueError if that would round it, which the library itself would not do."""
    if isinstance(answer, int) and int(float(answer)) != answer:
        raise ValueError(f"the answer {answer} cannot be represented as a double")
    return float(answer)


def _noise(name: str, *, variance: float = 0.0, epsilon: float = 0.0) -> tuple[Any, Any]:
    """Return the measurement `name` with this variance or the scale 1/ε, rounded up, and a function that releases once.

    Measurements with discrete noise are over the integers, so their answers are rounded down.
    """
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements import noise_mechanisms
    from tmlt.core.utils.exact_number import ExactNumber

    over_floats = name in ("AddLaplaceNoise", "AddGaussianNoise")
    convert: Any = _double if over_floats else math.floor
    exact = ExactNumber.from_float(variance or epsilon, round_up=variance > 0)
    make = getattr(noise_mechanisms, name)
    measurement = make(*[NumpyFloatDomain()] * over_floats, exact if variance else 1 / exact)

    return measurement, lambda answer: measurement(convert(answer))


def _pure(name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    """Return a mechanism with the least scale of noise that the claim allows for sensitivity 1."""
    _, release = _noise(name, epsilon=epsilon)
    return {"kind": "noise", "release": release, "epsilon": epsilon}


def _gaussian(name: str, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """Return a mechanism with the variance at which the measurement's ρ-zCDP, at sensitivity 1, implies the claim.

    Source: Bun and Steinke (2016), Proposition 1.3: ε = ρ + 2·√(ρ·ln(1/δ)), where ρ = 1/(2σ²).
    """
    log = math.log(1 / delta)
    variance = 1 / (2 * (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2)
    _, release = _noise(name, variance=variance)
    scale = {"noise_scale": math.sqrt(variance)} if name == "AddGaussianNoise" else {}
    return {"kind": "noise", "release": release, "epsilon": epsilon, "delta": delta, **scale}


def _concentrated(name: str, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    """Return a mechanism of variance 1/ε² that claims the ρ that its privacy function declares for sensitivity 1."""
    variance = 1 / epsilon**2
    measurement, release = _noise(name, variance=variance)
    claim = {"kind": "zcdp", "rho": measurement.privacy_function(1).to_float(round_up=True)}
    return {"kind": "noise", "release": release, "claim": claim, "noise_scale": math.sqrt(variance)}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_pure, "AddLaplaceNoise"),
    "geometric": partial(_pure, "AddGeometricNoise"),
    "gaussian": partial(_gaussian, "AddGaussianNoise"),
    "gaussian_discrete": partial(_gaussian, "AddDiscreteGaussianNoise"),
    "gaussian_zcdp": partial(_concentrated, "AddGaussianNoise"),
    "gaussian_discrete_zcdp": partial(_concentrated, "AddDiscreteGaussianNoise"),
}
