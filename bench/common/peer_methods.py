"""Black-box methods by others, written anew in small form, so that all can be given the same outputs.

Each takes outputs, α and a generator, and gives a lower bound on ε that is too large with probability at most α.

*DP-Sniper* (Bichsel, Steffen, Bogunovic and Vechev 2021, sections 4 and 5, algorithm 1, c = 0.01, lemma 1): the event
that a logistic regression's posterior exceeds a threshold, which outputs at the threshold join with a probability q, so
that it has probability c under the input that shows it less. The authors fit by stochastic gradient descent; here the
likelihood is maximised. *StatDP* (Ding, Wang, Wang, Zhang and Kifer 2018, sections 4 and 5): events on simple
statistics of an output; a claim ε is tested by keeping each hit of the first input with probability e^−ε, and Fisher's
exact test says how likely more than the second input's would be. *Kernel betting* (González, Dulce-Rubio, Ramdas and
Ribero 2025, 'Sequentially Auditing Differential Privacy'): a pair's distance in the kernel's space is at most
√2·tanh(ε/2); a bettor stakes a share of its wealth on f(X) − f(Y) − √2·tanh(ε/2), f a witness of norm 1, and wealth
exceeds 1/α with probability at most α (Ville). Here f is fitted once, and wealth is a mean over stakes. *Sequential
trade-off* (Kutta, Dunsche, Wei and Zikas 2026, 'Sequential Auditing for f-Differential Privacy'): a tuned classifier's
error rates, looked at whenever outputs double, the k-th look with the share 1/(k(k+1)) of α.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs
from bench.common.peer_mechanisms import NOT_ABOVE, NOTHING, STOPPED

Release = Callable[[Doubles, int, np.random.Generator], Outputs]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Outputs of both inputs of a pair: to find an event from, and to be looked at once by what was found."""

    learning: tuple[Outputs, Outputs]
    judging: tuple[Outputs, Outputs]


class Recorder:
    """A release that remembers its outputs by input, and how long it took to draw them."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._outputs: dict[bytes, list[Outputs]] = {}
        self._last: dict[bytes, None] = {}
        self.seconds = 0.0

    def __call__(self, answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
        """As the release itself."""
        started = time.perf_counter()
        outputs = self._release(answers, trials, rng)
        self.seconds += time.perf_counter() - started
        key = np.asarray(answers, dtype=np.float64).tobytes()
        self._outputs.setdefault(key, []).append(outputs)
        self._last.pop(key, None)
        self._last[key] = None
        return outputs

    def drawn(self, judging: int) -> Drawn:
        """The outputs of the pair that was drawn from last: so many judged, and all before them were learned from."""
        sides = [np.concatenate(self._outputs[key]) for key in list(self._last)[-2:]]
        learning = min(map(len, sides)) - judging
        return Drawn(
            (sides[0][-judging - learning : -judging], sides[1][-judging - learning : -judging]),
            (sides[0][-judging:], sides[1][-judging:]),
        )


SYMBOLS = (NOT_ABOVE, STOPPED, NOTHING)
"""Numbers that stand for a symbol in vectors: they become flags, and 0 takes their place among the numbers."""

STEPS, SMALLEST_STEP = 100, 1e-5
FITTED_ON = 1 << 18
"""At most so many outputs of either input fit the regression, and at most half of those to learn from."""

RIDGE = 1.0
"""The weight of the penalty: as much as one more output."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted regression over standardised numbers and flags."""

    flagged: tuple[tuple[int, float], ...]
    centre: Doubles
    scale: Doubles
    weights: Doubles

    def __call__(self, outputs: Outputs) -> Doubles:
        """The logit of the posterior probability that each output is the first input's."""
        encoded = (_encoded(outputs, self.flagged) - self.centre) / self.scale
        return np.asarray(encoded @ self.weights[1:] + self.weights[0])


