"""Work seen beside the output: how many random bits a draw took, by `attacklab.seeing_work`.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems', section VI (timing of discrete samplers).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from attacklab.attacks.black_box import BlackBox
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.draws.work import seeing_work
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Estimate, Finding
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.targets import exact_exponential_fixed_work
from experiments.targets.making import of_term
from mechanisms.laplace.exact import exact_two_sided_geometric
from mechanisms.laplace.naive import naive_two_sided_geometric

QUESTION = "How much more does an adversary learn by counting the work behind a noisy answer?"

EPSILONS = (0.25, 0.5, 1.0, 2.0)
SHOWN = 1.0
TRIALS = 4_000
RANGE = 15
PAIR = NeighbouringPair(RANGE // 2 + 1, RANGE // 2, None)
"""Two integer answers, made directly because `NeighbouringPair.answers` would turn them into doubles."""
UTILITIES = NeighbouringPair.utilities([0.0] * 5, [0.0, -1.0, -1.0, -1.0, -1.0], sensitivity=1.0)


def naive_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise, counted in a loop."""
    return Target.noise(partial(naive_two_sided_geometric, epsilon=epsilon), epsilon=epsilon, name="naive_geometric")


def exact_fixed_work(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise on a public range, the same work for every draw."""
    term = exact_two_sided_geometric(epsilon=epsilon, lower=0, upper=RANGE)
    return of_term(Target.noise, term, epsilon=epsilon, name="exact_fixed_work")


OBSERVED = (
    (naive_geometric, PAIR, "naive geometric, output and bits", Role.NAIVE),
    (exact_fixed_work, PAIR, "fixed-work geometric, output and bits", Role.EXACT),
    (exact_exponential_fixed_work, UTILITIES, "fixed-work selection, output and bits", Role.OTHER),
)


def collect(settings: Settings) -> Collected:
    """Audit output and work together at each ε, and once more until the naive mechanism is refuted."""
    trials = settings.budget(TRIALS, 2_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, len(OBSERVED) * len(EPSILONS) + 1)
    run = partial(audit, alpha=alpha, seed=settings.seed)
    findings = [
        finding
        for make, pair, _, _ in OBSERVED
        for epsilon in EPSILONS
        for finding in run(seeing_work(make(epsilon)), [BlackBox((pair,))], trials=trials, spend_all=True)
    ]
    (soonest,) = run(seeing_work(naive_geometric(SHOWN)), [BlackBox((PAIR,))], trials=TRIALS)
    (_, bits), *_ = seeing_work(exact_fixed_work(SHOWN)).outputs(PAIR.first, 1, np.random.default_rng(settings.seed))
    return Collected([*findings, soonest], {"bits": bits, "outputs": soonest.trials})


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage of counted work against ε."""
    counted = [
        curves.estimate_series([asdict(_size(finding)) for finding in _findings(data, make)], EPSILONS, label, role)
        for make, _, label, role in OBSERVED
    ]
    # The better guess from the ideal output has (1 − q)/(1 + q) for q = e^−ε.
    alone = [-math.expm1(-epsilon) / (1 + math.exp(-epsilon)) for epsilon in EPSILONS]
    series = [
        *counted,
        curves.line("ideal geometric, output alone", Role.IDEAL, EPSILONS, alone),
        curves.ceiling_series(EPSILONS),
    ]
    title = "Advantage of an adversary who counts the work"
    panel = curves.panel(title, "claimed ε", "distinguishing advantage |P[E] − Q[E]|", series)
    return [curves.figure("observed_work", "Output and work together; bands are confidence bounds.", [panel])]


def _findings(data: dict[str, Any], make: Callable[..., Target]) -> list[Finding]:
    return curves.findings_of(data, seeing_work(make()).name)[: len(EPSILONS)]


def _size(finding: Finding) -> Estimate:
    """Return the advantage of an event or of its complement, whichever is positive."""
    seen = curves.advantage_of(finding)
    return seen if seen.estimate >= 0 else replace(seen, estimate=-seen.estimate, lower=-seen.upper, upper=-seen.lower)


def explain(data: dict[str, Any]) -> str:
    """Say what the counted work gives away."""
    found = (curves.finding_at(_findings(data, make), SHOWN) for make, *_ in OBSERVED)
    naive, fixed, selection = (_size(finding).estimate for finding in found)
    return PARAGRAPHS["observed_work"].format(
        naive=naive, fixed=fixed, selection=selection, ceiling=PrivacyClaim(SHOWN).ceiling, **data["measured"]
    )
