"""Short pipelines that leak between their mechanisms, each with the lines that a finding may name marked `# flaw`.

A lambda is its own line. What the alignment cannot judge is among them: it may never pass.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np

from attacklab.model.claims import GaussianDP
from corpus.common.pipelines import ADDED, BITS, CHANGED, COUNTS, FAR, FEES, LONG, RNG, TABLES, WORDS, leaks


class Slotted:
    """Holds its value in a slot."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Tagged(np.ndarray):
    """An array that may hold attributes."""


FIXED = np.random.default_rng(1234)

leaks(ADDED)(
    gaussian_for_pure_dp=lambda x, rng: np.clip(x, 0, 1).sum() + rng.normal(0, 10),
    answers_on_demand=lambda x, rng: {"answers": (by * np.clip(x, 0, 1).sum() + rng.laplace(0, 1) for by in (1, 2))},
    total_in_a_slot=lambda x, rng: (x.sum() + rng.laplace(0, 1), Slotted(x.sum())),
    bare_if_the_noise_is_huge=lambda x, rng: x.sum() if (noisy := len(x) + rng.laplace(0, 1)) > 500 else noisy,
    fixed_seed=lambda x: x.sum() + np.random.default_rng(42).laplace(0, 1),
    generator_of_a_fixed_seed=lambda x: x.sum() + FIXED.laplace(0, 1),
    integers_between_two_as_noise=lambda x, rng: len(x) + rng.integers(-3, 4),
    size_of_noise_added=lambda x, rng: x.sum() + abs(rng.laplace(0, 1)),
    remainder_by_the_private_count=lambda x, rng: (x.sum() + rng.laplace(0, 1)) % len(x),
    noise_clipped=lambda x, rng: x.sum() + np.clip(rng.laplace(0, 1), -3, 3),
    half_the_noise=lambda x: np.clip(x, 0, 1).sum() + RNG.laplace(0, 0.5),
    mean_over_private_count=lambda x, rng: (np.clip(x, 0, 1).sum() + rng.laplace(0, 1)) / len(x),
    exact_count_beside=lambda x, rng: {"sum": (np.clip(x, 0, 1).sum() + rng.laplace(0, 1)), "count": len(x)},
    repeated_as_often_as_noise_says=lambda x, rng: [x.sum()] * int(np.clip(5 + rng.laplace(0, 1), 0, 10)),
    clamped_to_the_private_count=lambda x, rng: min(max(((x > 0.3).sum() + rng.laplace(0, 1)), 0), len(x)),
)

leaks(CHANGED)(
    noise_times_the_deviation=lambda x, rng: np.clip(x, 0, 1).mean() + rng.laplace(0, 1) * x.std() / len(x),
    noise_before_averaging=lambda x, rng: np.clip(x, -1, 1).sum() + rng.laplace(0, 2 / len(x)),
    clips_after_the_sum=lambda x, rng: np.clip((x * 10).sum(), 0, 100) + rng.laplace(0, 1),
)

leaks(COUNTS)(
    count_that_noise_chose=lambda counts, rng: counts[np.argmax(counts + rng.laplace(0, 1, 3))],
    largest_by_a_noisy_key=lambda counts, rng: max(counts.tolist(), key=lambda count: count + rng.laplace(0, 2)),
)

leaks((FEES[0].tolist(), FEES[1].tolist()))(two_records_at_random=lambda x: random.sample(x, 2))

leaks(FEES)(quantile_at_a_noisy_rank=lambda x, rng: np.quantile(x, np.clip(0.5 + rng.laplace(0, 0.2), 0, 1)))


leaks((np.array([5.0, 0.5]), np.array([0.5])))(no_clip=lambda x, rng: x.sum() + rng.laplace(0, 1.0))

leaks((np.array([0.5, np.nan]), np.array([0.5])))(
    nan_goes_through=lambda x, rng: np.clip(x, 0, 1).sum() + rng.laplace(0, 1)
)

leaks((np.array([1.0, 0.5]), np.array([])))(fails_on_empty=lambda x, rng: min(max(x), 1.0) + rng.laplace(0, 1))

