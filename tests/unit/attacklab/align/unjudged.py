"""Short pipelines that leak in ways which a replay names and does not judge: none of them may ever pass.

`UNJUDGED` has for each of them: what it claims, and a pair of neighbours on which it shows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from attacklab import GaussianDP

Row = tuple[Callable[..., Any], dict[str, Any], Any, Any]
UNJUDGED: list[Row] = []

SHORT, LONG = np.array([0.2, 0.9, 0.4]), np.array([0.2, 0.9, 0.4, 1.0])
OTHER = np.array([0.2, 0.9, 0.4, 0.0])
COUNTS, MORE_COUNTS = np.array([5, 3, 7]), np.array([5, 3, 8])
FEES, OTHER_FEES = np.array([1.5, 2.5, 3.5, 4.5]), np.array([1.5, 2.5, 3.5, 9.5])


def unjudged(first: Any, second: Any, **claim: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a pipeline into the table, with its claim and a pair."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        UNJUDGED.append((function, claim or {"epsilon": 1.0}, first, second))
        return function

    return put


@unjudged(FEES, OTHER_FEES)
def quantile_at_a_noisy_rank(x, rng):
    return np.quantile(x, np.clip(0.5 + rng.laplace(0, 0.2), 0, 1))


@unjudged(LONG, SHORT)
def remainder_by_the_private_count(x, rng):
    return (x.sum() + rng.laplace(0, 1)) % len(x)


@unjudged(LONG, SHORT)
def size_of_the_noise_beside(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, abs(noise)


@unjudged(LONG, SHORT, epsilon=1.0, delta=1e-5)
def exponential_of_the_noise_beside(x, rng):
    noise = rng.normal(0, 5)
    return len(x) + noise, math.exp(noise)


@unjudged(LONG, SHORT)
def rounded_sum_beside_the_noise(x, rng):
    noise = rng.laplace(0, 1)
    return round(x.sum() + noise, 3), noise


@unjudged(LONG, SHORT)
def raw_by_a_rare_coin(x, rng):
    if rng.random() < 0.01:
        return x.sum()
    return x.sum() + rng.laplace(0, 1)


@unjudged(LONG, SHORT)
def less_noise_by_a_coin(x, rng):
    scale = 0.3 if rng.random() < 0.3 else 1.0
    return x.sum() + rng.laplace(0, scale)


@unjudged(LONG, SHORT)
def raw_if_the_noisy_count_is_large(x, rng):
    count = len(x) + rng.laplace(0, 2)
    return x.sum() if count > 12 else count


@unjudged(LONG, SHORT, epsilon=0.5)
def other_sum_by_a_rare_coin(x, rng):
    total = x.sum() if rng.random() < 0.01 else 3.0
    return total + rng.laplace(0, 0.1)


@unjudged(LONG, SHORT)
def noise_clipped(x, rng):
    return x.sum() + np.clip(rng.laplace(0, 1), -3, 3)


@unjudged(LONG, SHORT)
def noise_clipped_in_python(x, rng):
    return x.sum() + min(max(rng.laplace(0, 1), -3), 3)


@unjudged(LONG, SHORT)
def largest_of_several_draws(x, rng):
    return x.sum() + max(rng.laplace(0, 1) for _ in range(5))


@unjudged(LONG, SHORT)
def noise_in_order(x, rng):
    return np.histogram(x, 4, (0, 1))[0] + np.sort(rng.laplace(0, 1, 4))


@unjudged(LONG, SHORT)
def truncated_normal(x):
    return x.sum() + stats.truncnorm.rvs(-2, 2)


@unjudged(LONG, SHORT)
def noise_modulo_one(x, rng):
    return x.sum() + rng.laplace(0, 1) % 1


@unjudged(LONG, SHORT)
def function_that_holds_the_sum(x, rng):
    total = x.sum()
    return {"count": len(x) + rng.laplace(0, 1), "query": lambda: total}


@unjudged(LONG, SHORT)
def method_of_the_records(x, rng):
    return len(x) + rng.laplace(0, 1), x.copy().sum


@unjudged(LONG, SHORT)
def class_that_holds_the_sum(x, rng):
    return len(x) + rng.laplace(0, 1), type("Holder", (), {"total": x.sum()})


class Holder:
    """Holds what it is given."""

    def __init__(self, held):
        self.held = held


@unjudged(LONG, SHORT)
def generator_in_an_object(x, rng):
    return len(x) + rng.laplace(0, 1), Holder(iter(x.tolist()))


@unjudged(LONG, SHORT)
def generator_that_is_not_started(x, rng):
    def answers():
        yield x.sum() + rng.laplace(0, 1)
        yield len(x)

    return answers


@unjudged(LONG, SHORT)
def deep_in_objects(x, rng):
    held = x.sum()
    for _ in range(12):
        held = Holder(held)
    return len(x) + rng.laplace(0, 1), held


@unjudged(LONG, SHORT)
def squared_error_beside_the_answer(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    return {"noisy": noisy, "squared_error": (noisy - len(x)) ** 2}


@unjudged(LONG, SHORT)
def rounded_error_beside_the_answer(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    return noisy, round(abs(noisy - len(x)), 4)


@unjudged(COUNTS, MORE_COUNTS)
def mean_error_beside_the_answers(counts, rng):
    noisy = counts + rng.laplace(0, 1, 3)
    return noisy, np.abs(noisy - counts).mean()


@unjudged(LONG, SHORT)
def squared_noise_beside_the_answer(x, rng):
    noise = rng.laplace(0, 1)
    return {"noisy": len(x) + noise, "squared": noise * noise}


@unjudged(LONG, SHORT)
def each_record_by_several_coins(x, rng):
    total = sum(x.sum() / 5 for _ in range(5) if rng.random() < 0.5)
    return total + rng.laplace(0, 0.7)


@unjudged(LONG, SHORT)
def a_rounded_count_that_is_shown_from_the_true_one_on(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    return -1 if noisy < len(x) else round(noisy)


@unjudged(LONG, SHORT)
def words_below_a_bound_that_the_data_give(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    return "few" if noisy < len(x) - 2 else f"{round(noisy)} people"


@unjudged(LONG, SHORT)
def a_count_cut_at_twice_the_true_one(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    if noisy > 2 * len(x):
        noisy = 2 * len(x)
    return int(noisy)


@unjudged(LONG, SHORT)
def size_as_the_value_of_missing_keys(x, rng):
    size = len(x)
    return defaultdict(lambda: size, n=size + rng.laplace(0, 1))


@unjudged(LONG, SHORT)
def drawn_five_times_at_most(x, rng):
    for _ in range(5):
        noisy = len(x) + rng.laplace(0, 2)
        if noisy >= 0:
            return noisy
    return float(len(x))


@unjudged(LONG, SHORT)
def drawn_again_and_the_rounds_shown(x, rng):
    rounds = 1
    while (noisy := len(x) + rng.laplace(0, 2)) < 0:
        rounds += 1
    return noisy, float(rounds)


@unjudged(LONG, SHORT)
def refuses_what_is_no_generator(x, rng):
    if type(rng) is not np.random.Generator:
        raise TypeError(type(rng))
    return x.sum() + rng.laplace(0, 0.5)


@unjudged(LONG, SHORT)
def less_noise_by_a_coin_on_another_line(x, rng):
    if rng.random() < 0.3:
        return x.sum() + rng.laplace(0, 0.3)
    return x.sum() + rng.laplace(0, 1.0)


@unjudged(LONG, SHORT, claim=GaussianDP(0.6))
def rounded_total_and_part_with_the_same_noise(x, rng):
    low = (x < 0.3).sum() + rng.normal(0, 1)
    return round(low + (x >= 0.3).sum() + rng.normal(0, 1), 2), round(low, 2)


@unjudged(LONG, SHORT)
def rounded_threshold_beside_what_it_decides(x, rng):
    threshold = 3 + rng.laplace(0, 4)
    return [bool(len(x) + rng.laplace(0, 4) > threshold) for _ in range(6)], round(threshold, 2)


@unjudged(np.array([1]), np.array([0]), epsilon=1.1)
def coin_beside_its_digits(bit, rng):
    share = rng.random()
    return int(bit[0]) if share < 0.731 else 1 - int(bit[0]), int(share * 10)


@unjudged(LONG, SHORT, claim=GaussianDP(0.2))
def largest_of_seventy_draws_rounded_beside_their_total(x, rng):
    noise = [rng.normal(0, 8)] + [rng.normal(0, 0.1) for _ in range(69)]
    return round(len(x) + sum(noise), 2), round(noise[0], 2)


@unjudged(LONG, SHORT, epsilon=0.475)
def word_for_a_cast_number(x, rng):
    noisy = float(len(x) + rng.laplace(0, 2))
    return "many" if noisy > 5 else "few"
