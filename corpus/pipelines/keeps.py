"""Short pipelines that keep what they claim, each close to a flaw: repaired ones, and what looks odd and is not.

Beside what they keep stand smaller claims that they break.
"""

from __future__ import annotations

import math
import random
import secrets
from collections import Counter

import numpy as np
from numpy.random import laplace
from scipy import stats

from corpus.common.pipelines import (
    ADDED,
    BITS,
    COUNTED,
    EQUAL,
    FAR,
    FIVE,
    FLIPPED,
    MANY,
    RNG,
    SHIFTED,
    UTILITIES,
    WORDS,
    keeps,
    leaks,
)

KEYS = ("a", "b", "c")
PUBLIC = np.random.default_rng(12)
ONE_HOT = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])

(leaks(ADDED, epsilon=0.5) | keeps(ADDED))(
    clipped_sum=lambda x: np.clip(x, 0, 1).sum() + RNG.laplace(0, 1),
    settings_that_have_defaults=lambda x, scale=1.0, clip=1.0: np.clip(x, 0, clip).sum() + np.random.laplace(0, scale),
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
    question_after_a_threshold=lambda x, rng: x.sum() + rng.laplace(0, 2) if len(x) + rng.laplace(0, 2) > 3.5 else None,
    a_count_with_noise_of_two_places=lambda x, rng: len(x) + rng.laplace(0, 1) + rng.laplace(0, 1),
)

keeps((1.0, 2.0))(not_a_number_on_both=lambda x, rng: math.nan + rng.laplace(0, 1) + x)


(leaks(FLIPPED, epsilon=0.5) | keeps(FLIPPED))(
    binomial_flips=lambda bits, rng: (bits + rng.binomial(1, 1 / (1 + math.e), 3)) % 2
)


(leaks(COUNTED, epsilon=0.5) | keeps(COUNTED))(
    running_sums_of_both=lambda counts: np.cumsum(counts) + np.cumsum(laplace(0, 1, 4))
)


(leaks(([1, 0, 1], [1, 0, 0]), epsilon=0.5) | keeps(([1, 0, 1], [1, 0, 0])))(
    two_coins_for_each_bit=lambda bits: [bit if random.random() < 0.46 else int(random.random() < 0.5) for bit in bits]
)


keeps(([3], [4]), epsilon=2.2)(
    unary_encoding=lambda x, rng: [int(rng.random() < (0.5 if place == x[0] else 0.1)) for place in range(6)]
)

keeps((np.array([]), np.array([1.0])))(size_of_a_noisy_count=lambda x: abs(len(x) + np.random.laplace(0, 1)))

(leaks((True, False)) | keeps((True, False), epsilon=1.1))(
    answer_by_a_number_below_four=lambda answer: answer if secrets.randbelow(4) < 3 else not answer
)


(leaks((np.array([1, 1, 0]), np.array([1, 0, 0])), epsilon=0.5) | keeps((np.array([1, 1, 0]), np.array([1, 0, 0]))))(
    randomized_responses=lambda bits, rng: np.where((rng.random(len(bits)) < math.e / (1 + math.e)), bits, 1 - bits)
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


@leaks(SHIFTED, epsilon=0.5)
@keeps(SHIFTED)
def integer_noise_times_a_step(x, rng):
    p = 1 - math.exp(-1 / 1024)
    return (np.rint(np.clip(x, 0, 1) * 1024).sum() + (rng.geometric(p) - rng.geometric(p))) * 2.0**-10


@keeps(ADDED)
def noisy_counts_without_their_mean(x, rng):
    noisy = np.histogram(x, 4, (0, 1))[0] + rng.laplace(0, 1, 4)
    return noisy - noisy.mean()


@keeps(ADDED, epsilon=1.0, delta=1e-6)
def descent_in_steps(x, rng):
    weight = 0.0
    for _ in range(5):
        weight -= 0.1 * (np.clip(x - weight, -1, 1).sum() + rng.normal(0, 14)) / 4
    return weight


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


@leaks((["a"], ["b"]), epsilon=0.5)
@keeps((["a"], ["b"]))
def another_letter_by_a_coin(letters):
    if random.random() < math.e / (math.e + 3):
        return letters[0]
    return random.choice([letter for letter in "abcd" if letter != letters[0]])


@keeps(FIVE, epsilon=1.0, delta=1e-4)
def small_counts_are_hidden_under_gaussian_noise(x):
    noisy = len(x) + random.gauss(0, 5.0)
    return None if noisy < 3 else int(noisy)


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


@leaks(ADDED, epsilon=0.2375)
@keeps(ADDED, epsilon=0.2625)
def further_noise_after_a_cast(x, rng):
    wide = rng.laplace(0, 4)
    return len(x) + rng.laplace(0, 2) + float(wide)
