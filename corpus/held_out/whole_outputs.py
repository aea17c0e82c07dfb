"""Outputs that say more than their numbers: order, keys, width, types."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain, Records
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, SUBSTITUTE, added, categories, counts, noise, replaced

GROUP = "whole outputs"
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


def cache_key_of_the_records(records: Any, trials: int, rng: Rng) -> list[tuple[str, int]]:
    key = f"{zlib.crc32(np.asarray(records).astype('<f8').tobytes()):08x}"
    return [(key, count) for count in (len(records) + noise(0.5, trials, rng)).tolist()]


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


def narrowest_integer_type(records: Any, trials: int, rng: Rng) -> list[NDArray[Any]]:
    form = np.min_scalar_type(-max(1, *counts(records, NAMES)) - 1)
    limits = np.iinfo(form)
    rows = np.clip(_noisy(records, 1.0, trials, rng), limits.min, limits.max).astype(form)
    return list(rows)


def bytes_of_nonzero_counts(records: Any, trials: int, rng: Rng) -> list[bytes]:
    true = counts(records, NAMES)
    rows = _noisy(records, 1.0, trials, rng).astype("<i4")
    rows = rows[:, [k for k, count in enumerate(true) if count]]
    return [row.tobytes() for row in rows]


RECORDS = Domain(bounds=(0, 1), shape=Records())
WIDE = added(["ash"] * 127, "ash")
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
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
        "cache_key_of_the_records", Target.dataset, "a checksum of the records is handed out beside the noisy count",
        cache_key_of_the_records, added([0.0, 1.0], 1.0),
        lambda output: output[0] == f"{zlib.crc32(np.array([0.0, 1.0, 1.0]).tobytes()):08x}", epsilon=0.5,
        domain=RECORDS, relation=ADD_REMOVE
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
    broken(
        "narrowest_integer_type", Target.dataset,
        "the type of the noisy counts is the narrowest that holds the true ones", narrowest_integer_type, WIDE,
        lambda output: output.dtype.itemsize == 2, epsilon=1.0, domain=Domain(shape=Categories(names=NAMES, most=200)),
        relation=ADD_REMOVE, pairs=[WIDE]
    ),
    broken(
        "bytes_of_nonzero_counts", Target.dataset, "counts that are zero are left out before the rest is packed",
        bytes_of_nonzero_counts, added(["ash", "birch"], "cedar"), lambda output: len(output) == 12, epsilon=1.0,
        domain=categories(*NAMES), relation=ADD_REMOVE
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
