"""What an output tells besides its noisy number: parts, types, order, failures, formats."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.domains import Domain, Records
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Failure, Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, in_group, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    SUBSTITUTE,
    added,
    answers,
    categories,
    counts,
    integer_stream,
    noise,
    one_report,
    replaced,
)

# Outputs that say more than their numbers: order, keys, width, types.


NAMES = ("ash", "birch", "cedar")


def _noisy(records: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[np.int64]:
    return np.array(counts(records, NAMES)) + noise(epsilon, trials, rng, size=len(NAMES))


def keys_in_order_of_true_counts(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    true = Counter(dict(zip(NAMES, counts(records, NAMES), strict=True)))
    order = [NAMES.index(name) for name, _ in true.most_common()]
    return [{NAMES[k]: row[k] for k in order} for row in _noisy(records, 1.0, trials, rng).tolist()]


def keys_in_order_of_noisy_counts(records: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    rows = _noisy(records, 1.0, trials, rng).tolist()
    return [dict(sorted(zip(NAMES, row, strict=True), key=lambda item: -item[1])) for row in rows]


def _sets(kept: Iterable[Any]) -> list[frozenset[str]]:
    return [frozenset(name for name, keep in zip(NAMES, row, strict=True) if keep) for row in kept]


def set_without_absent_names(records: Any, trials: int, rng: Rng) -> list[frozenset[str]]:
    present = np.array(counts(records, NAMES)) > 0
    truth = coins(truth_probability(1.0), trials * len(NAMES), rng).reshape(trials, -1)
    return _sets((present & truth).tolist())


def _set_by_randomized_response(records: Any, trials: int, rng: Rng) -> list[frozenset[str]]:
    present = np.array(counts(records, NAMES)) > 0
    truth = coins(truth_probability(1.0), trials * len(NAMES), rng).reshape(trials, -1)
    return _sets((present == truth).tolist())


def padded_to_the_true_width(records: Any, trials: int, rng: Rng) -> list[str]:
    width = len(str(len(records)))
    return [f"n={count:>{width}}" for count in (len(records) + noise(1.0, trials, rng)).tolist()]


def fixed_width_and_checksum(records: Any, trials: int, rng: Rng) -> list[str]:
    texts = [f"n={count:>12}" for count in (len(records) + noise(1.0, trials, rng)).tolist()]
    return [f"{text};{zlib.crc32(text.encode()):08x}" for text in texts]


def interval_from_true_deviation(records: Any, trials: int, rng: Rng) -> list[dict[str, Any]]:
    half = 2 * float(np.std(records))
    ones = int(np.count_nonzero(np.asarray(records) > 0.5))
    return [
        {"count": count, "interval": (count - half, count + half)}
        for count in (ones + noise(1.0, trials, rng)).tolist()
    ]


RECORDS = Domain(bounds=(0, 1), shape=Records())
# fmt: off
WHOLE_OUTPUTS = in_group(
    "whole outputs",
    broken(
        "keys_in_order_of_true_counts", Target.dataset, "the keys of the dict stand in the order of the true counts",
        keys_in_order_of_true_counts, added(["ash", "birch"], "birch"), lambda output: next(iter(output)) == "birch",
        epsilon=1.0, domain=categories(*NAMES), relation=ADD_REMOVE
    ),
    broken(
        "set_without_absent_names", Target.dataset, "names that nobody has are never in the set",
        set_without_absent_names, added(["ash"], "cedar"), lambda output: "cedar" in output, epsilon=1.0,
        domain=categories(*NAMES), relation=ADD_REMOVE
    ),
    broken(
        "padded_to_the_true_width", Target.dataset, "the text is padded to the width of the true count",
        padded_to_the_true_width, added([0.0] * 9, 0.0), lambda output: len(output) == len("n=9"), epsilon=1.0,
        domain=RECORDS, relation=ADD_REMOVE
    ),
    broken(
        "interval_from_true_deviation", Target.dataset,
        "the width of the confidence interval is the true standard deviation", interval_from_true_deviation,
        replaced([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        lambda output: bool(output["interval"][0] == output["interval"][1]), epsilon=1.0,
        domain=Domain(bounds=(0, 1), shape=Records(least=4)), relation=SUBSTITUTE
    ),
    sound(
        "keys_in_order_of_noisy_counts", Target.dataset,
        "one count moves by one, and the order follows from the noisy counts", keys_in_order_of_noisy_counts,
        epsilon=1.0, domain=categories(*NAMES), relation=ADD_REMOVE
    ),
    sound(
        "set_by_randomized_response", Target.dataset,
        "one record changes the presence of one name, which is answered with a coin of e^1 to 1 at the most",
        _set_by_randomized_response, epsilon=1.0, domain=categories(*NAMES), relation=ADD_REMOVE
    ),
    sound(
        "fixed_width_and_checksum", Target.dataset, "the text and its checksum follow from the noisy count",
        fixed_width_and_checksum, epsilon=1.0, domain=RECORDS, relation=ADD_REMOVE
    ),
)
# fmt: on


# Outputs that tell something by their type, their order, their fields, or by how a call fails.
#
# Tables of pandas are left out, because the project does not depend on it.


@dataclass
class Report:
    """An output with a count and the number of calls that were used."""

    value: int
    used: int


def noisy_count(records: Any, trials: int, rng: Rng) -> NDArray[np.int64]:
    return int(np.sum(records)) + noise(1.0, trials, rng)


def field_of_parity(records: Any, trials: int, rng: Rng) -> list[Report]:
    return [Report(count, len(records) % 2) for count in noisy_count(records, trials, rng).tolist()]


def refuses_below_three(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    if len(records) < 3:
        raise ValueError("too few records")
    return noisy_count(records, trials, rng)


def refuses_by_the_noisy_count(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    count = noisy_count(records, trials, rng)
    if count.min() < -3:
        raise ValueError("too few records")
    return count


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


def type_by_a_coin(records: Any, trials: int, rng: Rng) -> list[Any]:
    drawn = zip(noisy_count(records, trials, rng).tolist(), rng.integers(0, 2, size=trials), strict=True)
    return [float(count) if coin else count for count, coin in drawn]


def places_by_the_size(records: Any, trials: int, rng: Rng) -> list[Decimal]:
    place = Decimal(10) ** -len(records)
    return [Decimal(count).quantize(place) for count in noisy_count(records, trials, rng).tolist()]


def sign_of_zero(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    zero = math.copysign(0.0, -1.0 if 0 in list(records) else 1.0)
    count = noisy_count(records, trials, rng).astype(np.float64)
    return np.where(count == 0, zero, count)


def has_failed(output: Any, word: str = "") -> bool:
    return isinstance(output, Failure) and word in repr(output)


BITS = Domain(integers=True, bounds=(0, 1), shape=Records(least=0, most=20))
# fmt: off
FAILURES_AND_TYPES = in_group(
    "whole outputs",
    broken(
        "field_of_parity", Target.dataset, "a field has the number of records modulo 2", field_of_parity,
        added([1], 0), lambda output: output.used == 0, epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "refuses_below_three", Target.dataset, "fewer than three records are refused", refuses_below_three,
        added([1, 1], 1), lambda output: not has_failed(output), epsilon=1.0, relation=ADD_REMOVE, domain=BITS
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
        "places_by_the_size", Target.dataset, "there are as many decimal places as records", places_by_the_size,
        added([1, 1], 1), lambda output: str(output).endswith(".000"), epsilon=1.0, relation=ADD_REMOVE, domain=BITS
    ),
    broken(
        "sign_of_zero", Target.dataset, "a noisy count of 0 is negative if some record is 0", sign_of_zero,
        added([1], 0), lambda output: output == 0 and math.copysign(1.0, output) < 0, trials=20_000, epsilon=1.0,
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
)
# fmt: on


# The noise has a narrow number format. What the code does to it before the release hides that.


def noise_of_six_digits(answer: float, trials: int, rng: Rng) -> list[float]:
    return [answer + float(f"{drawn:.6g}") for drawn in rng.laplace(scale=2.0, size=trials).tolist()]


def fixed_point_noise_of_a_sum(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = float(np.nan_to_num(np.clip(records, 0.0, 1.0)).sum())
    return total + np.rint(rng.laplace(scale=2.0, size=trials) * 65536) / 65536


def cents_as_text(records: Any, trials: int, rng: Rng) -> list[str]:
    total = int(np.rint(np.clip(records, 0.0, 1.0) * 100).sum())
    return [f"{cents / 100:.2f} EUR" for cents in (total + noise(1.0, trials, rng, sensitivity=100)).tolist()]


# fmt: off
HIDDEN_FORMATS = in_group(
    "hidden formats",
    broken(
        "half_precision_as_double", Target.noise, "noise of binary16 is added to a double",
        lambda answer, trials, rng: answer + rng.laplace(size=trials).astype(np.float16).astype(np.float64),
        answers(0.0, 0.3), lambda output: float(np.float16(output)) == output, epsilon=1.0
    ),
    broken(
        "noise_of_six_digits", Target.noise, "noise went through text of six digits", noise_of_six_digits,
        answers(0.0, 1 / 3), lambda output: float(f"{output:.6g}") == output, epsilon=0.5
    ),
    broken(
        "fixed_point_noise_of_a_sum", Target.sum, "noise has 16 bits after the point, the sum has more",
        fixed_point_noise_of_a_sum, added([0.0], 0.3), lambda output: float(output * 65536).is_integer(), bounds=(0, 1),
        epsilon=0.5, relation=ADD_REMOVE
    ),
    sound(
        "answer_rounded_before_noise", Target.noise,
        "rounded to a grid of 1/1024 the answer moves by 1025 steps at the most, which the noise allows for",
        lambda answer, trials, rng: (round(answer * 1024) + noise(1.0, trials, rng, sensitivity=1025)) / 1024,
        epsilon=1.0, domain=Domain(bounds=(-1000, 1000))
    ),
    sound(
        "cents_as_text", Target.dataset, "each record is rounded to cents, of which there are 100 at the most",
        cents_as_text, epsilon=1.0, relation=ADD_REMOVE, domain=Domain(bounds=(0, 1), shape=Records())
    ),
)
# fmt: on


# Reports of several bits or numbers, each of which costs, and counts over time.


def flipped(bits: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    lies = ~coins(truth_probability(epsilon), trials * len(bits), rng).reshape(trials, -1)
    return np.asarray(np.asarray(bits, dtype=np.int64) ^ lies)


def eight_bits(records: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return flipped([int(records[0]) >> place & 1 for place in range(8)], epsilon, trials, rng)


def one_hot_of_16(records: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return flipped(np.arange(16) == int(records[0]), epsilon, trials, rng)


def parity(row: int, value: int) -> int:
    return (row & value).bit_count() & 1


def running_counts(stream: Any, epsilon: float, trials: int, rng: Rng) -> NDArray[Any]:
    return np.cumsum(np.asarray(stream, dtype=np.int64)) + noise(epsilon, trials, rng, size=len(stream))


# fmt: off
REPORTS_BY_BITS = in_group(
    "streams and local reports",
    broken(
        "each_of_eight_bits_at_epsilon", Target.dataset, "a value has eight bits, each of which spends the budget",
        lambda records, trials, rng: eight_bits(records, 1.0, trials, rng), replaced([255], [0]),
        lambda output: output.sum() >= 7, epsilon=1.0, relation=SUBSTITUTE, domain=one_report(256)
    ),
    broken(
        "one_hot_of_16_at_epsilon", Target.dataset, "two bits of a one-hot code differ, each at the whole budget",
        lambda records, trials, rng: one_hot_of_16(records, 1.0, trials, rng), replaced([3], [9]),
        lambda output: output[3] == 1 and output[9] == 0, epsilon=1.0, relation=SUBSTITUTE, domain=one_report(16)
    ),
    broken(
        "running_counts_at_epsilon", Target.dataset, "an event counts in four running counts, each at the whole budget",
        lambda stream, trials, rng: running_counts(stream, 1.0, trials, rng), replaced([1, 1, 1, 1], [0, 1, 1, 1]),
        lambda output: output.sum() >= 10, epsilon=1.0, relation=SUBSTITUTE, domain=integer_stream(4)
    ),
    sound(
        "one_hot_of_16_at_half", Target.dataset, "both bits that differ at half of the budget",
        lambda records, trials, rng: one_hot_of_16(records, 0.5, trials, rng), epsilon=1.0, relation=SUBSTITUTE,
        domain=one_report(16)
    ),
)
# fmt: on


# Inputs that are matrices, rows of fields, dicts or ragged lists.


def with_normal_noise(total: Any, scale: float, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(np.rint((total + rng.normal(scale=scale, size=(trials, 4))) * 256) / 256)


def gradients_clipped_by_entry(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return with_normal_noise(np.clip(rows, -1, 1).sum(axis=0), 1.0, trials, rng)


def gradients_clipped_by_length(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = np.sum([row / max(1.0, math.hypot(*row)) for row in np.asarray(rows)], axis=0)
    return with_normal_noise(total, 1.02, trials, rng)


def keys_of_the_records(table: Any, trials: int, rng: Rng) -> list[dict[str, int]]:
    rows = noise(1.0, trials, rng, size=len(table)).tolist()
    return [{name: table[name] + drawn for name, drawn in zip(table, row, strict=True)} for row in rows]


def of_distinct_people(rows: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return len({name for name, _ in rows}) + noise(1.0, trials, rng)


def removed(first: Any, second: Any) -> NeighbouringPair:
    return NeighbouringPair(first, second, ADD_REMOVE)


GRADIENTS = removed(np.array([[0.9, 0.9, 0.9, 0.9], [0.1, 0.0, 0.0, 0.2]]), np.array([[0.1, 0.0, 0.0, 0.2]]))
THREE_ROWS = removed([("ann", 1), ("ann", 1), ("ann", 1), ("bob", 1)], [("bob", 1)])
TABLES = removed({"x": 3, "y": 1}, {"x": 3})
# fmt: off
SHAPES = in_group(
    "shapes of inputs",
    broken(
        "gradients_clipped_by_entry", Target.dataset, "entries are clipped to 1, the noise is for a length of 1",
        gradients_clipped_by_entry, GRADIENTS, lambda output: output.sum() > 2.5, trials=100_000,
        claim=ZeroConcentrated(0.5), relation=ADD_REMOVE, pairs=(GRADIENTS,)
    ),
    broken(
        "several_rows_a_person", Target.dataset, "a person has three rows, the noise is for one",
        lambda rows, trials, rng: sum(value for _, value in rows) + noise(1.0, trials, rng), THREE_ROWS,
        lambda output: output >= 4, epsilon=1.0, relation=ADD_REMOVE, pairs=(THREE_ROWS,)
    ),
    broken(
        "keys_of_the_records", Target.dataset, "the keys of a dict come out as they are", keys_of_the_records, TABLES,
        lambda output: "y" in output, epsilon=1.0, relation=ADD_REMOVE, pairs=(TABLES,)
    ),
    sound(
        "gradients_clipped_by_length", Target.dataset, "rows are clipped to a length of 1, and the noise has a margin",
        gradients_clipped_by_length, claim=ZeroConcentrated(0.5), relation=ADD_REMOVE, pairs=(GRADIENTS,)
    ),
    sound(
        "distinct_people", Target.dataset, "however many rows a person has, it counts once", of_distinct_people,
        epsilon=1.0, relation=ADD_REMOVE, pairs=(THREE_ROWS,)
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*WHOLE_OUTPUTS, *FAILURES_AND_TYPES, *HIDDEN_FORMATS, *REPORTS_BY_BITS, *SHAPES)
