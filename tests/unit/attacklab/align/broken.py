"""Short pipelines that leak between their mechanisms, each with the line that a finding may name marked `# flaw`.

`BROKEN` has for each of them: what it claims, and a pair of neighbours on which it shows.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import io
import math
import random
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import laplace
from scipy import stats

from attacklab.model.claims import GaussianDP

Row = tuple[Callable[..., Any], dict[str, Any], Any, Any]
BROKEN: list[Row] = []

RNG = np.random.default_rng()


def broken(first: Any, second: Any, **claim: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a pipeline into the table, with its claim and a pair."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        BROKEN.append((function, claim or {"epsilon": 1.0}, first, second))
        return function

    return put


SHORT, LONG = np.array([0.2, 0.9, 0.4]), np.array([0.2, 0.9, 0.4, 1.0])
OTHER = np.array([0.2, 0.9, 0.4, 0.0])
BITS, MORE_BITS = np.array([1, 0, 1]), np.array([1, 0, 1, 1])
TABLE = np.array([[1.0, 2.0], [0.5, 1.0], [0.0, 0.3], [1.0, 1.9]])
TABLE_2 = np.array([[1.0, 2.0], [0.5, 1.0], [0.0, 0.3], [1.0, 0.0]])
FEES, OTHER_FEES = np.array([1.5, 2.5, 3.5, 4.5]), np.array([1.5, 2.5, 3.5, 9.5])
WORDS, MORE_WORDS = ["a", "b", "a"], ["a", "b", "a", "c"]


@broken(LONG, SHORT)
def half_the_noise(x):
    total = np.clip(x, 0, 1).sum()
    return total + RNG.laplace(0, 0.5)  # flaw


@broken(np.array([5.0, 0.5]), np.array([0.5]))
def no_clip(x, rng):
    total = x.sum()
    return total + rng.laplace(0, 1.0)  # flaw


@broken(LONG, OTHER)
def sensitivity_of_add_remove_for_substitute(x, rng):
    total = np.clip(x, -1, 1)
    total = 2 * total - 1
    return total.sum() + rng.laplace(0, 1.0)  # flaw


@broken(LONG, OTHER)
def bounds_from_data(x, rng):
    low, high = x.min(), x.max()
    clipped = np.clip(x, low, high)
    scale = (high - low) / len(x)
    return clipped.mean() + rng.laplace(0, scale)  # flaw


@broken(LONG, SHORT)
def mean_over_private_count(x, rng):
    noisy = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)
    return noisy / len(x)  # flaw


@broken(LONG, SHORT)
def exact_count_beside(x, rng):
    noisy = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)
    return {"sum": noisy, "count": len(x)}  # flaw


@broken(LONG, SHORT)
def budget_twice(x, rng):
    total = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw
    count = len(x) + rng.laplace(0, 1)  # flaw
    return total, count


@broken(LONG, SHORT)
def budget_twice_in_a_quotient(x, rng):
    total = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw
    count = len(x) + rng.laplace(0, 1)  # flaw
    return total / count


@broken(np.array([0.4, 0.4, 0.9]), np.array([0.4, 0.4, 0.1]))
def branch_on_the_data(x, rng):
    if x.mean() > 0.5:  # flaw
        return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 2)  # flaw


@broken(np.array([0.4, 0.4, 0.9]), np.array([0.4, 0.4, 0.1]))
def early_return(x, rng):
    if x.max() < 0.5:  # flaw
        return 0.0  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)


@broken(MORE_WORDS, WORDS)
def histogram_of_seen_keys(words, rng):
    counts = Counter(words)  # flaw
    return {word: count + rng.laplace(0, 1) for word, count in counts.items()}  # flaw


@broken(np.array([0, 1, 1, 2]), np.array([0, 1, 1]))
def drops_empty_groups(groups, rng):
    keys, counts = np.unique(groups, return_counts=True)  # flaw
    noisy = counts + rng.laplace(0, 1, len(counts))  # flaw
    return dict(zip(keys.tolist(), noisy.tolist(), strict=True))  # flaw


@broken(np.array([3, 1]), np.array([2, 1]))
def one_draw_for_all_keys(counts, rng):
    noise = rng.laplace(0, 1)
    return [float(count + noise) for count in counts]  # flaw


@broken(np.array([3, 1]), np.array([2, 1]))
def reseeded_for_each_key(counts):
    noisy = []
    for count in counts:
        own = np.random.default_rng(42)  # flaw
        noisy.append(count + own.laplace(0, 1))  # flaw
    return noisy


@broken(LONG, SHORT)
def seed_from_the_data(x):
    rng = np.random.default_rng(int(x.sum() * 1000))  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)


@broken(LONG, SHORT, epsilon=1.0, delta=1e-5)
def seed_from_a_digest(x):
    digest = hashlib.sha256(x.tobytes()).digest()
    random.seed(int.from_bytes(digest[:4], "big"))  # flaw
    return np.clip(x, 0, 1).sum() + random.gauss(0, 10)


@broken(np.array([0.5, np.nan]), np.array([0.5]))
def nan_goes_through(x, rng):
    total = np.clip(x, 0, 1).sum()
    return total + rng.laplace(0, 1)  # flaw


@broken(np.array([1.0, 0.5]), np.array([]))
def fails_on_empty(x, rng):
    top = max(x)  # flaw
    return min(top, 1.0) + rng.laplace(0, 1)


@broken(LONG, SHORT)
def maximum_of_the_data_as_cap(x, rng):
    noisy = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)
    return min(noisy, x.sum())  # flaw


@broken(np.array([0.9, 0.9, 0.2]), np.array([0.9, 0.2, 0.2]), epsilon=0.1)
def rounded_after_too_little_noise(x, rng):
    count = int((x > 0.5).sum())
    return round(count + rng.laplace(0, 1))  # flaw


@broken(LONG, SHORT, epsilon=1.0, delta=1e-6)
def gaussian_at_sigma_one(x, rng):
    return np.clip(x, 0, 1).sum() + rng.normal(0, 1)  # flaw


@broken(LONG, SHORT)
def gaussian_for_pure_dp(x, rng):
    return np.clip(x, 0, 1).sum() + rng.normal(0, 10)  # flaw


@broken(TABLE, TABLE_2)
def covariance_without_clip(table, rng):
    products = table.T @ table
    return products + rng.laplace(0, 1, products.shape)  # flaw


@broken(TABLE, TABLE_2)
def l1_of_one_column(table, rng):
    sums = np.clip(table, 0, 1).sum(axis=0)
    return sums + rng.laplace(0, 0.5, 2)  # flaw


@broken(TABLE, TABLE_2)
def regression_forgets_the_intercept(table, rng):
    data = np.column_stack([np.ones(len(table)), np.clip(table, 0, 1)])
    moments = data.T @ data
    scale = 1.0 / 1.0
    return moments + rng.laplace(0, scale, moments.shape)  # flaw


@broken(LONG, OTHER)
def variance_with_the_mean_unprotected(x, rng):
    centre = x.mean()  # flaw
    spread = np.clip((x - centre) ** 2, 0, 1).mean() + rng.laplace(0, 1 / len(x))
    return centre, spread  # flaw


@broken(LONG, OTHER)
def standardised_by_the_data(x, rng):
    scaled = (x - x.mean()) / x.std()
    return scaled.max() + rng.laplace(0, 0.1)  # flaw


@broken(LONG, SHORT)
def gradient_over_the_real_batch(x, rng):
    gradients = np.clip(x, -1, 1)
    noisy = gradients.sum() + rng.laplace(0, 1.0)
    return noisy / max(1, len(gradients))  # flaw


@broken(LONG, OTHER)
def noise_before_averaging(x, rng):
    gradients = np.clip(x, -1, 1)
    return gradients.sum() + rng.laplace(0, 2 / len(x))  # flaw


@broken(LONG, OTHER)
def clips_after_the_sum(x, rng):
    total = np.clip((x * 10).sum(), 0, 100)
    return total + rng.laplace(0, 1)  # flaw


@broken([3.0, 5.0], [4.0, 5.0])
def selection_without_half(utilities, rng):
    weights = np.exp(2.0 * (np.array(utilities) - max(utilities)))
    return rng.choice(len(weights), p=weights / weights.sum())  # flaw


@broken([3.0, 5.0, 4.0], [4.0, 4.0, 3.0])
def noisy_max_with_half_the_noise(utilities, rng):
    return int(np.argmax(np.array(utilities) + rng.laplace(0, 0.5, len(utilities))))  # flaw


@broken([3.0, 5.0, 4.0], [4.0, 4.0, 3.0])
def noisy_max_in_python(utilities, rng):
    noisy = [value + rng.gumbel(0, 0.5) for value in utilities]
    return max(range(len(noisy)), key=noisy.__getitem__)  # flaw


@broken([3.0, 5.0], [4.0, 5.0])
def noisy_max_shows_the_value(utilities, rng):
    noisy = np.array(utilities) + rng.laplace(0, 0.4, 2)  # flaw
    return float(noisy.max())


@broken([3.0, 5.0], [4.0, 4.0])
def exponential_by_hand(utilities, rng):
    weights = [math.exp(value) for value in utilities]
    total = sum(weights)
    return rng.choice(["a", "b"], p=[weight / total for weight in weights])  # flaw


@broken([1.0, 1.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0])
def sparse_vector_without_query_noise(answers, rng):
    threshold = 1.5 + rng.laplace(0, 2)
    return [bool(answer >= threshold) for answer in answers]  # flaw


@broken([1.0, 1.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0])
def sparse_vector_without_threshold_noise(answers, rng):
    noisy = np.array(answers) + rng.laplace(0, 2, len(answers))
    return (noisy >= 1.5).tolist()  # flaw


@broken([1.0, 2.0], [2.0, 2.0])
def sparse_vector_shows_what_it_compared(answers, rng):
    threshold = 1.0 + rng.laplace(0, 2)
    out = []
    for answer in answers:
        noisy = answer + rng.laplace(0, 0.5)  # flaw
        out.append(noisy if noisy > threshold else None)  # flaw
    return out


@broken(True, False)
def response_told_too_often(bit, rng):
    keep = rng.random() < 0.9  # flaw
    return bit if keep else not bit


@broken(np.array([1, 1, 0]), np.array([1, 0, 0]))
def responses_told_too_often(bits, rng):
    keep = rng.random(len(bits)) < 0.9  # flaw
    return np.where(keep, bits, 1 - bits)


@broken(MORE_WORDS, WORDS, epsilon=1.0, delta=1e-6)
def threshold_too_low(words, rng):
    counts = Counter(words)
    noisy = {word: count + rng.laplace(0, 1) for word, count in counts.items()}
    return {word: count for word, count in noisy.items() if count > 5}  # flaw


@broken(MORE_WORDS, WORDS, epsilon=1.0, delta=1e-6)
def threshold_of_arrays_too_low(words, rng):
    keys, counts = np.unique(words, return_counts=True)
    noisy = counts + rng.laplace(0, 1, len(counts))
    kept = noisy > 4  # flaw
    return dict(zip(keys[kept].tolist(), noisy[kept].tolist(), strict=True))


@broken(["b", "a"], ["a", "b"])
def order_of_arrival(words, rng):
    counts = dict.fromkeys(words, 0)  # flaw
    for word in words:
        counts[word] += 1
    return {word: count + rng.laplace(0, 1) for word, count in counts.items()}  # flaw


@broken(BITS, MORE_BITS)
def python_gauss_for_pure_dp(bits):
    return sum(bits.tolist()) + random.gauss(0, 2.0)  # flaw


@broken(MORE_BITS, BITS)
def module_level_laplace(bits):
    return bits.sum() + laplace(0, 0.25)  # flaw


@broken(MORE_BITS, BITS)
def scipy_laplace(bits):
    return bits.sum() + stats.laplace.rvs(scale=0.5)  # flaw


@broken(MORE_BITS, BITS)
def legacy_state(bits):
    state = np.random.RandomState()
    return bits.sum() + state.laplace(scale=0.5)  # flaw


@broken(MORE_BITS, BITS)
def difference_of_exponentials(bits, rng):
    noise = rng.exponential(0.5) - rng.exponential(0.5)
    return bits.sum() + noise  # flaw


@broken(MORE_BITS, BITS)
def difference_of_geometrics(bits, rng):
    p = 1 - math.exp(-2.0)
    return int(bits.sum()) + rng.geometric(p) - rng.geometric(p)  # flaw


@broken(MORE_BITS, BITS)
def signed_exponential(bits):
    noise = random.choice([-1, 1]) * random.expovariate(2.0)
    return int(bits.sum()) + noise  # flaw


@broken(MORE_BITS, BITS, epsilon=0.5)
def scaled_standard_noise(bits, rng):
    sigma = len(bits) / 2
    return bits.sum() + sigma * rng.standard_cauchy()  # flaw


@broken(MORE_BITS, BITS)
def location_as_argument(bits, rng):
    return rng.laplace(loc=bits.sum(), scale=0.5)  # flaw


@broken(np.array([2.0**53, 1.0, 1.0]), np.array([2.0**53, 1.0]), epsilon=0.5)
def sum_rounds_at_two_to_the_53(x, rng):
    total = 0.0
    for value in x[::-1]:
        total += value
    return total + rng.laplace(0, 2.0)  # flaw


@broken(np.full(4097, 1.0), np.full(4096, 1.0), epsilon=1.0)
def sum_in_half_precision(x, rng):
    total = np.float16(0)
    for value in np.append(x[4096:], x[:4096]).astype(np.float16):
        total = np.float16(total + value)
    count = float(total) if len(x) % 2 else float(np.float16(len(x)))
    return count + rng.laplace(0, 1.0)  # flaw


@broken(np.full(330, 100), np.full(320, 100)[:320], epsilon=1.0)
def sum_wraps_around(x, rng):
    total = int(np.sum(x, dtype=np.int16))
    return total + rng.laplace(0, 1000.0)  # flaw


@broken([1.7, 2.4], [1.7, 2.4, 0.9], epsilon=0.5)
def truncated_after_scaling(x, rng):
    total = int(sum(round(value) for value in x) * 1.6)
    return total + rng.laplace(0, 1 / 0.5)  # flaw


@broken([1, 2, 2, 3], [1, 2, 2])
def median_with_global_mean_sensitivity(x, rng):
    return float(np.median(x)) + rng.laplace(0, 1 / (4 * len(x)))  # flaw


@broken(LONG, SHORT)
def iterations_follow_the_count(x, rng):
    total = 0.0
    for value in np.clip(x, 0, 1):
        total = total + value + rng.laplace(0, 0.3)  # flaw
    return total, len(x)  # flaw


@broken([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 9.0])
def quantile_of_the_data_as_clip(x, rng):
    cap = float(np.quantile(x, 0.95))
    return np.clip(x, 0, cap).sum() + rng.laplace(0, cap)  # flaw


@broken(LONG, SHORT, epsilon=1.0, delta=1e-5)
def raw_residual_in_the_report(x, rng):
    truth = np.clip(x, 0, 1).sum()
    noisy = truth + rng.normal(0, 10)
    error = abs(noisy - truth)  # flaw
    return {"sum": noisy, "error": error}  # flaw


ROWS = [("u1", 30, "x"), ("u2", 60, "y"), ("u3", 90, "x")]


@broken(ROWS, ROWS[:2])
def one_person_in_two_tables(rows, rng):
    cities = Counter(city for _, _, city in rows)
    old = sum(age > 65 for _, age, _ in rows)
    return {"x": cities["x"] + rng.laplace(0, 1), "old": old + rng.laplace(0, 1)}  # flaw


@broken(ROWS, ROWS[:2])
def digests_of_ids_shown(rows, rng):
    ones = {hashlib.sha256(name.encode()).hexdigest()[:4]: 1 for name, _, _ in rows}  # flaw
    return {digest: one + rng.laplace(0, 1) for digest, one in ones.items()}  # flaw


@broken(np.array([1, 2, 3, 40]), np.array([1, 2, 3]))
def largest_records_with_noise(x, rng):
    return [value + rng.laplace(0, 1) for value in sorted(x.tolist())[-2:]]  # flaw


@broken(LONG, SHORT)
def place_of_the_largest(x, rng):
    return int(np.argmax(x)), np.clip(x, 0, 1).sum() + rng.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def rounded_before_it_is_scaled(x, rng):
    steps = round(float(np.clip(x, 0, 1).sum()) / 0.1)
    return steps + rng.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def says_no_to_many(x, rng):
    noisy = np.clip(x, 0, 1).sum() + rng.laplace(0, 1)
    if len(x) > 3:  # flaw
        raise ValueError("too many records")
    return noisy


@broken([5.0, 1.0, 1.0], [4.0, 1.0, 1.0])
def softmax_by_a_uniform_number(utilities, rng):
    weights = np.exp(np.array(utilities) * 1.5)
    return int(np.searchsorted(np.cumsum(weights / weights.sum()), rng.random()))  # flaw


@broken(np.array([True, True, False]), np.array([True, False, False]))
def flipped_too_rarely(bits, rng):
    flips = rng.random(3) < 0.2  # flaw
    return np.logical_xor(bits, flips)


@broken(LONG, OTHER)
def noise_times_the_deviation(x, rng):
    return np.clip(x, 0, 1).mean() + rng.laplace(0, 1) * x.std() / len(x)  # flaw


@broken(LONG, OTHER)
def values_between_the_steps_of_noise(x, rng):
    p = 1 - math.exp(-1 / 1024)
    noise = (rng.geometric(p) - rng.geometric(p)) * 2.0**-10
    return np.clip(x, 0, 1).sum() / 3 + noise  # flaw


@broken(LONG, OTHER)
def noise_of_too_few_steps(x, rng):
    p = 1 - math.exp(-1 / 512)
    return (np.rint(np.clip(x, 0, 1) * 1024).sum() + (rng.geometric(p) - rng.geometric(p))) * 2.0**-10  # flaw


@broken(LONG, OTHER, epsilon=1.0, delta=1e-6)
def steps_of_a_threshold(x, rng):
    p = 1 - math.exp(-2.0)
    return bool((len(x[x > 0]) + rng.geometric(p) - rng.geometric(p)) * 0.1 > 0.35)  # flaw


@broken(LONG, OTHER)
def threshold_with_noise_taken_away(x, rng):
    return bool(np.count_nonzero(x) * 1e-3 - 1e-3 * rng.laplace(0, 0.5) > 3.5e-3)  # flaw


@broken(LONG - 0.1, SHORT - 0.1)
def quantile_of_too_sharp_a_choice(x, rng):
    ends = np.concatenate([[0.0], np.sort(np.clip(x, 0, 1)), [1.0]])
    weights = np.diff(ends) * np.exp(-3 * np.abs(np.arange(len(ends) - 1) - (len(ends) - 2) / 2))
    at = rng.choice(len(weights), p=weights / weights.sum())
    return rng.uniform(ends[at], ends[at + 1])  # flaw


@broken(LONG, OTHER)
def uniform_noise_beside_a_choice(x, rng):
    at = rng.choice(3, p=[0.2, 0.3, 0.5])
    return at, np.clip(x, 0, 1).sum() + rng.uniform(-5, 5)  # flaw


@broken(LONG, SHORT)
def answers_on_demand(x, rng):
    return {"answers": (by * np.clip(x, 0, 1).sum() + rng.laplace(0, 1) for by in (1, 2))}  # flaw


@broken(LONG, SHORT)
async def awaited(x, rng):
    return len(x) + rng.laplace(0, 0.5)  # flaw


@broken([5.0, 1.0, 1.0], [4.0, 1.0, 1.0])
def softmax_by_an_array(utilities, rng):
    weights = np.exp(np.array(utilities) * 1.5)
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(1)).tolist()  # flaw


@broken(LONG, OTHER)
def size_below_a_threshold(x, rng):
    return bool(abs(3 * np.clip(x, 0, 1).sum() + rng.laplace(0, 1)) < 9)  # flaw


@broken(LONG, LONG[1:])
def empty_groups_are_masked(x, rng):
    groups = np.ma.masked_less(np.histogram(x, 4, (0, 1))[0], 1)
    return groups + rng.laplace(0, 1, 4)  # flaw


COUNTS, MORE_COUNTS = np.array([5, 3, 7]), np.array([5, 3, 8])


@broken(COUNTS, MORE_COUNTS)
def count_that_noise_chose(counts, rng):
    return counts[np.argmax(counts + rng.laplace(0, 1, 3))]  # flaw


@broken(COUNTS, MORE_COUNTS)
def largest_by_a_noisy_key(counts, rng):
    return max(counts.tolist(), key=lambda count: count + rng.laplace(0, 2))  # flaw


@broken(LONG, OTHER)
def larger_of_the_sum_and_the_noisy_sum(x, rng):
    total = x.sum()  # flaw
    return max(total, total + rng.laplace(0, 1))  # flaw


@broken(LONG, SHORT)
def repeated_as_often_as_noise_says(x, rng):
    times = int(np.clip(5 + rng.laplace(0, 1), 0, 10))
    return [x.sum()] * times  # flaw


@broken(LONG, SHORT)
def noise_shown_beside(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, noise  # flaw


@broken(LONG, SHORT)
def noise_shown_first_and_doubled(x, rng):
    noise = rng.laplace(0, 1)
    return 2 * noise, x.sum() + noise  # flaw


@broken(LONG, SHORT)
def negative_noise_set_to_zero(x, rng):
    noise = rng.laplace(0, 1, 4)
    noise[noise < 0] = 0
    return np.histogram(x, 4, (0, 1))[0] + noise  # flaw


class Slotted:
    """Holds its value in a slot."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


