"""What certificates can state: one file a family, each theorem a function that checks its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.core.certificate import Certificate, Conclusion
from checker.theorems import laplace, means, sums

Theorem = Callable[[Certificate], Conclusion]

THEOREMS: Mapping[str, Theorem] = {
    "discrete_laplace_on_grid": laplace.discrete_laplace_on_grid,
    "rounded_ideal_laplace": laplace.rounded_ideal_laplace,
    "noisy_sums": sums.noisy_sums,
    "sum_over_count": means.sum_over_count,
    "propose_test_release": means.propose_test_release,
    "smooth_mean": means.smooth_mean,
    "sample_and_aggregate": means.sample_and_aggregate,
}
"""The theorems by name."""
