"""Outputs that tell something by their type, their order, their fields, or by how a call fails.

Tables of pandas are left out, because the project does not depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Records
from attacklab.model.targets import Failure, Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, added, categories, counts, noise

GROUP = "whole outputs"
NAMES = ("a", "b", "c")


@dataclass
class Report:
    """A count, and how many calls were used up."""

    value: int
    used: int


def noisy_count(records: Any, trials: int, rng: Rng) -> NDArray[np.int64]:
    return int(np.sum(records)) + noise(1.0, trials, rng)


def order_of_true_counts(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    of_name = dict(zip(NAMES, counts(records, NAMES), strict=True))
    order = sorted(NAMES, key=lambda name: (-of_name[name], name))
    rows = noise(1.0, trials, rng, size=3).tolist()
    return [{name: of_name[name] + drawn for name, drawn in zip(order, row, strict=True)} for row in rows]


def fixed_order(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    rows = np.array(counts(records, NAMES)) + noise(1.0, trials, rng, size=3)
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


def field_of_parity(records: Any, trials: int, rng: Rng) -> list[Report]:
    return [Report(count, len(records) % 2) for count in noisy_count(records, trials, rng).tolist()]


def field_that_is_always_0(records: Any, trials: int, rng: Rng) -> list[Report]:
    return [Report(count, 0) for count in noisy_count(records, trials, rng).tolist()]


def refuses_below_three(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    if len(records) < 3:
        raise ValueError("too few records")
    return noisy_count(records, trials, rng)


def refuses_by_the_noisy_count(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    count = noisy_count(records, trials, rng)
    if count.min() < -3:
        raise ValueError("too few records")
    return count


def message_with_the_sum(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    if (rng.random(trials) < 0.5).any():
        raise RuntimeError(f"could not commit {int(np.sum(records))} rows")
    return noisy_count(records, trials, rng)


def exception_by_parity(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    if (rng.random(trials) < 0.5).any():
        raise (ValueError if np.sum(records) % 2 else KeyError)("row")
    return noisy_count(records, trials, rng)


def fails_by_chance(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    if (rng.random(trials) < 0.02).any():
        raise ValueError("busy")
    return noisy_count(records, trials, rng)


def float_if_a_zero_is_there(records: Any, trials: int, rng: Rng) -> list[Any]:
    return list(map(float if 0 in list(records) else int, noisy_count(records, trials, rng).tolist()))


def float32_for_odd_sizes(records: Any, trials: int, rng: Rng) -> list[Any]:
    return list(map(np.float32 if len(records) % 2 else np.float64, noisy_count(records, trials, rng).tolist()))


def type_by_a_coin(records: Any, trials: int, rng: Rng) -> list[Any]:
    drawn = zip(noisy_count(records, trials, rng).tolist(), rng.integers(0, 2, size=trials), strict=True)
    return [float(count) if coin else count for count, coin in drawn]


def places_by_the_size(records: Any, trials: int, rng: Rng) -> list[Decimal]:
    place = Decimal(10) ** -len(records)
    return [Decimal(count).quantize(place) for count in noisy_count(records, trials, rng).tolist()]


def two_places(records: Any, trials: int, rng: Rng) -> list[Decimal]:
    return [Decimal(count).quantize(Decimal("0.01")) for count in noisy_count(records, trials, rng).tolist()]


def sign_of_zero(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    zero = math.copysign(0.0, -1.0 if 0 in list(records) else 1.0)
    count = noisy_count(records, trials, rng).astype(np.float64)
    return np.where(count == 0, zero, count)


def has_failed(output: Any, word: str = "") -> bool:
    return isinstance(output, Failure) and word in repr(output)


BITS = Domain(integers=True, bounds=(0, 1), shape=Records(least=0, most=20))
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "order_of_true_counts", Target.dataset, "keys stand in the order of the true counts", order_of_true_counts,
        added(["a", "b"], "b"), lambda output: next(iter(output)) == "b", epsilon=1.0, relation=ADD_REMOVE,
        domain=categories(*NAMES)
    ),
    broken(
        "field_of_parity", Target.dataset, "a field has the number of records modulo 2", field_of_parity,
        added([1], 0), lambda output: output.used == 0, epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "refuses_below_three", Target.dataset, "fewer than three records are refused", refuses_below_three,
        added([1, 1], 1), lambda output: not has_failed(output), epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "message_with_the_sum", Target.dataset, "half of all calls fail, and say the sum", message_with_the_sum,
        added([1, 1], 1), lambda output: has_failed(output, "commit 3 rows"), epsilon=1.0, relation=ADD_REMOVE,
        domain=BITS
    ),
    broken(
        "exception_by_parity", Target.dataset, "half of all calls fail, by an exception that follows the parity",
        exception_by_parity, added([1], 1), lambda output: has_failed(output, "KeyError"), epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "float_if_a_zero_is_there", Target.dataset, "the count is a float if some record is 0",
        float_if_a_zero_is_there, added([1, 1], 0), lambda output: isinstance(output, float), epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "float32_for_odd_sizes", Target.dataset, "the count of an odd number of records is of binary32",
        float32_for_odd_sizes, added([1, 1], 1), lambda output: isinstance(output, np.float32), epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "places_by_the_size", Target.dataset, "there are as many decimal places as records", places_by_the_size,
        added([1, 1], 1), lambda output: str(output).endswith(".000"), epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "sign_of_zero", Target.dataset, "a noisy count of 0 is negative if some record is 0", sign_of_zero,
        added([1], 0), lambda output: output == 0 and math.copysign(1.0, output) < 0, trials=20_000, epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    sound(
        "fixed_order", Target.dataset, "keys stand in a fixed order", fixed_order, epsilon=1.0, relation=ADD_REMOVE,
        domain=categories(*NAMES)
    ),
    sound(
        "field_that_is_always_0", Target.dataset, "the field is the same for all", field_that_is_always_0, epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    sound(
        "fails_by_chance", Target.dataset, "one call in 50 fails, whatever the records", fails_by_chance, epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    sound(
        "refuses_by_the_noisy_count", Target.dataset, "what is refused follows from the noisy count",
        refuses_by_the_noisy_count, epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    sound(
        "type_by_a_coin", Target.dataset, "a coin says whether the count is a float", type_by_a_coin, epsilon=1.0,
        relation=ADD_REMOVE, domain=BITS
    ),
    sound(
        "two_places", Target.dataset, "there are two decimal places", two_places, epsilon=1.0, relation=ADD_REMOVE,
        domain=BITS
    ),
)
# fmt: on
