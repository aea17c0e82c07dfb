"""Short pipelines that keep what they claim, each close to a flaw: repaired ones, and what looks odd and is not.

Beside what they keep stand smaller claims that they break.
"""

from __future__ import annotations

import functools
import io
import math
import random
import secrets
import threading
import time
from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
from numpy.random import laplace
from scipy import stats

from attacklab.model.claims import GaussianDP
from corpus.common.pipelines import (
    ADDED,
    BITS,
    CHANGED,
    COUNTED,
    COUNTS,
    EQUAL,
    FAR,
    FIVE,
    FLIPPED,
    LONG,
    MANY,
    RNG,
    SHIFTED,
    SHORT,
    UTILITIES,
    WORDS,
    keeps,
    leaks,
)


def _intervals(x, epsilon):
    """The intervals between records in order, and probabilities that fit a median (Smith 2011)."""
    ends = np.concatenate([[0.0], np.sort(np.clip(x, 0, 1)), [1.0]])
    weights = np.diff(ends) * np.exp(-epsilon / 2 * np.abs(np.arange(len(ends) - 1) - (len(ends) - 2) / 2))
    return ends, weights / weights.sum()


class Fitted:
    """Holds its answer in a slot, and what is no data."""

    __slots__ = ("answer", "lock", "rng", "scale")

    def __init__(self, answer):
        self.answer, self.scale, self.lock, self.rng = answer, math.exp, threading.Lock(), random.Random()


class Drawing:
    """Draws from a generator that it holds."""

    def __init__(self, scale):
        self.scale, self.rng = scale, np.random.default_rng()

    def __call__(self, x):
        return len(x) + self.rng.laplace(0, self.scale)


def geometric_by_logarithms():
    return math.floor(math.log(1 - random.random()) / -1.0)


KEYS = ("a", "b", "c")
PUBLIC = np.random.default_rng(12)
HELD, HELD_METHOD, OF_THE_SYSTEM = Drawing(1.0), np.random.default_rng().laplace, np.random.RandomState()
HELD_METHOD_OF_PYTHON = random.Random().gauss
ONE_HOT = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
STRATEGY = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 2]])
KEPT: dict[str, Any] = {}
OF_ANY_SCALE = functools.partial(np.random.laplace, 0.0)

(leaks(ADDED, epsilon=0.5) | keeps(ADDED))(
    clipped_sum=lambda x: np.clip(x, 0, 1).sum() + RNG.laplace(0, 1),
    settings_that_have_defaults=lambda x, scale=1.0, clip=1.0: np.clip(x, 0, clip).sum() + np.random.laplace(0, scale),
    state_of_the_system=lambda x: len(x) + OF_THE_SYSTEM.laplace(0, 1),
    rounded_noise=lambda x, rng: len(x) + np.round(rng.laplace(0, 1)),
)

keeps((np.array([0.5, np.nan]), np.array([0.5])))(
    nan_becomes_zero=lambda x, rng: np.clip(np.nan_to_num(x), 0, 1).sum() + rng.laplace(0, 1)
)

keeps(UTILITIES)(
    noisy_max=lambda utilities, rng: int(np.argmax(np.array(utilities) + rng.laplace(0, 2, len(utilities))))
)

(leaks(BITS, epsilon=0.5) | keeps(BITS))(
    module_level_laplace=lambda bits: bits.sum() + laplace(0, 1),
    scipy_laplace=lambda bits: bits.sum() + stats.laplace.rvs(scale=1.0),
    difference_of_exponentials=lambda bits, rng: bits.sum() + rng.exponential(1) - rng.exponential(1),
    signed_exponential=lambda bits: int(bits.sum()) + random.choice([-1, 1]) * random.expovariate(1.0),
    location_as_argument=lambda bits, rng: rng.laplace(loc=bits.sum(), scale=1),
)