def fitted(first: Outputs, second: Outputs) -> Logistic:
    """The regression of largest penalised likelihood.

    By Newton's steps with a bound in place of the curvature, the same at every step (Böhning and Lindsay 1988).
    """
    outputs = np.concatenate([first, second])
    rows = outputs.reshape(len(outputs), -1)
    flagged = [(place, symbol) for place in range(rows.shape[1]) for symbol in SYMBOLS if rows.shape[1] > 1]
    flagged = [flag for flag in flagged if (rows[:, flag[0]] == flag[1]).any()]
    encoded = _encoded(outputs, tuple(flagged))
    centre, scale = encoded.mean(axis=0), encoded.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    columns = np.column_stack([np.ones(len(encoded)), (encoded - centre) / scale])
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    weights = np.zeros(columns.shape[1])
    bound = scipy.linalg.cho_factor(columns.T @ columns / 4 + RIDGE * np.eye(len(weights)))
    for _ in range(STEPS):
        gradient = columns.T @ (labels - scipy.special.expit(columns @ weights)) - RIDGE * weights
        step = scipy.linalg.cho_solve(bound, gradient)
        weights = weights + step
        if np.abs(step).max() < SMALLEST_STEP:
            break
    return Logistic(tuple(flagged), centre, scale, weights)


def _encoded(outputs: Outputs, flagged: tuple[tuple[int, float], ...]) -> Doubles:
    rows = outputs.reshape(len(outputs), -1).astype(np.float64)
    flags = np.array([rows[:, place] == symbol for place, symbol in flagged]).reshape(len(flagged), len(rows)).T
    for column, (place, _) in enumerate(flagged):
        rows[flags[:, column], place] = 0.0
    return np.hstack([rows, flags])


LEAST = 0.01
"""c: the event's probability under the input that shows it less."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The event: a score times a sign above a threshold, or at it with a probability."""

    sign: float
    threshold: float
    at_threshold: float

    def hits(self, scores: Doubles, rng: np.random.Generator) -> int:
        """How many outputs of these scores are in the event."""
        signed = self.sign * scores
        tied = int(np.count_nonzero(signed == self.threshold))
        return int(np.count_nonzero(signed > self.threshold)) + int(rng.binomial(tied, self.at_threshold))


def attack_on(less: Doubles, sign: float) -> Attack:
    """The event of probability c among the scores of the input that shows it less."""
    ordered = np.sort(sign * less)[::-1]
    wanted = LEAST * len(ordered)
    threshold = float(ordered[min(len(ordered) - 1, math.ceil(wanted) - 1)])
    above, tied = np.count_nonzero(ordered > threshold), np.count_nonzero(ordered == threshold)
    return Attack(sign, threshold, min(1.0, float((wanted - above) / tied)))


