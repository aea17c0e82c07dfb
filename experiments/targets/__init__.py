# mypy: implicit-reexport
# ruff: noqa: F401
"""The lab's own targets by name: every mechanism with its claim, for `attacklab audit experiments.targets:NAME`.

Each function makes the target of one ε. Naive ones claim what their textbook says of them; exact ones what their README
proves.

Names pair. A target of the mechanism X is called `naive_X` or `exact_X`; a variant's name goes behind (`naive_X_numpy`,
`exact_X_on_grid`), but for *discrete* and *rounded*, which stand before X as the field has them. All naive targets of X
are twins of all exact ones. `MECHANISMS` lists every X, `UNPAIRED` the targets without a twin and the reason.
"""

from collections.abc import Mapping

from experiments.targets.gaussians import (
    exact_discrete_gaussian,
    exact_discrete_gaussian_gdp,
    exact_discrete_gaussian_profile,
    exact_discrete_gaussian_rdp,
    exact_discrete_gaussian_zcdp,
    exact_fixed_work_gaussian,
    exact_rounded_gaussian,
    exact_rounded_gaussian_gdp,
    exact_rounded_gaussian_profile,
    exact_rounded_gaussian_rdp,
    exact_rounded_gaussian_zcdp,
    naive_discrete_gaussian_gdp,
    naive_gaussian_box_muller,
    naive_gaussian_box_muller_binary32,
    naive_gaussian_inverse_cdf,
    naive_gaussian_numpy_legacy,
    naive_gaussian_polar,
    naive_gaussian_python,
    naive_gaussian_ziggurat,
    naive_gaussian_ziggurat_binary32,
)
from experiments.targets.generators import exact_histogram, naive_histogram, naive_laplace_clock_seeded
from experiments.targets.laplaces import (
    exact_discrete_laplace,
    exact_laplace_on_grid,
    exact_randomized_response,
    exact_rounded_laplace,
    exact_rounded_laplace_wide,
    exact_snapping,
    exact_two_sided_geometric,
    naive_laplace_inverse_cdf,
    naive_laplace_numpy,
    naive_laplace_numpy_legacy,
    naive_randomized_response,
    naive_two_sided_geometric,
)
from experiments.targets.means import (
    exact_ptr_mean,
    exact_sample_aggregate,
    exact_smooth_mean,
    exact_sum_over_count,
    naive_local_sensitivity_mean,
    naive_ptr_mean,
    naive_sample_aggregate,
    naive_smooth_mean,
    naive_sum_over_count,
)
from experiments.targets.partitions import (
    exact_partition_selection,
    naive_partition_selection,
    naive_partition_selection_geometric,
    naive_partition_selection_own_count,
    naive_partition_selection_sorted,
)
from experiments.targets.quantiles import (
    exact_quantile,
    naive_quantile,
    naive_quantile_half_sensitivity,
    naive_quantile_midpoint,
    naive_quantile_unscaled,
)
from experiments.targets.sampled import (
    exact_poisson_count,
    exact_query_session,
    exact_sampled_count,
    exact_shuffled_response,
    naive_poisson_count,
    naive_query_session,
    naive_sampled_count,
    naive_shuffled_response,
)
from experiments.targets.selections import (
    exact_exponential,
    exact_exponential_base2,
    exact_exponential_fixed_work,
    exact_exponential_noisy_max,
    exact_exponential_zcdp,
    exact_laplace_noisy_max,
    naive_exponential,
    naive_exponential_bfloat16,
    naive_exponential_binary16,
    naive_exponential_binary32,
    naive_exponential_noisy_max,
    naive_exponential_noisy_max_zcdp,
    naive_exponential_stabilised,
    naive_gumbel_noisy_max,
    naive_laplace_noisy_max,
)
from experiments.targets.sparse_vectors import (
    exact_above_threshold,
    exact_numeric_sparse,
    naive_above_threshold,
    naive_above_threshold_endless,
    naive_above_threshold_noiseless,
    naive_above_threshold_unscaled,
    naive_numeric_sparse,
    naive_numeric_sparse_reused,
)
from experiments.targets.sums import (
    exact_age_sum,
    exact_bounded_mean,
    exact_bounded_sum,
    naive_age_sum_int16,
    naive_bounded_mean,
    naive_bounded_sum_correctly_rounded,
    naive_bounded_sum_numpy,
)

__version__ = "0.1.0"

MECHANISMS = (
    "above_threshold",
    "age_sum",
    "bounded_mean",
    "bounded_sum",
    "exponential",
    "exponential_noisy_max",
    "gaussian",
    "histogram",
    "laplace",
    "laplace_noisy_max",
    "numeric_sparse",
    "partition_selection",
    "poisson_count",
    "ptr_mean",
    "quantile",
    "query_session",
    "randomized_response",
    "sample_aggregate",
    "sampled_count",
    "shuffled_response",
    "smooth_mean",
    "sum_over_count",
    "two_sided_geometric",
)
"""The mechanisms that have naive and exact targets."""

UNPAIRED: Mapping[str, str] = {
    "exact_fixed_work_gaussian": "its naive twins are all the other Gaussians, whose work depends on what they draw",
    "exact_snapping": "the snapping mechanism is the repair of naive Laplace noise; it has no naive form",
    "naive_gumbel_noisy_max": "exactly drawn, it is the exponential mechanism, so its twin is exact_exponential",
    "naive_local_sensitivity_mean": "noise scaled to the local sensitivity keeps no claim, however exact it is",
}
"""The targets that have no twin by name, and why."""

TOO_RARE: Mapping[str, str] = {
    "naive_above_threshold": "the largest noise of 53 bits makes a report impossible for one of two neighbours, and as "
    "rare as 2^−106 for the other"
}
"""The naive targets whose claim is false through what neither samples show nor the laws that the lab finds, and why."""

OTHER_CLAIMS: tuple[str, ...] = (
    "exact_discrete_gaussian_gdp",
    "exact_discrete_gaussian_profile",
    "exact_discrete_gaussian_rdp",
    "exact_discrete_gaussian_zcdp",
    "exact_rounded_gaussian_gdp",
    "exact_rounded_gaussian_profile",
    "exact_rounded_gaussian_rdp",
    "exact_rounded_gaussian_zcdp",
    "exact_exponential_zcdp",
    "naive_discrete_gaussian_gdp",
    "naive_exponential_noisy_max_zcdp",
)
"""The targets whose claim is of another kind than (ε, δ). A naive one draws exactly, and its claim is false."""

__all__ = [name for name in globals() if name.startswith(("exact_", "naive_"))]
