"""What certificates can state: one file a family, each theorem a function that checks its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.core.certificate import Certificate, Conclusion
from checker.theorems import exponential, exponential_base2, laplace, selection

Theorem = Callable[[Certificate], Conclusion]

THEOREMS: Mapping[str, Theorem] = {
    "discrete_laplace_on_grid": laplace.discrete_laplace_on_grid,
    "exponential_base2": exponential_base2.exponential_base2,
    "exponential_base_e": exponential.exponential_base_e,
    "laplace_on_finite_grid": exponential_base2.laplace_on_finite_grid,
    "laplace_noisy_max": selection.laplace_noisy_max,
    "permute_and_flip": selection.permute_and_flip,
}
"""The theorems by name."""
