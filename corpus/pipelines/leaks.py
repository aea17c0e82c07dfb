"""Short pipelines that leak between their mechanisms, each with the lines that a finding may name marked `# flaw`.

A lambda is its own line. What the alignment cannot judge is among them: it may never pass.
"""

from __future__ import annotations

import copy
import functools
import io
import math
import random
import secrets
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
from scipy import stats

from attacklab.model.claims import GaussianDP
from corpus.common.pipelines import (
    ADDED,
    BITS,
    CHANGED,
    COUNTS,
    FAR,
    FEES,
    LONG,
    RNG,
    TABLES,
    WORDS,
    leaks,
)


class Slotted:
    """Holds its value in a slot."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Named(Slotted):
    """Has a slot and a dict of attributes."""

    def __init__(self, value):
        super().__init__(value)
        self.name = "total"


class Drawing:
    """Draws from generators that its own code seeds."""

    __slots__ = ("rng",)

    def __init__(self):
        self.rng = np.random.default_rng(8)


def _noise_of_a_closure():
    rng = np.random.default_rng(4)
    return lambda: rng.laplace(0, 1)  # flaw


@functools.lru_cache
def cached_noise(scale):
    return np.random.laplace(0, scale)


class Tagged(np.ndarray):
    """An array that may hold attributes."""


class Seeded:
    """Draws by the seed that it was given."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, x):
        return len(x) + np.random.default_rng(self.seed).laplace(0, 1)


def release_of_a_seed(seed):
    """Gives a release that draws by the seed that it was given."""
    return lambda x: len(x) + np.random.default_rng(seed).laplace(0, 1)


class Holder:
    """Holds what it is given."""

    def __init__(self, held):
        self.held = held


FIXED, FIXED_METHOD = np.random.default_rng(1234), np.random.default_rng(2).laplace
STATE, STATE_OF_BITS = np.random.RandomState(1).get_state(), np.random.PCG64(3).state
IN_A_SLOT, SEEDED = Drawing(), Seeded(11)
IN_A_PARTIAL = functools.partial(np.random.default_rng(4).laplace, 0, 1)
OF_PYTHON = random.Random(99)
IN_A_CELL = _noise_of_a_closure()