@broken(LONG, SHORT)
def total_in_a_slot(x, rng):
    return x.sum() + rng.laplace(0, 1), Slotted(x.sum())  # flaw


@broken(LONG, SHORT)
def total_in_a_buffer(x, rng):
    buffer = io.StringIO()
    buffer.write(str(x.sum()))  # flaw
    return x.sum() + rng.laplace(0, 1), buffer  # flaw


@broken(LONG, SHORT)
def records_in_a_view(x, rng):
    return len(x) + rng.laplace(0, 1), memoryview(x.tobytes())  # flaw


@broken(LONG, SHORT)
def fixed_seed(x):
    return x.sum() + np.random.default_rng(42).laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def fixed_seed_of_the_module(x):
    np.random.seed(0)  # flaw
    return x.sum() + np.random.laplace(0, 1)


@broken(LONG, SHORT)
def fixed_seed_of_python(x):
    random.seed(1)  # flaw
    return len(x) + random.expovariate(1) - random.expovariate(1)


@broken(LONG, SHORT)
def fixed_state(x):
    return round(len(x) + np.random.RandomState(3).laplace(0, 1))  # flaw


@broken(LONG, SHORT)
def fixed_state_of_scipy(x):
    return x.sum() + stats.laplace.rvs(scale=1, random_state=7)  # flaw


