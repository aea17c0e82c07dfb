"""Statistics that move further than their noise is for, and answers changed before the noise is added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, in_group, sound
from corpus.held_out.inputs import ADD_REMOVE, INTEGERS, SUBSTITUTE, added, answers, noise, replaced, whole

# Noise for less than one person can change.


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


def mean_with_public_size(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(np.rint(_clipped(records, 0, 1) * 100).sum())
    return (total + noise(0.8, trials, rng, sensitivity=100)) / (100 * max(1, len(records)))


NAN = float("nan")
# fmt: off
SENSITIVITY = in_group(
    "sensitivity",
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
        "mean_with_public_size", Target.mean,
        "records are hundredths from 0 to 100, missing ones 0, and their number does not change", mean_with_public_size,
        bounds=(0, 1), epsilon=0.8, relation=SUBSTITUTE, pairs=[replaced([0.0, 0.0], [0.0, 1.0])]
    ),
)
# fmt: on


# Sums, means and variances whose sensitivity is wrong, or whose arithmetic makes it so.


def clipped(records: Any, low: float, high: float) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(records, dtype=np.float64)), low, high)


def sum_of_half_precision(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = np.float16(0)
    for record in clipped(records, 0, 2048).astype(np.float16):
        total = np.float16(total + record)
    return np.asarray(np.rint(float(total)) + noise(1.0, trials, rng, sensitivity=2048))


def ones_counted_in_a_byte(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(clipped(records, 0, 1).astype(np.uint8).sum(dtype=np.uint8))
    return total + noise(1.0, trials, rng)


def chunks_that_overlap(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = clipped(records, 0, 1)
    total = sum(float(values[start : start + 4096].sum()) for start in range(0, len(values), 4095))
    return (round(total * 256) + noise(1.0, trials, rng, sensitivity=256)) / 256


def mean_without_both_ends(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.sort(clipped(records, 0, 10))
    inner = values[1:-1] if len(values) > 2 else values
    middle = inner.mean() if len(inner) else 5.0
    return np.rint((middle + rng.laplace(scale=10 / max(1, len(values)), size=trials)) * 64) / 64


def mean_of_nothing_is_bare(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = clipped(records, 0, 10)
    if not len(values):
        return np.zeros(trials)
    total = values.sum() + rng.laplace(scale=20.0, size=trials)
    count = np.maximum(1.0, len(values) + rng.laplace(scale=2.0, size=trials))
    return np.asarray(np.rint(total / count * 32 + 0.5) / 32)


def floors_of_1024(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return (int(np.floor(clipped(records, 0, 1) * 1024).sum()) + noise(1.0, trials, rng, sensitivity=1024)) / 1024


def noisy_sum_by_noisy_count(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(np.floor(clipped(records, 0, 10)).sum()) + noise(0.5, trials, rng, sensitivity=10)
    return np.asarray(total / np.maximum(1, len(records) + noise(0.5, trials, rng)))


def variance_of_three(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    cut = int(np.floor(clipped(records, 0, 1).var() * 1536))
    return (cut + noise(1.0, trials, rng, sensitivity=513)) / 1536


TALL = np.array([2048.0] + [1.5] * 1024)
ORDINARY = Domain(bounds=(0, 10), special=False)
UNITS = Domain(bounds=(0, 1), special=False)
# fmt: off
WRONG_SUMS = in_group(
    "sensitivity",
    broken(
        "sum_of_half_precision", Target.sum, "beside 2048, binary16 rounds each 1.5 up to 2", sum_of_half_precision,
        NeighbouringPair.records(TALL, TALL[1:], ADD_REMOVE), lambda output: output >= 4096, trials=100_000,
        bounds=(0, 2048), epsilon=1.0, relation=ADD_REMOVE
    ),
    broken(
        "ones_counted_in_a_byte", Target.sum, "256 ones are none", ones_counted_in_a_byte,
        added([1.0] * 255, 1.0), lambda output: output < 128, bounds=(0, 1), epsilon=1.0, relation=ADD_REMOVE,
        domain=UNITS
    ),
    broken(
        "chunks_that_overlap", Target.sum, "chunks of 4,096 records begin every 4,095", chunks_that_overlap,
        replaced([1.0] * 4096, [*[1.0] * 4095, 0.0]), lambda output: output > 4096, bounds=(0, 1), epsilon=1.0,
        relation=SUBSTITUTE, domain=UNITS
    ),
    broken(
        "mean_without_both_ends", Target.mean, "without both ends, one record of three is the mean",
        mean_without_both_ends, replaced([10.0, 10.0, 0.0], [10.0, 0.0, 0.0]), lambda output: output > 8,
        bounds=(0, 10), epsilon=1.0, relation=SUBSTITUTE, domain=ORDINARY
    ),
    broken(
        "mean_of_nothing_is_bare", Target.mean, "no records answer 0, without noise", mean_of_nothing_is_bare,
        added([], 5.0), lambda output: output == 0, bounds=(0, 10), epsilon=1.0, relation=ADD_REMOVE, domain=ORDINARY
    ),
    sound(
        "floors_of_1024", Target.sum, "each record is cut to a grid, of which it covers 1,024 steps at the most",
        floors_of_1024, bounds=(0, 1), epsilon=1.0, relation=ADD_REMOVE, domain=UNITS
    ),
    sound(
        "noisy_sum_by_noisy_count", Target.mean, "half of the budget for the sum, half for the count",
        noisy_sum_by_noisy_count, bounds=(0, 10), epsilon=1.0, relation=ADD_REMOVE, domain=ORDINARY
    ),
    sound(
        "variance_of_three", Target.dataset, "the number of records is public, and the noise pays for the cut",
        variance_of_three, epsilon=1.0, relation=SUBSTITUTE,
        domain=Domain(bounds=(0, 1), shape=Records(least=3, most=3))
    ),
)
# fmt: on


# Answers that wrap around, saturate or are rounded in a narrower format before the noise is added.


def cents_in(width: int, answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    cents = (round(answer * 100) + (1 << width - 1)) % (1 << width) - (1 << width - 1)
    return (cents + noise(1.0, trials, rng, sensitivity=101)) / 100


def through_double(answer: int, trials: int, rng: Rng) -> list[int]:
    return [int(float(answer)) + drawn for drawn in noise(1.0, trials, rng).tolist()]


def cast_as_in_c(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    cast = int(answer) if -(2.0**31) <= answer < 2.0**31 else -(2**31)
    return (4 * cast + noise(1.0, trials, rng, sensitivity=8)) / 4


# fmt: off
CASTS = in_group(
    "casts and wraps",
    broken(
        "wraps_in_16_bits", Target.noise, "answers from 2^15 on wrap around",
        lambda answer, trials, rng: (int(answer) + 2**15) % 2**16 - 2**15 + noise(1.0, trials, rng),
        whole(32_768, 32_767), lambda output: output < 0, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "cents_wrap_in_32_bits", Target.noise, "cents wrap around at 2^31",
        lambda answer, trials, rng: cents_in(32, answer, trials, rng), answers(21_474_836.48, 21_474_836.47),
        lambda output: output < 0, epsilon=1.0, noise_scale=1.0, domain=Domain(bounds=(0, 1e9))
    ),
    broken(
        "integer_as_binary32", Target.noise, "binary32 takes 2^24 + 3 up to 2^24 + 4",
        lambda answer, trials, rng: int(np.float32(answer)) + noise(1.0, trials, rng), whole(2**24 + 3, 2**24 + 2),
        lambda output: output >= 2**24 + 4, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "integer_through_double", Target.noise, "a double takes 2^53 + 3 up to 2^53 + 4", through_double,
        whole(2**53 + 3, 2**53 + 2), lambda output: output >= 2**53 + 4, epsilon=1.0,
        domain=Domain(integers=True, bounds=(-(2**60), 2**60))
    ),
    broken(
        "negative_as_unsigned", Target.noise, "-1 becomes 2^32 - 1",
        lambda answer, trials, rng: int(answer) % 2**32 + noise(1.0, trials, rng), whole(-1, 0),
        lambda output: output > 2**31, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "half_to_even", Target.noise, "1.5 and 0.5 are rounded two apart",
        lambda answer, trials, rng: round(float(answer)) + noise(1.0, trials, rng), answers(1.5, 0.5),
        lambda output: output >= 2, epsilon=1.0, domain=Domain(bounds=(0, 1_000))
    ),
    broken(
        "cast_as_in_c", Target.noise, "a double beyond 2^31 becomes the least integer of 32 bits", cast_as_in_c,
        answers(2.0**31, 2.0**31 - 1), lambda output: output < 0, epsilon=1.0,
        domain=Domain(bounds=(-(2.0**40), 2.0**40))
    ),
    sound(
        "saturates_at_16_bits", Target.noise, "clamping moves neighbours no further apart",
        lambda answer, trials, rng: min(max(int(answer), -(2**15)), 2**15 - 1) + noise(1.0, trials, rng), epsilon=1.0,
        domain=INTEGERS
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*SENSITIVITY, *WRONG_SUMS, *CASTS)
