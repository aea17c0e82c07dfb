"""What certificates can state: one file a family, each theorem a function that checks its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.core.certificate import Certificate, Conclusion
from checker.theorems import bounded, finite, gaussian, laplace, response, snapping

Theorem = Callable[[Certificate], Conclusion]

THEOREMS: Mapping[str, Theorem] = {
    "discrete_gaussian_on_grid": gaussian.discrete_gaussian_on_grid,
    "discrete_laplace_on_grid": laplace.discrete_laplace_on_grid,
    "finite_inputs": finite.finite_inputs,
    "geometric_on_range": bounded.geometric_on_range,
    "randomized_response": response.randomized_response,
    "rounded_gaussian_on_grid": gaussian.rounded_gaussian_on_grid,
    "rounded_ideal_laplace": laplace.rounded_ideal_laplace,
    "snapping": snapping.snapping,
}
"""The theorems by name."""