@broken(LONG, SHORT)
def fixed_bits(x):
    rng = np.random.Generator(np.random.PCG64(9))  # flaw
    return np.histogram(x, 4, (0, 1))[0] + rng.laplace(0, 1, 4)


@broken(np.array([1, 0, 1]), np.array([1, 1, 1]))
def fixed_coins(bits):
    keep = np.random.default_rng(1).random(3) < math.e / (1 + math.e)  # flaw
    return np.where(keep, bits, 1 - bits)


@broken(np.array([1, 0, 1]), np.array([1, 1, 1]))
def binomial_flips_too_rarely(bits, rng):
    flips = rng.binomial(1, 0.1, 3)  # flaw
    return (bits + flips) % 2


@broken(LONG, SHORT, epsilon=1.0, delta=1e-6)
def too_little_noise_of_several_coordinates(x, rng):
    counts = np.histogram(x, 3, (0, 1))[0]
    return counts + rng.multivariate_normal(np.zeros(3), 4 * np.eye(3))  # flaw


@broken(LONG, SHORT)
def children_of_a_fixed_seed(x):
    children = np.random.SeedSequence(5).spawn(2)
    return x.sum() + np.random.default_rng(children[1]).laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def settings_that_make_little_noise(x, scale=0.1, clip=1.0):
    return np.clip(x, 0, clip).sum() + np.random.laplace(0, scale)  # flaw