keeps(ADDED)(
    seeded_by_the_time=lambda x: np.clip(x, 0, 1).sum() + np.random.default_rng(time.perf_counter_ns()).laplace(0, 1),
    question_after_a_threshold=lambda x, rng: x.sum() + rng.laplace(0, 2) if len(x) + rng.laplace(0, 2) > 3.5 else None,
    object_with_slots=lambda x, rng: (Fitted(len(x) + rng.laplace(0, 1)), functools.partial(max, 3), Fitted),
    answers_in_a_queue=lambda x, rng: deque([len(x) + rng.laplace(0, 1)], maxlen=3),
    answer_in_a_buffer=lambda x, rng: io.StringIO(f"{len(x) + rng.laplace(0, 1):.2f}"),
    held_by_an_object=lambda x: HELD(x),
    held_as_a_method=lambda x: len(x) + HELD_METHOD(0, 1),
    geometric_numbers_by_logarithms=lambda x: len(x) + geometric_by_logarithms() - geometric_by_logarithms(),
    partial_as_a_default=lambda x, draw=OF_ANY_SCALE: len(x) + draw(1.0),
    a_count_with_noise_of_two_places=lambda x, rng: len(x) + rng.laplace(0, 1) + rng.laplace(0, 1),
    dict_with_zero_for_missing_keys=lambda x, rng: defaultdict(lambda: 0.0, n=len(x) + rng.laplace(0, 1)),
    letter_at_a_noisy_place=lambda x, rng: "abcdefgh"[min(max(int(len(x) + rng.laplace(0, 1)), 0), 7)],
)

keeps((1.0, 2.0))(not_a_number_on_both=lambda x, rng: math.nan + rng.laplace(0, 1) + x)

keeps(COUNTS)(order_of_noisy_counts=lambda counts, rng: np.argsort(np.array(counts) + rng.laplace(0, 1, 3)))

(leaks(FLIPPED, epsilon=0.5) | keeps(FLIPPED))(
    binomial_flips=lambda bits, rng: (bits + rng.binomial(1, 1 / (1 + math.e), 3)) % 2
)

keeps(ADDED, epsilon=1.0, delta=1e-6)(held_as_a_method_of_python=lambda x: len(x) + HELD_METHOD_OF_PYTHON(0, 6))

(leaks(COUNTED, epsilon=0.5) | keeps(COUNTED))(
    running_sums_of_both=lambda counts: np.cumsum(counts) + np.cumsum(laplace(0, 1, 4)),
    noise_in_another_order=lambda counts: counts + np.random.permutation(laplace(0, 1, 4)),
    noise_turned_around=lambda counts: counts.reshape(2, 2) + np.rot90(laplace(0, 1, (2, 2))),
)

keeps(COUNTED)(queries_of_noisy_counts=lambda counts: STRATEGY @ counts + STRATEGY @ laplace(0, 1, 4))

(leaks(([1, 0, 1], [1, 0, 0]), epsilon=0.5) | keeps(([1, 0, 1], [1, 0, 0])))(
    two_coins_for_each_bit=lambda bits: [bit if random.random() < 0.46 else int(random.random() < 0.5) for bit in bits]
)

(leaks(COUNTED, epsilon=0.3) | keeps(COUNTED))(
    largest_with_gumbel_noise_by_hand=lambda counts, rng: int(np.argmax(counts / 2 - np.log(-np.log(rng.random(4)))))
)

keeps(([3], [4]), epsilon=2.2)(
    unary_encoding=lambda x, rng: [int(rng.random() < (0.5 if place == x[0] else 0.1)) for place in range(6)]
)

keeps((np.array([]), np.array([1.0])))(size_of_a_noisy_count=lambda x: abs(len(x) + np.random.laplace(0, 1)))

(leaks((True, False)) | keeps((True, False), epsilon=1.1))(
    answer_by_a_number_below_four=lambda answer: answer if secrets.randbelow(4) < 3 else not answer
)


(leaks((np.array([1, 1, 0]), np.array([1, 0, 0])), epsilon=0.5) | keeps((np.array([1, 1, 0]), np.array([1, 0, 0]))))(
    randomized_responses=lambda bits, rng: np.where((rng.random(len(bits)) < math.e / (1 + math.e)), bits, 1 - bits),
)

(leaks(ADDED, epsilon=0.19) | keeps(ADDED, epsilon=0.21))(
    count_given_back_after_a_cast=lambda x, rng: float(round(float(rng.laplace(0, 5) - 2 * len(x)), 9) + len(x)),
)


@keeps(ADDED)
def branch_on_what_is_noisy(x, rng):
    count = len(x) + rng.laplace(0, 2)
    if count > 3:
        return count, np.clip(x, 0, 1).sum() + rng.laplace(0, 2)
    return count, None


