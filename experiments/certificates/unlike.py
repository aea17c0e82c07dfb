"""Drafts of noise mechanisms at parameters unlike those of the targets.

At ε = 1 and a sensitivity of 1 a product is no different from a quotient, and a sensitivity left out from one that is
there; noise of 19 steps takes another path than noise of 400.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mechanisms.gaussian.privacy import gaussian_delta

from attacklab.certificates import Draft
from experiments.certificates import bounded, gaussian, histogram, laplace
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.gaussian.exact import exact_discrete_gaussian_delta
from mechanisms.grid import Grid

EPSILON, SENSITIVITY = Fraction(3, 7), Fraction(5, 3)
SIGMA = Fraction(31, 10)
WIDE = Grid(-7)
"""On it σ is 396.8 steps, too many for a table."""


def _pure(draft: Draft, **parameters: Any) -> Draft:
    return replace(draft, parameters=parameters, claim={"kind": "pure", "epsilon": str(EPSILON)})


def _gaussian(draft: Draft, grid: Grid, delta: float) -> Draft:
    return replace(
        draft,
        parameters={"sigma": SIGMA, "grid": grid},
        neighbours=f"answers at most {SENSITIVITY} apart",
        claim={"kind": "approximate", "epsilon": str(EPSILON), "delta": str(Fraction(delta))},
    )


def _discrete_laplace() -> Draft:
    draft = laplace.DRAFTS["exact_discrete_laplace"]()
    return _pure(draft, epsilon=EPSILON, sensitivity=SENSITIVITY, grid=Grid(-5))


def _rounded_laplace() -> Draft:
    draft = laplace.DRAFTS["exact_rounded_laplace"]()
    return _pure(draft, epsilon=EPSILON, sensitivity=SENSITIVITY, grid=Grid(3))


def _histogram() -> Draft:
    return _pure(histogram.DRAFTS["exact_histogram"](), epsilon=EPSILON, grid=Grid(-3))


def _randomized_response() -> Draft:
    return _pure(bounded.DRAFTS["exact_randomized_response"](), epsilon=EPSILON)


def _snapping() -> Draft:
    draft = bounded.DRAFTS["exact_snapping"]()
    return _pure(draft, epsilon=EPSILON, sensitivity=SENSITIVITY, bound=100.0)


def _two_sided_geometric() -> Draft:
    eta = BaseTwoEta.from_epsilon(EPSILON, y=12, monotone=True)
    return _pure(bounded.DRAFTS["exact_two_sided_geometric"](), eta=eta, lower=-7, upper=5)


def _discrete_gaussian() -> Draft:
    delta = exact_discrete_gaussian_delta(EPSILON, sigma=SIGMA, sensitivity=SENSITIVITY, grid=WIDE)
    return _gaussian(gaussian.DRAFTS["exact_discrete_gaussian"](), WIDE, delta * (1 + 2**-20))


def _rounded_gaussian() -> Draft:
    delta = gaussian_delta(EPSILON, sigma=SIGMA, sensitivity=SENSITIVITY)
    return _gaussian(gaussian.DRAFTS["exact_rounded_gaussian"](), Grid(1), delta * (1 + 2**-20))


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "unlike_discrete_gaussian": _discrete_gaussian,
    "unlike_discrete_laplace": _discrete_laplace,
    "unlike_histogram": _histogram,
    "unlike_randomized_response": _randomized_response,
    "unlike_rounded_gaussian": _rounded_gaussian,
    "unlike_rounded_laplace": _rounded_laplace,
    "unlike_snapping": _snapping,
    "unlike_two_sided_geometric": _two_sided_geometric,
}
"""Named `unlike_…`, for no target runs at these parameters."""