leaks(ADDED)(
    gaussian_for_pure_dp=lambda x, rng: np.clip(x, 0, 1).sum() + rng.normal(0, 10),
    answers_on_demand=lambda x, rng: {"answers": (by * np.clip(x, 0, 1).sum() + rng.laplace(0, 1) for by in (1, 2))},
    total_in_a_slot=lambda x, rng: (x.sum() + rng.laplace(0, 1), Slotted(x.sum())),
    total_in_a_slot_of_the_base=lambda x, rng: (x.sum() + rng.laplace(0, 1), Named(x.sum())),
    parity_as_the_mask_of_a_zero=lambda x, rng: np.ma.array(
        [len(x) + rng.laplace(0, 1), 0.0], mask=[False, len(x) % 2 > 0]
    ),
    bare_if_the_noise_is_huge=lambda x, rng: x.sum() if (noisy := len(x) + rng.laplace(0, 1)) > 500 else noisy,
    records_in_a_view=lambda x, rng: (len(x) + rng.laplace(0, 1), memoryview(x.tobytes())),
    fixed_seed=lambda x: x.sum() + np.random.default_rng(42).laplace(0, 1),
    fixed_state_of_scipy=lambda x: x.sum() + stats.laplace.rvs(scale=1, random_state=7),
    generator_of_a_fixed_seed=lambda x: x.sum() + FIXED.laplace(0, 1),
    method_of_a_fixed_seed=lambda x: x.sum() + FIXED_METHOD(0, 1),
    generator_in_a_slot=lambda x: x.sum() + IN_A_SLOT.rng.laplace(0, 1),
    generator_in_a_partial=lambda x: x.sum() + IN_A_PARTIAL(),
    generator_in_a_cell=lambda x: x.sum() + IN_A_CELL(),
    generator_of_python_with_a_fixed_seed=lambda x: len(x) + OF_PYTHON.expovariate(1) - OF_PYTHON.expovariate(1),
    integers_between_two_as_noise=lambda x, rng: len(x) + rng.integers(-3, 4),
    state_that_is_a_default=lambda x, *, random_state=3: len(x) + stats.laplace.rvs(scale=1, random_state=random_state),
    size_of_noise_added=lambda x, rng: x.sum() + abs(rng.laplace(0, 1)),
    heads_less_their_mean=lambda x: len(x) + int(np.random.binomial(20, 0.5)) - 10,
    seeded_object=lambda x, release=SEEDED: release(x),
    seed_in_a_closure=release_of_a_seed(42),
    remainder_by_the_private_count=lambda x, rng: (x.sum() + rng.laplace(0, 1)) % len(x),
    noise_clipped=lambda x, rng: x.sum() + np.clip(rng.laplace(0, 1), -3, 3),
    largest_of_several_draws=lambda x, rng: x.sum() + max(rng.laplace(0, 1) for _ in range(5)),
    noise_in_order=lambda x, rng: np.histogram(x, 4, (0, 1))[0] + np.sort(rng.laplace(0, 1, 4)),
    truncated_normal=lambda x: x.sum() + stats.truncnorm.rvs(-2, 2),
    noise_modulo_one=lambda x, rng: x.sum() + rng.laplace(0, 1) % 1,
    method_of_the_records=lambda x, rng: (len(x) + rng.laplace(0, 1), x.copy().sum),
    class_that_holds_the_sum=lambda x, rng: (len(x) + rng.laplace(0, 1), type("Holder", (), {"total": x.sum()})),
    generator_in_an_object=lambda x, rng: (len(x) + rng.laplace(0, 1), Holder(iter(x.tolist()))),
    half_the_noise=lambda x: np.clip(x, 0, 1).sum() + RNG.laplace(0, 0.5),
    rounded_before_it_is_scaled=lambda x, rng: round(float(np.clip(x, 0, 1).sum()) / 0.1) + rng.laplace(0, 1),
    mean_over_private_count=lambda x, rng: (np.clip(x, 0, 1).sum() + rng.laplace(0, 1)) / len(x),
    exact_count_beside=lambda x, rng: {"sum": (np.clip(x, 0, 1).sum() + rng.laplace(0, 1)), "count": len(x)},
    repeated_as_often_as_noise_says=lambda x, rng: [x.sum()] * int(np.clip(5 + rng.laplace(0, 1), 0, 10)),
    clamped_to_the_private_count=lambda x, rng: min(max(((x > 0.3).sum() + rng.laplace(0, 1)), 0), len(x)),
)

leaks(CHANGED)(
    noise_times_the_deviation=lambda x, rng: np.clip(x, 0, 1).mean() + rng.laplace(0, 1) * x.std() / len(x),
    size_below_a_threshold=lambda x, rng: bool(abs(3 * np.clip(x, 0, 1).sum() + rng.laplace(0, 1)) < 9),
    standardised_by_the_data=lambda x, rng: ((x - x.mean()) / x.std()).max() + rng.laplace(0, 0.1),
    noise_before_averaging=lambda x, rng: np.clip(x, -1, 1).sum() + rng.laplace(0, 2 / len(x)),
    clips_after_the_sum=lambda x, rng: np.clip((x * 10).sum(), 0, 100) + rng.laplace(0, 1),
)

leaks(COUNTS)(
    count_that_noise_chose=lambda counts, rng: counts[np.argmax(counts + rng.laplace(0, 1, 3))],
    largest_by_a_noisy_key=lambda counts, rng: max(counts.tolist(), key=lambda count: count + rng.laplace(0, 2)),
)

leaks((FEES[0].tolist(), FEES[1].tolist()))(two_records_at_random=lambda x: random.sample(x, 2))

leaks(FEES)(quantile_at_a_noisy_rank=lambda x, rng: np.quantile(x, np.clip(0.5 + rng.laplace(0, 0.2), 0, 1)))


leaks((np.array([5.0, 0.5]), np.array([0.5])))(
    no_clip=lambda x, rng: x.sum() + rng.laplace(0, 1.0),
)

leaks((np.array([0.5, np.nan]), np.array([0.5])))(
    nan_goes_through=lambda x, rng: np.clip(x, 0, 1).sum() + rng.laplace(0, 1),
)

leaks((np.array([1.0, 0.5]), np.array([])))(
    fails_on_empty=lambda x, rng: min(max(x), 1.0) + rng.laplace(0, 1),
)