FIXED, FIXED_STATE = np.random.default_rng(1234), np.random.RandomState(7)
IN_A_TABLE, FIXED_METHOD = {"rng": np.random.default_rng(1)}, np.random.default_rng(2).laplace


@broken(LONG, SHORT)
def generator_of_a_fixed_seed(x):
    return x.sum() + FIXED.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def state_of_a_fixed_seed(x):
    return x.sum() + FIXED_STATE.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_of_a_fixed_seed_as_a_default(x, noise=np.random.default_rng(3)):  # noqa: B008 - the flaw
    return x.sum() + noise.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_of_a_fixed_seed_in_a_table(x):
    return x.sum() + IN_A_TABLE["rng"].laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def method_of_a_fixed_seed(x):
    return x.sum() + FIXED_METHOD(0, 1)  # flaw


@broken(LONG, SHORT)
def scipy_by_a_fixed_generator(x):
    return x.sum() + stats.laplace.rvs(scale=1, random_state=FIXED)  # flaw


@broken(LONG, SHORT)
def generator_of_a_fixed_seed_as_the_default_of_rng(x, rng=np.random.default_rng(3)):  # noqa: B008 - the flaw
    return x.sum() + rng.laplace(0, 1)  # flaw


COUNTED, MORE_COUNTED = np.array([3.0, 5.0, 2.0, 7.0]), np.array([3.0, 5.0, 2.0, 8.0])


@broken(COUNTED, MORE_COUNTED)
def half_the_noise_mirrored(counts):
    return counts.reshape(2, 2) + np.fliplr(laplace(0, 0.5, (2, 2)))  # flaw


