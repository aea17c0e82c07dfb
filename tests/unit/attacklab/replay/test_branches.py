"""Numbers that noise chooses to show lose what their path and they lose together: exact losses, by integrals here."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from attacklab.model.findings import Verdict
from attacklab.replay import replay

COUNTS, OTHERS = [3, 5, 4], [2, 4, 5]
FIVE, FOUR = [1.0] * 5, [1.0] * 4
PATHS = list(itertools.permutations(range(3), 2))

Row = tuple[Callable[..., Any], float, Any, Any]
ROWS: list[Row] = []


def row(loss: float, first: Any = COUNTS, second: Any = OTHERS) -> Callable[[Any], Any]:
    """Put a pipeline into the table, with its exact loss on a pair."""

    def put(function: Any) -> Any:
        ROWS.append((function, loss, first, second))
        return function

    return put


def integral(density: Callable[[float], float], kinks: Sequence[float]) -> float:
    ends = [min(kinks) - 80.0, *sorted({*map(float, kinks)}), max(kinks) + 80.0]
    return math.fsum(integrate.quad(density, *both, epsrel=1e-11)[0] for both in itertools.pairwise(ends))


def largest(values: Sequence[float], place: int, scale: float) -> float:
    """P[the value at a place is the largest under Laplace noise]."""
    others = [value for at, value in enumerate(values) if at != place]
    law = stats.laplace
    return integral(
        lambda t: law.pdf(t, values[place], scale) * math.prod(law.cdf(t, one, scale) for one in others), values
    )


def stops(values: Sequence[float], place: int) -> float:
    """P[a sparse vector of threshold 5 stops at a place]; at none, if that is how many values there are."""
    law = stats.laplace

    def density(t: float) -> float:
        above = law.sf(t, values[place], 4) if place < len(values) else 1.0
        return float(law.pdf(t, 5, 2) * math.prod(law.cdf(t, one, 4) for one in values[:place]) * above)

    return integral(density, [5, *values])


def in_turn(values: Sequence[float], path: Sequence[int], chance: Callable[[Sequence[float], int], float]) -> float:
    """P[a path of places], each chosen among those that are left."""
    left, total = list(range(len(values))), 1.0
    for place in path:
        total *= chance([values[one] for one in left], left.index(place))
        left.remove(place)
    return total


def exponential(values: Sequence[float], place: int) -> float:
    weights = np.exp(0.5 * np.array(values))
    return float(weights[place] / weights.sum())


def apart(first: float, second: float) -> float:
    return abs(math.log(first / second))


def moved(path: Sequence[int]) -> int:
    return sum(COUNTS[place] != OTHERS[place] for place in path)


@row(max(apart(stops(COUNTS, at), stops(OTHERS, at)) + (1.0 if at < 3 else 0.0) for at in range(4)))
def sparse_vector_shows_the_value(counts: Any) -> Any:
    threshold = 5 + np.random.laplace(0, 2)
    for place, count in enumerate(counts):
        if count + np.random.laplace(0, 4) >= threshold:
            return place, count + np.random.laplace(0, 1)
    return None


@row(max(apart(largest(COUNTS, at, 2), largest(OTHERS, at, 2)) + 1 for at in range(3)))
def count_of_the_winner(counts: Any) -> Any:
    counts = np.array(counts, float)
    best = int(np.argmax(counts + np.random.laplace(0, 2, 3)))
    return best, counts[best] + np.random.laplace(0, 1)


@row(max(apart(largest(COUNTS, at, 2), largest([2, 5, 4], at, 2)) + (at == 0) for at in range(3)), second=[2, 5, 4])
def count_of_the_winner_which_few_are(counts: Any) -> Any:
    counts = np.array(counts, float)
    best = int(np.argmax(counts + np.random.laplace(0, 2, 3)))
    return best, counts[best] + np.random.laplace(0, 1)


ABOVE = stats.laplace.sf(4, 5, 2), stats.laplace.sf(4, 4, 2)


@row(max(apart(*ABOVE) + 1, apart(1 - ABOVE[0], 1 - ABOVE[1])), FIVE, FOUR)
def count_above_a_threshold(rows: Any) -> Any:
    count = len(rows)
    return count + np.random.laplace(0, 1) if count + np.random.laplace(0, 2) > 4 else None


@row(max(apart(*ABOVE) + 0.5, apart(1 - ABOVE[0], 1 - ABOVE[1]) + 1), FIVE, FOUR)
def scale_that_noise_chooses(rows: Any) -> Any:
    count = len(rows)
    scale = 2.0 if count + np.random.laplace(0, 2) > 4 else 1.0
    return scale, count + np.random.laplace(0, scale)


PEELED = [[in_turn(side, path, lambda of, at: largest(of, at, 4)) for path in PATHS] for side in (COUNTS, OTHERS)]
WEIGHED = [[in_turn(side, path, exponential) for path in PATHS] for side in (COUNTS, OTHERS)]


@row(max(map(apart, *PEELED)))
def peeled(counts: Any) -> Any:
    left, best = dict(enumerate(counts)), []
    for _ in range(2):
        noisy = {key: count + np.random.laplace(0, 4) for key, count in left.items()}
        best.append(max(noisy, key=lambda key: noisy[key]))
        del left[best[-1]]
    return best


@row(max(apart(*odds) + moved(path) / 2 for path, *odds in zip(PATHS, *PEELED, strict=True)))
def peeled_with_counts(counts: Any) -> Any:
    left, best = dict(enumerate(counts)), []
    for _ in range(2):
        noisy = {key: count + np.random.laplace(0, 4) for key, count in left.items()}
        key = max(noisy, key=noisy.get)
        best.append((key, left.pop(key) + np.random.laplace(0, 2)))
    return best


@row(max(apart(*odds) + moved(path) / 2 for path, *odds in zip(PATHS, *WEIGHED, strict=True)))
def exponential_mechanism_without_replacement(counts: Any) -> Any:
    left, best = list(range(len(counts))), []
    for _ in range(2):
        weights = np.exp(0.5 * np.array([counts[key] for key in left]))
        key = left.pop(int(np.random.choice(len(left), p=weights / weights.sum())))
        best.append((key, counts[key] + np.random.laplace(0, 2)))
    return best


def flipped(values: Sequence[float], place: int) -> float:
    """P[permute and flip gives a place], order by order (McKenna and Sheldon 2020, algorithm 1)."""
    coins, total = np.exp(0.5 * (np.array(values) - max(values))), 0.0
    for order in itertools.permutations(range(len(values))):
        before = order[: order.index(place)]
        total += coins[place] * math.prod(1 - coins[list(before)]) / math.factorial(len(values))
    return float(total)


FLIPPED = [[flipped(side, place) for place in range(3)] for side in (COUNTS, OTHERS)]


@row(max(map(apart, *FLIPPED)))
def permute_and_flip(counts: Any) -> Any:
    order = list(range(len(counts)))
    random.shuffle(order)
    for place in order:
        if random.random() <= math.exp(0.5 * (counts[place] - max(counts))):
            return place
    return None


@row(max(map(apart, *FLIPPED)))
def flip_one_that_is_left(counts: Any) -> Any:
    left, best = [*range(len(counts))], max(counts)
    while True:
        place = left.pop(np.random.randint(len(left)))
        if np.random.random() <= np.exp(0.5 * (counts[place] - best)):
            return place


@row(max(map(apart, *WEIGHED)))
def several_with_weights_in_one_call(counts: Any) -> Any:
    weights = np.exp(0.5 * np.array(counts))
    return np.random.choice(3, size=2, replace=False, p=weights / weights.sum()).tolist()


@row(math.log1p(0.1 * math.expm1(10)), [0.2, 0.9, 0.4, 1.0], [0.2, 0.9, 0.4])  # (Balle and others 2018, theorem 9)
def sum_of_a_sample(values: Any) -> Any:
    values = np.array(values)
    return values[np.random.random(len(values)) < 0.1].sum() + np.random.laplace(0, 0.1)


@row(3 * math.log(3), [1], [0])
def several_answers_in_one_call(bits: Any) -> Any:
    return "".join(random.choices("ny", cum_weights=[0.75 - 0.5 * bits[0], 1.0], k=3))


@pytest.mark.parametrize(("share", "verdict"), [(0.95, Verdict.VIOLATED), (1.05, Verdict.NOT_DETECTED)])
@pytest.mark.parametrize("case", ROWS, ids=lambda case: case[0].__name__)
def test_a_path_and_its_numbers_lose_together(case: Row, share: float, verdict: Verdict) -> None:
    release, loss, first, second = case
    assert {one.verdict for one in replay(release, [(first, second)], epsilon=share * loss)} == {verdict}


def test_many_choices_with_weights_in_one_call_are_named_and_pass_where_the_weights_are_the_same() -> None:
    def release(bits: Any, by: float) -> int:
        return int(np.random.choice(2, size=300, p=[0.5 - by * bits[0], 0.5 + by * bits[0]]).sum())

    (finding,) = replay(lambda bits: release(bits, 0.1), [([1], [0])], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "chooses by noise in a way that has no law here" in finding.reason
    assert replay(lambda bits: release(bits, 0.0), [([1], [0])], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


def test_the_largest_but_one_of_the_same_noisy_values_is_named_unless_the_noise_is_gumbel_noise() -> None:
    def release(counts: Any, draw: Any) -> Any:
        noisy = np.array(counts) + draw(0, 4, 3)
        first = int(noisy.argmax())
        left = [place for place in range(3) if place != first]
        return first, left[int(noisy[left].argmax())]

    (finding,) = replay(lambda counts: release(counts, np.random.laplace), [(COUNTS, OTHERS)], epsilon=1.0)
    assert finding.verdict is Verdict.INCONCLUSIVE
    loss = max(apart(*(in_turn(side, path, softmax) for side in (COUNTS, OTHERS))) for path in PATHS)
    for share in (0.9, 1.1):
        (finding,) = replay(lambda counts: release(counts, np.random.gumbel), [(COUNTS, OTHERS)], epsilon=share * loss)
        assert finding.refutes == (share < 1)


def softmax(values: Sequence[float], place: int) -> float:
    weights = np.exp(np.array(values) / 4)
    return float(weights[place] / weights.sum())


def test_a_path_that_is_rare_loses_as_much_of_delta_as_it_is_probable() -> None:
    def release(rows: Any) -> Any:
        count = len(rows)
        return count + np.random.normal(0, 1) if count + np.random.normal(0, 1) > 4 else None

    odds = stats.norm.sf(4, 3), stats.norm.sf(4, 2)
    at = 1.0 - math.log(odds[0] / odds[1])
    number = stats.norm.cdf(0.5 - at) - math.exp(at) * stats.norm.cdf(-0.5 - at)  # (Balle and Wang 2018, theorem 8)
    pair = [1.0] * 3, [1.0] * 2
    assert replay(release, [pair], epsilon=1.0, delta=0.95 * odds[0] * number)[0].verdict is Verdict.VIOLATED
    assert not replay(release, [pair], epsilon=1.0, delta=1.05 * odds[0] * number)[0].refutes
