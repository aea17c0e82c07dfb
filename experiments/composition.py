"""Many answers to one query: how a leak adds up, and what composition allows.

The exact mechanism's law of one answer is known, and with it that of its *loss index*, the privacy loss as a whole
number of steps. The index of m answers is the sum of m, so that its laws under both inputs are m-fold convolutions, and
every event of m answers is at most as telling as one of the index. What is allowed: basic composition (mε, 0); advanced
composition (Dwork and Roth 2014, Theorem 3.20), with the best δ′; and the optimum (Kairouz, Oh and Viswanath 2015,
Theorem 3.3), which m randomized responses attain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from attacklab.attacks.base import bounds_of
from attacklab.attacks.local_sensitivity import estimated_scale
from attacklab.attacks.samplers import NUMPY, reachable
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.laws import Limits, enumerate_law
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Estimate
from attacklab.model.floats import Doubles
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments import targets
from experiments.common import composition_bounds
from experiments.common.curves import estimate_series, figure, lines, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.published import two_sided_geometric

QUESTION = "How do leaks add up over many answers, and what does composition allow?"

EPSILON = 0.1
STEPS = 4
"""Steps of the exact mechanism's grid in one unit of the answer."""
RATIO = Fraction(999, 1024)
"""The ratio of the probabilities of its noise from step to step: −STEPS·ln(RATIO) is 0.0989, within ε."""
ANSWERS = tuple(2**power for power in range(11))
MEASURED = tuple(2**power for power in range(9))
DELTA = 1e-6
GROUP = 6
"""Records of the smaller database whose mean has noise scaled to its local sensitivity."""
FEW = 2


def collect(settings: Settings) -> Collected:
    """Compose exact laws, and bet on many answers of two leaking mechanisms."""
    first, second, unresolved = _index_laws(settings)
    trials = settings.budget(20_000, 2_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, 2 * len(MEASURED))
    composed = {m: (composition_bounds.convolved(first, m), composition_bounds.convolved(second, m)) for m in ANSWERS}
    return Collected(
        (),
        {
            "exact": [composition_bounds.advantage_of(*composed[m]) for m in ANSWERS],
            "exact_error": [2 * m * unresolved for m in ANSWERS],
            "exact_epsilon": [composition_bounds.epsilon_of(*composed[m], DELTA) for m in ANSWERS],
            "low_bits": [asdict(_low_bits(settings, trials, m, alpha)) for m in MEASURED],
            "local": [asdict(_local(settings, trials, m, alpha)) for m in MEASURED],
        },
    )


def _index_laws(settings: Settings) -> tuple[Doubles, Doubles, float]:
    """The laws of one answer's loss index for the answers 0 and STEPS, and the mass that is not resolved.

    The index of output y is |y − STEPS| − |y|, from −STEPS to STEPS: each unit is a factor 1/RATIO of likelihoods.
    """
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(40, 16)))
    noise = enumerate_law(partial(two_sided_geometric, RATIO), limits=limits)
    laws = [noise.map(partial(_index, answer)) for answer in (0, STEPS)]
    vectors = [np.array([float(law.mass(index)) for index in range(-STEPS, STEPS + 1)]) for law in laws]
    return vectors[0], vectors[1], float(max(law.unresolved for law in laws))


def _index(answer: int, noise: Any) -> int:
    return abs(answer + int(noise) - STEPS) - abs(answer + int(noise))


def _low_bits(settings: Settings, trials: int, answers: int, alpha: float) -> Estimate:
    """The bet that every one of m answers can be reached from the first database."""
    target = targets.naive_laplace_numpy(EPSILON)
    hits = []
    for side in (0, 1):
        rng = settings.generator(0, answers, side)
        kept = 0
        for rows in _portions(trials, answers):
            drawn = target.outputs(float(side), rows * answers, rng)
            kept += int(reachable(drawn, 0.0, 1 / EPSILON, NUMPY).reshape(rows, answers).all(axis=1).sum())
        hits.append(kept)
    return assess(target.claim.composed(answers).nominal, Counts(hits[0], hits[1], trials), alpha).advantage


def _local(settings: Settings, trials: int, answers: int, alpha: float) -> Estimate:
    """The bet on the larger of two scales, where the likelihoods of m answers about equal records cross."""
    target = targets.naive_local_sensitivity_mean(EPSILON)
    lower, upper = bounds_of(target)
    threshold = (upper - lower) * _crossing(*_local_scales())
    hits = []
    for side, size in enumerate((GROUP, GROUP + 1)):
        drawn = target.outputs(np.full(size, lower), trials * answers, settings.generator(1, answers, side))
        seen = estimated_scale(drawn.reshape(trials, answers), lower)
        hits.append(int(np.count_nonzero(seen > threshold)))
    return assess(target.claim.composed(answers).nominal, Counts(hits[0], hits[1], trials), alpha).advantage


