"""The lab's own targets by name: every mechanism with its claim, for `attacklab audit experiments.targets:NAME`.

Each function makes the target of one ε. Naive ones claim what their textbook says of them; exact ones what their README
proves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attacklab.targets import Target
from mechanisms.exponential import naive as naive_exponential_family
from mechanisms.exponential.base_e import exact_exponential_base_e
from mechanisms.exponential.levels import exact_exponential_fast
from mechanisms.grid import Grid
from mechanisms.laplace import naive as naive_laplace_family
from mechanisms.laplace.exact import exact_discrete_laplace as discrete_laplace_reference
from mechanisms.laplace.inversion import exact_discrete_laplace_fast
from mechanisms.laplace.rounded_ideal import exact_rounded_laplace as rounded_laplace_reference
from mechanisms.laplace.rounded_ideal import exact_rounded_laplace_fast
from mechanisms.local_sensitivity import exact as exact_means
from mechanisms.local_sensitivity import naive as naive_means
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.noisy_max import exact as exact_noisy_max
from mechanisms.noisy_max import naive as naive_noisy_max
from mechanisms.randomness import RandomBits, SeededBits

__version__ = "0.1.0"

GRID = Grid(-2)
"""The public grid of exact additive mechanisms: a quarter."""

AGE_GRID = Grid(-14)
"""The public grid of the exact means of ages, in years."""

UPPER = 100.0
"""The textbook's upper bound of an age in years."""

PEOPLE = 32_561
DELTA = 1 / PEOPLE**2
PROPOSED_BOUND = 0.005
CHUNKS = 600
"""The textbook's parameters for the Adult ages."""


def naive_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights by np.exp as they come."""
    return _selection(naive_exponential_family.naive_exponential, epsilon)


def naive_exponential_stabilised(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, the largest utility subtracted first."""
    return _selection(naive_exponential_family.naive_exponential_stabilised, epsilon)