@keeps(WORDS)
def histogram_of_known_keys(words, rng):
    counts = Counter(words)
    return {word: counts[word] + rng.laplace(0, 1) for word in KEYS}


@keeps(ADDED, epsilon=1.0, delta=1e-6)
def gaussian_at_the_textbook_scale(x, rng):
    return np.clip(x, 0, 1).sum() + rng.normal(0, math.sqrt(2 * math.log(1.25e6)))


@leaks(([3.0, 5.0], [4.0, 5.0]), epsilon=0.3)
@keeps(([3.0, 5.0], [4.0, 5.0]))
def exponential_choice(utilities, rng):
    weights = np.exp(0.5 * (np.array(utilities) - max(utilities)))
    return rng.choice(len(weights), p=weights / weights.sum())


@keeps(([1.0, 1.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0]))
def sparse_vector(answers, rng):
    threshold = 1.5 + rng.laplace(0, 2)
    out = []
    for answer in answers:
        out.append(bool(answer + rng.laplace(0, 4) >= threshold))
        if out[-1]:
            break
    return out


@leaks(WORDS, epsilon=1.0, delta=1e-8)
@keeps(WORDS, epsilon=1.0, delta=1e-6)
def threshold_of_arrays_high_enough(words, rng):
    keys, counts = np.unique(words, return_counts=True)
    noisy = counts + rng.laplace(0, 1, len(counts))
    kept = noisy > 16
    return dict(zip(keys[kept].tolist(), noisy[kept].tolist(), strict=True))


@keeps(BITS)
def drawn_again_until_plausible(bits, rng):
    while True:
        noisy = bits.sum() + rng.laplace(0, 2)
        if 0 <= noisy <= 50:
            return noisy


@keeps(BITS)
def shuffled_first(bits, rng):
    mixed = rng.permutation(bits)
    return mixed.sum() + rng.laplace(0, 1)


@keeps(ADDED, epsilon=math.log1p(0.1 * math.expm1(1.0)))
def poisson_sample(x, rng):
    batch = x[rng.random(len(x)) < 0.1]
    return np.clip(batch, 0, 1).sum() + rng.laplace(0, 1)


@keeps(ADDED)
def generators_of_one_sequence(x):
    one, other = np.random.default_rng(np.random.SeedSequence()).spawn(2)
    return np.clip(x, 0, 1).sum() + one.laplace(0, 2), len(x) + other.laplace(0, 2)


@keeps(([5.0, 2.0, 1.0], [4.0, 2.0, 1.0]))
def largest_and_its_value_again(utilities, rng):
    place = int((np.array(utilities) + rng.laplace(0, 4, 3)).argmax())
    return place, utilities[place] + rng.laplace(0, 2)


@keeps(ADDED)
def made_to_rise(x, rng):
    counts = np.cumsum(np.histogram(x, 4, (0, 1))[0]) + rng.laplace(0, 4, 4)
    return np.maximum.accumulate(counts).tolist()


@keeps(ADDED)
def quantile_of_a_public_grid(x, rng):
    grid = np.linspace(0, 1, 11)
    weights = np.exp(0.5 * np.array([-abs((x <= end).sum() - len(x) / 2) for end in grid]))
    return grid[rng.choice(11, p=weights / weights.sum())]


@leaks(SHIFTED, epsilon=0.5)
@keeps(SHIFTED)
def integer_noise_times_a_step(x, rng):
    p = 1 - math.exp(-1 / 1024)
    return (np.rint(np.clip(x, 0, 1) * 1024).sum() + (rng.geometric(p) - rng.geometric(p))) * 2.0**-10


@keeps(CHANGED, epsilon=0.7)
def threshold_on_a_grid(x, rng):
    p = 1 - math.exp(-0.5)
    return bool((np.rint(np.clip(x, 0, 1).sum()) + rng.geometric(p) - rng.geometric(p)) * 0.1 > 0.3)


@keeps((LONG - 0.1, SHORT - 0.1))
def quantile_by_a_choice(x, rng):
    ends, odds = _intervals(x, 2.0)
    at = rng.choice(len(odds), p=odds)
    return rng.uniform(ends[at], ends[at + 1])


@keeps(ADDED)
def sorted_in_place(x, rng):
    noisy = np.histogram(x, 4, (0, 1))[0] + rng.laplace(0, 1, 4)
    noisy.sort()
    noisy.resize(2, 2)
    return noisy


