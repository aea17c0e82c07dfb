"""Gaussian mechanisms as targets, at δ = 10⁻⁵ and the textbook's σ.

That σ is proved for ε < 1 only; `mechanisms.gaussian.claims.gaussian_delta` bears the claim out up to ε = 8. Targets
that end in `_zcdp`, `_rdp`, `_gdp` or `_profile` have noise of the same σ and claim what holds of it in that way,
rounded up to doubles; only `naive_discrete_gaussian_gdp` claims of discrete noise what holds of normal noise.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.low_bit_gaussian import textbook_sigma
from attacklab.model.claims import GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.targets import Target
from experiments.targets.laplaces import ANSWERS
from experiments.targets.making import GRID, exactly, named, of_term
from mechanisms.core import claims as core
from mechanisms.core.grid import Grid
from mechanisms.core.noisy import Noisy
from mechanisms.core.restated import Restated
from mechanisms.gaussian import exact
from mechanisms.gaussian.claims import discrete_gaussian_delta, gaussian_delta, gaussian_mu, gaussian_rho
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat

DELTA = 1e-5
FINE_GRID = Grid(-20)
WHOLE_NUMBERS = Grid(0)
ORDERS = (1.5, 2.0, 4.0, 8.0, 32.0)
"""The α at which a claim of Rényi differential privacy is made."""


def sigma_of(epsilon: float) -> float:
    """Return the standard deviation of the noise of every target here, at sensitivity 1."""
    return textbook_sigma(PrivacyClaim(epsilon, DELTA), 1.0)


@named
def naive_gaussian_box_muller(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Box–Muller with numpy's functions."""
    return _naive(box_muller, epsilon)


@named
def naive_gaussian_box_muller_binary32(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Box–Muller with numpy's functions, all in binary32."""
    return _naive(partial(box_muller, dtype=np.float32), epsilon)


@named
def naive_gaussian_polar(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Marsaglia's polar method with numpy's functions."""
    return _naive(polar, epsilon)


@named
def naive_gaussian_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, SciPy's inverse CDF."""
    return _naive(inverse_cdf, epsilon)


@named
def naive_gaussian_ziggurat(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's Generator.standard_normal."""
    return _naive(ziggurat, epsilon)


@named
def naive_gaussian_ziggurat_binary32(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's Generator.standard_normal, all in binary32."""
    return _naive(partial(ziggurat, dtype=np.float32), epsilon)


@named
def naive_gaussian_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, numpy's legacy RandomState.standard_normal."""

    def legacy(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.random.RandomState(int(rng.integers(2**32))).standard_normal(count)

    return _naive(legacy, epsilon)


@named
def naive_gaussian_python(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, Python's random.gauss."""

    def gauss(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        source = random.Random(int(rng.integers(2**63)))
        return np.array([source.gauss(0.0, 1.0) for _ in range(count)])

    return _naive(gauss, epsilon)


@named
def exact_rounded_gaussian(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact."""
    return _exact(exact.exact_rounded_gaussian(sigma_of(epsilon), grid=FINE_GRID), epsilon)


@named
def exact_discrete_gaussian(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise on a public grid, exact."""
    return _exact(exact.exact_discrete_gaussian(sigma_of(epsilon), grid=GRID), epsilon)


@named
def exact_discrete_gaussian_zcdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise on whole numbers, exact; claims Δ²/2σ²-zCDP."""
    return of_term(Target.noise, _discrete(epsilon), claim=_zcdp(epsilon))


@named
def exact_discrete_gaussian_rdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise on whole numbers, exact; claims RDP at five orders."""
    return of_term(Target.noise, _discrete(epsilon), claim=_renyi(epsilon))


@named
def exact_discrete_gaussian_profile(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise on whole numbers, exact; claims the privacy profile of discrete noise."""
    curve = partial(discrete_gaussian_delta, sigma=sigma_of(epsilon))
    return _with_profile(_discrete(epsilon), Profile(curve, "the profile of discrete Gaussian noise"))


@named
def naive_discrete_gaussian_gdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, discrete noise drawn exactly; claims Δ/σ-GDP, which holds of normal noise alone."""
    term = _discrete(epsilon)
    claim = GaussianDP(gaussian_mu(sigma=sigma_of(epsilon)))
    return Target.noise(exactly(term.many), claim=claim).exact(term.release)


@named
def exact_rounded_gaussian_zcdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact; claims Δ²/2σ²-zCDP."""
    return of_term(Target.noise, _rounded(epsilon), claim=_zcdp(epsilon))


@named
def exact_rounded_gaussian_rdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact; claims RDP at five orders."""
    return of_term(Target.noise, _rounded(epsilon), claim=_renyi(epsilon))


@named
def exact_rounded_gaussian_gdp(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact; claims Δ/σ-GDP."""
    return _gaussian(_rounded(epsilon), gaussian_mu(sigma=sigma_of(epsilon)))


@named
def exact_rounded_gaussian_profile(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism, ideal noise rounded to a public grid, exact; claims the privacy profile of normal noise."""
    curve = partial(gaussian_delta, sigma=sigma_of(epsilon))
    return _with_profile(_rounded(epsilon), Profile(curve, "the profile of normal noise"))


@named
def exact_fixed_work_gaussian(epsilon: float = 1.0) -> Target:
    """Gaussian mechanism in constant work, dyadic noise clamped to a range, exact."""
    lower, upper = ANSWERS
    term = exact.exact_fixed_work_gaussian(epsilon, sigma=sigma_of(epsilon), lower=lower, upper=upper)
    return of_term(Target.noise, term, epsilon=epsilon, delta=DELTA)


def _discrete(epsilon: float) -> Noisy:
    return exact.exact_discrete_gaussian(sigma_of(epsilon), grid=WHOLE_NUMBERS)


def _rounded(epsilon: float) -> Noisy:
    return exact.exact_rounded_gaussian(sigma_of(epsilon), grid=FINE_GRID)


def _exact(term: Noisy, epsilon: float) -> Target:
    promised = _point(epsilon, DELTA)
    return of_term(Target.noise, Restated(term, promised), epsilon=epsilon, delta=DELTA)


def _gaussian(term: Noisy, mu: float) -> Target:
    return of_term(Target.noise, Restated(term, core.GaussianDP(Fraction(mu) ** 2)), claim=GaussianDP(mu))


def _with_profile(term: Noisy, claim: Profile) -> Target:
    promised = core.ProfileDP(tuple(_point(*pair) for pair in claim.pairs))
    return of_term(Target.noise, Restated(term, promised), claim=claim)


def _point(epsilon: float, delta: float) -> core.ApproximateDP:
    return core.ApproximateDP(Fraction(epsilon), Fraction(delta))


def _zcdp(epsilon: float) -> ZeroConcentrated:
    return ZeroConcentrated(gaussian_rho(sigma=sigma_of(epsilon)))


def _renyi(epsilon: float) -> Renyi:
    claim = _zcdp(epsilon)
    return Renyi(ORDERS, tuple(claim.bound(order).above() for order in ORDERS))


def _naive(sampler: Sampler, epsilon: float) -> Target:
    release = partial(naive_gaussian, sigma=sigma_of(epsilon), sampler=sampler)
    return Target.noise(release, epsilon=epsilon, delta=DELTA)
