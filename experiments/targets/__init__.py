# mypy: implicit-reexport
# ruff: noqa: F403
"""The lab's own targets by name: every mechanism with its claim, for `attacklab audit experiments.targets:NAME`.

Each function makes the target of one ε. Naive ones claim what their textbook says of them; exact ones what their README
proves.

Names pair. A target of the mechanism X is called `naive_X` or `exact_X`; a variant's name goes behind (`naive_X_numpy`,
`exact_X_on_grid`), but for *discrete* and *rounded*, which stand before X as the field has them. All naive targets of X
are twins of all exact ones. `MECHANISMS` lists every X, `UNPAIRED` the targets without a twin and the reason.
"""

from collections.abc import Mapping

from experiments.targets.gaussians import *
from experiments.targets.generators import *
from experiments.targets.jumps import *
from experiments.targets.laplaces import *
from experiments.targets.means import *
from experiments.targets.partitions import *  # type: ignore[assignment] # a DELTA of its own, which nobody asks for here
from experiments.targets.quantiles import *
from experiments.targets.sampled import *
from experiments.targets.selections import *
from experiments.targets.sparse_vectors import *
from experiments.targets.sums import *

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
    "median",
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
"""The naive targets whose claim is false, though neither samples nor the laws that the lab finds show it, and why."""

OTHER_CLAIMS: tuple[str, ...] = (
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

__all__ = [
    name
    for name, value in globals().items()
    if name.startswith(("exact_", "naive_"))
    and getattr(value, "__module__", "").startswith(f"{__name__}.")
    and name != "exact_by_reference"  # which helps to make them
]
