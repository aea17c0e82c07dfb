"""The drafts of the certificates of quantiles over public candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
from experiments.targets.quantiles import CANDIDATES, QUANTILE
from mechanisms.grid import Grid
from mechanisms.quantile.candidates import Candidates
from mechanisms.quantile.exact import exact_quantile, exact_quantile_fast


def _draft(epsilon: Fraction, quantile: Fraction, candidates: Candidates) -> Draft:
    return Draft(
        theorem="quantile_by_rank",
        functions={"reference": exact_quantile, "fast": exact_quantile_fast},
        parameters={"epsilon": epsilon, "quantile": quantile, "candidates": candidates},
        neighbours="add-remove",
        claim={"kind": "pure", "epsilon": str(epsilon)},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_quantile": lambda: _draft(Fraction(1), QUANTILE, CANDIDATES),
    "unlike_quantile": lambda: _draft(Fraction(3, 7), Fraction(1, 10), Candidates(-2, Fraction(51, 4), Grid(-2))),
}
"""Named `unlike_…`: the same mechanism at parameters of which none is 1, for a quantile on the other side."""