leaks((np.array([0.9, 0.9, 0.2]), np.array([0.9, 0.2, 0.2])), epsilon=0.1)(
    rounded_after_too_little_noise=lambda x, rng: round(int((x > 0.5).sum()) + rng.laplace(0, 1))
)

leaks(TABLES)(l1_of_one_column=lambda table, rng: np.clip(table, 0, 1).sum(axis=0) + rng.laplace(0, 0.5, 2))

leaks(BITS, epsilon=0.5)(scaled_standard_noise=lambda bits, rng: bits.sum() + (len(bits) / 2) * rng.standard_cauchy())

leaks((np.full(330, 100), np.full(320, 100)[:320]))(
    sum_wraps_around=lambda x, rng: int(np.sum(x, dtype=np.int16)) + rng.laplace(0, 1000.0)
)


leaks((LONG, LONG[1:]))(
    empty_groups_are_masked=lambda x, rng: np.ma.masked_less(np.histogram(x, 4, (0, 1))[0], 1) + rng.laplace(0, 1, 4)
)


leaks(([3.0, 5.0], [4.0, 5.0]))(
    noisy_max_shows_the_value=lambda utilities, rng: float((np.array(utilities) + rng.laplace(0, 0.4, 2)).max())
)

leaks((True, False))(response_told_too_often=lambda bit, rng: bit if (rng.random() < 0.9) else not bit)


@leaks(CHANGED)
def bounds_from_data(x, rng):
    low, high = x.min(), x.max()
    clipped = np.clip(x, low, high)
    scale = (high - low) / len(x)
    return clipped.mean() + rng.laplace(0, scale)  # flaw


@leaks(ADDED)
def budget_twice(x, rng):
    total = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw
    count = len(x) + rng.laplace(0, 1)  # flaw
    return total, count


@leaks((np.array([0.4, 0.4, 0.9]), np.array([0.4, 0.4, 0.1])))
def branch_on_the_data(x, rng):
    if x.mean() > 0.5:  # flaw
        return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 2)  # flaw


@leaks(WORDS)
def histogram_of_seen_keys(words, rng):
    counts = Counter(words)  # flaw
    return {word: count + rng.laplace(0, 1) for word, count in counts.items()}  # flaw


@leaks((np.array([3, 1]), np.array([2, 1])))
def one_draw_for_all_keys(counts, rng):
    noise = rng.laplace(0, 1)
    return [float(count + noise) for count in counts]  # flaw


@leaks(ADDED)
def seed_from_the_data(x):
    rng = np.random.default_rng(int(x.sum() * 1000))  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)


@leaks(TABLES)
def covariance_without_clip(table, rng):
    products = table.T @ table
    return products + rng.laplace(0, 1, products.shape)  # flaw


@leaks(([1.0, 1.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0]))
def sparse_vector_without_query_noise(answers, rng):
    threshold = 1.5 + rng.laplace(0, 2)
    return [bool(answer >= threshold) for answer in answers]  # flaw


@leaks(WORDS, epsilon=1.0, delta=1e-6)
def threshold_too_low(words, rng):
    counts = Counter(words)
    noisy = {word: count + rng.laplace(0, 1) for word, count in counts.items()}
    return {word: count for word, count in noisy.items() if count > 5}  # flaw


@leaks((["b", "a"], ["a", "b"]))
def order_of_arrival(words, rng):
    counts = dict.fromkeys(words, 0)  # flaw
    for word in words:
        counts[word] += 1
    return {word: count + rng.laplace(0, 1) for word, count in counts.items()}  # flaw


@leaks((np.array([2.0**53, 1.0, 1.0]), np.array([2.0**53, 1.0])), epsilon=0.5)
def sum_rounds_at_two_to_the_53(x, rng):
    total = 0.0
    for value in x[::-1]:
        total += value
    return total + rng.laplace(0, 2.0)  # flaw