def dp_sniper(drawn: Drawn, alpha: float, rng: np.random.Generator) -> float:
    """A lower bound on ε."""
    used = min(FITTED_ON, len(drawn.learning[0]) // 2)
    model = fitted(*(side[:used] for side in drawn.learning))
    scores = [model(side[used:]) for side in drawn.learning]
    attacks = [attack_on(scores[1 if sign > 0 else 0], sign) for sign in (1.0, -1.0)]
    shown = [_bound([it.hits(side, rng) for side in scores], it.sign, len(scores[0]), alpha) for it in attacks]
    chosen = attacks[shown.index(max(shown))]
    counts = [chosen.hits(model(side), rng) for side in drawn.judging]
    return _bound(counts, chosen.sign, len(drawn.judging[0]), alpha)


def _bound(counts: list[int], sign: float, trials: int, alpha: float) -> float:
    more, less = counts if sign > 0 else counts[::-1]
    lower, _ = clopper_pearson(more, trials, alpha)
    _, upper = clopper_pearson(less, trials, alpha)
    return max(0.0, math.log(lower / upper)) if lower > 0 else 0.0


STATDP_QUANTILES = np.arange(1, 20) / 20
LIKELY_VALUES = 8
LEAST_SHARE = 0.001
"""Events that hold fewer of the outputs of both inputs are not looked at, as in the paper."""

CHOSEN_ON = 1 << 18
"""At most so many learning outputs of either input choose the event; the paper takes 100,000."""
HALVINGS = 30
"""How often the interval of the bound is halved."""

LARGEST = 20.0

Statistic = Callable[[Outputs], Doubles]


@dataclass(frozen=True, slots=True)
class _Choice:
    statistic: Statistic
    low: float
    high: float
    of_second: bool

    def hits(self, outputs: Outputs) -> int:
        values = self.statistic(outputs)
        return int(np.count_nonzero((values >= self.low) & (values <= self.high)))


def statdp(drawn: Drawn, alpha: float, rng: np.random.Generator) -> float:
    """A lower bound on ε."""
    learning = [side[:CHOSEN_ON] for side in drawn.learning]
    choices = (choice for statistic in _statistics(learning[0]) for choice in _of(statistic, learning, alpha))
    shown, chosen = max(choices, key=lambda choice: choice[0], default=(-math.inf, None))
    if chosen is None or shown == -math.inf:
        return 0.0
    more, less = (chosen.hits(side) for side in (drawn.judging[::-1] if chosen.of_second else drawn.judging))
    return _rejected(more, less, len(drawn.judging[0]), alpha, float(rng.random()))


def _rejected(more: int, less: int, trials: int, alpha: float, uniform: float) -> float:
    """The largest ε that is rejected."""

    def rejects(epsilon: float) -> bool:
        kept = int(scipy.stats.binom.ppf(uniform, more, math.exp(-epsilon)))
        return bool(scipy.stats.hypergeom.sf(kept - 1, 2 * trials, kept + less, trials) < alpha)

    return _largest(rejects, LARGEST, HALVINGS)


def _largest(rejects: Callable[[float], bool], high: float, steps: int) -> float:
    """The largest ε that is rejected, by halving an interval."""
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def _statistics(outputs: Outputs) -> Iterator[Statistic]:
    size = outputs.reshape(len(outputs), -1).shape[1]
    for place in range(size):
        yield partial(_number, place=place)
    if size == 1:
        return
    for summary in (np.sum, np.max, np.min):
        yield partial(_summary, by=summary)
    values, counts = np.unique(outputs, return_counts=True)
    for value in values[np.argsort(-counts, kind="stable")[:LIKELY_VALUES]]:
        yield partial(_how_many, value=value)


def _number(outputs: Outputs, *, place: int) -> Doubles:
    return outputs.reshape(len(outputs), -1)[:, place].astype(np.float64)


def _summary(outputs: Outputs, *, by: Callable[..., Outputs]) -> Doubles:
    return by(outputs, axis=1).astype(np.float64)


def _how_many(outputs: Outputs, *, value: float) -> Doubles:
    return np.asarray((outputs == value).sum(axis=1), dtype=np.float64)


def _of(statistic: Statistic, learning: Sequence[Outputs], alpha: float) -> Iterator[tuple[float, _Choice]]:
    """The best event of a statistic in either direction, with the ε that the learning outputs seem to reject."""
    first, second = (np.sort(statistic(side)) for side in learning)
    pooled = np.concatenate([first, second])
    values, counts = np.unique(pooled, return_counts=True)
    ends = (
        values[:-1]
        if len(values) <= len(STATDP_QUANTILES)
        else np.unique(np.quantile(pooled, STATDP_QUANTILES, method="lower"))
    )
    likely = values[np.argsort(-counts, kind="stable")[:LIKELY_VALUES]]
    lows = np.concatenate([np.full(len(ends), -math.inf), np.nextafter(ends, math.inf), likely])
    highs = np.concatenate([ends, np.full(len(ends), math.inf), likely])
    hits = [np.searchsorted(side, highs, "right") - np.searchsorted(side, lows, "left") for side in (first, second)]
    enough = hits[0] + hits[1] >= LEAST_SHARE * len(pooled)
    doubt = -scipy.special.ndtri(alpha)
    for of_second in (False, True):
        more, less = ((side + 0.5) for side in (hits[::-1] if of_second else hits))
        shown = np.where(enough, np.log(more / less) - doubt * np.sqrt(1 / more + 1 / less), -math.inf)
        best = int(np.argmax(shown))
        yield float(shown[best]), _Choice(statistic, float(lows[best]), float(highs[best]), of_second)


LANDMARKS = 64

WITNESS_FITTED_ON = 1 << 16
"""At most so many learning outputs of either input fit the witness."""

WITNESS_RIDGE = 1e-3
STAKES = 0.3 * 8.0 ** -np.arange(4.0)
"""The largest leaves some wealth whatever happens: a payoff is at least −√2 − √2."""

BET_STEPS = 12
BATCH = 1 << 14
LARGEST_BET = 10.0


def kernel_betting(drawn: Drawn, alpha: float, _rng: np.random.Generator) -> float:
    """A lower bound on ε."""
    landmarks = np.concatenate([_rows(side[: LANDMARKS // 2]) for side in drawn.learning])
    sample = np.concatenate([_rows(side[: 1 << 12]) for side in drawn.learning])
    scale = np.where(sample.std(axis=0) > 0, sample.std(axis=0), 1.0) * math.sqrt(sample.shape[1])
    gram = _kernel(landmarks / scale, landmarks / scale)
    learned = [
        np.mean(
            [values.mean(axis=0) for values in _values(side[LANDMARKS:WITNESS_FITTED_ON], landmarks, scale)], axis=0
        )
        for side in drawn.learning
    ]
    weights = scipy.linalg.solve(gram + WITNESS_RIDGE * np.eye(len(gram)), learned[0] - learned[1], assume_a="pos")
    weights = weights / math.sqrt(weights @ gram @ weights)
    of_first, of_second = (
        np.concatenate([values @ weights for values in _values(side, landmarks, scale)]) for side in drawn.judging
    )
    return _bet_bound(of_first - of_second, alpha)


def _bet_bound(gains: Doubles, alpha: float) -> float:
    def rejects(epsilon: float) -> bool:
        payoffs = gains - math.sqrt(2) * math.tanh(epsilon / 2)
        logs = np.array([np.cumsum(np.log1p(stake * payoffs)) for stake in STAKES])
        most = float(scipy.special.logsumexp(logs, axis=0).max()) - math.log(len(STAKES))
        return most >= math.log(1 / alpha)

    return _largest(rejects, LARGEST_BET, BET_STEPS)


def _rows(outputs: Outputs) -> Doubles:
    return outputs.reshape(len(outputs), -1).astype(np.float64)


def _kernel(rows: Doubles, landmarks: Doubles) -> Doubles:
    """The Gaussian kernel of width 1, in [0, 1]."""
    squares = (rows**2).sum(axis=1)[:, np.newaxis] + (landmarks**2).sum(axis=1) - 2 * rows @ landmarks.T
    return np.asarray(np.exp(-np.maximum(squares, 0) / 2))


def _values(outputs: Outputs, landmarks: Doubles, scale: Doubles) -> Iterator[Doubles]:
    for start in range(0, len(outputs), BATCH):
        yield _kernel(_rows(outputs[start : start + BATCH]) / scale, landmarks / scale)


FIRST_LOOK = 1000
QUANTILES = np.concatenate([np.arange(1, 40) / 40, 2.0 ** -np.arange(6, 10), 1 - 2.0 ** -np.arange(6, 10)])
DOUBT = 2.0
"""How many standard errors a threshold's ε is discounted by when it is tuned."""


def sequential_tradeoff(drawn: Drawn, alpha: float, _rng: np.random.Generator) -> float:
    """A lower bound on ε."""
    used = min(FITTED_ON, len(drawn.learning[0]) // 2)
    model = fitted(*(side[:used] for side in drawn.learning))
    threshold, of_second, complement = _tuned(*(model(side[used:]) for side in drawn.learning))
    held = [(model(side) > threshold) != complement for side in drawn.judging]
    more, less = held[::-1] if of_second else held
    best, looks, trials = 0.0, 1, FIRST_LOOK
    while trials <= len(more):
        share = alpha / (looks * (looks + 1))
        best = max(best, _bound([int(side[:trials].sum()) for side in (more, less)], 1.0, trials, share))
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


METHODS = {
    "DP-Sniper": dp_sniper,
    "StatDP": statdp,
    "kernel betting": kernel_betting,
    "sequential trade-off": sequential_tradeoff,
}
