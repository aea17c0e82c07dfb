"""Drafts of certificates of Gaussian mechanisms, of the very noise and the very claims that the targets have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import exact_rounded_gaussian, exact_rounded_gaussian_fast

from attacklab.certificates import Draft
from attacklab.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.targets import Target
from experiments.targets import gaussians
from experiments.targets.making import GRID
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.grid import Grid

_FUNCTIONS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "discrete_gaussian_on_grid": {"reference": exact_discrete_gaussian, "fast": exact_discrete_gaussian_fast},
    "rounded_gaussian_on_grid": {"reference": exact_rounded_gaussian, "fast": exact_rounded_gaussian_fast},
}


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """Write a claim as certificates state it, each float as the rational that it is.

    Raises:
        TypeError: certificates have no form for a claim of that kind.
    """
    match claim:
        case PrivacyClaim():
            return {"kind": "approximate", "epsilon": _exact(claim.epsilon), "delta": _exact(claim.delta)}
        case ZeroConcentrated():
            return {"kind": "zcdp", "rho": _exact(claim.rho)}
        case Renyi():
            return {
                "kind": "rdp",
                "orders": [*map(_exact, claim.orders)],
                "epsilons": [*map(_exact, claim.epsilons)],
            }
        case GaussianDP():
            return {"kind": "gdp", "mu": _exact(claim.mu)}
        case Profile():
            return {"kind": "profile", "points": [[_exact(epsilon), _exact(delta)] for epsilon, delta in claim.pairs]}
    raise TypeError(f"certificates have no form for a claim of type {type(claim).__name__}")


def _exact(number: float) -> str:
    return str(Fraction(number))


def _draft(make: Callable[[], Target], theorem: str, grid: Grid) -> Draft:
    return Draft(
        theorem=theorem,
        functions=_FUNCTIONS[theorem],
        parameters={"sigma": gaussians.sigma_of(1.0), "grid": grid},
        neighbours="answers at most 1 apart",
        claim=claim_as_json(make().claim),
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    make.__name__: partial(_draft, make, theorem, grid)
    for makes, theorem, grid in (
        ((gaussians.exact_discrete_gaussian,), "discrete_gaussian_on_grid", GRID),
        (
            (
                gaussians.exact_discrete_gaussian_zcdp,
                gaussians.exact_discrete_gaussian_rdp,
                gaussians.exact_discrete_gaussian_gdp,
                gaussians.exact_discrete_gaussian_profile,
            ),
            "discrete_gaussian_on_grid",
            gaussians.WHOLE_NUMBERS,
        ),
        (
            (
                gaussians.exact_rounded_gaussian,
                gaussians.exact_rounded_gaussian_zcdp,
                gaussians.exact_rounded_gaussian_rdp,
                gaussians.exact_rounded_gaussian_gdp,
                gaussians.exact_rounded_gaussian_profile,
            ),
            "rounded_gaussian_on_grid",
            gaussians.FINE_GRID,
        ),
    )
    for make in makes
}
"""The drafts by the name of the target."""
