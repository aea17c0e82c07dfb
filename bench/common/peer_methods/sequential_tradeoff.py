"""A sequential test of a trade-off curve: a tuned classifier's two error rates, looked at whenever outputs double.

A likelihood-ratio classifier is fitted and its threshold tuned on learning outputs, to where its errors lie farthest
below the curve that the claim allows. Its errors on fresh outputs are then bounded after 1,000 outputs, 2,000, 4,000,
and so on, the k-th look with the share 1/(k(k+1)) of α, so that all looks hold together. The bound is the largest ε
whose curve some look excludes.

In small form: the classifier is the logistic regression here, one of several in the paper.

Source: Kutta, Dunsche, Wei and Zikas 2026, 'Sequential Auditing for f-Differential Privacy' (arXiv 2602.06518).
"""

from __future__ import annotations

import math

import numpy as np

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.floats import Doubles
from bench.common.peer_methods.logistic import FITTED_ON, fitted
from bench.common.peer_methods.outputs import Drawn

FIRST_LOOK = 1000
QUANTILES = np.concatenate([np.arange(1, 40) / 40, 2.0 ** -np.arange(6, 10), 1 - 2.0 ** -np.arange(6, 10)])
DOUBT = 2.0
"""How many standard errors a threshold's ε is discounted by when it is tuned."""


def sequential_tradeoff(drawn: Drawn, alpha: float, _rng: np.random.Generator) -> float:
    """A lower bound on ε.

    Args:
        drawn: the outputs.
        alpha: the probability that the bound is too large.
    """
    used = min(FITTED_ON, len(drawn.learning[0]) // 2)
    model = fitted(*(side[:used] for side in drawn.learning))
    threshold, of_second, complement = _tuned(*(model(side[used:]) for side in drawn.learning))
    held = [(model(side) > threshold) != complement for side in drawn.judging]
    more, less = held[::-1] if of_second else held
    best, looks, trials = 0.0, 1, FIRST_LOOK
    while trials <= len(more):
        share = alpha / (looks * (looks + 1))
        lower, _ = clopper_pearson(int(more[:trials].sum()), trials, share)
        _, upper = clopper_pearson(int(less[:trials].sum()), trials, share)
        best = max(best, math.log(lower / upper)) if lower > 0 else best
        looks, trials = looks + 1, len(more) if trials < len(more) < 2 * trials else 2 * trials
    return best


def _tuned(first: Doubles, second: Doubles) -> tuple[float, bool, bool]:
    """The threshold, whether the second input is the one that shows the event more, and whether it is below it."""
    ends = np.unique(np.quantile(np.concatenate([first, second]), QUANTILES, method="lower"))
    rates = [1 - np.searchsorted(np.sort(side), ends, "right") / len(side) for side in (first, second)]
    best = (-math.inf, 0.0, False, False)
    for of_second in (False, True):
        for complement in (False, True):
            pair = [(1 - rate if complement else rate) + 0.5 / len(first) for rate in rates]
            more, less = pair[::-1] if of_second else pair
            shown = np.log(more / less) - DOUBT * np.sqrt((1 / more + 1 / less) / len(first))
            place = int(np.argmax(shown))
            best = max(best, (float(shown[place]), float(ends[place]), of_second, complement))
    return best[1:]
