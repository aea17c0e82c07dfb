"""Drafts of certificates of selection mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
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


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_exponential_noisy_max": lambda: _noisy_max("permute_and_flip", exact_exponential_noisy_max),
    "exact_laplace_noisy_max": lambda: _noisy_max("laplace_noisy_max", exact_laplace_noisy_max),
}