leaks((np.array([0.9, 0.9, 0.2]), np.array([0.9, 0.2, 0.2])), epsilon=0.1)(
    rounded_after_too_little_noise=lambda x, rng: round(int((x > 0.5).sum()) + rng.laplace(0, 1)),
)

leaks(TABLES)(
    l1_of_one_column=lambda table, rng: np.clip(table, 0, 1).sum(axis=0) + rng.laplace(0, 0.5, 2),
)

leaks(BITS, epsilon=0.5)(
    scaled_standard_noise=lambda bits, rng: bits.sum() + (len(bits) / 2) * rng.standard_cauchy(),
)

leaks((np.full(330, 100), np.full(320, 100)[:320]))(
    sum_wraps_around=lambda x, rng: int(np.sum(x, dtype=np.int16)) + rng.laplace(0, 1000.0),
)

leaks(([1.7, 2.4], [1.7, 2.4, 0.9]), epsilon=0.5)(
    truncated_after_scaling=lambda x, rng: int(sum(round(value) for value in x) * 1.6) + rng.laplace(0, 1 / 0.5),
)

leaks((LONG, LONG[1:]))(
    empty_groups_are_masked=lambda x, rng: np.ma.masked_less(np.histogram(x, 4, (0, 1))[0], 1) + rng.laplace(0, 1, 4),
)


leaks(([3.0, 5.0], [4.0, 5.0]))(
    noisy_max_shows_the_value=lambda utilities, rng: float((np.array(utilities) + rng.laplace(0, 0.4, 2)).max()),
)

leaks((True, False))(
    response_told_too_often=lambda bit, rng: bit if (rng.random() < 0.9) else not bit,
)

leaks(ADDED, epsilon=0.475)(
    word_for_a_cast_number=lambda x, rng: "many" if float(len(x) + rng.laplace(0, 2)) > 5 else "few",
)


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


@leaks((np.array([0.4, 0.4, 0.9]), np.array([0.4, 0.4, 0.1])))
def early_return(x, rng):
    if x.max() < 0.5:  # flaw
        return 0.0  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)


@leaks(WORDS)
def histogram_of_seen_keys(words, rng):
    counts = Counter(words)  # flaw
    return {word: count + rng.laplace(0, 1) for word, count in counts.items()}  # flaw


@leaks((np.array([0, 1, 1, 2]), np.array([0, 1, 1])))
def drops_empty_groups(groups, rng):
    keys, counts = np.unique(groups, return_counts=True)  # flaw
    noisy = counts + rng.laplace(0, 1, len(counts))  # flaw
    return dict(zip(keys.tolist(), noisy.tolist(), strict=True))  # flaw


@leaks((np.array([3, 1]), np.array([2, 1])))
def one_draw_for_all_keys(counts, rng):
    noise = rng.laplace(0, 1)
    return [float(count + noise) for count in counts]  # flaw


@leaks((np.array([3, 1]), np.array([2, 1])))
def reseeded_for_each_key(counts):
    noisy = []
    for count in counts:
        own = np.random.default_rng(42)  # flaw
        noisy.append(count + own.laplace(0, 1))  # flaw
    return noisy


@leaks(ADDED)
def seed_from_the_data(x):
    rng = np.random.default_rng(int(x.sum() * 1000))  # flaw
    return np.clip(x, 0, 1).sum() + rng.laplace(0, 1)


@leaks(TABLES)
def covariance_without_clip(table, rng):
    products = table.T @ table
    return products + rng.laplace(0, 1, products.shape)  # flaw


@leaks(TABLES)
def regression_forgets_the_intercept(table, rng):
    data = np.column_stack([np.ones(len(table)), np.clip(table, 0, 1)])
    moments = data.T @ data
    scale = 1.0 / 1.0
    return moments + rng.laplace(0, scale, moments.shape)  # flaw


@leaks(CHANGED)
def variance_with_the_mean_unprotected(x, rng):
    centre = x.mean()  # flaw
    spread = np.clip((x - centre) ** 2, 0, 1).mean() + rng.laplace(0, 1 / len(x))
    return centre, spread  # flaw


