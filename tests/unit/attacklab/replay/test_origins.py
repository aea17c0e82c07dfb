"""A finding names the lines that it comes from: where the runs part, where a change grows, where a scale is set."""

from __future__ import annotations

import inspect
import linecache
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import Finding, Verdict
from attacklab.replay import replay

HALF = 1.0 / 2  # origin of module_scale
FOUR, THREE = np.array([0.2, 0.9, 0.4, 0.8]), np.array([0.2, 0.9, 0.4])
GAPS = np.array([1.0, np.nan, np.nan, 5.0, 90.0])
NAMED = re.compile(r"test_origins\.py:(\d+)")


def _said(function: Callable[..., Any], first: Any, second: Any) -> tuple[Finding, set[int]]:
    """The worst finding, and the lines that its words name after what was measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some divide by zero, which is what is wrong with them
        worst = replay(function, [(first, second)], epsilon=1.0)[0]
    _, *added = worst.reason.split("; ")
    return worst, {int(line) for words in added for line in NAMED.findall(words)}


def _marked(function: Callable[..., Any]) -> set[int]:
    """The lines that say in a comment that they are an origin of what a function does wrong."""
    lines = linecache.getlines(__file__)
    text, start = inspect.getsourcelines(function)
    own = {start + place for place, line in enumerate(text) if line.rstrip().endswith("# origin")}
    return own | {place for place, line in enumerate(lines, 1) if line.endswith(f"# origin of {function.__name__}\n")}


def share_is_set_once_and_spent_three_times(x, rng, epsilon=1.0):
    share = epsilon / 2  # origin
    x = np.clip(x, 0, 1)
    return x.sum() + rng.laplace(0, 1 / share), len(x) + rng.laplace(0, 1 / share), rng.laplace(len(x), 1 / share)


def scale_by_a_share(x, rng, epsilon=1.0):
    share = 2 * epsilon  # origin
    scale = 1 / share  # origin
    if share > 100:
        scale = 0.0
    noise = rng.laplace(0, scale)
    return len(x) + noise


def scale_of_the_data(x, rng):
    share = 0.5
    low, high = x.min(), x.max()  # origin
    width = high - low  # origin
    return np.clip(x, low, high).sum() + rng.laplace(0, width / share)


def scale_of_the_sorted_data(x, rng):
    x = np.sort(x)
    width = x[-1] - x[0]  # origin
    return np.clip(x, 0, 1).sum() + rng.laplace(0, width)


def scale_by_its_name(x, rng):
    centre = 0.0
    width = 0.5  # origin
    return len(x) + rng.laplace(centre, scale=width)


def factor_of_standard_noise(x, rng):
    size = 2
    sigma = 0.25  # origin
    return np.clip(x, 0, 1).sum() + sigma * rng.standard_normal(size)


def two_exponentials(x):
    rate = 4.0  # origin
    one = random.expovariate(rate)  # origin
    other = random.expovariate(rate)  # origin
    return len(x) + (one - other)


def module_scale(x, rng):
    return len(x) + rng.laplace(0, HALF)


def keeps_too_often(x, rng):
    keep = 0.9  # origin
    return [int(v > 0.5) if rng.random() < keep else int(v <= 0.5) for v in x]


def weights_without_the_half(x, rng):
    scores = np.bincount((4 * x).astype(int), minlength=4)  # origin
    weights = np.exp(2 * scores)  # origin
    return int(rng.choice(4, p=weights / weights.sum()))


def _noisy(value, scale):
    return value + np.random.laplace(0, scale)


def helper_is_given_the_scale(x, epsilon=1.0):
    first = _noisy(len(x), 1 / epsilon)  # origin
    return first, _noisy(np.clip(x, 0, 1).sum(), 1 / epsilon)


def helper_is_given_a_variable(x, epsilon=1.0):
    share = epsilon * 1.2  # origin
    scale = 1 / share  # origin
    return _noisy(len(x), scale)


def helper_has_the_name_of_another_variable(x):
    width = 0.5  # origin
    scale = 100.0

    def noised(value, scale):
        return value + np.random.laplace(0, scale)

    return noised(len(x), width) * scale


def _noise(scale):
    return np.random.laplace(0, scale)


def second_call_of_a_helper(x):
    wide = 100.0
    narrow = 0.5  # origin
    first = len(x) + _noise(wide)
    second = len(x) + _noise(narrow)
    return first, second


def helper_in_the_function(x, epsilon=1.0):
    sigma = 0.7 / epsilon  # origin

    def noised(value):
        return value + np.random.laplace(0, sigma)

    return noised(len(x))


def helper_that_calls_itself(x, epsilon=1.0):
    def summed(values, scale):
        if values:
            return summed(values[1:], scale)
        return np.random.laplace(0, scale)

    width = 0.5 / epsilon  # origin
    return len(x) + summed([1, 2], width)


def raw_total_in_a_log(x, rng):
    log = []
    total = x.sum()  # origin
    log.append(total)  # flaw
    return log, rng.laplace(0, 1)


class Moments:
    def __init__(self, epsilon):
        self.epsilon = epsilon
        self.scale = 1 / self.epsilon  # origin of fits

    def fit(self, x):
        total = np.clip(x, 0, 1).sum()
        self.total_ = self._noisy(total)
        self.count_ = self._noisy(len(x))
        return self.total_, self.count_

    def _noisy(self, value):
        return value + np.random.laplace(0, self.scale)


def fits(x):
    return Moments(1.0).fit(x)


def wider_for_few(x, rng):
    if len(x) > 3:  # flaw
        noise = rng.laplace(0, 1)  # origin
        kind = "many"
    else:
        noise = rng.laplace(0, 2)
        kind = "few"
    return len(x) + noise + len(kind) * 0


def scale_for_few(x, rng):
    scale = 1.0
    if len(x) < 4:  # flaw
        scale = 2.0  # origin
    return len(x) + rng.laplace(0, scale)


def nothing_for_few(x, rng):
    if len(x) < 4:  # flaw
        return None  # origin
    return len(x) + rng.laplace(0, 1)


def stops_at_a_raw_total(x, rng):
    out = []
    for k in range(4):
        out.append(rng.laplace(x.sum(), 8.0))  # origin
        if x.sum() < k:  # flaw
            break
    return out


def goes_on_while_data_last(x, rng):
    out = []
    left = len(x)
    while left > 2:  # flaw
        out.append(rng.laplace(0, 1))  # origin
        left -= 1
    return out


def helper_says_whether(x, rng):
    def is_large():
        return len(x) > 3

    if is_large():  # flaw
        return rng.laplace(0, 1)
    return rng.laplace(0, 3)


def helper_draws_for_many(x, rng):
    def is_large():
        return len(x) > 3

    def wide():
        return rng.laplace(0, 1)

    noise = wide() if is_large() else rng.laplace(0, 3)  # origin
    return len(x) + noise


def another_branch_comes_first(x, rng):
    def doubled(value):
        return 2 * value

    size = 1
    if len(x) > 3:
        size = doubled(size)
    if x.sum() > 2:  # flaw
        return rng.laplace(0, 1)
    return rng.laplace(0, 3)


def raw_value_for_few(x, rng):
    out = x.sum() / 2  # origin
    if len(x) < 4:  # flaw
        return out
    return out + rng.laplace(0, 1)


def catches_what_is_not_there(x, rng):
    try:
        last = x[3]  # origin
    except IndexError:  # origin
        return 0.25  # flaw
    return min(max(last, 0), 1) + rng.laplace(0, 1)


def loops_over_keys_of_the_data(x, rng):
    out = {}
    for key in sorted(set((4 * x).astype(int).tolist())):  # origin
        out[key] = int((4 * x).astype(int).tolist().count(key)) + rng.laplace(0, 1)  # flaw
    return out


def largest_by_raw_counts(x, rng):
    counts = np.bincount((4 * x).astype(int), minlength=4).tolist()
    top = {key: counts[key] for key in sorted(range(4), key=lambda key: -counts[key])[:2]}  # origin
    out = {}
    for key, count in top.items():
        out[key] = count + rng.laplace(0, 1)  # flaw
    return out


def divided_by_the_largest(x, rng):
    x = x / x.max()  # origin
    x = np.clip(x, 0, 1)
    return x.sum() + rng.laplace(0, 0.5)  # flaw


def filled_by_the_mean(x, rng):
    mean = np.nanmean(x)
    filled = np.where(np.isnan(x), mean, x)  # origin
    total = np.clip(filled, 0, 100).sum()  # origin
    return total + rng.laplace(0, 100)  # flaw


def joined_three_times(x, rng):
    rows = [(a, b) for a in x for b in range(3)]  # origin
    total = sum(min(max(a, 0), 1) for a, _ in rows)  # origin
    return total + rng.laplace(0, 1)  # flaw


def total_of_what_is_not_clipped(x, rng):
    x = np.asarray(x, dtype=float)
    total = x.sum()  # origin
    return total + rng.laplace(0, 1)  # flaw


def rounded_to_tens(x, rng):
    total = np.clip(x, 0, 1).sum()
    total = 10 * np.floor(total)  # origin
    return total + rng.laplace(0, 1)  # flaw


def divided_by_no_deviation(x, rng):
    scores = (x - x.mean()) / x.std()  # origin
    value = scores.max()
    return value + rng.laplace(0, 1)  # flaw


TELLS: list[tuple[Callable[..., Any], Any, Any]] = [
    *((function, FOUR, THREE) for function in (share_is_set_once_and_spent_three_times, scale_by_a_share)),
    *((function, FOUR, THREE) for function in (scale_by_its_name, second_call_of_a_helper)),
    (helper_has_the_name_of_another_variable, FOUR, THREE),
    *((function, FOUR, THREE) for function in (helper_draws_for_many, another_branch_comes_first, raw_value_for_few)),
    (total_of_what_is_not_clipped, FOUR, np.array([0.2, 0.9, 0.4, 7.0])),
    *((function, FOUR, FOUR[1:]) for function in (scale_of_the_data, scale_of_the_sorted_data)),
    *((function, FOUR, THREE) for function in (factor_of_standard_noise, two_exponentials, module_scale)),
    (keeps_too_often, FOUR, np.array([0.2, 0.9, 0.4, 0.3])),
    (weights_without_the_half, FOUR, np.array([0.2, 0.9, 0.4, 0.3])),
    *((function, FOUR, THREE) for function in (helper_is_given_the_scale, helper_is_given_a_variable, fits)),
    *((function, FOUR, THREE) for function in (helper_in_the_function, helper_that_calls_itself)),
    (raw_total_in_a_log, FOUR, THREE),
    *((function, FOUR, THREE) for function in (wider_for_few, scale_for_few, nothing_for_few)),
    (stops_at_a_raw_total, np.array([0.1, 0.1, 1.0]), np.array([0.1, 0.1, 0.0])),
    *((function, FOUR, THREE) for function in (goes_on_while_data_last, helper_says_whether)),
    (catches_what_is_not_there, FOUR, THREE),
    (loops_over_keys_of_the_data, np.array([0.2, 0.4, 0.9]), np.array([0.2, 0.4])),
    (largest_by_raw_counts, np.array([0.1, 0.1, 0.3, 0.6]), np.array([0.1, 0.1, 0.6, 0.6])),
    (divided_by_the_largest, np.array([1.0, 1.0, 1.0, 100.0]), np.array([1.0, 1.0, 1.0])),
    (filled_by_the_mean, GAPS, GAPS[:-1]),
    *((function, FOUR, THREE) for function in (joined_three_times, rounded_to_tens)),
    (divided_by_no_deviation, np.array([0.5, 0.5, 0.6]), np.array([0.5, 0.5])),
]


@pytest.mark.parametrize("row", TELLS, ids=lambda row: row[0].__name__)
def test_the_words_name_the_lines_that_a_flaw_comes_from_and_no_others(
    row: tuple[Callable[..., Any], Any, Any],
) -> None:
    worst, named = _said(*row)
    assert worst.verdict is Verdict.VIOLATED
    assert worst.witness is not None
    assert named == _marked(row[0])
    if "# flaw" in inspect.getsource(row[0]):
        assert worst.witness.source.endswith("# flaw")


def in_one_line(x, rng):
    return x.sum() + rng.laplace(0, 0.5)


def rows_go_other_ways(x, rng):
    total = 0.0
    for value in x:
        if value > 0.5:
            total += value
    return total + rng.laplace(0, 0.5)


def noise_decides(x, rng):
    if len(x) + rng.laplace(0, 0.5) > 3:
        return "many"
    return "few"


def scale_of_a_signature(x, rng, scale=0.5):
    return len(x) + rng.laplace(0, scale)


def private_size_divides(x, rng):
    scale = 100.0
    total = x.sum() + rng.laplace(0, scale)
    return total / len(x)


class Unsure:
    def __init__(self):
        self.scale = 1.0

    def narrow(self):
        self.scale = 0.5
        return self

    def count(self, x):
        return len(x) + np.random.laplace(0, self.scale)


UNSURE = Unsure().narrow()


def scale_is_set_in_two_methods(x):
    return UNSURE.count(x)


def raw_count_of_a_generator(x):
    return sum(1 for _ in x)


def histogram(x, rng):
    counts = np.bincount(x, minlength=4)
    return counts + rng.laplace(0, 0.5, 4)


QUIET: list[tuple[Callable[..., Any], Any, Any]] = [
    *((function, FOUR, THREE) for function in (in_one_line, rows_go_other_ways, noise_decides, scale_of_a_signature)),
    *((function, FOUR, THREE) for function in (private_size_divides, scale_is_set_in_two_methods)),
    (raw_count_of_a_generator, FOUR, THREE),
    (histogram, np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])),
]


@pytest.mark.parametrize("row", QUIET, ids=lambda row: row[0].__name__)
def test_nothing_is_added_where_the_witness_says_it_all(row: tuple[Callable[..., Any], Any, Any]) -> None:
    worst, _ = _said(*row)
    assert worst.verdict is Verdict.VIOLATED
    assert ";" not in worst.reason.removesuffix("; not counted")


def test_a_fixed_seed_is_named_alone() -> None:
    def seeded(x):
        scale = 1.0
        return len(x) + np.random.default_rng(7).laplace(0, scale)

    worst, named = _said(seeded, FOUR, THREE)
    assert "seeded with 7" in worst.reason
    assert {worst.witness.line} >= named if worst.witness else False


def test_the_reason_shows_each_line_as_it_stands_but_for_what_is_too_long() -> None:
    worst, _ = _said(joined_three_times, FOUR, THREE)
    assert "a record changes 3 of 12 values of rows from " in worst.reason
    assert " (rows = [(a, b) for a in x for b in range(3)]); total moves so far from " in worst.reason
    assert " (total = sum((min(max(a, 0), 1) for a, _ in rows)))" in worst.reason
    worst, _ = _said(scale_by_a_share, FOUR, THREE)
    assert re.search(r"; its scale is set at \S+ \(scale = 1 / share\) and \S+ \(share = 2 \* epsilon\)$", worst.reason)
    worst, _ = _said(nothing_for_few, FOUR, THREE)
    assert "; here the runs part (if len(x) < 4:), before " in worst.reason