def naive_exponential_binary32(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary32."""
    return _low_precision(np.float32, epsilon, "naive_exponential_binary32")


def naive_exponential_binary16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary16."""
    return _low_precision(np.float16, epsilon, "naive_exponential_binary16")


def naive_exponential_bfloat16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in bfloat16."""
    return _low_precision(ml_dtypes.bfloat16, epsilon, "naive_exponential_bfloat16")


def exact_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base e, exact, by levels."""
    target = Target.selection(
        _exactly(exact_exponential_fast, epsilon=Fraction(epsilon)), epsilon=epsilon, name="exact_exponential"
    )
    return target.exact(partial(exact_exponential_base_e, epsilon=Fraction(epsilon)))


def naive_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Laplace noise, in doubles."""
    return _selection(naive_noisy_max.naive_laplace_noisy_max, epsilon)


def naive_gumbel_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Gumbel noise, in doubles."""
    return _selection(naive_noisy_max.naive_gumbel_noisy_max, epsilon)


def naive_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise, in doubles."""
    return _selection(naive_noisy_max.naive_exponential_noisy_max, epsilon)


def exact_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with discrete Laplace noise, exact."""
    return _reference_selection(exact_noisy_max.exact_laplace_noisy_max, epsilon)


def exact_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise (permute and flip), exact."""
    return _reference_selection(exact_noisy_max.exact_exponential_noisy_max, epsilon)


def naive_laplace_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, textbook inverse CDF."""
    return _noise(naive_laplace_family.naive_laplace_inverse_cdf, epsilon)


def naive_laplace_numpy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's Generator.laplace."""
    return _noise(naive_laplace_family.naive_laplace_numpy, epsilon)


def naive_laplace_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's legacy RandomState.laplace."""
    return _noise(naive_laplace_family.naive_laplace_numpy_legacy, epsilon)


def exact_rounded_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid, exact."""
    parameters: dict[str, Any] = {"epsilon": Fraction(epsilon), "grid": GRID}
    target = Target.noise(
        _exactly(exact_rounded_laplace_fast, **parameters), epsilon=epsilon, name="exact_rounded_laplace"
    )
    return target.exact(partial(rounded_laplace_reference, **parameters))


def exact_discrete_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, discrete noise on a public grid, exact."""
    parameters: dict[str, Any] = {"epsilon": Fraction(epsilon), "grid": GRID}
    target = Target.noise(
        _exactly(exact_discrete_laplace_fast, **parameters), epsilon=epsilon, name="exact_discrete_laplace"
    )
    return target.exact(partial(discrete_laplace_reference, **parameters))


def naive_local_sensitivity_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the local sensitivity."""
    return _mean(naive_means.naive_local_sensitivity_mean, epsilon, upper=UPPER)


def naive_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, the textbook's threshold and budget."""
    return _mean(naive_means.naive_ptr_mean, epsilon, DELTA, upper=UPPER, bound=PROPOSED_BOUND, delta=DELTA)


def naive_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the textbook's smooth sensitivity."""
    return _mean(naive_means.naive_smooth_mean, epsilon, DELTA, upper=UPPER, delta=DELTA)


def naive_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks cut by position."""
    return _mean(naive_means.naive_sample_aggregate, epsilon, chunks=CHUNKS, lower=0.0, upper=UPPER)


def naive_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, each with all of ε."""
    return _mean(naive_means.naive_sum_over_count, epsilon, upper=UPPER)


def exact_sum_over_count(epsilon: float = 1.0) -> Target:
    """Mean age as noisy sum over noisy count, half of ε each, exact."""
    return _exact_mean(exact_means.prepare_sum_over_count, epsilon, "exact_sum_over_count")


def exact_ptr_mean(epsilon: float = 1.0) -> Target:
    """Mean age by propose-test-release, repaired, exact."""
    return _exact_mean(exact_means.prepare_ptr_mean, epsilon, "exact_ptr_mean", DELTA, bound=PROPOSED_BOUND)


def exact_smooth_mean(epsilon: float = 1.0) -> Target:
    """Mean age, noise scaled to the smooth sensitivity over the full range, exact."""
    return _exact_mean(exact_means.prepare_smooth_mean, epsilon, "exact_smooth_mean", DELTA)


def exact_sample_aggregate(epsilon: float = 1.0) -> Target:
    """Mean age by sample and aggregate, chunks assigned to people, exact."""

    def prepare(records: NDArray[np.float64], *, domain: Domain, epsilon: Fraction) -> exact_means.Release:
        return exact_means.prepare_sample_aggregate(
            [(str(person), value) for person, value in enumerate(records)],
            statistic=np.mean,
            chunks=CHUNKS,
            key=b"public",
            domain=domain,
            epsilon=epsilon,
        )

    return _exact_mean(prepare, epsilon, "exact_sample_aggregate")


def _mean(mechanism: Callable[..., Any], epsilon: float, claimed_delta: float = 0.0, **parameters: Any) -> Target:
    release = partial(mechanism, epsilon=epsilon, **parameters)
    return Target.mean(release, bounds=(0.0, UPPER), epsilon=epsilon, delta=claimed_delta)


def _exact_mean(
    prepare: Callable[..., exact_means.Release],
    epsilon: float,
    name: str,
    claimed_delta: float = 0.0,
    **parameters: Any,
) -> Target:
    """A mean of the repaired family, from its `prepare_…` function, which is run once a call."""
    parameters |= {"epsilon": Fraction(epsilon), "domain": Domain(0, Fraction(UPPER), AGE_GRID)}
    if claimed_delta:
        parameters["delta"] = claimed_delta

    def release(
        records: NDArray[np.float64], trials: int, rng: np.random.Generator
    ) -> NDArray[np.float64] | list[float | None]:
        return prepare(records, **parameters).many(trials, SeededBits(rng))

    def sampler(records: NDArray[np.float64], bits: RandomBits) -> float | None:
        return prepare(records, **parameters).one(bits)

    target = Target.mean(release, bounds=(0.0, UPPER), epsilon=epsilon, delta=claimed_delta, name=name)
    return target.exact(sampler)


def _selection(mechanism: Callable[..., Any], epsilon: float) -> Target:
    return Target.selection(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def _reference_selection(mechanism: Callable[..., int], epsilon: float) -> Target:
    """A selection whose only path is the reference: one draw at a time."""
    sampler = partial(mechanism, epsilon=Fraction(epsilon))

    def release(utilities: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
        bits = SeededBits(rng)
        return np.array([sampler(utilities, bits) for _ in range(trials)])

    return Target.selection(release, epsilon=epsilon, name=mechanism.__name__).exact(sampler)


def _low_precision(dtype: Any, epsilon: float, name: str) -> Target:
    mechanism = partial(naive_exponential_family.naive_exponential_low_precision, epsilon=epsilon, dtype=dtype)
    return Target.selection(mechanism, epsilon=epsilon, name=name)


def _noise(mechanism: Callable[..., Any], epsilon: float) -> Target:
    return Target.noise(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def _exactly(mechanism: Callable[..., Any], **parameters: Any) -> Callable[..., NDArray[Any]]:
    """A fast exact mechanism as a release: its random bits come from the generator that it is given."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        released: NDArray[Any] = mechanism(input_, trials, SeededBits(rng), **parameters)
        return released

    return release


TARGETS: Sequence[Callable[[float], Target]] = (
    naive_exponential,
    naive_exponential_stabilised,
    naive_exponential_binary32,
    naive_exponential_binary16,
    naive_exponential_bfloat16,
    exact_exponential,
    naive_laplace_noisy_max,
    naive_gumbel_noisy_max,
    naive_exponential_noisy_max,
    exact_laplace_noisy_max,
    exact_exponential_noisy_max,
    naive_laplace_inverse_cdf,
    naive_laplace_numpy,
    naive_laplace_numpy_legacy,
    exact_rounded_laplace,
    exact_discrete_laplace,
    naive_local_sensitivity_mean,
    naive_ptr_mean,
    naive_smooth_mean,
    naive_sample_aggregate,
    naive_sum_over_count,
    exact_sum_over_count,
    exact_ptr_mean,
    exact_smooth_mean,
    exact_sample_aggregate,
)