@leaks(ADDED, epsilon=1.0, delta=1e-5)
def raw_residual_in_the_report(x, rng):
    truth = np.clip(x, 0, 1).sum()
    noisy = truth + rng.normal(0, 10)
    error = abs(noisy - truth)  # flaw
    return {"sum": noisy, "error": error}  # flaw


@leaks(CHANGED)
def values_between_the_steps_of_noise(x, rng):
    p = 1 - math.exp(-1 / 1024)
    noise = (rng.geometric(p) - rng.geometric(p)) * 2.0**-10
    return np.clip(x, 0, 1).sum() / 3 + noise  # flaw


@leaks(ADDED)
async def awaited(x, rng):
    return len(x) + rng.laplace(0, 0.5)  # flaw


@leaks(CHANGED)
def larger_of_the_sum_and_the_noisy_sum(x, rng):
    total = x.sum()  # flaw
    return max(total, total + rng.laplace(0, 1))  # flaw


@leaks(CHANGED)
def raw_where_noise_is_negative(x, rng):
    counts = np.histogram(x, 4, (0, 1))[0]
    noisy = counts + rng.laplace(0, 2, 4)
    return np.where(noisy > 0, noisy, counts)  # flaw


@leaks(ADDED)
def message_of_an_error(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    raise ValueError(f"{noisy} is far from {x.sum()}")  # flaw


@leaks(ADDED)
def heads_before_tails(x):
    heads = 0
    while random.random() < math.exp(-3):
        heads += 1
    return len(x) + heads  # flaw


@leaks(ADDED, claim=GaussianDP(1.0))
def total_of_all_with_the_noise_of_two_parts(x, rng):
    low, high = rng.normal(0, 1), rng.normal(0, 1)
    return (x < 0.3).sum() + low, (x > 0.8).sum() + high, len(x[x != 0.4]) + 2 * (x == 1).sum() + low + high  # flaw


@leaks(ADDED, claim=GaussianDP(1.0))
def noise_beside_the_count_with_a_little_more(x, rng):
    noise = rng.normal(0, 1)
    return {"count": len(x) + noise, "noise": noise + rng.normal(0, 0.1)}  # flaw


@leaks(ADDED)
def size_beside_an_array(x, rng):
    answer = (np.array([len(x)]) + rng.laplace(0, 1, 1)).view(Tagged)
    answer.size_before = len(x)  # flaw
    return answer


@leaks(ADDED)
def integer_for_many_records(x, rng):
    noisy = round(len(x) + rng.laplace(0, 1))
    return noisy if len(x) > 3 else float(noisy)  # flaw


@leaks(ADDED)
def drawn_again_until_not_negative(x, rng):
    while (noisy := len(x) + rng.laplace(0, 1)) < 0:  # flaw
        pass
    return noisy


@leaks(FAR, epsilon=15.0)
def clipped_at_one_end_after_noise_that_follows_the_count(x, rng):
    noisy = x.mean() + rng.laplace(0, 100 / len(x))  # flaw
    return max(noisy, 0.0)


@leaks((np.eye(3), np.eye(3)[:2]), claim=GaussianDP(0.9))
def sums_cost_too_much_beside_their_direction(x, rng):
    noisy = x.sum(axis=0) + rng.normal(0, 1, 3)  # flaw
    return {"direction": (noisy / np.linalg.norm(noisy)).tolist(), "sums": noisy.tolist()}


@leaks((np.array([[1.0, 1.0], [0.4, 0.5]]), np.array([[1.0, 1.0]])), claim=GaussianDP(1.0))
def one_noise_for_all_steps(rows, rng):
    noise = rng.normal(0, 3**0.5)  # flaw
    weights, weight = [], 0.0
    for _ in range(3):
        gradients = np.clip((rows[:, 0] * weight - rows[:, 1]) * rows[:, 0], -1, 1)
        weight = weight - 0.1 * (gradients.sum() + noise)
        weights.append(weight)
    return weights


@leaks(ADDED)
def function_that_holds_the_sum(x, rng):
    total = x.sum()
    return {"count": len(x) + rng.laplace(0, 1), "query": lambda: total}