@broken(COUNTED, MORE_COUNTED)
def little_noise_in_another_order(counts):
    return counts + np.random.permutation(laplace(0, 0.6, 4))  # flaw


@broken(COUNTED, MORE_COUNTED)
def running_sums_with_half_the_noise(counts):
    return np.cumsum(counts) + np.cumsum(laplace(0, 0.5, 4))  # flaw


@broken(np.array([5, 3, 7]), np.array([5, 3, 8]))
def order_and_count_of_the_largest(counts, rng):
    place = int(np.argmax(counts + rng.laplace(0, 2, 3)))
    return place, int(counts[place])  # flaw


EQUAL, SPREAD = [1.0, 1.0, 1.0], [2.0, 0.0, 1.0]


@broken(EQUAL, SPREAD)
def one_threshold_for_all(values, rng):
    threshold = 2 + rng.laplace(0, 1)
    return [value > threshold for value in values]  # flaw


@broken(EQUAL, SPREAD)
def how_many_are_above_one_threshold(values, rng):
    threshold = 2 + rng.laplace(0, 1)
    return sum(value > threshold for value in values)  # flaw


@broken([1.0, 2.0, 3.0], [2.0, 1.0, 3.0])
def first_above_one_threshold(values, rng):
    threshold = 2 + rng.laplace(0, 1)
    for place, value in enumerate(values):
        if value > threshold:  # flaw
            return place
    return None


@broken(LONG, SHORT)
def clamped_to_the_private_count(x, rng):
    noisy = (x > 0.3).sum() + rng.laplace(0, 1)
    return min(max(noisy, 0), len(x))  # flaw


FEES, OTHER_FEES = np.array([1.5, 2.5, 3.5, 4.5]), np.array([1.5, 2.5, 3.5, 9.5])


@broken(LONG, OTHER)
def larger_of_the_arrays(x, rng):
    total = x.sum()
    return np.maximum(total, total + rng.laplace(0, 1))  # flaw


@broken(LONG, OTHER)
def raw_where_noise_is_negative(x, rng):
    counts = np.histogram(x, 4, (0, 1))[0]
    noisy = counts + rng.laplace(0, 2, 4)
    return np.where(noisy > 0, noisy, counts)  # flaw


@broken(FEES, OTHER_FEES)
def record_by_a_weighted_choice(x, rng):
    weights = np.exp(-0.5 * np.abs(np.arange(4) - 1.5))
    return x[rng.choice(4, p=weights / weights.sum())]  # flaw


@broken(FEES.tolist(), OTHER_FEES.tolist())
def two_records_at_random(x):
    return random.sample(x, 2)  # flaw


@broken(LONG, SHORT)
def sample_drawn_record_by_record(x):
    batch = [value for value in x.tolist() if random.random() < 0.9]
    return sum(batch) + 0.5 * (random.expovariate(1) - random.expovariate(1))  # flaw


KEPT: dict[str, Any] = {}


def kept(name: str, make: Callable[[], Any]) -> Any:
    """A generator that is made at its first use, and kept."""
    if name not in KEPT:
        KEPT[name] = make()
    return KEPT[name]


@broken(LONG, SHORT)
def generator_made_once_of_a_fixed_seed(x):
    return x.sum() + kept("numpy", lambda: np.random.default_rng(42)).laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_of_python_made_once(x):
    rng = kept("python", lambda: random.Random(5))  # flaw
    return len(x) + rng.expovariate(1) - rng.expovariate(1)


STATE, STATE_OF_BITS, STATE_OF_PYTHON = (
    np.random.RandomState(1).get_state(),
    np.random.PCG64(3).state,
    random.Random(3).getstate(),
)


@broken(LONG, SHORT)
def state_of_numpy_set(x):
    np.random.set_state(STATE)  # flaw
    return x.sum() + np.random.laplace(0, 1)


@broken(LONG, SHORT)
def state_of_bits_set(x, rng):
    rng.bit_generator.state = STATE_OF_BITS
    return x.sum() + rng.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def state_of_python_set(x):
    random.setstate(STATE_OF_PYTHON)  # flaw
    return len(x) + random.expovariate(1) - random.expovariate(1)


@broken(LONG, SHORT)
def state_set_back_between_two_answers(x):
    state = np.random.get_state()
    total = x.sum() + np.random.laplace(0, 2)
    np.random.set_state(state)
    return total, 2 * len(x) + np.random.laplace(0, 2)  # flaw


@broken(LONG, SHORT)
def copy_of_the_generator(x, rng):
    again = copy.deepcopy(rng)
    return x.sum() + rng.laplace(0, 2), 2 * len(x) + again.laplace(0, 2)  # flaw


@broken(LONG, SHORT)
def child_of_a_fixed_seed(x):
    (rng,) = np.random.default_rng(1).spawn(1)  # flaw
    return x.sum() + rng.laplace(0, 1)


class Drawing:
    """Draws from generators that its own code seeds."""

    shared = np.random.default_rng(11)
    __slots__ = ("rng",)

    def __init__(self):
        self.rng = np.random.default_rng(8)


IN_A_TUPLE, IN_A_SLOT = (np.random.default_rng(9),), Drawing()
IN_A_PARTIAL = functools.partial(np.random.default_rng(4).laplace, 0, 1)
OF_PYTHON = random.Random(99)


def _noise_of_a_closure():
    rng = np.random.default_rng(4)
    return lambda: rng.laplace(0, 1)  # flaw


IN_A_CELL = _noise_of_a_closure()


@broken(LONG, SHORT)
def generator_in_a_tuple(x):
    return x.sum() + IN_A_TUPLE[0].laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_in_a_slot(x):
    return x.sum() + IN_A_SLOT.rng.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_of_a_class(x):
    return x.sum() + Drawing.shared.laplace(0, 1)  # flaw


@broken(LONG, SHORT)
def generator_in_a_partial(x):
    return x.sum() + IN_A_PARTIAL()  # flaw


@broken(LONG, SHORT)
def generator_in_a_cell(x):
    return x.sum() + IN_A_CELL()


@broken(LONG, SHORT)
def generator_of_python_with_a_fixed_seed(x):
    return len(x) + OF_PYTHON.expovariate(1) - OF_PYTHON.expovariate(1)  # flaw


