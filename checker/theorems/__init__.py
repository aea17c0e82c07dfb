"""What certificates can state: one file a family, each theorem a function that checks its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.core.certificate import Certificate, Conclusion
from checker.theorems import (
    arrays,
    bounded,
    exponential,
    exponential_base2,
    exponential_fixed_work,
    finite,
    gaussian,
    histogram,
    laplace,
    means,
    partition,
    quantile,
    response,
    selection,
    snapping,
    sparse_vector,
    sums,
)

Theorem = Callable[[Certificate], Conclusion]

THEOREMS: Mapping[str, Theorem] = {
    "above_threshold": sparse_vector.above_threshold,
    "discrete_gaussian_each": arrays.discrete_gaussian_each,
    "discrete_gaussian_on_grid": gaussian.discrete_gaussian_on_grid,
    "discrete_laplace_each": arrays.discrete_laplace_each,
    "discrete_laplace_on_grid": laplace.discrete_laplace_on_grid,
    "exponential_base2": exponential_base2.exponential_base2,
    "exponential_base_e": exponential.exponential_base_e,
    "exponential_fixed_work": exponential_fixed_work.exponential_fixed_work,
    "finite_inputs": finite.finite_inputs,
    "gaussian_on_range": bounded.gaussian_on_range,
    "geometric_on_range": bounded.geometric_on_range,
    "histogram": histogram.histogram,
    "laplace_noisy_max": selection.laplace_noisy_max,
    "laplace_on_finite_grid": exponential_base2.laplace_on_finite_grid,
    "noisy_sums": sums.noisy_sums,
    "numeric_sparse": sparse_vector.numeric_sparse,
    "permute_and_flip": selection.permute_and_flip,
    "propose_test_release": means.propose_test_release,
    "quantile_by_rank": quantile.quantile_by_rank,
    "randomized_response": response.randomized_response,
    "rounded_gaussian_each": arrays.rounded_gaussian_each,
    "rounded_gaussian_on_grid": gaussian.rounded_gaussian_on_grid,
    "rounded_laplace_each": arrays.rounded_laplace_each,
    "rounded_ideal_laplace": laplace.rounded_ideal_laplace,
    "sample_and_aggregate": means.sample_and_aggregate,
    "smooth_mean": means.smooth_mean,
    "snapping": snapping.snapping,
    "sum_over_count": means.sum_over_count,
    "thresholded_histogram": partition.thresholded_histogram,
}
"""The theorems by name."""
