"""The repaired mechanisms around local sensitivity: provably (epsilon, delta)-DP as computed, not only as written.

One module each; this one gathers them. `exact_…(records, bits, *, …)` releases one answer; `prepare_…(records, *, …)`
does what depends on the records alone and returns a `Release`, for many answers from the same records. README.md has
the proofs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr import exact_ptr_mean, prepare_ptr_mean
from mechanisms.local_sensitivity.sample_aggregate import exact_sample_aggregate, prepare_sample_aggregate
from mechanisms.local_sensitivity.smooth import exact_smooth_mean, prepare_smooth_mean
from mechanisms.local_sensitivity.sum_over_count import exact_sum_over_count, prepare_sum_over_count
from mechanisms.randomness import RandomBits

__all__ = [
    "Domain",
    "Release",
    "exact_ptr_mean",
    "exact_sample_aggregate",
    "exact_smooth_mean",
    "exact_sum_over_count",
    "prepare_ptr_mean",
    "prepare_sample_aggregate",
    "prepare_smooth_mean",
    "prepare_sum_over_count",
]


class Release(Protocol):
    """What is left of the records, which is private, and releases answers; a refusal is None."""

    def one(self, bits: RandomBits) -> float | None:
        """Release one answer: the path that is plain to read and that an enumeration of its law runs."""

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64] | list[float | None]:
        """Release `trials` independent answers with the law of `one`, all at once."""