@leaks(ADDED)
def gradient_over_the_real_batch(x, rng):
    gradients = np.clip(x, -1, 1)
    noisy = gradients.sum() + rng.laplace(0, 1.0)
    return noisy / max(1, len(gradients))  # flaw


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


@leaks(ADDED)
def iterations_follow_the_count(x, rng):
    total = 0.0
    for value in np.clip(x, 0, 1):
        total = total + value + rng.laplace(0, 0.3)  # flaw
    return total, len(x)  # flaw


@leaks(([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 9.0]))
def quantile_of_the_data_as_clip(x, rng):
    cap = float(np.quantile(x, 0.95))
    return np.clip(x, 0, cap).sum() + rng.laplace(0, cap)  # flaw


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


@leaks(ADDED)
def negative_noise_set_to_zero(x, rng):
    noise = rng.laplace(0, 1, 4)
    noise[noise < 0] = 0
    return np.histogram(x, 4, (0, 1))[0] + noise  # flaw


@leaks(ADDED)
def total_in_a_buffer(x, rng):
    buffer = io.StringIO()
    buffer.write(str(x.sum()))  # flaw
    return x.sum() + rng.laplace(0, 1), buffer  # flaw


@leaks(ADDED)
def fixed_seed_of_python(x):
    random.seed(1)  # flaw
    return len(x) + random.expovariate(1) - random.expovariate(1)


@leaks(ADDED)
def generator_of_a_fixed_seed_as_a_default(x, noise=np.random.default_rng(3)):  # noqa: B008 - the flaw
    return x.sum() + noise.laplace(0, 1)  # flaw


@leaks(COUNTS)
def order_and_count_of_the_largest(counts, rng):
    place = int(np.argmax(counts + rng.laplace(0, 2, 3)))
    return place, int(counts[place])  # flaw


@leaks(CHANGED)
def raw_where_noise_is_negative(x, rng):
    counts = np.histogram(x, 4, (0, 1))[0]
    noisy = counts + rng.laplace(0, 2, 4)
    return np.where(noisy > 0, noisy, counts)  # flaw


@leaks(ADDED)
def state_of_numpy_set(x):
    np.random.set_state(STATE)  # flaw
    return x.sum() + np.random.laplace(0, 1)


@leaks(ADDED)
def state_set_back_between_two_answers(x):
    state = np.random.get_state()
    total = x.sum() + np.random.laplace(0, 2)
    np.random.set_state(state)
    return total, 2 * len(x) + np.random.laplace(0, 2)  # flaw


@leaks(ADDED)
def copy_of_the_generator(x, rng):
    again = copy.deepcopy(rng)
    return x.sum() + rng.laplace(0, 2), 2 * len(x) + again.laplace(0, 2)  # flaw


@leaks(ADDED)
def message_of_an_error(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    raise ValueError(f"{noisy} is far from {x.sum()}")  # flaw


@leaks((np.array([3.0, 9.0, 4.0]), np.array([4.0, 10.0, 5.0])))
def bare_answer_above_a_noisy_threshold(answers):
    threshold = 8 + np.random.laplace(0, 2)
    for place, answer in enumerate(answers):
        if answer + np.random.laplace(0, 4) >= threshold:
            return place, float(answer)  # flaw
    return None


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


@leaks((np.array([1.0, 0.5, 0.2, 0.1]), np.array([0.0, 0.5, 0.2, 0.1])), claim=GaussianDP(1.0))
def sums_that_take_most_of_the_last_noise_out(x, rng):
    noise = rng.normal(0, 1, 4)  # flaw
    return x + noise - 0.9 * np.concatenate([[0.0], noise[:-1]])  # flaw


@leaks((np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.1]]), np.array([[0.2, 0.3, 0.1]])), claim=GaussianDP(1.1))
def common_noise_and_a_little_more_for_each(x, rng):
    common, own = rng.normal(0, 1), rng.normal(0, 0.1, 3)  # flaw
    return x.sum(axis=0) + (common + own)


