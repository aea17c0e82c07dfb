"""Whether measured times of two classes differ: Welch's t-test at many percentile crops.

Times have long tails, from interrupts and other processes, which hide a small difference of means. So times above a
percentile of both classes together are left out, at many percentiles, and each crop is tested. The p-value is the
smallest of all, times their number.

A small p-value says that the time depends on the class; it says nothing about ε. A large one says that the means differ
by no more than the noise of this machine in so many trials. The classes must be drawn in turns
(`observed_work.interleaved`), or the test finds whatever slowed the machine down in between.

Source: Reparaz, Balasch and Verbauwhede 2017, 'Dude, is my code constant time?', section II (percentile cropping,
Welch's test). They compare t with 4.5 at each crop; here the p-value pays for all crops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

CROPS = tuple(1 - 0.5 ** (step / 4) for step in range(1, 41))
"""The percentiles above which times are left out, up to 0.999 and closer together towards the top."""

FEWEST = 30
"""How many times of each class must be left for means to be nearly normal."""


@dataclass(frozen=True, slots=True)
class TimingTest:
    """What the test found.

    Attributes:
        t: Welch's statistic at the most significant crop; greater than 0 if the first class takes longer.
        crop: the share of both classes' times that was kept there.
        p_value: two-sided, corrected for the number of crops.
    """

    t: float
    crop: float
    p_value: float


def timing_test(first: ArrayLike, second: ArrayLike) -> TimingTest:
    """Compare the times of two classes.

    Args:
        first: times of one class, shape (n,), in any unit.
        second: times of the other class, shape (m,), in the same unit.

    Raises:
        ValueError: a class has fewer than 30 times.
    """
    left, right = (np.asarray(times, dtype=np.float64) for times in (first, second))
    if min(left.size, right.size) < FEWEST:
        raise ValueError(f"each class needs at least {FEWEST} times, not {left.size} and {right.size}")
    thresholds = np.quantile(np.concatenate([left, right]), (*CROPS, 1.0))
    tests = []
    for crop, threshold in zip((*CROPS, 1.0), thresholds, strict=True):
        kept, others = left[left <= threshold], right[right <= threshold]
        if min(kept.size, others.size) >= FEWEST:
            tests.append(TimingTest(*_welch(kept, others, crop)))
    best = min(tests, key=lambda test: (test.p_value, -abs(test.t)))
    return TimingTest(best.t, best.crop, min(1.0, len(tests) * best.p_value))


def _welch(first: np.ndarray, second: np.ndarray, crop: float) -> tuple[float, float, float]:
    """t, the crop and the p-value of one test; constant times differ with certainty or not at all."""
    if first.var() == 0 and second.var() == 0:
        differs = bool(first[0] != second[0])
        return float(np.sign(first[0] - second[0])) * (np.inf if differs else 0.0), crop, 0.0 if differs else 1.0
    test = scipy.stats.ttest_ind(first, second, equal_var=False)
    return float(test.statistic), crop, float(test.pvalue)