@keeps(ADDED, epsilon=2.0)
def compared_with_itself(x, rng):
    noisy = np.full(2, len(x) + rng.laplace(0, 0.5))
    return bool(noisy[0] >= noisy[1])


@keeps(CHANGED, epsilon=2.0)
def rejected_by_what_is_public(x, rng):
    while (noisy := np.clip(x, 0, 1).sum() + rng.laplace(0, 1)) < -1:
        pass
    return noisy


@keeps(ADDED)
def noisy_counts_without_their_mean(x, rng):
    noisy = np.histogram(x, 4, (0, 1))[0] + rng.laplace(0, 1, 4)
    return noisy - noisy.mean()


@keeps(CHANGED)
def clipped_at_a_noisy_mean(x, rng):
    cap = abs(np.clip(x, 0, 1).mean() + rng.laplace(0, 2 / len(x))) + 0.1
    return np.clip(x, 0, cap).sum() + rng.laplace(0, 2 * cap)


@keeps(ADDED, epsilon=1.0, delta=1e-6)
def descent_in_steps(x, rng):
    weight = 0.0
    for _ in range(5):
        weight -= 0.1 * (np.clip(x - weight, -1, 1).sum() + rng.normal(0, 14)) / 4
    return weight


@keeps(ADDED)
def difference_of_negative_binomials(x, rng):
    p = 1 - math.exp(-1.0)
    return len(x) + rng.negative_binomial(1, p) - rng.negative_binomial(1, p)


@keeps(ADDED)
def coordinates_on_one_line(x, rng):
    line = rng.multivariate_normal(np.zeros(2), np.ones((2, 2)))
    return line, len(x) + rng.laplace(0, 1), rng.binomial(3, 0.5), rng.negative_binomial(2, 0.5)


