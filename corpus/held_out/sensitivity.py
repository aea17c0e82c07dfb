"""Noise for less than one person can change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, SUBSTITUTE, added, noise, replaced

GROUP = "sensitivity"


def _clipped(records: Any, low: float, high: float) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(records, dtype=np.float64), nan=low), low, high)


def clipped_after_the_sum(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        total = np.clip(np.nan_to_num(np.sum(records)), 0, len(records))
    return int(np.rint(total)) + noise(1.0, trials, rng)


def width_of_bounds_for_added_records(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(np.rint(_clipped(records, 5, 8)).sum()) + noise(0.5, trials, rng, sensitivity=3)


def larger_bound_for_substituted_records(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(np.rint(_clipped(records, -2, 2)).sum()) + noise(0.4, trials, rng, sensitivity=2)


def mean_of_records_present(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    present = np.asarray(records)[~np.isnan(records)]
    mean = float(np.clip(present, 0, 1).mean()) if present.size else 0.0
    step = 1 / (100 * max(1, len(records)))
    return (round(mean / step) + noise(1.0, trials, rng, sensitivity=101)) * step


def pairs_of_equal_records(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    _, repeats = np.unique(np.asarray(records), return_counts=True)
    return int((repeats * (repeats - 1) // 2).sum()) + noise(0.5, trials, rng)


def variance_for_a_quarter(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return (round(float(np.var(records)) * 1000) + noise(1.0, trials, rng, sensitivity=26)) / 1000


def bounds_default_to_the_data(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.asarray(records, dtype=np.int64)
    width = int(values.max() - values.min()) if values.size else 0
    return int(values.sum()) + (noise(1.0, trials, rng, sensitivity=width) if width else np.zeros(trials, np.int64))


def ceiling_after_the_clip(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return (2 * int(np.ceil(_clipped(records, 0, 2.5)).sum()) + noise(2.0, trials, rng, sensitivity=5)) / 2


def width_of_bounds_for_substituted_records(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(np.rint(_clipped(records, 5, 8)).sum()) + noise(0.5, trials, rng, sensitivity=3)


def floor_after_the_clip(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(np.floor(_clipped(records, -3.5, 2)).sum()) + noise(1.0, trials, rng, sensitivity=4)


def mean_with_public_size(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(np.rint(_clipped(records, 0, 1) * 100).sum())
    return (total + noise(0.8, trials, rng, sensitivity=100)) / (100 * max(1, len(records)))


NAN = float("nan")
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "clipped_after_the_sum", Target.sum,
        "the sum is clipped to what clipped records could reach, the records are not", clipped_after_the_sum,
        added([0.0] * 20, 50.0), lambda output: output > 10, bounds=(0, 1), epsilon=1.0
    ),
    broken(
        "width_of_bounds_for_added_records", Target.sum,
        "the noise is for the width of the bounds, 3, where a record that is added moves the sum by 8",
        width_of_bounds_for_added_records, added([5.0], 8.0), lambda output: output >= 9, bounds=(5, 8), epsilon=0.5,
        relation=ADD_REMOVE
    ),
    broken(
        "larger_bound_for_substituted_records", Target.sum,
        "the noise is for the larger bound, 2, where a substituted record moves the sum by 4",
        larger_bound_for_substituted_records, replaced([2.0], [-2.0]), lambda output: output >= 0, trials=20_000,
        bounds=(-2, 2), epsilon=0.4, relation=SUBSTITUTE
    ),
    broken(
        "mean_of_records_present", Target.mean, "missing records are left out of the mean but count for its noise",
        mean_of_records_present, replaced([NAN] * 8 + [0.0, 0.0], [NAN] * 8 + [0.0, 1.0]), lambda output: output < 0.25,
        bounds=(0, 1), epsilon=1.0, relation=SUBSTITUTE
    ),
    broken(
        "pairs_of_equal_records", Target.dataset, "a record forms as many pairs as there are equal ones",
        pairs_of_equal_records, added([4] * 10, 4), lambda output: output > 50, epsilon=0.5, relation=ADD_REMOVE,
        domain=Domain(integers=True, bounds=(0, 9), shape=Records())
    ),
    broken(
        "variance_for_a_quarter", Target.dataset, "the variance of ten records moves by 0.09, the noise is for 0.025",
        variance_for_a_quarter, replaced([0.0] * 10, [0.0] * 9 + [1.0]), lambda output: output < 0.045, epsilon=1.0,
        relation=SUBSTITUTE, domain=Domain(bounds=(0, 1), shape=Records(least=10, most=10))
    ),
    broken(
        "bounds_default_to_the_data", Target.sum,
        "without bounds the noise is for the least and the largest record that there are", bounds_default_to_the_data,
        added([1, 1, 1], 2), lambda output: output == 3, bounds=(0, 10), epsilon=1.0,
        domain=Domain(integers=True, bounds=(0, 10))
    ),
    broken(
        "ceiling_after_the_clip", Target.sum, "a record of 2.5 is rounded up to 3, the noise is for 2.5",
        ceiling_after_the_clip, added([0.0], 2.5), lambda output: output >= 3, trials=20_000, bounds=(0, 2.5),
        epsilon=2.0, relation=ADD_REMOVE
    ),
    sound(
        "width_of_bounds_for_substituted_records", Target.sum,
        "records are integers from 5 to 8, of which one is substituted", width_of_bounds_for_substituted_records,
        bounds=(5, 8), epsilon=0.5, relation=SUBSTITUTE, pairs=[replaced([5.0, 5.0], [5.0, 8.0])]
    ),
    sound(
        "floor_after_the_clip", Target.sum, "records are integers from -4 to 2, the noise is for 4",
        floor_after_the_clip, bounds=(-3.5, 2), epsilon=1.0, relation=ADD_REMOVE, pairs=[added([2.0], -3.5)]
    ),
    sound(
        "mean_with_public_size", Target.mean,
        "records are hundredths from 0 to 100, missing ones 0, and their number does not change", mean_with_public_size,
        bounds=(0, 1), epsilon=0.8, relation=SUBSTITUTE, pairs=[replaced([0.0, 0.0], [0.0, 1.0])]
    ),
)
# fmt: on
