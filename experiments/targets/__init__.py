"""The lab's own targets by name: every mechanism with its claim, for `attacklab audit experiments.targets:NAME`.

Each function makes the target of one ε. Naive ones claim what their textbook says of them; exact ones what their README
proves.
"""

from experiments.targets.gaussians import (
    exact_rounded_gaussian,
    naive_gaussian_box_muller,
    naive_gaussian_box_muller_binary32,
    naive_gaussian_inverse_cdf,
    naive_gaussian_numpy_legacy,
    naive_gaussian_polar,
    naive_gaussian_python,
    naive_gaussian_ziggurat,
    naive_gaussian_ziggurat_binary32,
)
from experiments.targets.laplaces import (
    exact_discrete_laplace,
    exact_rounded_laplace,
    naive_laplace_inverse_cdf,
    naive_laplace_numpy,
    naive_laplace_numpy_legacy,
)
from experiments.targets.means import (
    AGE_GRID,
    CHUNKS,
    DELTA,
    PEOPLE,
    UPPER,
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
from experiments.targets.selections import (
    exact_exponential,
    exact_exponential_base2,
    exact_exponential_noisy_max,
    exact_laplace_noisy_max,
    naive_exponential,
    naive_exponential_bfloat16,
    naive_exponential_binary16,
    naive_exponential_binary32,
    naive_exponential_noisy_max,
    naive_exponential_stabilised,
    naive_gumbel_noisy_max,
    naive_laplace_noisy_max,
)

__version__ = "0.1.0"

__all__ = [
    "AGE_GRID",
    "CHUNKS",
    "DELTA",
    "PEOPLE",
    "UPPER",
    "exact_discrete_laplace",
    "exact_exponential",
    "exact_exponential_base2",
    "exact_exponential_noisy_max",
    "exact_laplace_noisy_max",
    "exact_ptr_mean",
    "exact_rounded_gaussian",
    "exact_rounded_laplace",
    "exact_sample_aggregate",
    "exact_smooth_mean",
    "exact_sum_over_count",
    "naive_exponential",
    "naive_exponential_bfloat16",
    "naive_exponential_binary16",
    "naive_exponential_binary32",
    "naive_exponential_noisy_max",
    "naive_exponential_stabilised",
    "naive_gaussian_box_muller",
    "naive_gaussian_box_muller_binary32",
    "naive_gaussian_inverse_cdf",
    "naive_gaussian_numpy_legacy",
    "naive_gaussian_polar",
    "naive_gaussian_python",
    "naive_gaussian_ziggurat",
    "naive_gaussian_ziggurat_binary32",
    "naive_gumbel_noisy_max",
    "naive_laplace_inverse_cdf",
    "naive_laplace_noisy_max",
    "naive_laplace_numpy",
    "naive_laplace_numpy_legacy",
    "naive_local_sensitivity_mean",
    "naive_ptr_mean",
    "naive_sample_aggregate",
    "naive_smooth_mean",
    "naive_sum_over_count",
]