@keeps(ADDED)
def interval_around_a_noisy_count(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    return noisy, noisy - 3, noisy + 3, 2 * noisy


@keeps(ADDED)
def takes_arrays_of_numpy_alone(x, rng):
    noise = rng.laplace(0, 1, 4)
    if type(noise) is not np.ndarray:
        raise TypeError(type(noise))
    return np.histogram(x, 4, (0, 1))[0] + noise


@keeps(ADDED)
def projected_by_a_generator_of_a_fixed_seed(x, rng):
    direction = PUBLIC.normal(size=3)
    direction /= np.abs(direction).sum()
    return direction * np.clip(x, 0, 1).sum() + rng.laplace(0, 1, 3)


@keeps((ONE_HOT, ONE_HOT[:2]))
def symmetric_noise(x):
    noise = np.triu(laplace(0, 3, (2, 2)))
    return x.T @ x + noise + np.triu(noise, 1).T


@leaks(EQUAL)
@keeps(([1.0, 2.0, 3.0], [2.0, 1.0, 3.0]))
def how_many_are_above_one_threshold(values, rng):
    threshold = 2 + rng.laplace(0, 1)
    return sum(value > threshold for value in values)


@keeps(ADDED)
def generator_made_once_of_the_system(x):
    if "rng" not in KEPT:
        KEPT["rng"] = np.random.default_rng()
    return x.sum() + KEPT["rng"].laplace(0, 1)


@keeps(ADDED)
def state_set_back_after_public_draws(x):
    state = np.random.get_state()
    np.random.seed(0)
    direction = np.random.normal(size=3)
    np.random.set_state(state)
    return direction / np.abs(direction).sum() * np.clip(x, 0, 1).sum() + np.random.laplace(0, 1, 3)


@leaks((["a"], ["b"]), epsilon=0.5)
@keeps((["a"], ["b"]))
def another_letter_by_a_coin(letters):
    if random.random() < math.e / (math.e + 3):
        return letters[0]
    return random.choice([letter for letter in "abcd" if letter != letters[0]])


@leaks((LONG.tolist(), SHORT.tolist()), epsilon=0.4)
@keeps((LONG.tolist(), SHORT.tolist()), epsilon=math.log1p(0.5 * math.expm1(1.0)))
def sample_drawn_record_by_record(x):
    batch = [value for value in x if random.random() < 0.5]
    return sum(batch) + np.random.laplace(0, 1)


@leaks(ADDED, epsilon=0.5)
@keeps(ADDED)
def logarithms_on_two_sides(x):
    share = random.random()
    return x.sum() + (math.log(2 * share) if share < 0.5 else -math.log(2 * (1 - share)))


@keeps(FIVE)
def a_flag_beside_the_rounded_number(x):
    noisy = len(x) + np.random.laplace(0, 1)
    return {"significant": bool(noisy > 4), "count": round(noisy, 1)}


@keeps(FIVE, epsilon=1.0, delta=1e-4)
def small_counts_are_hidden_under_gaussian_noise(x):
    noisy = len(x) + random.gauss(0, 5.0)
    return None if noisy < 3 else int(noisy)


@keeps(ADDED)
def bits_of_the_generator_shared(x, rng):
    other = np.random.Generator(rng.bit_generator)
    return x.sum() + other.laplace(0, 2), len(x) + rng.laplace(0, 2)


@keeps((np.array([1.0, -2.0, 900.0]), np.array([1.0, -2.0])))
def every_step_of_a_descent_with_laplace_noise(x, rng):
    theta, steps = np.zeros(1), []
    for _ in range(4):
        theta = theta - 0.1 * (np.clip(theta - x, -1, 1).sum() + rng.laplace(0, 4, 1))
        steps.append(theta.copy())
    return np.array(steps)


@keeps((np.array([[1.0, 1.0], [0.2, 0.3]]), np.array([[0.2, 0.3]])), claim=GaussianDP(1.0))
def two_noisy_sums_and_their_sum(x, rng):
    sums = x.sum(axis=0)
    one, other = sums[0] + rng.normal(0, 2**0.5), sums[1] + rng.normal(0, 2**0.5)
    return one, other, one + other, 0.5 * one + 2.0 * other


@keeps(ADDED)
def the_same_count_with_more_noise_for_the_public(x, rng):
    staff = len(x) + rng.laplace(0, 1)
    return {"staff": staff, "public": staff + rng.laplace(0, 1)}


@keeps(ADDED)
def drawn_again_until_not_negative_and_paid_for(x, rng):
    while (noisy := len(x) + rng.laplace(0, 1.1)) < 0:
        pass
    return noisy


@keeps((np.array([1, -1, 2]), np.array([1, -1])))
def total_of_the_bare_counts_with_the_noise_of_both(x, rng):
    """On the second input the total without its second noise is the number that the first count was."""
    low, high = rng.laplace(0, 1, 2)
    positive, others = (x > 0).sum(), (x <= 0).sum()
    return positive + low, others + high, positive + others + low + high


@leaks(FAR, epsilon=1.193)
@keeps(FAR, epsilon=1.1932)
def clipped_before_the_tails_tell_the_scale(x, rng):
    noisy = x.mean() + rng.laplace(0, 100 / len(x))
    return min(max(noisy, 0.0), 100.0)


@keeps(ADDED, epsilon=1.0, delta=1e-6)
def noise_within_bounds_by_drawing_again(x, rng):
    noise = rng.laplace(0, 1)
    while abs(noise) > 15:
        noise = rng.laplace(0, 1)
    return len(x) + noise


@leaks(ADDED, epsilon=0.095)
@keeps(ADDED, epsilon=0.105)
def threshold_that_is_shown(x, rng):
    threshold = len(x) + rng.laplace(0, 20)
    return bool(len(x) + rng.laplace(0, 20) > threshold), threshold


@leaks(MANY, epsilon=2.47)
@keeps(MANY, epsilon=2.73)
def rare_answer_of_a_sparse_vector(x, rng):
    """The second answer alone, of probability 0.018 and 0.0013, loses 2.5999."""
    threshold = 4 + rng.laplace(0, 4)
    for place, query in enumerate([x.sum(), (x < 1).sum()]):
        if query + rng.laplace(0, 1) > threshold:
            return place
    return None


@keeps(ADDED, epsilon=0.105)
def shown_number_that_is_compared_again_with_more(x, rng):
    noisy = len(x) + rng.laplace(0, 20)
    return bool(len(x) + noisy > 3 + rng.laplace(0, 20)), noisy


@leaks(ADDED, epsilon=0.2375)
@keeps(ADDED, epsilon=0.2625)
def further_noise_after_a_cast(x, rng):
    wide = rng.laplace(0, 4)
    return len(x) + rng.laplace(0, 2) + float(wide)