@broken(LONG, SHORT)
def message_of_an_error(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    raise ValueError(f"{noisy} is far from {x.sum()}")  # flaw


@broken(LONG, SHORT)
def message_of_a_rare_error(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    if noisy > 3:  # flaw
        raise ValueError(f"of {len(x)}")  # flaw
    return noisy


@broken(LONG, SHORT)
def integers_between_two_as_noise(x, rng):
    return len(x) + rng.integers(-3, 4)  # flaw


@broken(LONG, SHORT)
def rounded_noise(x):
    return len(x) + round(np.random.laplace(0, 0.5))  # flaw


@broken(["a"], ["b"])
def another_letter_by_a_coin(letters):
    if random.random() < 0.6:  # flaw
        return letters[0]
    return random.choice([letter for letter in "abcd" if letter != letters[0]])


@broken([1, 0, 1], [1, 0, 0])
def two_coins_for_each_bit(bits):
    return [bit if random.random() < 0.7 else int(random.random() < 0.5) for bit in bits]  # flaw


@broken(LONG, SHORT, epsilon=1.0, delta=1e-5)
def noise_by_box_and_muller(x):
    length, angle = math.sqrt(-2 * math.log(random.random())), 2 * math.pi * random.random()
    return x.sum() + length * math.cos(angle)  # flaw


@broken(COUNTED, MORE_COUNTED)
def largest_with_gumbel_noise_by_hand(counts, rng):
    return int(np.argmax(3 * counts - np.log(-np.log(rng.random(4)))))  # flaw


@broken(LONG, SHORT)
def logarithms_on_two_sides(x):
    share = random.random()  # flaw
    return x.sum() + 0.5 * (math.log(2 * share) if share < 0.5 else -math.log(2 * (1 - share)))


@broken(LONG, SHORT)
def frozen_law_of_a_fixed_seed(x):
    law = stats.laplace(scale=1)
    law.random_state = 0  # flaw
    return x.sum() + law.rvs()


@broken(LONG, SHORT)
def noise_rounded_to_tenths(x):
    return round(x.sum(), 1) + round(np.random.laplace(0, 0.3), 1)  # flaw


@broken(LONG, SHORT)
def bits_that_jumped_from_a_fixed_seed(x):
    rng = np.random.Generator(np.random.PCG64(5).jumped())  # flaw
    return x.sum() + rng.laplace(0, 1)


def seed_that_is_a_default(x, random_state=0):
    state = np.random.RandomState(random_state)  # flaw
    return len(x) + state.laplace(0, 1)


@broken(LONG, SHORT)
def state_that_is_a_default(x, *, random_state=3):
    return len(x) + stats.laplace.rvs(scale=1, random_state=random_state)  # flaw


@broken(np.array([0, 0, 1]), np.array([0, 1]))
def bare_count_of_a_noisy_winner(x):
    winner = int(np.argmax(np.bincount(x, minlength=3) + np.random.laplace(0, 2, 3)))
    return {"winner": winner, "votes": int(np.bincount(x, minlength=3)[winner])}  # flaw


@broken(LONG, SHORT)
def bare_number_in_a_report(x):
    return {
        "total": np.clip(x, 0, 1).sum() + np.random.laplace(0, 1),
        "count": len(x),  # flaw
    }


@broken(LONG, SHORT)
def bounded_by_the_bare_count(x):
    large = int((x > 0.1).sum())
    noisy = large + np.random.laplace(0, 1)
    return min(max(0, round(noisy)), len(x))  # flaw


@broken(np.array([3.0, 9.0, 4.0]), np.array([4.0, 10.0, 5.0]))
def bare_answer_above_a_noisy_threshold(answers):
    threshold = 8 + np.random.laplace(0, 2)
    for place, answer in enumerate(answers):
        if answer + np.random.laplace(0, 4) >= threshold:
            return place, float(answer)  # flaw
    return None


@dataclasses.dataclass
class Report:
    """A noisy number, and what it was made of."""

    noisy: float
    details: dict[str, float]


@broken(LONG, SHORT)
def bare_sum_in_a_field(x):
    total = np.clip(x, 0, 1).sum()
    noisy = total + np.random.laplace(0, 1)
    return Report(noisy, {"total": float(total)})  # flaw


@broken(LONG, SHORT)
def geometric_numbers_of_too_small_a_scale(x):
    p = 1 - math.exp(-2)
    return len(x) + int(np.random.geometric(p)) - int(np.random.geometric(p))  # flaw


@broken(True, False)
def answer_by_a_number_below_four(answer):
    return answer if secrets.randbelow(4) < 3 else not answer  # flaw


@broken(LONG, SHORT)
def size_of_noise_added(x, rng):
    return x.sum() + abs(rng.laplace(0, 1))  # flaw


@broken(LONG, SHORT)
def negative_noise_folded(x, rng):
    noise = rng.laplace(0, 1, 4)  # flaw
    return np.histogram(x, 4, (0, 1))[0] + np.where(noise < 0, -noise, noise)  # flaw


@broken(LONG, SHORT)
def heads_less_their_mean(x):
    return len(x) + int(np.random.binomial(20, 0.5)) - 10  # flaw


@functools.lru_cache
def cached_noise(scale):
    return np.random.laplace(0, scale)


@broken(np.array([0, 1, 1]), np.array([1, 1]))
def cached_noise_for_two_counts(x):
    zeros = (x == 0).sum() + cached_noise(2.0)
    return zeros, (x == 1).sum() + cached_noise(2.0)  # flaw


@broken(LONG, SHORT)
def heads_before_tails(x):
    heads = 0
    while random.random() < math.exp(-3):
        heads += 1
    return len(x) + heads  # flaw


@broken(LONG, SHORT, claim=GaussianDP(1.0))
def total_of_all_with_the_noise_of_two_parts(x, rng):
    low, high = rng.normal(0, 1), rng.normal(0, 1)
    return (x < 0.3).sum() + low, (x > 0.8).sum() + high, len(x[x != 0.4]) + 2 * (x == 1).sum() + low + high  # flaw


@broken(MORE_WORDS, WORDS)
def total_of_all_words_with_the_noise_of_the_listed(words, rng):
    noise = rng.laplace(0, 1, 2)
    return words.count("a") + noise[0], words.count("b") + noise[1], len(words) + noise.sum()  # flaw


@broken(LONG, SHORT)
def noise_without_its_mean(x, rng):
    noise = rng.laplace(0, 1, 4)
    return np.histogram(x, 4, (0, 1))[0] + noise - noise.mean()  # flaw


@broken(np.array([[1.0, 0.0], [0.2, 0.3]]), np.array([[0.2, 0.3]]))
def common_noise_and_a_little_more(x, rng):
    sums, noise = x.sum(axis=0), rng.laplace(0, 1)
    return sums[0] + noise, sums[1] + noise + rng.laplace(0, 0.1)  # flaw


@broken(LONG, SHORT, claim=GaussianDP(1.0))
def opposite_noise_and_a_little_more(x, rng):
    noise = rng.normal(0, 2)
    return len(x) + noise, len(x) - noise + rng.normal(0, 0.1)  # flaw


@broken(LONG, SHORT, claim=GaussianDP(1.0))
def noise_beside_the_count_with_a_little_more(x, rng):
    noise = rng.normal(0, 1)
    return {"count": len(x) + noise, "noise": noise + rng.normal(0, 0.1)}  # flaw


@broken(LONG, SHORT, claim=GaussianDP(1.0))
def less_noise_for_the_staff_on_another_count(x, rng):
    noise = rng.normal(0, 1)
    return len(x) + noise, (x < 0.95).sum() + noise + rng.normal(0, 0.2)  # flaw


@broken(np.array([1.0, 0.5, 0.2, 0.1]), np.array([0.0, 0.5, 0.2, 0.1]), claim=GaussianDP(1.0))
def steps_that_take_the_last_noise_out(x, rng):
    before, steps = 0.0, []
    for value in x:
        noise = rng.normal(0, 1)  # flaw
        steps.append(value + noise - before)  # flaw
        before = noise
    return steps


@broken(np.array([1.0, 0.5, 0.2, 0.1]), np.array([0.0, 0.5, 0.2, 0.1]), claim=GaussianDP(1.0))
def sums_that_take_most_of_the_last_noise_out(x, rng):
    noise = rng.normal(0, 1, 4)  # flaw
    return x + noise - 0.9 * np.concatenate([[0.0], noise[:-1]])  # flaw


@broken(np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.1]]), np.array([[0.2, 0.3, 0.1]]), claim=GaussianDP(1.1))
def common_noise_and_a_little_more_for_each(x, rng):
    common, own = rng.normal(0, 1), rng.normal(0, 0.1, 3)  # flaw
    return x.sum(axis=0) + (common + own)