def _portions(trials: int, answers: int) -> Iterable[int]:
    """Rows of at most a quarter of a million answers at a time."""
    most = max(1, (1 << 18) // answers)
    return (min(most, trials - start) for start in range(0, trials, most))


def _local_scales() -> tuple[float, float]:
    """The scales of the noise on the mean of either database, for records in [0, 1]."""
    return 1 / ((GROUP + 1) * EPSILON), 1 / ((GROUP + 2) * EPSILON)


def _crossing(larger: float, smaller: float) -> float:
    """The mean |noise| at which Laplace laws of two scales are equally likely."""
    return math.log(larger / smaller) / (1 / smaller - 1 / larger)


def ideal_local_advantage(answers: int) -> float:
    """The advantage of m answers with Laplace noise of either scale in real arithmetic: sums of |noise| are gamma."""
    larger, smaller = _local_scales()
    beyond = answers * _crossing(larger, smaller)
    return float(special.gammaincc(answers, beyond / larger) - special.gammaincc(answers, beyond / smaller))


def figures(data: dict[str, Any]) -> list[Figure]:
    """Advantage and ε against the number of answers."""
    caption = "Answers to one query that claim ε = 0.1 each; bands are simultaneous confidence bounds."
    return [figure("composition", caption, [_advantages(data), _epsilons(data)])]


def _advantages(data: dict[str, Any]) -> Panel:
    measured = data["measured"]
    rows = [
        ("exact, two-sided geometric (exact law)", Role.EXACT, measured["exact"]),
        ("local sensitivity in real arithmetic", Role.IDEAL, [ideal_local_advantage(m) for m in ANSWERS]),
        ("optimal composition", Role.CEILING, [composition_bounds.optimal_advantage(EPSILON, m) for m in ANSWERS]),
        ("basic composition", Role.CEILING, [PrivacyClaim(m * EPSILON).ceiling for m in ANSWERS]),
    ]
    series = [
        estimate_series(measured["low_bits"], MEASURED, "naive, low bits of numpy's Laplace", Role.NAIVE),
        estimate_series(measured["local"], MEASURED, "naive, local sensitivity, 6 or 7 records", Role.NAIVE),
        *lines(ANSWERS, rows),
    ]
    return panel("Advantage of m answers", "answers m", "distinguishing advantage", series, x_scale="log")


def _epsilons(data: dict[str, Any]) -> Panel:
    advanced, optimal = (
        [bound(EPSILON, m, DELTA) for m in ANSWERS]
        for bound in (composition_bounds.advanced_epsilon, composition_bounds.optimal_epsilon)
    )
    rows = [
        ("exact, two-sided geometric (exact law)", Role.EXACT, data["measured"]["exact_epsilon"]),
        ("advanced composition", Role.OTHER, advanced),
        ("optimal composition", Role.CEILING, optimal),
        ("basic composition", Role.CEILING, [m * EPSILON for m in ANSWERS]),
    ]
    title = f"ε of m answers together, δ = {DELTA:g}"
    return panel(title, "answers m", "ε", lines(ANSWERS, rows), x_scale="log", y_scale="log")


def explain(data: dict[str, Any]) -> str:
    """Say how leaks add up."""
    measured = data["measured"]
    return PARAGRAPHS["composition"].format(
        found=measured,
        epsilon=EPSILON,
        kept=-STEPS * math.log(RATIO),
        many=ANSWERS[-1],
        exact=measured["exact"][-1],
        optimal=composition_bounds.optimal_advantage(EPSILON, ANSWERS[-1]),
        advanced=composition_bounds.advanced_ceiling(EPSILON, ANSWERS[-1]),
        basic=PrivacyClaim(ANSWERS[-1] * EPSILON).ceiling,
        few=MEASURED[FEW],
        low_bits_few=measured["low_bits"][FEW]["estimate"],
        group=GROUP,
        larger=GROUP + 1,
        ceiling=PrivacyClaim(EPSILON).ceiling,
        local_many=MEASURED[-1],
        local=measured["local"][-1]["estimate"],
        local_allowed=composition_bounds.optimal_advantage(EPSILON, MEASURED[-1]),
        delta=DELTA,
        spent=measured["exact_epsilon"][-1],
        optimal_epsilon=composition_bounds.optimal_epsilon(EPSILON, ANSWERS[-1], DELTA),
        advanced_epsilon=composition_bounds.advanced_epsilon(EPSILON, ANSWERS[-1], DELTA),
        basic_epsilon=ANSWERS[-1] * EPSILON,
    )
