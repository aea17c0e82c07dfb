"""Public reports of what went wrong in the field, in our own words: each flaw beside its repair, with its source."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Categories, Domain
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from corpus.common.exact_noise import discrete_laplace, laplace_law, noisy, pushed
from corpus.common.specimen import Computed, Law, Rng, Specimen, broken, in_group, record_pair, sound

THRESHOLD = 1 + math.log(1 / (0.01 * (1 + math.exp(-1))))
"""The least real T at which a count of 1 with noise of scale 1 reaches T with probability 0.01 at most."""

ZERO_TO_TEN = Domain(integers=True, bounds=(0, 10))
COUNTS = Domain(integers=True, non_negative=True)
WORDS = Domain(shape=Categories(names=("a", "b"), most=2))
ONE_WORD = NeighbouringPair.records(np.array(["a"]), np.array([], dtype="<U1"), Relation.ADD_REMOVE)
MIDDLE, HUGE = 2.0**52 + 4, 10**19
RATE = -math.log(1 - math.exp(-0.1))


def _whole(first: int, second: int, sensitivity: int = 1) -> NeighbouringPair:
    return NeighbouringPair.integers(first, second, sensitivity=sensitivity)


def _keys(words: NDArray[Any], trials: int, rng: Rng, threshold: float) -> list[dict[str, int]]:
    counts = sorted(Counter(words.tolist()).items())
    noise = discrete_laplace(1, trials * len(counts), rng).reshape(trials, len(counts))
    rows = ({word: count + int(n) for (word, count), n in zip(counts, row, strict=True)} for row in noise)
    return [{word: count for word, count in row.items() if count >= threshold} for row in rows]


def _keys_law(words: NDArray[Any]) -> Law:
    kept = pushed(laplace_law(1), lambda n: (("a", 1 + n),) if 1 + n >= math.ceil(THRESHOLD) else ())
    return kept if len(words) else {(): 1.0}


def nan_passes_the_clamp(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    total = sum(10.0 if x > 10 else 0.0 if x < 0 else float(x) for x in records)
    return math.floor(total) + discrete_laplace(10, trials, rng) if total == total else np.full(trials, math.nan)


def redrawn_until_within_bounds(answer: int, trials: int, rng: Rng) -> NDArray[Any]:
    made = answer + discrete_laplace(1, trials, rng)
    while (out := (made < 0) | (made > 10)).any():
        made[out] = answer + discrete_laplace(1, int(out.sum()), rng)
    return made


def censored(answer: int, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(np.clip(int(answer) + np.clip(discrete_laplace(2, trials, rng), -4, 4), 0, 4))


def cancelled(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    total = 0.0
    for x in np.clip(np.nan_to_num(records, nan=MIDDLE), MIDDLE - 4, MIDDLE + 4).tolist():
        total += x
    return int(total - len(records) * MIDDLE) + discrete_laplace(8, trials, rng)


def middle_first(records: NDArray[Any], trials: int, rng: Rng) -> NDArray[Any]:
    return _distance(records) + discrete_laplace(8, trials, rng)


def _distance(records: NDArray[Any]) -> int:
    clean = np.clip(np.nan_to_num(np.asarray(records, dtype=float), nan=MIDDLE), MIDDLE - 4, MIDDLE + 4)
    return int(np.floor(clean - MIDDLE).astype(int).sum())


def overflowing(answer: int, trials: int, rng: Rng) -> list[int]:
    legacy, p = np.random.RandomState(rng.bit_generator), -math.expm1(-1 / HUGE)
    return [int(answer) + int(legacy.geometric(p)) - int(legacy.geometric(p)) for _ in range(trials)]


def wrong_base(count: int, trials: int, rng: Rng) -> NDArray[Any]:
    share = rng.random(trials) - 0.5
    size = np.floor(np.log(1 - 2 * np.minimum(np.abs(share), 0.5 - 2.0**-54)) / -RATE).astype(int)
    return np.asarray(np.maximum(0, int(count) + np.where(share >= 0, size, -size)))


def _narrow_law(count: int) -> Law:
    sizes = {k: math.exp(-RATE * k) * -math.expm1(-RATE) for k in range(13)}
    law = {0: sizes[0]} | {sign * k: mass / 2 for k, mass in sizes.items() if k for sign in (-1, 1)}
    return pushed(law, lambda n: max(0, count + n))


ADDED = [MIDDLE - 3] * 65
FLOATED = record_pair(ADDED, [MIDDLE - 4, *ADDED[1:]])
SUM: dict[str, Any] = {"epsilon": 1.0, "bounds": (MIDDLE - 4, MIDDLE + 4), "relation": "substitute"}
NAN: dict[str, Any] = {"epsilon": 1.0, "bounds": (0.0, 10.0), "relation": "add-remove"}

# fmt: off
SPECIMENS: tuple[Specimen, ...] = in_group(
    "public reports",
    broken(
        "threshold_truncated", Target.dataset, "a real threshold is cut to an integer: δ is 0.0134 instead of 0.01; "
        "google/differential-privacy PR 101, 2022", partial(_keys, threshold=int(THRESHOLD)), ONE_WORD,
        lambda keys: "a" in keys, trials=150_000, epsilon=1.0, delta=0.01, relation="add-remove", domain=WORDS
    ),
    sound(
        "threshold_rounded_up", Target.dataset, "the repair of threshold_truncated",
        partial(_keys, threshold=math.ceil(THRESHOLD)),
        Computed(ONE_WORD, _keys_law, lambda keys: tuple(keys.items())),
        epsilon=1.0, delta=0.01, relation="add-remove", domain=WORDS
    ),
    broken(
        "nan_passes_the_clamp", Target.sum, "a clamp that compares with both ends lets NaN through; "
        "google/differential-privacy PR 405, 2026", nan_passes_the_clamp,
        record_pair([1.0, math.nan], [1.0], Relation.ADD_REMOVE), lambda made: bool(np.isnan(made)), **NAN
    ),
    noisy(
        "nan_is_skipped", Target.sum, "the repair of nan_passes_the_clamp", 10,
        record_pair([1.0, 10.0], [1.0], Relation.ADD_REMOVE),
        true=lambda records: sum(math.floor(min(max(x, 0.0), 10.0)) for x in records if x == x), **NAN
    ),
    broken(
        "redrawn_until_within_bounds", Target.noise, "noise is drawn again until the answer lies within its bounds, "
        "which loses 1.209; google/differential-privacy issue 256, 2024", redrawn_until_within_bounds, _whole(0, 1),
        lambda made: made == 0, trials=20_000, epsilon=1.0, domain=ZERO_TO_TEN
    ),
    noisy(
        "clamped_to_its_bounds", Target.noise, "the repair of redrawn_until_within_bounds", 1, _whole(0, 1),
        lambda made: np.clip(made, 0, 10), key=int, epsilon=1.0, domain=ZERO_TO_TEN
    ),
    broken(
        "noise_censored_input_not", Target.noise, "noise is cut at the width of the bounds and the input is not: from "
        "8 on it always gives 4; opendp/smartnoise-core issues 319 and 358, 2020", censored, _whole(7, 8),
        lambda made: made == 3, epsilon=0.5, domain=COUNTS
    ),
    sound(
        "noise_and_input_censored", Target.noise, "the repair of noise_censored_input_not",
        lambda count, trials, rng: censored(min(max(int(count), 0), 4), trials, rng),
        Computed(
            _whole(3, 4),
            lambda count: pushed(laplace_law(2), lambda n: min(max(count + min(max(n, -4), 4), 0), 4)),
        ),
        epsilon=0.5, domain=COUNTS
    ),
    broken(
        "cancelled_middle", Target.sum, "Σx − n·mid in doubles far from 0 moves by 64 under noise of scale 8; "
        "OpenMined/PipelineDP issue 287, 2022", cancelled, FLOATED, lambda made: made > -224, **SUM
    ),
    sound(
        "middle_taken_off_first", Target.sum, "the repair of cancelled_middle", middle_first,
        Computed(FLOATED, lambda records: pushed(laplace_law(8), lambda n: _distance(records) + n)), **SUM
    ),
    broken(
        "geometric_overflows", Target.noise, "both geometric numbers are −2^63, so that there is no noise; "
        "numpy issue 17007, 2020", overflowing, _whole(0, HUGE, HUGE), lambda made: made == 0,
        epsilon=1.0, sensitivity=HUGE, domain=Domain(integers=True)
    ),
    noisy(
        "noise_of_any_size", Target.noise, "the repair of geometric_overflows, at a sensitivity that can be counted",
        10, _whole(0, 10, 10), epsilon=1.0, sensitivity=10, domain=Domain(integers=True)
    ),
    broken(
        "logarithm_of_the_wrong_base", Target.noise, "ln(1 − e^−b) in place of −b: noise falls by e^−2.35 a step, not "
        "by e^−0.1; e-Mind-dp/epsilon-mind, a public file", wrong_base, _whole(10, 11), lambda made: made == 10,
        epsilon=0.1, domain=COUNTS
    ),
    sound(
        "narrow_noise_at_its_own_claim", Target.noise, "the noise of logarithm_of_the_wrong_base, which loses 3.05",
        wrong_base, Computed(_whole(1, 2), _narrow_law), epsilon=3.2, domain=COUNTS
    ),
)
# fmt: on
