"""Sums, means and variances whose sensitivity is wrong, or whose arithmetic makes it so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, SUBSTITUTE, added, noise, replaced

GROUP = "sensitivity"


def clipped(records: Any, low: float, high: float) -> NDArray[np.float64]:
    return np.clip(np.nan_to_num(np.asarray(records, dtype=np.float64)), low, high)


def sum_of_half_precision(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = np.float16(0)
    for record in clipped(records, 0, 2048).astype(np.float16):
        total = np.float16(total + record)
    return np.asarray(np.rint(float(total)) + noise(1.0, trials, rng, sensitivity=2048))


def half_the_width(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray((round(clipped(records, -1, 1).sum() * 512) + noise(1.0, trials, rng, sensitivity=512)) / 512)


def ones_counted_in_a_byte(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(clipped(records, 0, 1).astype(np.uint8).sum(dtype=np.uint8))
    return total + noise(1.0, trials, rng)


def chunks_that_overlap(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = clipped(records, 0, 1)
    total = sum(float(values[start : start + 4096].sum()) for start in range(0, len(values), 4095))
    return (round(total * 256) + noise(1.0, trials, rng, sensitivity=256)) / 256


def mean_for_a_public_size(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values, size = clipped(records, 0, 10), max(1, len(records))
    return np.asarray(np.rint((values.sum() / size + rng.laplace(scale=10 / size, size=trials)) * 128) / 128)


def mean_without_both_ends(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = np.sort(clipped(records, 0, 10))
    inner = values[1:-1] if len(values) > 2 else values
    middle = inner.mean() if len(inner) else 5.0
    return np.rint((middle + rng.laplace(scale=10 / max(1, len(values)), size=trials)) * 64) / 64


def variance_by_the_square(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = clipped(records, 0, 1)
    return np.asarray(np.rint((values.var() + rng.laplace(scale=len(values) ** -2.0, size=trials)) * 4096) / 4096)


def mean_of_nothing_is_bare(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    values = clipped(records, 0, 10)
    if not len(values):
        return np.zeros(trials)
    total = values.sum() + rng.laplace(scale=20.0, size=trials)
    count = np.maximum(1.0, len(values) + rng.laplace(scale=2.0, size=trials))
    return np.asarray(np.rint(total / count * 32 + 0.5) / 32)


def floors_of_1024(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return (int(np.floor(clipped(records, 0, 1) * 1024).sum()) + noise(1.0, trials, rng, sensitivity=1024)) / 1024


def signed_floors_of_64(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return (int(np.floor(clipped(records, -1, 1) * 64).sum()) + noise(1.0, trials, rng, sensitivity=128)) / 64


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
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "sum_of_half_precision", Target.sum, "beside 2048, binary16 rounds each 1.5 up to 2", sum_of_half_precision,
        NeighbouringPair.records(TALL, TALL[1:], ADD_REMOVE), lambda output: output >= 4096, trials=100_000,
        bounds=(0, 2048), epsilon=1.0, relation=ADD_REMOVE
    ),
    broken(
        "half_the_width", Target.sum, "a record that is replaced moves a sum in [-1, 1] by 2", half_the_width,
        replaced([1.0], [-1.0]), lambda output: output > 1, bounds=(-1, 1), epsilon=1.0, relation=SUBSTITUTE
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
        "mean_for_a_public_size", Target.mean, "the scale is by the number of records, which is not public",
        mean_for_a_public_size, added([10.0], 10.0), lambda output: -10 <= output <= 30, trials=200_000,
        bounds=(0, 10), epsilon=1.0, relation=ADD_REMOVE, domain=ORDINARY
    ),
    broken(
        "mean_without_both_ends", Target.mean, "without both ends, one record of three is the mean",
        mean_without_both_ends, replaced([10.0, 10.0, 0.0], [10.0, 0.0, 0.0]), lambda output: output > 8,
        bounds=(0, 10), epsilon=1.0, relation=SUBSTITUTE, domain=ORDINARY
    ),
    broken(
        "variance_by_the_square", Target.dataset, "the scale falls with the square of the number of records",
        variance_by_the_square, replaced([0.0, 1.0, 0.0], [0.0, 0.0, 0.0]), lambda output: output > 0.2, epsilon=1.0,
        relation=SUBSTITUTE, domain=Domain(bounds=(0, 1), shape=Records(least=1, most=12))
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
        "signed_floors_of_64", Target.sum, "NaN counts as 0, and a replaced record pays for the width",
        signed_floors_of_64, bounds=(-1, 1), epsilon=1.0, relation=SUBSTITUTE
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
