"""Drafts of certificates of selection mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max

APART = "utilities at most the sensitivity apart"


def _noisy_max(theorem: str, mechanism: Callable[..., int]) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"reference": mechanism},
        parameters={"epsilon": Fraction(1)},
        neighbours=APART,
        claim={"kind": "pure", "epsilon": "1"},
    )


def _base_e(claim: Mapping[str, str]) -> Draft:
    return Draft(
        theorem="exponential_base_e",
        functions={"reference": exact_exponential, "fast": exact_exponential_fast},
        parameters={"epsilon": Fraction(1)},
        neighbours=APART,
        claim=claim,
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_exponential": lambda: _base_e({"kind": "pure", "epsilon": "1"}),
    "exact_exponential_zcdp": lambda: _base_e({"kind": "zcdp", "rho": "1/8"}),
    "exact_exponential_noisy_max": lambda: _noisy_max("permute_and_flip", exact_exponential_noisy_max),
    "exact_laplace_noisy_max": lambda: _noisy_max("laplace_noisy_max", exact_laplace_noisy_max),
}