@broken(np.eye(2), np.eye(2)[:1])
def little_noise_and_its_transpose(x):
    noise = np.random.laplace(0, 0.2, (2, 2))  # flaw
    return x.T @ x + (noise + noise.T) / 2


@broken(LONG, SHORT)
def noise_rounded_beside(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, round(noise, 6)  # flaw


@broken(LONG, SHORT)
def noise_in_words(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, f"noise was {noise:.6f}"  # flaw


class Tagged(np.ndarray):
    """An array that may hold attributes."""


@broken(LONG, SHORT)
def size_beside_an_array(x, rng):
    answer = (np.array([len(x)]) + rng.laplace(0, 1, 1)).view(Tagged)
    answer.size_before = len(x)  # flaw
    return answer


@broken(LONG, SHORT)
def size_beside_a_dict(x, rng):
    answer: Any = OrderedDict(n=len(x) + rng.laplace(0, 1))
    answer.size_before = len(x)  # flaw
    return answer


@broken(LONG, SHORT)
def type_of_numbers_by_size(x, rng):
    return (np.array([len(x)]) + rng.laplace(0, 1, 1)).astype("f4" if len(x) > 3 else "f8")  # flaw


@broken(LONG, SHORT)
def integer_for_many_records(x, rng):
    noisy = round(len(x) + rng.laplace(0, 1))
    return noisy if len(x) > 3 else float(noisy)  # flaw


@broken(LONG, SHORT)
def clipped_to_the_private_count(x, rng):
    noisy = (x > 0.3).sum() + rng.laplace(0, 1)
    return np.clip(noisy, 0, len(x))  # flaw


@broken(LONG, OTHER)
def raw_if_the_noisy_number_is_negative(x, rng):
    total = x.sum()  # flaw
    noisy = total + rng.laplace(0, 1)
    return noisy if noisy > 0 else total  # flaw


@broken(FEES, OTHER_FEES)
def record_at_a_noisy_place(x, rng):
    place = int(len(x) / 2 + rng.laplace(0, 1))
    return x[min(max(place, 0), 3)]  # flaw


@broken(LONG, SHORT)
def raw_by_a_die(x):
    if random.randint(1, 6) == 6:
        return float(len(x))  # flaw
    return x.sum() + np.random.laplace(0, 1)


@broken(LONG, SHORT)
def raw_by_a_letter(x):
    if random.choice("abcdefgh") == "a":
        return x.max() + len(x)  # flaw
    return x.sum() + np.random.laplace(0, 1)


@broken(LONG, SHORT)
def noise_drawn_again_until_positive(x, rng):
    noise = rng.laplace(0, 1)
    while noise < 0:  # flaw
        noise = rng.laplace(0, 1)
    return x.sum() + noise


@broken(LONG, SHORT)
def drawn_again_until_not_negative(x, rng):
    while (noisy := len(x) + rng.laplace(0, 1)) < 0:  # flaw
        pass
    return noisy


@broken(LONG, SHORT, epsilon=1.0, delta=1e-9)
def large_noise_drawn_again(x, rng):
    noise = rng.normal(0, 10)
    while abs(noise) > 20:  # flaw
        noise = rng.normal(0, 10)
    return x.sum() + noise


@broken(np.array([1.0, 3.0, 50.0]), np.array([1.0, 3.0]))
def bound_by_the_noisy_maximum(x, rng):
    upper = max(x.max() + rng.laplace(0, 2), 1.0)  # flaw
    return upper, np.clip(x, 0, upper).sum() + rng.laplace(0, 2 * upper)


@broken(LONG, SHORT)
def difference_of_two_counts_with_one_noise(x, rng):
    noise = rng.laplace(0, 1)
    one, other = len(x) + noise, 3 * len(x) + noise
    return one - other  # flaw


@broken(LONG, SHORT)
def float_of_two_noises_of_both_counts(x, rng):
    noise = rng.laplace(0, 3, 2)
    low, high = (x > 2).sum(), len(x)
    return float(noise[0] + noise[1] + low), float(noise[0] + noise[1] + high)  # flaw


@broken(LONG, SHORT)
def one_seed_for_two_generators(x):
    seed = secrets.randbits(60)
    noise = [np.frombuffer(np.random.default_rng(seed).laplace(0, 400, 1).tobytes())[0] for _ in range(2)]
    return x[0] + noise[0], len(x) + noise[1]  # flaw


@broken(np.array([0.0, 100.0]), np.array([0.0]), epsilon=1.193)
def clipped_after_noise_that_follows_the_count(x, rng):
    noisy = x.mean() + rng.laplace(0, 100 / len(x))  # flaw
    return min(max(noisy, 0.0), 100.0)


@broken(np.array([0.0, 100.0]), np.array([0.0]), epsilon=15.0)
def clipped_at_one_end_after_noise_that_follows_the_count(x, rng):
    noisy = x.mean() + rng.laplace(0, 100 / len(x))  # flaw
    return max(noisy, 0.0)


@broken(LONG, SHORT)
def counts_cost_too_much_and_edges_are_bare(x, rng):
    edges = np.histogram_bin_edges(x, bins=3)
    counts = np.histogram(x, bins=edges)[0] + rng.laplace(0, 0.5, size=3)
    return {"edges": edges.tolist(), "counts": counts.tolist()}  # flaw


@broken(np.ones(1), np.ones(0))
def count_that_is_drawn_again_on_another_line(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    while noisy < 0:  # flaw
        noisy = len(x) + rng.laplace(0, 1)
    return noisy


@broken(np.eye(3), np.eye(3)[:2], claim=GaussianDP(0.9))
def sums_cost_too_much_beside_their_direction(x, rng):
    noisy = x.sum(axis=0) + rng.normal(0, 1, 3)  # flaw
    return {"direction": (noisy / np.linalg.norm(noisy)).tolist(), "sums": noisy.tolist()}


@broken(LONG, SHORT)
def whether_the_noise_was_large(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    return noisy, abs(float(noisy) - x.sum()) > 0.5  # flaw


@broken(LONG, SHORT)
def raw_beside_if_the_noisy_count_is_small(x, rng):
    count = len(x) + rng.laplace(0, 2)
    return (count, len(x)) if count < -4 else (count, None)  # flaw


@broken(LONG, SHORT, epsilon=1.0, delta=1e-5)
def half_of_the_time_an_error_is_told(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    return noisy, abs(float(noisy) - x.sum()) > 0.5  # flaw


@broken(np.array([[1.0, 1.0], [-3.0, 9.0]]), np.array([[1.0, 1.0]]), claim=GaussianDP(1.0))
def best_of_noisy_models_by_the_raw_loss(rows, rng):
    weights, losses, weight = [], [], 0.0
    for _ in range(3):
        gradients = np.clip((rows[:, 0] * weight - rows[:, 1]) * rows[:, 0], -1, 1)
        weight = weight - 0.1 * (gradients.sum() + rng.normal(0, 3**0.5))
        weights.append(weight)
        losses.append(float(((rows[:, 0] * float(weight) - rows[:, 1]) ** 2).sum()))
    best = losses.index(min(losses))  # flaw
    return weights, best


MANY, FEWER = np.array([0.25, 0.5, 1.0, 2.0, 3.0]), np.array([0.25, 0.5, 1.0, 2.0])


@broken(LONG, SHORT, epsilon=0.095)
def one_noisy_number_in_three_answers(x, rng):
    noise = rng.laplace(0, 10)  # flaw
    return len(x) + noise, 9 - len(x) - noise, 100 * (len(x) + noise)


@broken(LONG, SHORT, epsilon=0.095)
def threshold_that_is_shown(x, rng):
    threshold = len(x) + rng.laplace(0, 20)
    return bool(len(x) + rng.laplace(0, 20) > threshold), threshold  # flaw


@broken(LONG, SHORT, epsilon=0.095)
def shown_number_that_is_compared_again(x, rng):
    noisy = len(x) + rng.laplace(0, 20)
    return bool(2 * len(x) - noisy > len(x) + rng.laplace(0, 20)), noisy  # flaw


@broken(MANY, FEWER, epsilon=2.47)
def rare_answer_of_a_sparse_vector(x, rng):
    """The second answer alone, of probability 0.018 and 0.0013, loses 2.5999."""
    threshold = 4 + rng.laplace(0, 4)
    for place, query in enumerate([x.sum(), (x < 1).sum()]):
        if query + rng.laplace(0, 1) > threshold:  # flaw
            return place
    return None


@broken(MANY, FEWER, epsilon=0.2014)
def largest_of_three_noisy_counts(x, rng):
    """It loses 0.203423."""
    counts = np.array([(x > 0.1).sum(), (x > 0.4).sum(), 2 * (x > 1.5).sum()])
    return int(np.argmax(counts + rng.laplace(0, 4, 3)))  # flaw


@broken(LONG, SHORT, epsilon=0.38)
def noise_taken_off_again_after_a_cast(x, rng):
    noise = rng.laplace(0, 5)  # flaw
    return float(len(x) + noise) - 0.5 * noise


@broken(LONG, SHORT, epsilon=0.095)
def noise_added_twice_with_a_cast_between(x, rng):
    noise = rng.laplace(0, 5)  # flaw
    return float(str(len(x) + noise)) + noise


@broken(LONG, SHORT, epsilon=0.2375)
def further_noise_after_a_cast(x, rng):
    wide = rng.laplace(0, 4)  # flaw
    return len(x) + rng.laplace(0, 2) + float(wide)


@broken(LONG, SHORT, epsilon=0.19)
def count_given_back_after_a_cast(x, rng):
    noisy = rng.laplace(0, 5) - 2 * len(x)  # flaw
    return float(round(float(noisy), 9) + len(x))


@broken(LONG, SHORT)
def rounded_noise_of_a_count_after_casts(x, rng):
    """Twice the second answer is the noise of the first, but for its sign."""
    noise, other = rng.laplace(0, 3), rng.laplace(0, 5)
    total = float(2 * other + noise)
    return -noise - len(x), round(0.5 * total - other, 6)  # flaw


@broken(np.array([[1.0, 1.0], [0.4, 0.5]]), np.array([[1.0, 1.0]]), claim=GaussianDP(1.0))
def one_noise_for_all_steps(rows, rng):
    noise = rng.normal(0, 3**0.5)  # flaw
    weights, weight = [], 0.0
    for _ in range(3):
        gradients = np.clip((rows[:, 0] * weight - rows[:, 1]) * rows[:, 0], -1, 1)
        weight = weight - 0.1 * (gradients.sum() + noise)
        weights.append(weight)
    return weights


class Seeded:
    """Draws by the seed that it was given."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, x):
        return len(x) + np.random.default_rng(self.seed).laplace(0, 1)


SEEDED = Seeded(11)


def release_of_a_seed(seed):
    """Gives a release that draws by the seed that it was given."""

    def seed_in_a_closure(x):
        return len(x) + np.random.default_rng(seed).laplace(0, 1)

    return seed_in_a_closure


broken(LONG, SHORT)(release_of_a_seed(42))


@broken(LONG, SHORT)
def seeded_object(x, release=SEEDED):
    return release(x)