@leaks(ADDED)
def noise_rounded_beside(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, round(noise, 6)  # flaw


@leaks(ADDED)
def size_beside_an_array(x, rng):
    answer = (np.array([len(x)]) + rng.laplace(0, 1, 1)).view(Tagged)
    answer.size_before = len(x)  # flaw
    return answer


@leaks(ADDED)
def size_beside_a_dict(x, rng):
    answer: Any = OrderedDict(n=len(x) + rng.laplace(0, 1))
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


@leaks((np.array([1.0, 3.0, 50.0]), np.array([1.0, 3.0])))
def bound_by_the_noisy_maximum(x, rng):
    upper = max(x.max() + rng.laplace(0, 2), 1.0)  # flaw
    return upper, np.clip(x, 0, upper).sum() + rng.laplace(0, 2 * upper)


@leaks(ADDED)
def one_seed_for_two_generators(x):
    seed = secrets.randbits(60)
    noise = [np.frombuffer(np.random.default_rng(seed).laplace(0, 400, 1).tobytes())[0] for _ in range(2)]
    return x[0] + noise[0], len(x) + noise[1]  # flaw


@leaks(FAR, epsilon=15.0)
def clipped_at_one_end_after_noise_that_follows_the_count(x, rng):
    noisy = x.mean() + rng.laplace(0, 100 / len(x))  # flaw
    return max(noisy, 0.0)


@leaks((np.eye(3), np.eye(3)[:2]), claim=GaussianDP(0.9))
def sums_cost_too_much_beside_their_direction(x, rng):
    noisy = x.sum(axis=0) + rng.normal(0, 1, 3)  # flaw
    return {"direction": (noisy / np.linalg.norm(noisy)).tolist(), "sums": noisy.tolist()}


@leaks(ADDED, epsilon=1.0, delta=1e-5)
@leaks(ADDED)
def whether_the_noise_was_large(x, rng):
    noisy = x.sum() + rng.laplace(0, 1)
    return noisy, abs(float(noisy) - x.sum()) > 0.5  # flaw


@leaks(ADDED)
def raw_beside_if_the_noisy_count_is_small(x, rng):
    count = len(x) + rng.laplace(0, 2)
    return (count, len(x)) if count < -4 else (count, None)  # flaw


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
def size_of_the_noise_beside(x, rng):
    noise = rng.laplace(0, 1)
    return x.sum() + noise, abs(noise)


@leaks(ADDED)
def raw_by_a_rare_coin(x, rng):
    if rng.random() < 0.01:
        return x.sum()
    return x.sum() + rng.laplace(0, 1)


@leaks(ADDED)
def raw_if_the_noisy_count_is_large(x, rng):
    count = len(x) + rng.laplace(0, 2)
    return x.sum() if count > 12 else count


@leaks(ADDED, epsilon=0.5)
def other_sum_by_a_rare_coin(x, rng):
    total = x.sum() if rng.random() < 0.01 else 3.0
    return total + rng.laplace(0, 0.1)


@leaks(ADDED)
def function_that_holds_the_sum(x, rng):
    total = x.sum()
    return {"count": len(x) + rng.laplace(0, 1), "query": lambda: total}


@leaks(ADDED)
def deep_in_objects(x, rng):
    held = x.sum()
    for _ in range(12):
        held = Holder(held)
    return len(x) + rng.laplace(0, 1), held


@leaks(ADDED)
def a_count_cut_at_twice_the_true_one(x, rng):
    noisy = len(x) + rng.laplace(0, 1)
    if noisy > 2 * len(x):
        noisy = 2 * len(x)
    return int(noisy)


@leaks(ADDED)
def size_as_the_value_of_missing_keys(x, rng):
    size = len(x)
    return defaultdict(lambda: size, n=size + rng.laplace(0, 1))


@leaks(ADDED)
def rounded_threshold_beside_what_it_decides(x, rng):
    threshold = 3 + rng.laplace(0, 4)
    return [bool(len(x) + rng.laplace(0, 4) > threshold) for _ in range(6)], round(threshold, 2)


@leaks((np.array([1]), np.array([0])), epsilon=1.1)
def coin_beside_its_digits(bit, rng):
    share = rng.random()
    return int(bit[0]) if share < 0.731 else 1 - int(bit[0]), int(share * 10)


@leaks(ADDED, claim=GaussianDP(0.2))
def largest_of_seventy_draws_rounded_beside_their_total(x, rng):
    noise = [rng.normal(0, 8)] + [rng.normal(0, 0.1) for _ in range(69)]
    return round(len(x) + sum(noise), 2), round(noise[0], 2)
